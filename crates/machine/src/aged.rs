//! A machine after more writes than are worth simulating: what jobs write is noted where it is kept, without time.
//!
//! Drives do whose flash notes it (`hopscope_parts::protocols::storage::Keeps`). What a cache holds, what is in flight and
//! what is in write buffers is as at the beginning: it fills within milliseconds.

use std::collections::BTreeMap;
use std::rc::Rc;

use hopscope_files::job_file::Job;
use hopscope_files::problem::Problem;
use hopscope_kernel::{Sim, Time};
use hopscope_parts::protocols::storage::{Keeps, Left, Operation};
use hopscope_parts::workload::{Requests, Spec};

use crate::asked;
use crate::blueprint::{Blueprint, Machine};
use crate::run::{Failure, Outcome};
use crate::started::process_name;

/// How far it has come is told after so many requests.
const TOLD_EVERY: u64 = 1 << 20;

/// What was written to a machine before it begins.
pub(crate) struct Aged {
    /// What lies where on the drives, by the names that jobs have for them.
    drives: BTreeMap<String, Left>,
    /// Requests that each job had asked for.
    pub(crate) asked: Vec<u64>,
}

impl Aged {
    /// Has a machine begin so; what is wrong where it cannot.
    pub(crate) fn begin(&self, machine: &Machine) -> Option<Problem> {
        let cannot = |(name, left): &(&String, &Left)| {
            !machine.volumes.get(*name).and_then(|volume| volume.keeps()).is_some_and(|drive| drive.begin_as(left))
        };
        let (name, _) = self.drives.iter().find(cannot)?;
        let title = format!("the blocks of `{name}` are not those to which was written before");
        Some(Problem::nowhere(title).help("what changes the blocks of a drive is tried from the beginning of a run"))
    }
}

/// How a stretch of a run ends in which writes are carried out all along as they were at first.
pub(crate) struct Stretch {
    /// How long it is.
    pub(crate) lasts: Time,
    /// What is used up at its end, and of which drive; nothing where it goes on to the end.
    pub(crate) used_up: Option<(String, &'static str)>,
    /// The machine as it is then.
    pub(crate) aged: Blueprint,
}

/// Notes what jobs write that go on as they did in `outcome`, for so long at most, or until a drive would no longer carry it
/// out in the same way; how far that has come is told. Nothing where it cannot be said without a run: a part that does not
/// note it keeps what is written, or a job pauses, or is done before.
pub(crate) fn age(
    blueprint: &Blueprint,
    jobs: &[Job],
    seed: u64,
    outcome: &Outcome,
    (most, tell): (Time, &dyn Fn(Time)),
) -> Result<Option<Stretch>, Failure> {
    let machine = blueprint.instantiate(Sim::new(), seed).map_err(Failure::Input)?;
    let Some(mut writers) = Writer::all(&machine, blueprint, jobs, seed, outcome) else { return Ok(None) };
    let drives: BTreeMap<String, Rc<dyn Keeps>> =
        writers.iter().filter_map(|writer| Some((writer.target.clone(), writer.writes_to.clone()?))).collect();
    let notes = drives.iter().map(|(name, drive)| Some((name.as_str(), drive.note()?)));
    let Some(mut notes) = notes.collect::<Option<BTreeMap<_, _>>>() else { return Ok(None) };
    let all: u64 = writers.iter().map(|writer| writer.share).sum();
    if all == 0 {
        return Ok(None);
    }
    let each = outcome.measured.as_ps() as f64 / all as f64;
    let requests = (most.as_ps() as f64 / each) as u64;
    let (mut done, mut used_up) = (0, None);
    while done < requests && used_up.is_none() {
        let next = Writer::next(&mut writers, all);
        let Some((operation, offset, bytes)) = next.requests.next() else { return Ok(None) };
        next.asked += 1;
        done += 1;
        if done % TOLD_EVERY == 0 {
            tell(Time::ps((done as f64 * each) as u64));
        }
        if operation == Operation::Write
            && let Some(drive) = notes.get_mut(next.target.as_str())
        {
            used_up = drive.write(offset, bytes).map(|what| (next.target.clone(), what));
        }
    }
    let lasts = if used_up.is_some() { Time::ps((done as f64 * each) as u64) } else { most };
    let asked = writers.iter().enumerate().map(|(job, writer)| blueprint.asked_before(job) + writer.asked).collect();
    let drives = notes.iter().map(|(name, drive)| (name.to_string(), drive.left())).collect();
    let aged = blueprint.after(Aged { drives, asked });
    Ok(Some(Stretch { lasts, used_up, aged }))
}

/// A job, as far as it writes.
struct Writer {
    target: String,
    /// Where what it writes is kept; nothing where it only reads.
    writes_to: Option<Rc<dyn Keeps>>,
    requests: Requests,
    /// Of all requests so many were its own.
    share: u64,
    /// It has asked for so many.
    asked: u64,
    /// How much it is behind the others.
    owed: i128,
}

impl Writer {
    /// All jobs; nothing where one does something else than ask for one request after the other, or where what one writes
    /// is kept by something that does not note it.
    fn all(
        machine: &Machine,
        blueprint: &Blueprint,
        jobs: &[Job],
        seed: u64,
        outcome: &Outcome,
    ) -> Option<Vec<Writer>> {
        let writer = |(index, job): (usize, &Job)| {
            let pauses = job.think.time > Time::ZERO || job.start_delay > Time::ZERO;
            if pauses || job.buffered.is_some() || job.stage > 0 {
                return None;
            }
            let of_job = &outcome.jobs[index];
            let volume = machine.volumes.get(&of_job.target)?;
            let writes = job.rw.sides()[1];
            let writes_to = if writes { Some(volume.keeps()?) } else { None };
            let spec = asked::of(job, &**volume, seed).ok()?;
            let spec = Spec { after: blueprint.asked_before(index), ..spec };
            let requests = Requests::of(&spec, &process_name(index, job));
            let share = of_job.got.as_ref().map_or(0, |got| got.count);
            Some(Writer { target: of_job.target.clone(), writes_to, requests, share, asked: 0, owed: 0 })
        };
        jobs.iter().enumerate().map(writer).collect()
    }

    /// Whose turn it is, where each has its share of `all`.
    fn next(writers: &mut [Writer], all: u64) -> &mut Writer {
        let mut most = 0;
        for index in 0..writers.len() {
            writers[index].owed += i128::from(writers[index].share);
            if writers[index].owed > writers[most].owed {
                most = index;
            }
        }
        writers[most].owed -= i128::from(all);
        &mut writers[most]
    }
}
