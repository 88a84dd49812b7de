//! Processes on call: of many that wait for work, most machines need few.
//!
//! Such a process has its name, its turns and its place in a queue like any other. What it will do with the first thing
//! that comes to it, with all the room that this takes, is made when that has come.

use std::future::Future;
use std::rc::Rc;

use crate::sim::Sim;

impl Sim {
    /// A new process that begins when `first` has come, and goes on with `then`.
    pub fn process_on_call<T: 'static, F: Future<Output = ()> + 'static>(
        &self,
        name: &str,
        first: impl Future<Output = T> + 'static,
        then: impl FnOnce(T) -> F + 'static,
    ) {
        let shared = Rc::downgrade(&self.shared);
        self.process(name, async move {
            let then = then(first.await);
            if let Some(shared) = shared.upgrade() {
                shared.goes_on_as.replace(Some(Box::pin(then)));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use crate::queue::Queue;
    use crate::record::Label;
    use crate::sim::Sim;
    use crate::time::Time;

    static NOTHING: Label = Label::reason("nothing to do");

    /// Who did what, and when.
    fn done(on_call: bool) -> Vec<(u16, u32, Time)> {
        let (sim, done): (_, Rc<RefCell<Vec<_>>>) = (Sim::new(), Rc::default());
        let queue: Queue<u32> = Queue::new(&sim, 8);
        for number in 0..3 {
            let (s, q, d) = (sim.clone(), queue.clone(), done.clone());
            let work = move |first: u32| async move {
                let mut what = first;
                loop {
                    s.wait(Time::ns(u64::from(what))).await;
                    d.borrow_mut().push((s.process_at_work(), what, s.now()));
                    what = q.take(&NOTHING).await;
                }
            };
            let (name, q) = (format!("worker{number}"), queue.clone());
            let first = async move { q.take(&NOTHING).await };
            if on_call {
                sim.process_on_call(&name, first, work);
            } else {
                sim.process(&name, async move { work(first.await).await });
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
