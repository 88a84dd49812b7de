//! Processes, and those on call: of many that wait for work, most machines need few.
//!
//! A process on call has its name, its turns and its place in a queue like any other. What it will do with the first thing
//! that comes to it, with all the room that this takes, is made when that has come.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use crate::queue::{Queue, Ticket};
use crate::record::Label;
use crate::sim::Sim;

/// What a process does at its turns.
type Work = Pin<Box<dyn Future<Output = ()>>>;

/// A process.
pub(crate) enum Process {
    /// It has returned, or others do its work.
    Over,
    /// The first thing has not come.
    OnCall(Rc<dyn OnCall>),
    AtWork(Work),
}

impl Process {
    pub(crate) fn is_running(&self) -> bool {
        !matches!(self, Process::Over)
    }

    /// Its turn.
    #[inline]
    pub(crate) fn turn(&mut self, task: u32, context: &mut Context<'_>) {
        if let Process::OnCall(all) = self {
            let Some(work) = all.begin(task) else { return };
            *self = Process::AtWork(work);
        }
        if let Process::AtWork(work) = self
            && work.as_mut().poll(context).is_ready()
        {
            *self = Process::Over;
        }
    }
}

/// Processes on call of one kind.
pub(crate) trait OnCall {
    /// The turn of one that waits: what it goes on as, if the first thing has come.
    fn begin(&self, task: u32) -> Option<Work>;
}

struct Alike<P, T, Q, W> {
    part: Rc<P>,
    first_task: u32,
    reason: &'static Label,
    queue: Q,
    work: W,
    /// Where each waits, from its first turn on.
    waiting: RefCell<Vec<Option<Waiting<T>>>>,
}

struct Waiting<T> {
    queue: Queue<T>,
    ticket: Ticket,
}

impl<P, T, Q, W, F> OnCall for Alike<P, T, Q, W>
where
    T: 'static,
    Q: Fn(&P, usize) -> Queue<T>,
    W: Fn(Rc<P>, usize, T) -> F,
    F: Future<Output = ()> + 'static,
{
    fn begin(&self, task: u32) -> Option<Work> {
        let number = (task - self.first_task) as usize;
        let waiting = &mut self.waiting.borrow_mut()[number];
        let begin = || Waiting { queue: (self.queue)(&self.part, number), ticket: Ticket::default() };
        let Waiting { queue, ticket } = waiting.get_or_insert_with(begin);
        let Poll::Ready(first) = queue.poll_take(ticket, self.reason) else { return None };
        *waiting = None;
        Some(Box::pin((self.work)(self.part.clone(), number, first)))
    }
}

impl Sim {
    /// `count` new processes of a part, which are named as `names` says and wait for `reason`: each for the first thing in
    /// the queue that `queue` gives it at its first turn. It goes on with `work`.
    pub fn processes_on_call<P: 'static, T: 'static, F: Future<Output = ()> + 'static>(
        &self,
        part: &Rc<P>,
        names: Numbered<'_>,
        count: usize,
        reason: &'static Label,
        queue: impl Fn(&P, usize) -> Queue<T> + 'static,
        work: impl Fn(Rc<P>, usize, T) -> F + 'static,
    ) {
        let (mut all, mut new) = (self.shared.names.borrow_mut(), self.shared.new_processes.borrow_mut());
        let first_task = all.len() as u32;
        let waiting = RefCell::new((0..count).map(|_| None).collect());
        let alike: Rc<dyn OnCall> = Rc::new(Alike { part: part.clone(), first_task, reason, queue, work, waiting });
        for number in 0..count {
            all.push(format_args!("{}{number:0digits$}", names.name, digits = names.digits));
            new.push(Process::OnCall(alike.clone()));
        }
    }
}

/// Names that end with a number.
#[derive(Clone, Copy, Debug)]
pub struct Numbered<'a> {
    /// What comes before.
    pub name: &'a str,
    /// Digits of the number, at least: zeros before it.
    pub digits: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    static NOTHING: Label = Label::reason("nothing to do");

    /// Who did what, and when.
    fn done(on_call: bool) -> Vec<(u16, u32, Time)> {
        let (sim, done): (_, Rc<RefCell<Vec<_>>>) = (Sim::new(), Rc::default());
        let queue: Queue<u32> = Queue::new(&sim, 8);
        type Part = (Sim, Queue<u32>, Rc<RefCell<Vec<(u16, u32, Time)>>>);
        let part: Rc<Part> = Rc::new((sim.clone(), queue.clone(), done.clone()));
        let work = |part: Rc<Part>, _, first: u32| async move {
            let (s, q, d) = &*part;
            let mut what = first;
            loop {
                s.wait(Time::ns(u64::from(what))).await;
                d.borrow_mut().push((s.process_at_work(), what, s.now()));
                what = q.take(&NOTHING).await;
            }
        };
        if on_call {
            let names = Numbered { name: "worker", digits: 2 };
            sim.processes_on_call(&part, names, 3, &NOTHING, |part, _| part.1.clone(), work);
        } else {
            for number in 0..3 {
                let own = part.clone();
                let run = async move {
                    let first = own.1.take(&NOTHING).await;
                    work(own, number, first).await;
                };
                sim.process(&format!("worker0{number}"), run);
            }
        }
        let s = sim.clone();
        sim.process("asks", async move {
            for what in [5, 9, 2, 7, 1, 1, 30, 3] {
                queue.put_now(what);
                s.wait(Time::ns(3)).await;
            }
        });
        sim.run(Time::us(1));
        sim.tear_down();
        done.take()
    }

    #[test]
    fn they_do_what_processes_do_that_are_there_from_the_beginning() {
        assert_eq!(done(true), done(false));
        assert_eq!(done(true).len(), 8);
    }
}
