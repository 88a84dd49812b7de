//! What is wrong with a study's folder is said where it stands.

use std::fs;

use hopscope_files::library::Library;
use hopscope_files::problem::Sources;
use hopscope_studies::Study;

use crate::folder::{Folder, STUDY};

#[test]
fn what_is_wrong_is_said_where_it_stands() {
    let (study, reads, claims) = ("study.toml", "reads.csv", "claims.csv");
    let mistakes = [
        (
            study,
            "[systems]",
            "accuracy = { value = \"5 ms\", source = \"x\" }\n[systems]",
            "an accuracy is a share",
            "study.toml:1:1",
        ),
        (study, "seeds   = 3", "seeds   = 9", "one run to eight", "study.toml:21:11"),
        (study, "unit    = ", "units   = ", "this is no study", "study.toml:17:1"),
        (study, "bytes_per_second / 1e6", "bytes_a_second", "nothing is called `bytes_a_second`", "study.toml:22:11"),
        (study, "bytes_per_second / 1e6", "published", "nothing is called `published`", "study.toml:22:11"),
        (study, "kib / 4 * half min 1000", "published", "nothing is called `published`", "study.toml:30:9"),
        (study, "bytes_per_second / 1e6", "(iops", "this is no formula", "study.toml:22:11"),
        (study, "--bs={kib}k", "--bs={kb}k", "neither a column nor a number `kb`", "study.toml:20:29"),
        (study, "--bs={kib}k", "--bs={kib", "a brace is not closed", "study.toml:20:29"),
        (study, "--bs={kib}k", "--bss={kib}k", "the job of this row: unknown option `bss`", "reads.csv:2:1"),
        (study, "--rw=randread", "--filename=tape", "`flash` has no device `tape`", "reads.csv:2:1"),
        (study, "machine = \"{drive}\"", "", "which machine answers this row?", "reads.csv:2:1"),
        (study, "flash = \"nvme-desktop\"", "flash = \"nvme-desk\"", "no system is named `nvme-desk`", ""),
        (
            study,
            "cells.half = { kib = \"4\" }",
            "cells.half = { kib = \"5\" }",
            "no row with drive = flash, kib = 5",
            "study.toml:29:7",
        ),
        (
            study,
            "cells.half = { kib = \"4\" }",
            "cells.half = { kib = \"16\" }",
            "no figure is published",
            "study.toml:29:7",
        ),
        (study, "rows  = { kib = \"8\" }", "rows  = { kb = \"8\" }", "there is no column `kb`", "study.toml:28:11"),
        (study, "rows  = { kib = \"8\" }", "rows  = { kib = \"9\" }", "speaks of no row", "study.toml:27:9"),
        (
            study,
            "drive = \"turns\", kib = \"4\" }",
            "drive = \"turns\" }",
            "several rows with drive = turns",
            "study.toml:36:7",
        ),
        (study, "tables = [\"reads\"]", "tables = [\"writes\"]", "no table `writes`", "study.toml:40:10"),
        (study, "tables = [\"reads\"]", "claim = \"slower\"", "there is no claim `slower`", "study.toml:40:10"),
        (study, "tables = [\"reads\"]", "rows = { drive = \"turns\" }", "none of them is fitted", "study.toml:40:10"),
        (study, "keys  = [\"requests\"]", "keys  = [\"depth\"]", "a fit moves `depth`", "study.toml:40:10"),
        (study, "along       = \"kib\"", "along       = \"drive\"", "no number above zero", "reads.csv:2:1"),
        (study, "curves      = \"drive\"", "curves      = \"ms\"", "`ms` is no key", "study.toml:57:15"),
        (
            study,
            "[[\"drive/samsung-980-pro-1tb\"",
            "[[\"drive/samsung-980-pro\"",
            "no machine of the study has",
            "study.toml:46:8",
        ),
        (study, "read_ahead.ahead", "read_ahead.ahed", "read_ahead.ahed", ""),
        (
            study,
            "[\"drive/samsung-980-pro-1tb\", \"read_ahead.ahead\"",
            "[\"workload\", \"request\"",
            "the study has no number `request`",
            "study.toml:46:8",
        ),
        (
            study,
            "[numbers.requests]",
            "[given]\nparts = { part = \"drive/x\", key = \"y\" }\n[numbers.requests]",
            "no machine of the study has a part `drive/x`",
            "study.toml:10:18",
        ),
        (study, "\"--rw=randread\"", "\"@reads\"", "[jobs] has no `reads`", "study.toml:20:12"),
        (
            study,
            "seeds   = 3\nvalue   = \"bytes_per_second / 1e6\"",
            "probe = \"retry\"\nspan = \"1 ms\"\nvalue = \"probe\"",
            "no probe is called `retry`",
            "study.toml:21:9",
        ),
        (
            study,
            "seeds   = 3\nvalue   = \"bytes_per_second / 1e6\"",
            "probe = \"reads_under_way\"\nspan = \"1 ms\"\nvalue = \"probe\"\n[[path]]\nid = \"hops\"\nwhat = \"w\"\n\
             table = \"reads\"\ncalled = \"kib\"\ntogether = [\"disk\", \"disks\"]\nshare = [\"pci\", \"bus\"]",
            "the cells of `reads` are not figures of one run",
            "study.toml:27:9",
        ),
        (study, "seeds   = 3", "within = \"5 ms\"", "`5 ms` is no share", "study.toml:21:10"),
        (study, "seeds   = 3", "seeds = \"{ms}\"", "`20` is no number of runs", "reads.csv:2:1"),
        (study, "seeds   = 3", "of = \"writes\"", "no job of this row is called `writes`", "reads.csv:2:1"),
        (study, "seeds   = 3", "each = \"way\"", "there is no column `way`", "reads.csv:1:1"),
        (
            study,
            "[[null]]",
            "[[run]]\nid = \"reads\"\njob = []\nvalue = \"iops\"\n[[null]]",
            "two tables or runs are called `reads`",
            "study.toml:15:11",
        ),
        (study, "rule  = \"twice", "rule  = \"{kb} twice", "nothing is called `kb` here", "study.toml:27:9"),
        (
            study,
            "[[null]]",
            "[[run]]\nid = \"one\"\neach = \"ms\"\njob = []\nvalue = \"iops\"\n[[null]]",
            "run `one` stands in no table",
            "study.toml:25:6",
        ),
        (study, "seeds   = 3", "ladder = \"5 %\"", "a ladder without `devices`", "study.toml:15:11"),
        (study, "seeds   = 3", "devices = [\"disk*\"]", "no device that begins with `disk`", "study.toml:21:12"),
        (study, "seeds   = 3", "seeds = 3\nwithin = \"1 %\"", "how many runs and how well", "study.toml:15:11"),
        (study, "id          = \"sizes\"", "id          = \"../sizes\"", "`../sizes` is no name", "study.toml:50:15"),
        (
            study,
            "rows  = { kib = \"8\" }",
            "rows  = { kib = 8 }",
            "expected a value in quotes, as in the CSV",
            "study.toml:28:17",
        ),
        (
            study,
            "cells.half = { kib = \"4\" }",
            "cells.half = { kib = [\"4\", \"5\"] }",
            "no such row with kib = 5",
            "study.toml:29:7",
        ),
        (
            study,
            "value   = \"bytes_per_second / 1e6\"",
            "values = [{ rows = { kib = \"9\" }, value = \"iops\" }]\nvalue = \"iops\"",
            "no row has this formula",
            "study.toml:22:43",
        ),
        (
            study,
            "fitted = \"own: what was published is of two\"",
            "assumed = \"x\"\nsource = \"y\"",
            "one of `fitted`, `assumed` and `source`",
            "study.toml:1:1",
        ),
        (
            study,
            "[numbers.requests]",
            "[numbers.iops]\nvalue = \"1 requests\"\nassumed = \"x\"\n[numbers.requests]",
            "a number is called `iops`",
            "study.toml:1:1",
        ),
        (
            study,
            "[[chart]]",
            "[[reading]]\nid = \"none\"\nwhat = \"x\"\ntable = \"reads\"\nrows = { kib = \"9\" }\n[[chart]]",
            "the reading `none` speaks of no row",
            "study.toml:52:9",
        ),
        (
            study,
            "curves      = \"drive\"",
            "curves = \"drive\"\npanel = [{ title = \"x\", rows = { kib = \"9\" } }]",
            "has the keys of the panel `x`",
            "study.toml:58:34",
        ),
        (
            study,
            "[[claim]]\nid  = \"faster\"",
            "[[claim]]\nid = \"faster\"\nhow = \"x\"\nvalue = \"1\"\n[[claim]]\nid  = \"faster\"",
            "two answers are called `faster`",
            "study.toml:33:6",
        ),
        (claims, "100,1000,seen", "1000,100,seen", "its range goes from 1000 to 100", "claims.csv:2:1"),
        (claims, "100,1000,seen", "100,1000,sen", "`sen` is no basis", "claims.csv:2:1"),
        (reads, "flash,4,20,180,", "flash,4,20,180 MB/s,", "`180 MB/s` is no published figure", "reads.csv:2:1"),
        (reads, "flash,4,20,180,", "flash,4,20,0,", "`0` is no published figure", "reads.csv:2:1"),
        (reads, "turns,8,2000,1,input", "turns,8,2000,1,predicted", "`predicted` is no basis", "reads.csv:6:1"),
        (reads, "turns,8,2000", "tape,8,2000", "the study has no machine `tape`", "reads.csv:6:1"),
        (reads, "turns,8,2000", "turns,4,2000", "this cell is there twice", "reads.csv:6:1"),
        (reads, "flash,4,20,180,fitted", "flash,4,20,180,seen", "none of them is fitted", "study.toml:40:10"),
        (reads, "drive,kib", "drive,kb", "there is no column `kib`", "reads.csv:1:1"),
        (claims, "faster,flash", "quicker,flash", "nothing answers the claim `quicker`", "claims.csv:2:1"),
        (claims, "id,claim", "name,claim", "this is no claim", "claims.csv"),
    ];
    let library = Library::new(None).unwrap();
    let mut missed = Vec::new();
    for (file, before, after, said, at) in mistakes {
        let folder = Folder::new("mistakes", STUDY);
        let path = folder.0.join(file);
        let right = fs::read_to_string(&path).unwrap();
        assert_eq!(right.matches(before).count(), 1, "{before}");
        fs::write(&path, right.replace(before, after)).unwrap();
        let mut sources = Sources::default();
        let Err(problems) = Study::at(&folder.0).unwrap().open(&library, &mut sources) else {
            panic!("{after} in {file} is taken");
        };
        let shown = problems.render(&sources, false);
        if !shown.contains(said) || !shown.contains(at) {
            missed.push(format!("{after} in {file}: {said}, {at}:\n{shown}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
