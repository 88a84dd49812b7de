//! Which numbers of a part's file a capture decides, and by what observation.

use super::agents::{Agent, Boundary};
use super::capture::Capture;
use super::nettlp::Way;
use super::nvme::Drive;
use super::tlp::Id;

/// A number for a part's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Table of the file; empty for its top.
    pub table: &'static str,
    /// Key in it.
    pub key: &'static str,
    /// Value, with its unit.
    pub value: String,
    /// The observation.
    pub measured: String,
}

impl Field {
    fn new(table: &'static str, key: &'static str, value: String, measured: String) -> Field {
        Field { table, key, value, measured }
    }

    /// A line of a part's file.
    pub fn line(&self) -> String {
        format!("{:<16} = {{ value = \"{}\", measured = \"{}\" }}", self.key, self.value, self.measured)
    }
}

/// A device, and the numbers of its part's file that a capture decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// Who it is.
    pub id: Id,
    /// Whether it is known to be an NVM Express drive.
    pub is_drive: bool,
    /// Tables together.
    pub fields: Vec<Field>,
}

/// Requests shorter than this move no data in packets as long as they may be: no payload or read request can be set to
/// less (7.5.3.4).
const DATA_BYTES_MIN: i64 = 128;

/// Whatever a capture decides. What a program sends through the adapter is no device, unless it behaves as a drive;
/// neither is what a program's own request became on its way.
pub fn decided(capture: &Capture) -> Vec<Decided> {
    let of = |(&(way, id), agent): (&(Way, Id), &Agent)| {
        let drive = capture.drives.iter().find(|drive| (drive.way, drive.id) == (way, id));
        let moves_data = [&agent.reads, &agent.writes].iter().any(|traffic| traffic.size.max >= DATA_BYTES_MIN);
        let is_device = way == Way::Taken && capture.passages.is_empty() && moves_data;
        if drive.is_none() && !is_device {
            return None;
        }
        let mut fields = drive.map(of_drive).unwrap_or_default();
        fields.extend(of_agent(id, agent, capture.agents.boundaries.get(&way.back())));
        fields.sort_by_key(|field| field.table);
        Some(Decided { id, is_drive: drive.is_some(), fields })
    };
    capture.agents.agents.iter().filter_map(of).collect()
}

/// What the packets of a requester decide of its end of the link. A value that the host sets (payload, read request) is
/// what was in force.
pub fn of_agent(id: Id, agent: &Agent, answered: Option<&Boundary>) -> Vec<Field> {
    let mut fields = Vec::new();
    let (reads, writes) = (&agent.reads, &agent.writes);
    let payload = if writes.count > 0 { writes.size.max.max(0) as u64 } else { 0 };
    let times = |count: u64, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    if payload >= DATA_BYTES_MIN as u64 && payload.is_power_of_two() {
        let measured = format!("the largest of {} of {id} in a capture; more may be set", times(writes.count, "write"));
        fields.push(Field::new("pcie", "payload_max", bytes(payload), measured));
    } else if let Some(answered) = answered.filter(|answered| answered.payload_max >= DATA_BYTES_MIN as u64) {
        // Both ends carry what the smaller of them can.
        let measured = format!(
            "the largest of {} to {id} in a capture; more may be set",
            times(answered.completions, "completion")
        );
        fields.push(Field::new("pcie", "payload_max", bytes(answered.payload_max), measured));
    }
    let request = if reads.count > 0 { reads.size.max.max(0) as u64 } else { 0 };
    if request >= DATA_BYTES_MIN as u64 && request.is_power_of_two() {
        let measured = format!("the largest of {} of {id} in a capture; more may be set", times(reads.count, "read"));
        fields.push(Field::new("pcie", "read_request_max", bytes(request), measured));
    }
    // More reads followed than ever waited at once, again and again: something held them back.
    let most = agent.in_flight_max;
    if most > 1 && reads.count >= 2 * most && agent.at_most_times > 1 {
        let measured = format!(
            "{} of {id} in a capture, {most} of them at most without their data, {} times",
            times(reads.count, "read"),
            agent.at_most_times
        );
        fields.push(Field::new("pcie", "tags", format!("{most} tags"), measured));
    }
    let (wide, count) = (reads.wide + writes.wide, reads.count + writes.count);
    if wide > 0 {
        let measured = format!("{wide} of {count} requests of {id} in a capture");
        fields.push(Field::new("pcie", "address", "64 bits".to_string(), measured));
    }
    if count > 0 {
        let relaxed = reads.relaxed + writes.relaxed;
        let word = if relaxed * 2 > count { "relaxed" } else { "strict" };
        let measured = format!("{relaxed} of {count} requests of {id} in a capture have the attribute");
        fields.push(Field::new("pcie", "ordering", word.to_string(), measured));
    }
    fields
}

/// What a drive's commands decide besides.
pub fn of_drive(drive: &Drive) -> Vec<Field> {
    let mut fields = Vec::new();
    let blocks: Vec<u64> = drive.commands.iter().filter_map(|command| command.block_bytes()).collect();
    if let Some(&block) = blocks.first().filter(|first| blocks.iter().all(|block| block == *first)) {
        let measured = format!("data of {} reads and writes, by the blocks that they ask for", blocks.len());
        fields.push(Field::new("", "block", bytes(block), measured));
    }
    if let Some((&most, _)) = drive.fetches.iter().next_back() {
        let fetches: u64 = drive.fetches.values().sum();
        let what = if most == 1 { "1 command".to_string() } else { format!("{most} commands") };
        let measured = format!("the longest of {fetches} fetches of {} commands", drive.commands.len());
        fields.push(Field::new("fetch", "commands", what, measured));
    }
    let interrupts: u64 = drive.interrupts.values().sum();
    if interrupts > 0 && interrupts == drive.completions {
        let measured = format!("{interrupts} interrupts after {} completion entries", drive.completions);
        fields.push(Field::new("interrupt", "threshold", "1 entry".to_string(), measured));
    }
    fields
}

/// As part files write them.
fn bytes(count: u64) -> String {
    if count >= 1024 && count.is_multiple_of(1024) { format!("{} KiB", count / 1024) } else { format!("{count} B") }
}
