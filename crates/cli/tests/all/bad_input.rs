//! Every wrong input has an error that says what and where, and exit code 2. None makes the program panic.

use std::fs;
use std::path::Path;

use crate::program::{Ran, command, hopscope, ran};
use crate::skipped::skipped;
use tempfile::TempDir;

const SYSTEM: &str = include_str!("../../../../data/systems/piix4e-one-disk.toml");
const DISK: &str = include_str!("../../../../data/parts/disk/quantum-fireball-el10.2a.toml");

/// What `hopscope check` says about a file.
fn check(name: &str, content: &[u8]) -> Ran {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    check_path(&path)
}

fn check_path(path: &Path) -> Ran {
    hopscope(&["check", path.to_str().unwrap()])
}

#[track_caller]
fn refused(ran: &Ran, words: &[&str]) {
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    for word in words {
        assert!(ran.err.contains(word), "no `{word}` in\n{}", ran.err);
    }
    assert!(!ran.err.contains("defect") && ran.err.len() < 20_000, "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'), "no colours where nobody sees them: {}", ran.err);
}

/// A text with one change, which has to be one.
#[track_caller]
fn changed(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is there to be changed");
    text.replacen(from, to, 1)
}

#[test]
fn a_wrong_system_file_says_what_and_where() {
    let second = "at  = \"ide.secondary\"";
    for (from, to, words) in [
        ("clock = {", "clok = {", &[":15:", "has no `clok`", "`clock`"][..]),
        ("clock = {", "clock = 33\nclok2 = {", &["number without a unit", "\"33 us\""]),
        ("\"33.5 MHz\"", "\"33.5\"", &[":15:", "a unit is missing"]),
        ("\"33.5 MHz\"", "\"33.5 ms\"", &[":15:", "`clock` is a time", "a frequency"]),
        ("\"33.5 MHz\"", "\"33.5 Mhz\"", &[":15:", "did you mean `MHz`?"]),
        (", measured = \"PIIX4E report: 98 cycles in 2925 ns\"", "", &[":15:", "`clock` has no basis", "source"]),
        (second, "", &["`cable` is not plugged in", "`at` is missing"]),
        ("controls = \"ide.registers\"", "", &["`driver` is not plugged in", "`controls` is missing"]),
        (second, "at = \"ide.third\"", &["there is no port `ide.third`", "ide.secondary"]),
        (second, "at = \"pci.slot3\"", &["`pci.slot3` is a PCI slot", "an IDE channel is needed"]),
        ("at    = \"host.pci\"", "at = \"pci.slot0\"", &["`pci.slot0` is a PCI slot", "host.pci"]),
        ("\"bus/pci-32-33\"", "\"bus/pci-32-3\"", &[":13:", "there is no part", "did you mean `bus/pci-32-33`?"]),
        ("\"bus/pci-32-33\"", "\"accelerator/pci-32-33\"", &["there is no part", "did you mean `bus/pci-32-33`?"]),
        ("[part.cable]", "[part.disk]", &["`disk` is there twice"]),
        ("default_target = \"disk\"", "default_target = \"dsk\"", &["`dsk` is no device", "did you mean `disk`?"]),
        ("title = ", "titel = ", &["unknown key `titel`", "`title` is missing"]),
        ("[part.cpu]", "[part.cpu", &[":5:", "this is not TOML"]),
        ("[part.cpu]", "[part.\"C P U\"]", &["is no name for a part"]),
        ("at = \"cable.drive0\"", "count = 100000\nat = \"cable.drive{}\"", &["`count` is the number of such parts"]),
    ] {
        let (from, text) = if SYSTEM.contains(from) { (from, SYSTEM.to_string()) } else { (from, squeezed(SYSTEM)) };
        refused(&check("bench.toml", changed(&text, from, to).as_bytes()), &[&["bench.toml"], words].concat());
    }
}

/// One space instead of several.
fn squeezed(text: &str) -> String {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
}

#[test]
fn a_port_takes_one_part_and_wires_make_no_circle() {
    let twice = format!("{SYSTEM}\n[part.disk2]\nuse = \"disk/quantum-fireball-el10.2a\"\nat = \"cable.drive0\"\n");
    refused(&check("bench.toml", twice.as_bytes()), &["`cable.drive0` is already used by `disk`", "choose another"]);
    // Whatever its protocol, a part plugged into itself is refused.
    let circle = changed(&squeezed(SYSTEM), "at = \"host.pci\"", "at = \"pci.slot1\"");
    refused(&check("bench.toml", circle.as_bytes()), &["bench.toml", "pci"]);
}

#[test]
fn a_wrong_part_file_says_what_and_where() {
    let disk = squeezed(DISK);
    for (from, to, words) in [
        ("heads = ", "haeds = ", &["`heads` is missing"][..]),
        ("transfer_mode = ", "transfre_mode = ", &["`transfer_mode` is missing"]),
        ("model = ", "wheels = { value = \"2 heads\", assumed = \"?\" }\nmodel = ", &["knows no `wheels`"]),
        ("\"hard-disk\"", "\"hard-dsk\"", &["there is no model `hard-dsk`", "did you mean `hard-disk`?"]),
        ("\"5400 rpm\"", "\"5400\"", &["a unit is missing"]),
        ("\"5400 rpm\"", "\"5400 ms\"", &["`rotation` is"]),
        ("cylinders = \"3_126 cylinders\"", "cylinders = \"12 cylinders\"", &["must add up to"]),
        ("cylinders = \"3_126 cylinders\"", "cylinders = \"0 cylinders\"", &["cylinders"]),
        ("rows = [", "rows = []\nrest = [", &["has no rows"]),
    ] {
        let text = changed(&disk, from, to);
        refused(&check("mine.toml", text.as_bytes()), &[&["mine.toml"], words].concat());
    }
    refused(&check("mine.toml", b"title = \"?\"\n"), &["neither a system nor a part", "[part.NAME]"]);
}

#[test]
fn a_wrong_job_file_says_what_and_where() {
    for (text, words) in [
        ("", &["mine.fio:1:1", "there is no job in this file"][..]),
        ("[global]\nrw=read\n", &["there is no job in this file"]),
        ("rw=read\n", &["this option is in no section"]),
        ("[a]\nrw=read\nbs=0\n", &["mine.fio:3:4", "`bs` is never 0"]),
        ("[a]\nrw=raed\n", &["mine.fio:2:4"]),
        ("[a]\nrw=read\niodpth=3\n", &["mine.fio:3:1", "unknown option `iodpth`", "did you mean `iodepth`?"]),
        ("[a]\nrw=read\nrate=1m\n", &["mine.fio:3:1", "changes the result and is not modelled"]),
        ("[a]\nrw=read\ntime_based\n", &["`time_based` needs a `runtime`"]),
        ("[a\nrw=read\n", &["this is no section"]),
    ] {
        refused(&check("mine.fio", text.as_bytes()), words);
    }
}

#[test]
fn a_job_that_does_not_fit_the_machine_says_why() {
    for (options, words) in [
        ("--size=20g", &["21474836480 bytes", "the device has"][..]),
        ("--offset=20g", &["the device has"]),
        ("--bs=1000", &["no whole sectors", "a multiple of"]),
        ("--bs=1g", &["at most 16 MiB"]),
        ("--iodepth=100000", &["at most 1024"]),
        ("--iodepth=0", &["never 0"]),
        ("--filename=dsk", &["no device `dsk`", "did you mean `disk`?"]),
        ("--filename=disk:disk", &["several devices"]),
        ("--iodpth=2", &["unknown option `iodpth`", "command line:1:13"]),
        ("--name=a --runtime=1 --name=b --runtime=2", &["another `runtime`", "[global]"]),
        ("--name=a --ramp_time=1 --name=b --startdelay=3", &["add up to 3 s of `b`", "the 1 s of `a`", "same sum"]),
        ("--set disk.hds=8", &["no number `disk.hds`", "did you mean `disk.heads`?"]),
        ("--set disk.heads=8", &["`disk.heads=8`", "a unit is missing", "\"8 heads\""]),
        ("--set disk.heads=8MHz", &["`disk.heads` is a count", "a frequency"]),
        ("--set disk.heads=0heads", &["`disk.heads=0heads`", "expected 1 to 64: heads"]),
        ("--set nonsense", &["no change", "part.key=value"]),
        ("--set pci.clock=1e9MHz", &["pci.clock"]),
        ("--set pci.disconnect=99999999999999clocks", &["at most 1000000 clocks"]),
        ("--until 7", &["a percentage such as 0.5%"]),
        ("--until=nan", &["a percentage such as 0.5%"]),
        ("--seed=x", &["--seed"]),
        ("--jsn", &["--json"]),
        ("--data /no/such/folder", &["cannot read the folder"]),
        ("rw=randread", &["give one or the other"]),
    ] {
        let words_given: Vec<&str> =
            ["run", "piix4e-one-disk", "--rw=read"].into_iter().chain(options.split(' ')).collect();
        refused(&hopscope(&words_given), words);
    }
}

#[test]
fn a_command_line_without_what_it_needs_says_what_to_write() {
    refused(&hopscope(&["run"]), &["<SYSTEM>", "Usage: hopscope run"]);
    refused(&hopscope(&["run", "piix4e-one-disk"]), &["There is no job", "--rw=randread --bs=64k"]);
    refused(&hopscope(&["run", "piix4e-onedisk", "--rw=read"]), &["no system is named", "`piix4e-one-disk`?"]);
    refused(&hopscope(&["run", "piix4e-one-disk", "no-such-job"]), &["no job is named `no-such-job`"]);
    refused(&hopscope(&["systems", "piix4e-one-dsk"]), &["did you mean `piix4e-one-disk`?"]);
    refused(&hopscope(&["parts", "bus/pci-32-3"]), &["did you mean `bus/pci-32-33`?"]);
    refused(&hopscope(&["check"]), &["FILE"]);
    refused(&hopscope(&["rnu"]), &["unrecognized subcommand"]);
    let bare = hopscope::<&str>(&[]);
    assert!(bare.code == 2 && bare.err.contains("Usage: hopscope <COMMAND>"), "{bare:?}");
}

#[test]
fn a_file_that_is_none_says_what_it_is() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::File::create(path("huge.toml")).unwrap().set_len(1 << 30).unwrap();
    fs::write(path("photo.toml"), [0xff, 0xd8, 0xff, 0xe0, 0, 1, 2]).unwrap();
    fs::write(path("zeros.toml"), [0; 4_000]).unwrap();
    fs::create_dir(path("folder.toml")).unwrap();
    refused(&check_path(&path("huge.toml")), &["larger than 1 MiB"]);
    refused(&check_path(&path("photo.toml")), &["is not a UTF-8 text"]);
    refused(&check_path(&path("zeros.toml")), &["zeros.toml:1:", "this is not TOML"]);
    refused(&check_path(&path("folder.toml")), &["is a directory"]);
    refused(&check_path(&path("hgue.toml")), &["is not there", "huge.toml`?"]);
    for command in ["run", "systems", "parts"] {
        refused(&hopscope(&[command, path("huge.toml").to_str().unwrap()]), &["larger than 1 MiB"]);
    }
}

