//! A run that goes on for as long as its owner asks: so many transfers, a look at them, and so many more.

use std::num::NonZeroU64;

use hopscope_files::job_file::Job;
use hopscope_kernel::{Ended, Memories, Observer, Sim, Time};
use hopscope_parts::workload::Running;

use crate::alike_levels::AlikeLevels;
use crate::blueprint::{Blueprint, Machine};
use crate::run::{Failure, defect};
use crate::started::Started;

/// Jobs on a machine, at any point of their run. They have no time of their own: their owner has it.
pub struct Going {
    machine: Machine,
    running: Vec<Running>,
}

/// What the parts of a run remember at some point of it, and how many requests each of its jobs has asked for.
#[derive(Clone, Debug)]
pub struct Remembered {
    memories: Memories,
    issued: Vec<u64>,
}

impl Remembered {
    /// Requests of all jobs until then.
    pub fn requests(&self) -> u64 {
        self.issued.iter().sum()
    }
}

impl Going {
    /// Builds the machine, and has the jobs ready to begin. What ends is told to `watcher`.
    pub fn new(blueprint: &Blueprint, jobs: &[Job], seed: u64, watcher: Box<dyn Observer>) -> Result<Going, Failure> {
        Going::started(blueprint, jobs, seed, watcher, &[])
    }

    /// The same from where another run of these jobs was: the next requests, of parts that remember what those of the other
    /// one did. Nothing where a part cannot.
    pub fn behind(
        blueprint: &Blueprint,
        jobs: &[Job],
        seed: u64,
        watcher: Box<dyn Observer>,
        remembered: &Remembered,
    ) -> Result<Option<Going>, Failure> {
        let going = Going::started(blueprint, jobs, seed, watcher, &remembered.issued)?;
        let can = going.machine.sim.recall(&remembered.memories);
        Ok(can.then_some(going))
    }

    fn started(
        blueprint: &Blueprint,
        jobs: &[Job],
        seed: u64,
        watcher: Box<dyn Observer>,
        behind: &[u64],
    ) -> Result<Going, Failure> {
        let Started { machine, running, .. } = Started::of(Sim::new(), blueprint, jobs, seed, true, behind)?;
        machine.sim.observe(watcher);
        Ok(Going { machine, running })
    }

    /// What its parts remember, and how far its jobs are; nothing where no part remembers anything.
    pub fn remembered(&self) -> Option<Remembered> {
        let memories = self.machine.sim.memories();
        let issued = self.running.iter().map(Running::issued).collect();
        (!memories.is_empty()).then_some(Remembered { memories, issued })
    }

    /// Runs until so many more transfers have ended, or until then, or until the jobs are done; whether they are.
    pub fn on(&self, transfers: NonZeroU64, until: Time) -> Result<bool, Failure> {
        let sim = &self.machine.sim;
        sim.stop_after(transfers);
        let all_ended = || self.running.iter().all(|running| running.ended().is_some());
        match sim.run(until) {
            Ended::Finished => Ok(true),
            Ended::Stopped | Ended::Limit => Ok(all_ended()),
            // The parts wait for the next request, which never comes.
            Ended::Deadlock(_) if all_ended() => Ok(true),
            Ended::Deadlock(lines) => Err(defect("everybody waits for somebody", sim, &lines)),
            Ended::Livelock(lines) => Err(defect("time stands still", sim, &lines)),
        }
    }

    /// What its hops hold, whenever somebody asks for the amounts from now on. It has gone on before.
    pub fn levels(&self) -> AlikeLevels {
        AlikeLevels::of(&self.machine.sim)
    }

    /// Simulated time so far.
    pub fn now(&self) -> Time {
        self.machine.sim.now()
    }

    /// What that cost, in events; what carriers tell costs about as much as one.
    pub fn events(&self) -> u64 {
        let counts = self.machine.sim.counts();
        counts.events + counts.told
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        self.machine.sim.tear_down();
    }
}
