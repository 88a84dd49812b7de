use hopscope_kernel::Sim;
use hopscope_machine::{blueprint::Blueprint, job_file, library::Library, problem::Sources, run};
use hopscope_observe::Phases;
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut sources = Sources::default();
    let library = Library::new(None).unwrap();
    let text = library.open_system(&args[0]).unwrap();
    let file = sources.add(text.name, text.text);
    let bp = match Blueprint::read(&library, &mut sources, file) { Ok(b) => b, Err(p) => { println!("{}", p.render(&sources, false)); return } };
    let jobs = match job_file::read_options(&mut sources, &args[2..]) { Ok(j) => j, Err(p) => { println!("{}", p.render(&sources, false)); return } };
    let phases = Phases::default();
    let sim = Sim::new();
    let watch: Option<Box<dyn hopscope_kernel::Observer>> = if args[1] == "-" { None } else { Some(Box::new(phases.clone())) };
    let o = run::Options { until: if args[1] == "-" { Some(0.005) } else { None }, ..Default::default() };
    let t = std::time::Instant::now();
    match run::run_in(sim.clone(), &bp, &jobs.jobs, o, watch) {
        Ok(out) => {
            println!("{:.3} MB/s ({:.3} MiB/s) ±{:.2}% {:?} at {} warm-up {} {:?} wall {:?}", out.rate.bytes_per_second / 1e6, out.rate.bytes_per_second / 1048576.0, out.rate.relative_half_width * 100.0, out.stop, out.simulated, out.rate.warm_up, out.counts, t.elapsed());
            for j in out.jobs { if let Some(g) = j.got { println!("  {} {} n {} mean latency {:.1} us", j.name, j.target, g.count, g.latency_ns.mean() / 1e3); } }
        }
        Err(run::Failure::Input(p)) => println!("{}", p.render(&sources, false)),
        Err(run::Failure::Defect(d)) => println!("DEFECT {d}"),
    }
    if args[1] != "-" {
        for lane in args[1].split(',') {
            println!("== {lane}");
            for i in phases.of(&sim, lane).iter().take(400) { println!("{:>14.1} {:>10.1}  {} {}", i.at.as_ns_f64(), i.span.as_ns_f64(), i.phase.name, i.who); }
        }
    }
}
