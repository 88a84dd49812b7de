use hopscope_studies::{Wish, STUDIES};
fn main() {
    let library = hopscope_machine::library::Library::new(None).unwrap();
    let a: Vec<String> = std::env::args().collect();
    let t = std::time::Instant::now();
    let wish = Wish { library: &library, trains: !a.contains(&"nt".into()), sensitivity: a.contains(&"s".into()), progress: &|d, n, w| eprintln!("{:.3} {d}/{n} {w}", t.elapsed().as_secs_f64()) };
    if a.contains(&"fit".into()) { match (STUDIES[0].fit)(&wish) { Ok(p) => for x in p { println!("{} = {} ({})", x.name, x.value, x.from) }, Err(e) => println!("{e:?}") } return }
    match (STUDIES[0].reproduce)(&wish) { Ok(r) => println!("{}", serde_json::to_string(&r).unwrap()), Err(e) => eprintln!("{e:?}") }
    eprintln!("{:?}", t.elapsed());
}
