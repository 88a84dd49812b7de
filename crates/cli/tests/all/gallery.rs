//! The pictures of the gallery are what their commands draw today.

#![cfg(unix)]

use std::fs;

use crate::documents::root;
use crate::program::hopscope;

/// A command, and what it draws: the names of its files and of those in the gallery.
type Drawn = (&'static str, &'static [(&'static str, &'static str)]);

const DRAWN: [Drawn; 2] = [
    (
        "explain nvme-server --rw=randread --bs=4k --iodepth=32 --runtime=20ms",
        &[
            ("explain-nvme-server-map", "map"),
            ("explain-nvme-server-hop-drive-channel-die-plane", "account"),
            ("explain-nvme-server-latency", "latency"),
            ("explain-nvme-server-latencies-1", "histogram"),
            ("explain-nvme-server-requests-and-hops", "requests"),
        ],
    ),
    ("whatif piix4e-one-disk --rw=write --bs=64k --runtime=200ms", &[("whatif-piix4e-one-disk-upgrades", "upgrades")]),
];

#[test]
fn every_picture_of_the_gallery_is_what_its_command_draws_and_the_readme_shows_it() {
    let (gallery, readme) =
        ["docs/GALLERY.md", "README.md"].map(|file| fs::read_to_string(root().join(file)).unwrap()).into();
    for (command, figures) in DRAWN {
        assert!(gallery.contains(&format!("hopscope {command} --svg figures")), "{command}");
        let folder = tempfile::tempdir().unwrap();
        let into = folder.path().display().to_string();
        let ran = hopscope(&command.split(' ').chain(["--svg", &into]).collect::<Vec<_>>());
        assert_eq!(ran.code, 0, "{command}: {ran:?}");
        for (file, name) in figures {
            let drawn = fs::read_to_string(folder.path().join(format!("{file}.svg"))).unwrap();
            let shown = fs::read_to_string(root().join(format!("docs/gallery/{name}.svg"))).unwrap();
            assert!(drawn == shown, "draw it again: hopscope {command} --svg figures, {file}.svg as {name}.svg");
            assert!(gallery.contains(&format!("](gallery/{name}.svg)")), "{name} is not in the gallery");
            assert!(readme.contains(&format!("](docs/gallery/{name}.svg)")), "{name} is not in the README");
        }
    }
}
