//! What machines cost, and what a dollar gets.

use hopscope_files::library::Library;
use hopscope_files::part_file;
use hopscope_files::problem::Sources;
use hopscope_machine::blueprint::Blueprint;

use crate::ata_raid::machine;

#[test]
fn a_machine_costs_what_its_parts_and_its_computer_cost() {
    for (system, parts) in
        [("win2000-lct08", 209 + 255), ("win2000-3ware-jbod", 4 * 209 + 255), ("win2000-atlas-10k", 4 * 534 + 235)]
    {
        let price = machine(system, &[], "--rw=read").0.price().expect("a price is known");
        assert_eq!((price.parts_cents, price.computer_cents), (parts * 100, Some(375_000)), "{system}");
        assert!(price.without.contains(&"cpu".to_string()) && !price.without.contains(&"disk0".to_string()));
        assert!(!price.without.contains(&"driver".to_string()), "software is no hardware without a price");
        let [whole, of_parts] = price.per_dollar(19e6, 66.0).map(|per| per.expect("it costs something"));
        assert!((whole.mb_per_s * (parts as f64 + 3_750.0) - 19.0).abs() < 1e-9, "{system}");
        assert!((of_parts.iops * parts as f64 - 66.0).abs() < 1e-9, "{system}");
        let json = price.json(19e6, 66.0);
        assert_eq!(json["total"], parts as f64 + 3_750.0);
    }
}

#[test]
fn a_machine_without_prices_has_none() {
    assert_eq!(machine("piix4e-one-disk", &[], "--rw=read").0.price(), None);
}

#[test]
fn a_drive_of_a_second_controller_without_a_price_is_priced_without_it() {
    let price = machine("win2000-escalade-6400", &[], "--rw=read").0.price().expect("its drives have prices");
    assert_eq!(price.parts_cents, 4 * 20_900);
    assert!(price.without.contains(&"raid".to_string()));
}

#[test]
fn a_price_that_cannot_be_one_is_an_error() {
    let library = Library::new(None).expect("the shipped files can be read");
    let text = library.part("disk/quantum-fireball-lct08").expect("a shipped part").text.to_string();
    let line = text.lines().find(|line| line.starts_with("price")).expect("it has a price").to_string();
    for (price, expected) in [
        ("price = \"209 USD\"", "source beside it"),
        ("price = { value = \"209 USD\" }", "without a basis"),
        ("price = { value = \"209 ms\", source = \"-\" }", "expected dollars"),
        ("price = { source = \"-\" }", "`value` is missing"),
        ("price = { value = \"209 USD\", source = \"-\", per = \"-\" }", "unknown key `per`"),
    ] {
        let mut sources = Sources::default();
        let file = sources.add("disk.toml".to_string(), text.replace(&line, price));
        let said = part_file::read(&sources, file).expect_err(price).render(&sources, false);
        assert!(said.contains(expected), "{price}: {said}");
    }
    let system = library.open_system("win2000-lct08").expect("a shipped system").text.to_string();
    let mut sources = Sources::default();
    let file = sources.add("system.toml".to_string(), system.replace("3_750 USD", "3_750 EUR"));
    assert!(Blueprint::read(&library, &mut sources, file).is_err());
}
