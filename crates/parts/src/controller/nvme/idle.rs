//! Processes that wait for something to do: the one that has waited for the shortest time is given it.

use std::cell::RefCell;

use hopscope_kernel::{Label, Queue, Sim};

/// Work for several processes, which are all alike.
pub(super) struct Workers<T> {
    idle: RefCell<Vec<usize>>,
    /// A place for each process that is idle.
    given: Vec<Queue<T>>,
    /// What nobody was idle for.
    backlog: Queue<T>,
}

impl<T: 'static> Workers<T> {
    /// So many processes; as much work can wait for them.
    pub(super) fn new(sim: &Sim, count: usize, backlog: usize) -> Workers<T> {
        Workers {
            idle: RefCell::new(Vec::with_capacity(count)),
            given: (0..count).map(|_| Queue::new(sim, 1)).collect(),
            backlog: Queue::new(sim, backlog),
        }
    }

    /// Gives work to an idle process; waits for `reason` while none is and too much waits for one.
    pub(super) async fn give(&self, work: T, reason: &'static Label) {
        let idle = self.idle.borrow_mut().pop();
        match idle {
            Some(number) => {
                // It is empty: who is idle has taken what was there.
                self.given[number].put_now(work);
            }
            None => self.backlog.put(work, reason).await,
        }
    }

    /// The next work for a process, which waits for `reason` while there is none.
    pub(super) async fn next(&self, number: usize, reason: &'static Label) -> T {
        match self.backlog.try_take() {
            Some(work) => work,
            None => self.idle(number).take(reason).await,
        }
    }

    /// A process has nothing to do, and there is no work: where it is given some.
    pub(super) fn idle(&self, number: usize) -> &Queue<T> {
        self.idle.borrow_mut().push(number);
        &self.given[number]
    }
}
