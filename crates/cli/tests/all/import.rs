//! Data of other programs: what comes out, what is said of it, and what is refused.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::program::hopscope;

const SPECIFICATION: &str = "\
disksim_disk SOME_DISK {
   Model = source some.model,
   Bulk sector transfer time = 0.1, Max queue length = 4, Preseeking level = 1,
   Number of buffer segments = 2, Maximum number of write segments = 1, Segment size (in blks) = 64,
   Buffer continuous read = 3, Maximum read-ahead (blks) = 64, Fast write level = 1,
   Read hit over. after read = 0.1, Read hit over. after write = 0.1,
   Read miss over. after read = 0.2, Read miss over. after write = 0.2,
   Write hit over. after read = 0.1, Write hit over. after write = 0.1,
   Write miss over. after read = 0.2, Write miss over. after write = 0.2
}
";

const MODEL: &str = "\
dm_disk SOME_DISK.model {
   Number of data surfaces = 2, Number of cylinders = 10, Block count = 2000,
   Layout Model = dm_layout_g1 {
      LBN-to-PBN mapping scheme = 0, Sparing scheme used = 0,
      Zones = [ dm_layout_g1_zone {
         First cylinder number = 0, Last cylinder number = 9, Blocks per track = 100,
         Offset of first block = 0, Empty space at zone front = 0,
         Skew for track switch = 10, Skew for cylinder switch = 20, Number of spares = 0, slips = [], defects = []
      } ]
   },
   Mechanical Model = dm_mech_g1 {
      Seek type = constant, Average seek time = 5.0, Add. write settling delay = 0.1, Head switch time = 0.5,
      Rotation speed (in rpms) = 6000
   }
}
";

fn written(folder: &Path) -> String {
    fs::write(folder.join("some.model"), MODEL).unwrap();
    let path = folder.join("some.diskspecs");
    fs::write(&path, SPECIFICATION).unwrap();
    path.to_str().unwrap().to_string()
}