#[test]
fn a_wrong_data_sheet_says_what_and_where() {
    let drive = include_str!("../../../../data/parts/disk/maxtor-atlas-15k.toml");
    let read = "rw = \"read\", bs = \"64 KiB\", iodepth = 2";
    let line = &*format!(":{}:", drive.lines().position(|line| line.contains(read)).unwrap() + 1);
    for (from, to, words) in [
        ("on   = \"atlas-15k\"", "on = \"atlas-15\"", &["there is no system `atlas-15`", "`atlas-15k`"][..]),
        ("on   = \"atlas-15k\"", "on = \"nvme-desktop\"", &["has no part of the model `scsi-disk`"]),
        ("on   = \"atlas-15k\"", "", &["`on` is missing"]),
        ("on   = \"atlas-15k\"", "on = \"atlas-15k\"\nin = 1", &["unknown key `in`"]),
        (
            "on   = \"atlas-15k\"",
            "on = \"atlas-15k\"\nchange = [\"disk.heds=5 heads\"]",
            &["`disk.heds`", "`disk.heads`"],
        ),
        (read, "rw = \"raed\", bs = \"64 KiB\", iodepth = 2", &[line, "raed"]),
        (read, "rw = \"read\", bs = \"64 KB\", iodepth = 2", &[line, "write KiB"]),
        (read, "rw = \"read\", bs = \"64 us\", iodepth = 2", &[line, "`bs` is no size"]),
        (read, "rw = \"read\", bs = \"64 KiB\", iodepth = 0", &[line, "1 to 1024"]),
        (
            read,
            "rw = \"read\", bs = \"64 KiB\", iodepht = 2",
            &[line, "did you mean `iodepth`?", "`iodepth` is missing"],
        ),
        ("\"75 MB/s\"", "\"75 mb/s\"", &[line, "MB/s (powers of 1000)"]),
        ("\"75 MB/s\"", "\"75 iops\"", &[line, "unknown unit"]),
        ("\"75 MB/s\"", "\"75 heads\"", &[line, "no figure of a drive", "22000 IOPS"]),
        ("\"75 MB/s\"", "\"0 IOPS\"", &[line, "nobody promises nothing"]),
        (
            ", source = \"Tweakers 2003, PCI speed and RAID: what",
            ", why = \"what",
            &[line, "unknown key `why`", "no basis"],
        ),
        ("[data_sheet]", "[[data_sheet]]", &["`data_sheet` is not a table"]),
    ] {
        refused(&check("disk.toml", changed(drive, from, to).as_bytes()), words);
    }
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_says_so() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    const NOBODY: u32 = 65_534;
    let folder = TempDir::new().unwrap();
    let (path, program) = (folder.path().join("secret.toml"), folder.path().join("hopscope"));
    let permit = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let check = ["check", path.to_str().unwrap()];
    fs::write(&path, SYSTEM).unwrap();
    permit(&path, 0o000);
    let said = if fs::read(&path).is_err() {
        command(&check).output()
    } else {
        // Root reads everything, and may have the program where nobody else gets. `cp` makes the copy, since a file that
        // this program has written may still be open in what another test has just started.
        assert!(
            Command::new("cp").args([env!("CARGO_BIN_EXE_hopscope").as_ref(), &*program]).status().unwrap().success()
        );
        permit(folder.path(), 0o755);
        Command::new(program).args(check).uid(NOBODY).output()
    };
    match said {
        Ok(said) => refused(&ran(said), &["no permission to read"]),
        Err(error) => skipped(&format!("root reads everything, and is nobody else here ({error}); run it as a user")),
    }
}

