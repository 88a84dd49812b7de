//! Block diagrams of all shipped machines: each part is in its place, once.

use std::collections::BTreeSet;

use hopscope_files::library::Library;
use hopscope_machine::block_diagram::{Block, blocks};

use crate::trace::blueprint;

#[test]
fn every_part_of_hardware_is_in_one_block_below_what_it_is_plugged_into() {
    let library = Library::new(None).expect("the shipped files can be read");
    let mut shown = 0;
    for system in library.systems() {
        let blueprint = blueprint(system);
        let all = blocks(blueprint.parts());
        let names: Vec<&String> = all.iter().flat_map(|block| &block.parts).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{system}: a part is there twice");
        let part = |name: &str| blueprint.parts().iter().find(|part| part.name == name).expect("a part");
        for (number, block) in all.iter().enumerate() {
            let uses: BTreeSet<&String> = block.parts.iter().map(|name| &part(name).uses).collect();
            assert_eq!(uses.len(), 1, "{system}: {block:?} are not alike");
            let Some(above) = block.above else { continue };
            assert!(above < number && all[above].depth + 1 == block.depth, "{system}: {block:?}");
            for name in &block.parts {
                let plugged = part(name).plugs().any(|(_, port)| {
                    let into = port.split('.').next().unwrap_or_default();
                    all[above].parts.iter().any(|known| known == into)
                });
                assert!(plugged, "{system}: {name} is not plugged into {}", all[above].name);
            }
        }
        let software = |uses: &str| ["driver/", "system/", "volume/"].iter().any(|role| uses.starts_with(role));
        let hardware = blueprint.parts().iter().filter(|part| !software(&part.uses)).count();
        assert_eq!(names.len(), hardware, "{system}");
        shown += names.len();
    }
    assert!(shown > 300, "{shown} parts");
}

#[test]
fn drives_that_are_alike_are_one_block() {
    let all = blocks(blueprint("nvme-server").parts());
    let of = |name: &str| -> &Block { all.iter().find(|block| block.name == name).unwrap_or_else(|| panic!("{name}")) };
    let path = |block: &Block| -> Vec<String> {
        let mut path = vec![block.name.clone()];
        let mut above = block.above;
        while let Some(place) = above {
            path.push(all[place].name.clone());
            above = all[place].above;
        }
        path
    };
    assert_eq!(path(of("drive*")), ["drive*", "link*", "switch", "uplink", "root"]);
    assert_eq!((of("drive*").parts.len(), of("link*").parts.len(), of("gpu").depth), (8, 9, 4));
    assert_eq!(all[0].name, "cpu*");
}
