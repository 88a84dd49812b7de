//! Disk write on both channels: a group of the one, then a group of the other.
//!
//! ```text
//!   port   ▐ switch, fetch, words of a group ──▌▐ switch, fetch, words of the other's ─▌▐ switch …
//!   PCI             ▐──▌  ▐──▌                            ▐──▌  ▐──▌
//! ```
//!
//! Where both have many whole groups left, they take turns ahead of time. A group begins to count at an edge of the clock, and
//! so does the next one, as it has a whole number of clocks.

use std::pin::pin;

use hopscope_kernel::{Burst, During, Grant, Taken, Time, Turn};

use super::to_drive::{Fetch, Group, Undisturbed};
use super::{CHANNEL_SWITCH, Channel, HALVES, IdeBridge};
use crate::bus::ide_cable::IdeCable;

impl IdeBridge {
    /// Sends a group, or as many of `whole` ones as turns are taken for; returns how many bytes that is.
    pub(super) async fn send_in_turn(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        (address, bytes): (u32, u32),
        whole: u32,
        course: &Undisturbed,
    ) -> u32 {
        let in_phase = self.waits_alike(course) == Some(Time::ZERO);
        let count = if in_phase && self.go_the_same_way() { whole } else { 0 };
        let booked = self.booked(course, self.switch_each_burst(), self.before_group(), Time::ZERO);
        let cars = booked.cars(self, course);
        match self.sim.turns(count.into(), During::OwnTurn, &cars).await {
            Turn::Granted(port) => {
                pin!(self.send_group(channel, cable, (address, bytes), course, port)).await;
                bytes
            }
            Turn::Taken(taken) => {
                bytes * pin!(self.go_on_sending(channel, cable, (address, bytes), course, taken)).await
            }
        }
    }

    /// From the beginning of a turn until a group counts: the buffer turns to the channel, and the first request will meet an
    /// edge of the clock.
    fn before_group(&self) -> Time {
        self.switch_each_burst().edge(self.pci.clocks(1))
    }

    /// Goes on behind groups that were sent in turns; returns how many have been.
    async fn go_on_sending(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        (address, bytes): (u32, u32),
        course: &Undisturbed,
        Taken { first, pitch, journey }: Taken<'_>,
    ) -> u32 {
        let [Some(served), Some(firsts), Some(seconds)] = journey.cars else { unreachable!("three cars went in") };
        let sent = served.done as u32;
        let begin = first + pitch * served.done;
        cable.words_in_groups(course.runs(first + self.before_group()), pitch, served.done);
        if sent > 0 {
            self.buffer.was_given_to(channel, begin - pitch);
        }
        let group = (address + sent * bytes, bytes);
        match served.next {
            Burst::Ahead => return sent,
            Burst::Requested(request) => {
                let port = request.await;
                pin!(self.send_group(channel, cable, group, course, port)).await;
            }
            Burst::UnderWay(serving) => {
                let (Some(port), _) = serving.take_over() else { return sent };
                let fetches = (Fetch::of(firsts, sent), Fetch::of(seconds, sent));
                pin!(self.finish_turn(channel, cable, group, course, (port, begin), fetches)).await;
            }
        }
        sent + 1
    }

    /// Goes on with a group whose turn has begun.
    async fn finish_turn<'a>(
        &self,
        channel: &Channel,
        cable: &IdeCable,
        group: (u32, u32),
        course: &Undisturbed,
        (port, begin): (Grant<'a>, Time),
        (first, second): (Fetch<'a>, Fetch<'a>),
    ) {
        self.buffer.was_given_to(channel, begin);
        for _ in 0..HALVES {
            let half = self.buffer.halves.try_take();
            debug_assert!(half, "the other channel holds no half while this one has its turn");
        }
        let asked = begin + self.switch_each_burst();
        if asked > self.sim.now() {
            self.sim.wait_until(asked).await;
            port.was_in(&CHANNEL_SWITCH, begin);
            return pin!(self.serve_group(channel, cable, group, course, port)).await;
        }
        let under_way = Group { port, asked, base: begin + self.before_group(), first, second };
        pin!(self.finish_group(channel, cable, group, course, under_way)).await;
    }
}
