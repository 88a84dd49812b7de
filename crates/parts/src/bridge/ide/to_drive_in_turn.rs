//! Disk write on both channels: a group of the one, then a group of the other.
//!
//! ```text
//!   port   ▐ switch, fetch, words of a group ──▌▐ switch, fetch, words of the other's ─▌▐ switch …
//!   PCI             ▐──▌  ▐──▌                            ▐──▌  ▐──▌
//! ```
//!
//! Where both have many whole groups left, they take turns ahead of time. A channel's turn waits for the edge of the clock that
//! comes behind a group of the other one's, each of its turns as long.

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
        let (switch, other) = (self.switch_each_burst(), &self.channels[1 - channel.number]);
        let between = self.between_groups(other.group_end.get(), switch);
        channel.group_end.set(course.end);
        channel.between_groups.set(between);
        // The other one's turn begins now, behind a group of this one.
        let behind_ours = self.between_groups(course.end, switch);
        let alike = other.between_groups.get() == behind_ours && self.groups_are_alike(course, behind_ours);
        let count = if alike && self.go_the_same_way() { whole } else { 0 };
        let booked = self.booked(course, switch, between);
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
        cable.words_in_groups(course.runs(first + channel.between_groups.get()), pitch, served.done);
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
        let under_way = Group { port, asked, base: begin + channel.between_groups.get(), first, second };
        pin!(self.finish_group(channel, cable, group, course, under_way)).await;
    }
}
