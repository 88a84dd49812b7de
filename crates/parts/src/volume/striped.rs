//! A striped volume: software that makes one device of several, chunk by chunk in turn.
//!
//! ```text
//!   request ─▶ cut at chunks, on the processor ─▶ pieces, issued together ─▶ member 0: chunks 0, n, 2n, …
//!                                                                           member 1: chunks 1, n+1, …
//!           ◀─ ended with the last of its pieces                            …
//! ```
//!
//! Its members keep their names: a job may still name them. As much of each is used as the smallest has.
//!
//! Not modelled: mirrors, parity, volumes of parts of a device, pieces that touch on a member and go as one.

use std::rc::Rc;

use hopscope_declare::Spec;
use hopscope_kernel::{Label, Queue, Sim, Time};

use crate::cpu::{Layer, Processor};
use crate::protocols::storage::{Completion, Operation, Request, Storage};

static NO_REQUEST: Label = Label::workload("no request");
static MEMBERS_AT_WORK: Label = Label::reason("members of the volume at work");

const CHUNK_MIN: u64 = 4_096;
const CHUNK_MAX: u64 = 1 << 24;
const MEMBERS_MAX: usize = 64;
const REQUESTS_MAX: u64 = 1_024;
/// Pieces of a request that are issued together.
const PIECES_MAX: usize = 256;

/// What a volume is like.
#[derive(Clone, Debug, PartialEq, Spec)]
pub struct Spec {
    /// Names of the devices, in their order: "disk0, disk1".
    #[text("members", parse = members)]
    pub members: Vec<String>,
    /// Bytes of a chunk.
    #[bytes("chunk", CHUNK_MIN..=CHUNK_MAX, power_of_two)]
    chunk: u64,
    /// Requests under way, at most.
    #[count("requests", 1..=REQUESTS_MAX)]
    requests: u64,
    /// Processor time of each piece.
    #[time("piece")]
    piece: Time,
}

fn members(written: &str) -> Result<Vec<String>, String> {
    let members: Vec<String> = written.split([' ', ',']).filter(|name| !name.is_empty()).map(Into::into).collect();
    let differ = members.iter().enumerate().all(|(at, name)| !members[..at].contains(name));
    if (2..=MEMBERS_MAX).contains(&members.len()) && differ {
        return Ok(members);
    }
    Err(format!("2 to {MEMBERS_MAX} devices, each once: \"disk0, disk1\""))
}

/// A part of a request: which member, and first byte and bytes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    member: usize,
    offset_bytes: u64,
    bytes: u32,
}

/// The pieces of a range, in its order.
fn pieces(chunk: u64, members: usize, offset_bytes: u64, bytes: u32) -> impl Iterator<Item = Piece> {
    let (mut at, end) = (offset_bytes, offset_bytes + u64::from(bytes));
    std::iter::from_fn(move || {
        let (number, within) = (at / chunk, at % chunk);
        let part = (chunk - within).min(end.checked_sub(at).filter(|left| *left > 0)?);
        at += part;
        let member = (number % members as u64) as usize;
        Some(Piece { member, offset_bytes: number / members as u64 * chunk + within, bytes: part as u32 })
    })
}

/// The volume.
pub struct Striped {
    sim: Sim,
    spec: Spec,
    processor: Rc<Processor>,
    members: Vec<Rc<dyn Storage>>,
    requests: Queue<Request>,
}

impl Striped {
    /// A volume of these devices, with processes that carry its requests. An error is what is wrong and what would be
    /// right.
    pub fn install(
        sim: &Sim,
        name: &str,
        spec: Spec,
        processor: &Rc<Processor>,
        members: Vec<Rc<dyn Storage>>,
    ) -> Result<Rc<Striped>, (String, String)> {
        let volume = Rc::new(Striped {
            sim: sim.clone(),
            processor: processor.clone(),
            members,
            requests: Queue::new(sim, usize::MAX),
            spec,
        });
        if volume.size_bytes() == 0 {
            return Err(("a member is smaller than a chunk".into(), "take larger devices or smaller chunks".into()));
        }
        for request in 0..volume.spec.requests {
            let (running, done) = (volume.clone(), Queue::new(sim, PIECES_MAX));
            sim.process(&format!("{name}.request{request:04}"), async move { running.run(&done).await });
        }
        Ok(volume)
    }

    async fn run(&self, done: &Queue<Completion>) {
        loop {
            let request = self.requests.take(&NO_REQUEST).await;
            let Request { operation, offset_bytes, bytes, issued, errand, .. } = request;
            self.sim.take_up(errand);
            let count = self.spec.members.len();
            let mut left = pieces(self.spec.chunk, count, offset_bytes, bytes);
            loop {
                let together: Vec<Piece> = left.by_ref().take(PIECES_MAX).collect();
                if together.is_empty() {
                    break;
                }
                let work = self.processor.dispatch().await;
                work.compute(Layer::FileSystem, self.spec.piece * together.len() as u64).await;
                drop(work);
                for Piece { member, offset_bytes, bytes } in &together {
                    let storage = &self.members[*member];
                    let (offset_bytes, bytes, done) = (*offset_bytes, *bytes, done.clone());
                    let errand = self.sim.pass_on(errand);
                    storage.submit(Request { operation, offset_bytes, bytes, issued, errand, done });
                }
                for _ in &together {
                    done.take(&MEMBERS_AT_WORK).await;
                }
            }
            request.end(&self.sim);
        }
    }
}

impl Storage for Striped {
    fn submit(&self, request: Request) {
        self.requests.put_now(request);
    }

    fn size_bytes(&self) -> u64 {
        let members = &self.members;
        let smallest = members.iter().map(|member| member.size_bytes()).min().unwrap_or(0);
        smallest / self.spec.chunk * self.spec.chunk * members.len() as u64
    }

    fn block_bytes(&self) -> u32 {
        self.members.iter().map(|member| member.block_bytes()).max().unwrap_or(1)
    }

    fn processor(&self) -> Option<Rc<Processor>> {
        Some(self.processor.clone())
    }

    fn above(&self, operation: Operation, bytes: u32) -> (Layer, Time) {
        let members = self.members.iter().map(|member| member.above(operation, bytes));
        members.max_by_key(|above| above.1).unwrap_or((Layer::FileSystem, Time::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_cut_at_chunks_and_every_byte_has_one_place() {
        let cut: Vec<Piece> = pieces(65_536, 3, 65_536 * 4 - 4_096, 65_536 + 8_192).collect();
        let expected = [(0, 65_536 * 2 - 4_096, 4_096), (1, 65_536, 65_536), (2, 65_536, 4_096)];
        assert_eq!(cut, expected.map(|(member, offset_bytes, bytes)| Piece { member, offset_bytes, bytes }));
        for members in 2..6 {
            let mut taken = std::collections::BTreeSet::new();
            for sector in 0..1_000u64 {
                let piece = pieces(4_096, members, sector * 512, 512).next().expect("one piece");
                assert!(taken.insert((piece.member, piece.offset_bytes)), "{members} members, sector {sector}");
            }
        }
    }

    #[test]
    fn pieces_of_a_request_are_as_long_as_the_request() {
        for (offset, bytes) in [(0, 512), (4_095 * 512, 1 << 20), (7 * 512, 99 * 512), (65_536, 65_536)] {
            let cut: Vec<Piece> = pieces(65_536, 4, offset, bytes).collect();
            assert_eq!(cut.iter().map(|piece| piece.bytes).sum::<u32>(), bytes);
            assert!(cut.iter().all(|piece| piece.offset_bytes % 65_536 + u64::from(piece.bytes) <= 65_536));
        }
    }
}