#[test]
fn several_files_are_checked_each_and_the_right_ones_said_to_be() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("good.toml"), SYSTEM).unwrap();
    fs::write(path("disk.toml"), DISK).unwrap();
    fs::write(path("good.fio"), "[a]\nrw=read\n").unwrap();
    fs::write(path("bad.fio"), "[a]\nrw=read\nbs=0\n").unwrap();
    let good = hopscope(&["check", &path("good.toml"), &path("disk.toml"), &path("good.fio")]);
    assert_eq!((good.code, good.out.lines().count()), (0, 3), "{good:?}");
    assert!(good.out.lines().all(|line| line.ends_with(": ok")));

    let both = hopscope(&["check", &path("good.toml"), &path("bad.fio")]);
    assert_eq!((both.code, both.out.lines().count()), (2, 1), "{both:?}");
    assert!(both.err.contains("bad.fio:3:4"));

    let json = hopscope(&["check", "--json", &path("good.toml"), &path("bad.fio")]);
    assert_eq!((json.code, json.err.as_str()), (2, ""));
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["ok"], false);
    assert_eq!((&json["files"][0]["kind"], &json["files"][0]["ok"]), (&"system".into(), &true.into()));
    assert_eq!((&json["files"][1]["problems"][0]["line"], &json["files"][1]["ok"]), (&3.into(), &false.into()));
}