#[test]
fn a_drive_is_imported_and_what_is_left_out_is_said() {
    let folder = TempDir::new().unwrap();
    let path = written(folder.path());
    let ran = hopscope(&["import", "disksim", &path]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.starts_with("model = \"scsi-disk\"\ntitle = \"SOME DISK\"\n"), "{}", ran.out);
    assert!(ran.err.contains("note: `Preseeking level = 1` is not modelled"), "{}", ran.err);
    let part = folder.path().join("mine.toml");
    let ran = hopscope(&["import", "disksim", &path, "-o", part.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let checked = hopscope(&["check", part.to_str().unwrap()]);
    assert_eq!(checked.code, 0, "{checked:?}");
}

/// A machine around the drive: the bus beside it is the slowest on its way, and the other one is not on it.
const MACHINE: &str = "\
disksim_global Global { Init Seed = 42, Stat definition file = statdefs }
disksim_bus FAST { type = 1, Read block transfer time = 0.0, Write block transfer time = 0.0 }
disksim_bus SLOW { type = 1, Read block transfer time = 0.128, Write block transfer time = 0.256 }
disksim_bus ASIDE { type = 1, Read block transfer time = 9.0, Write block transfer time = 9.0 }
disksim_ctlr CTLR0 { type = 1, Bulk sector transfer time = 0.2 }
source some.diskspecs
instantiate [ bus0 ] as FAST
instantiate [ bus1, bus2 ] as SLOW
instantiate [ bus9 ] as ASIDE
instantiate [ disk0 ] as SOME_DISK
instantiate [ ctlr0 ] as CTLR0
topology disksim_iodriver driver0 [
   disksim_bus bus0 [ disksim_bus bus9 [], disksim_ctlr ctlr0 [ disksim_bus bus1 [ disksim_disk disk0 [] ] ] ]
]
";

#[test]
fn the_time_of_a_block_is_that_of_the_slowest_on_its_way() {
    let folder = TempDir::new().unwrap();
    let path = written(folder.path());
    let alone = hopscope(&["import", "disksim", &path]);
    assert!(
        alone.out.contains("rate            = { value = \"5120000 B/s\", source = \"some.diskspecs\" }"),
        "{alone:?}"
    );
    let machine = folder.path().join("some.parv");
    fs::write(&machine, MACHINE).unwrap();
    let ran = hopscope(&["import", "disksim", machine.to_str().unwrap()]);
    assert!(ran.out.contains("rate            = { value = \"2000000 B/s\", source = \"some.parv\" }"), "{ran:?}");
    assert!(ran.err.contains("reads and writes take different times on `SLOW`"), "{}", ran.err);
    assert!(ran.err.contains("those of the host on which the drive was measured"), "{}", ran.err);
    // A drive that says nothing of its bus is looked for in the machine beside it.
    fs::write(&path, SPECIFICATION.replace("time = 0.1", "time = 0.0")).unwrap();
    let beside = hopscope(&["import", "disksim", &path]);
    assert!(beside.out.contains("{ value = \"2000000 B/s\", source = \"some.parv\" }"), "{beside:?}");
    fs::write(&machine, MACHINE.replace("disk0 ] as", "disk0 ] is")).unwrap();
    let wrong = hopscope(&["import", "disksim", machine.to_str().unwrap()]);
    assert!(wrong.code == 2 && wrong.err.contains("expected `as NAME`"), "{wrong:?}");
    fs::remove_file(&machine).unwrap();
    let nowhere = hopscope(&["import", "disksim", &path]);
    assert!(
        nowhere.out.contains("value = \"40 MB/s\", assumed") && nowhere.err.contains("no bus of a .parv file"),
        "{nowhere:?}"
    );
}

#[test]
fn marks_read_ahead_and_settling_are_imported() {
    let folder = TempDir::new().unwrap();
    let path = written(folder.path());
    let more = "Low (write) water mark = 0.25, High (read) water mark = 0.5, Set watermark by reqsize = 1,\n   \
                Read-ahead on idle hit = 1, Read completion overhead = 0.081, Buffer continuous read = 4";
    fs::write(&path, SPECIFICATION.replace("Buffer continuous read = 3", more)).unwrap();
    fs::write(folder.path().join("some.model"), MODEL.replace("delay = 0.1", "delay = -0.2")).unwrap();
    let ran = hopscope(&["import", "disksim", &path]);
    for line in [
        "high_water           = \"50 %\"",
        "low_water            = \"25 %\"",
        "water_of             = \"request\"",
        "read_ahead_to        = \"track ahead\"",
        "read_ahead_after_hit = true",
        "read_completion        = \"81 us\"",
        "write_completion       = \"0 us\"",
        // A write settles 0.2 ms faster than a read: seeks and head switches are a write's, and a read takes longer.
        "head_switch  = { value = \"300 us\"",
        "write_settle = { value = \"0 us\"",
        "read_settle  = { value = \"200 us\"",
        "time = \"4800 us\"",
    ] {
        assert!(ran.out.contains(line), "no {line} in\n{}", ran.out);
    }
}

#[test]
fn a_wrong_file_is_shown_where_it_is_wrong() {
    let folder = TempDir::new().unwrap();
    let path = written(folder.path());
    let model = folder.path().join("some.model");
    fs::write(&model, MODEL.replace("Blocks per track = 100", "Blocks per track = many")).unwrap();
    let ran = hopscope(&["import", "disksim", &path]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    for part in ["`Blocks per track` is no count", "some.model:6:82", "expected a whole number"] {
        assert!(ran.err.contains(part), "no `{part}` in\n{}", ran.err);
    }
    fs::remove_file(&model).unwrap();
    let ran = hopscope(&["import", "disksim", &path]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("`some.model` is not there") && ran.err.contains("some.diskspecs:2:"), "{}", ran.err);
    let ran = hopscope(&["import", "disksim", &path, "-o", folder.path().to_str().unwrap()]);
    assert_eq!(ran.code, 2, "{ran:?}");
}
