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

#[test]
fn a_wrong_file_is_shown_where_it_is_wrong() {
    let folder = TempDir::new().unwrap();
    let path = written(folder.path());
    let model = folder.path().join("some.model");
    fs::write(&model, MODEL.replace("Blocks per track = 100", "Blocks per track = many")).unwrap();
    let ran = hopscope(&["import", "disksim", &path]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran:?}");
    for part in ["`Blocks per track` is no count", "some.model:6:78", "expected a whole number"] {
        assert!(ran.err.contains(part), "no `{part}` in\n{}", ran.err);
    }
    fs::remove_file(&model).unwrap();
    let ran = hopscope(&["import", "disksim", &path]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("`some.model` is not there") && ran.err.contains("some.diskspecs:2:"), "{}", ran.err);
    let ran = hopscope(&["import", "disksim", &path, "-o", folder.path().to_str().unwrap()]);
    assert_eq!(ran.code, 2, "{ran:?}");
}
