//! What decides how an input is run: a line before it, `run with thinktime=2s seed=3`, or where there is none, a digest
//! of it. So a plain valid file is an input, and every change of it is run otherwise.

use hopscope_files::job_file::Job;

/// Before what an input is run with, in its first line: options of a job in fio's words, `seed`, `draw` and `trains`.
pub const RUN_WITH: &str = "run with ";

/// What a digest chooses from. A pause of seconds leaves the machine idle for the rest of the run.
const CHOICES: [&[&str]; 4] = [
    &["", "", "", "thinktime=1", "thinktime=50", "thinktime=400", "thinktime=2s", "thinktime=50 thinktime_blocks=3"],
    &["", "", "ramp_time=10us", "ramp_time=700us", "ramp_time=5ms", "ramp_time=1h"],
    &["", "", "runtime=1us", "runtime=100us", "runtime=1ms", "runtime=1d"],
    &["", "", "", "iodepth=1", "iodepth=3", "iodepth=32", "iodepth=300"],
];
const SEEDS: [u64; 4] = [1, 0, 7, u64::MAX];

/// What an input is run with.
pub struct Drawn {
    /// Decides every draw of a run.
    pub seed: u64,
    /// Whether bursts are booked as trains.
    pub trains: bool,
    /// Decides what else there is to choose.
    pub draw: u64,
    options: Vec<(String, String)>,
}

impl Drawn {
    /// Takes the line off an input, if it has one.
    pub fn of(data: &[u8]) -> (Drawn, &[u8]) {
        let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
        let line = std::str::from_utf8(&data[..end]).ok().and_then(|line| line.strip_prefix(RUN_WITH));
        let digest = digest(data);
        match line {
            Some(words) => {
                let mut drawn = Drawn { seed: 1, trains: true, draw: digest, options: options(words) };
                drawn.take_its_own();
                (drawn, &data[(end + 1).min(data.len())..])
            }
            None => {
                let mut drawn = Drawn { seed: 1, trains: digest >> 60 != 0, draw: digest, options: Vec::new() };
                for (at, choices) in CHOICES.into_iter().enumerate() {
                    let words: &str = drawn.choose::<&str>(at as u32, choices);
                    drawn.options.extend(options(words));
                }
                drawn.seed = *drawn.choose(4, &SEEDS);
                (drawn, data)
            }
        }
    }

    /// One of several; draws of different numbers do not depend on each other.
    pub fn choose<'a, T>(&self, number: u32, from: &'a [T]) -> &'a T {
        &from[(self.drawn(number) % from.len() as u64) as usize]
    }

    /// Whether this is one of so many inputs for which hops and numbers are tried.
    pub fn is_tried(&self) -> bool {
        const TRIED: u64 = 64;
        self.drawn(9).is_multiple_of(TRIED)
    }

    fn drawn(&self, number: u32) -> u64 {
        let mixed = self.draw ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32
    }

    /// The job with these options, as far as it takes them.
    pub fn with_options(&self, job: &Job) -> Job {
        let mut job = job.clone();
        for (option, value) in &self.options {
            let place = job.place;
            if let Err(problem) = job.set(option, value, place) {
                assert!(!problem.title.is_empty() && problem.place == Some(place), "{problem:?}");
            }
        }
        job
    }

    fn take_its_own(&mut self) {
        let own = ["seed", "draw", "trains"];
        let (mine, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.options).into_iter().partition(|(key, _)| own.contains(&key.as_str()));
        self.options = others;
        for (key, value) in mine {
            let Ok(value) = value.parse() else { continue };
            match key.as_str() {
                "seed" => self.seed = value,
                "draw" => self.draw = value,
                _ => self.trains = value != 0,
            }
        }
    }
}

fn options(words: &str) -> Vec<(String, String)> {
    let option = |word: &str| word.split_once('=').map(|(key, value)| (key.to_string(), value.to_string()));
    words.split_whitespace().filter_map(option).collect()
}

/// FNV-1a: the same on every machine and in every release.
fn digest(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