#[test]
fn a_job_that_ends_before_its_account_begins_is_told_what_to_add() {
    let ran = hopscope(&["explain", "piix4e-one-disk", "--rw=write", "--bs=64k", "--size=64k", "--runtime=2"]);
    refused(&ran, &["the jobs are done after", "200.000 ms", "time_based", "--runtime=2"]);
}

#[test]
fn a_wrong_machine_with_links_says_what_and_where() {
    let folder = TempDir::new().unwrap();
    let system = |name: &str| fs::read_to_string(Path::new("../../data/systems").join(name)).unwrap();
    for (name, from, to, words) in [
        (
            "nvme-server.toml",
            "\"4 lanes\"",
            "\"5 lanes\"",
            &["`width` is 5 lanes", "expected 1, 2, 4, 8, 12 or 16: lanes"][..],
        ),
        ("nvme-server.toml", "\"4 lanes\"", "\"4\"", &["a unit is missing"]),
        ("nvme-server.toml", "\"switch.port1\"", "\"switch.port77\"", &["there is no port `switch.port77`"]),
        ("nvme-server.toml", "\"switch.port1\"", "\"switch.port0\"", &["`switch.port0` is already used"]),
        ("nvme-server.toml", "\"link1.device\"", "\"root.port1\"", &["is a PCI Express port"]),
    ] {
        let path = folder.path().join("machine.toml");
        fs::write(&path, changed(&system(name), from, to)).unwrap();
        refused(&check_path(&path), words);
    }
    for (set, words) in [
        ("gpu.pcie.tags=0 tags", "expected 1 to 16384: reads under way, at most"),
        ("gpu.pcie.payload_max=100 B", "128 B to 4 KiB"),
        ("root.completion=32 B", "64 B to 4 KiB"),
        ("root.iommu.page=5 KiB", "4 KiB to 1 GiB"),
        ("link.flight=1 s", "100 us at most"),
        (
            "link.rate=3 GT/s",
            "expected 2.5 GT/s, 5 GT/s, 8 GT/s, 16 GT/s, 32 GT/s or 64 GT/s: the highest rate that a lane carries",
        ),
        ("link.bits_per_error=5 bits", "1000000 at least, or 0"),
        ("gpu.pcie.ordering=loose", "\"strict\" or \"relaxed\""),
    ] {
        refused(&hopscope(&["run", "gpu-server", "--rw=read", "--runtime=1ms", "--set", set]), &[words]);
    }
}
