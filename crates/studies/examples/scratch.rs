use hopscope_studies::{Wish, STUDIES};
fn main() {
    let library = hopscope_machine::library::Library::new(None).unwrap();
    let t = std::time::Instant::now();
    let wish = Wish { library: &library, trains: true, sensitivity: false, progress: &|d, n, w| eprintln!("{:.3} {d}/{n} {w}", t.elapsed().as_secs_f64()) };
    (STUDIES[0].reproduce)(&wish).ok().unwrap();
    eprintln!("{:?}", t.elapsed());
}
