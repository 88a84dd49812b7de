//! What packets of a capture add up to, for programs: JSON and CSV.

use serde_json::{Map, Value, json};

use super::agents::{Row, RowKey, Spread, Traffic};
use super::capture::{Capture, Packets};
use super::fields;
use super::nvme::{Command, Drive, PHASES};
use super::pairs::Transaction;

/// One object.
pub fn json(found: &Capture) -> Value {
    let mut all = in_short(found);
    all["transactions"] = found.transactions.iter().map(transaction).collect();
    all
}

/// All but the transactions one by one.
pub fn in_short(found: &Capture) -> Value {
    let table: Vec<Value> = found.agents.rows.iter().map(|(key, row)| row_json(key, row)).collect();
    let agents = found.agents.agents.iter().map(|((way, id), agent)| {
        json!({
            "requester": id.to_string(), "way": way.word(),
            "reads": traffic(&agent.reads), "writes": traffic(&agent.writes),
            "in_flight_max": agent.in_flight_max, "in_flight_max_times": agent.at_most_times, "tags": agent.tags.len(),
        })
    });
    let completions = found.agents.boundaries.iter().map(|(way, boundary)| {
        json!({
            "way": way.word(), "completions": boundary.completions, "payload_bytes_max": boundary.payload_max,
            "cuts": boundary.cuts, "cut_multiple_bytes": (boundary.cuts > 0).then_some(boundary.multiple),
        })
    });
    let passages = found.passages.iter().flat_map(|((kind, bytes), became)| {
        became.iter().map(move |(sizes, count)| {
            json!({ "command": kind.word(), "bytes": bytes, "became_bytes": sizes, "count": count })
        })
    });
    let decided = fields::decided(found).into_iter().map(|device| {
        let fields = device.fields.iter().map(
            |field| json!({ "table": field.table, "key": field.key, "value": field.value, "measured": field.measured }),
        );
        json!({ "device": device.id.to_string(), "fields": fields.collect::<Vec<_>>() })
    });
    json!({
        "packets": packets(found, &found.packets),
        "transactions_not_listed": found.not_listed,
        "table": table,
        "requesters": agents.collect::<Vec<_>>(),
        "completions": completions.collect::<Vec<_>>(),
        "passages": passages.collect::<Vec<_>>(),
        "nvme": { "drives": found.drives.iter().map(drive).collect::<Vec<_>>() },
        "decided": decided.collect::<Vec<_>>(),
    })
}

fn packets(found: &Capture, packets: &Packets) -> Value {
    let kinds = packets.kinds.iter().map(
        |((way, kind, bytes), count)| json!({ "way": way.word(), "kind": kind.word(), "bytes": bytes, "count": count }),
    );
    let quoted = packets.quoted.iter().map(|(frame, why)| json!({ "frame": frame, "why": why }));
    json!({
        "frames": packets.frames, "packets": packets.packets, "span_ns": packets.span_ns,
        "kinds": kinds.collect::<Vec<_>>(), "others": packets.others,
        "unreadable": packets.unreadable, "unreadable_first": quoted.collect::<Vec<_>>(),
        "data_cut": packets.cut, "poisoned": packets.poisoned, "digests": packets.digests,
        "prefixed": packets.prefixed,
        "missing": packets.missing, "late": packets.late,
        "completions_without_request": found.strays.completions, "tags_used_again": found.strays.tags_used_again,
        "stopped": found.stopped.as_ref().map(|why| why.to_string()),
    })
}

fn transaction(one: &Transaction) -> Value {
    json!({
        "frame": one.frame, "start_ns": one.start_ns, "way": one.way.word(),
        "initiator": one.requester.id.to_string(), "tag": one.requester.tag, "command": one.kind.word(),
        "address": format!("{:#x}", one.address), "bytes": one.bytes, "completions_bytes": one.pieces,
        "first_ns": one.first_ns, "end_ns": one.end_ns, "ended_by": one.ended.word(), "clocks": one.clocks,
    })
}

fn spread(spread: &Spread) -> Value {
    let mean = spread.mean();
    json!({ "min": mean.map(|_| spread.min), "mean": mean, "max": mean.map(|_| spread.max) })
}

fn row_json(key: &RowKey, row: &Row) -> Value {
    let ended: Map<String, Value> = row.ended.iter().map(|(how, count)| (how.word().into(), json!(count))).collect();
    let splits = row.splits.iter().map(|(sizes, count)| json!({ "bytes": sizes, "count": count }));
    json!({
        "way": key.way.word(), "initiator": key.requester.to_string(), "command": key.kind.word(), "bytes": key.bytes,
        "count": row.count, "ended": ended, "completions": splits.collect::<Vec<_>>(),
        "first_completion_ns": spread(&row.first_ns), "latency_ns": spread(&row.latency_ns),
        "latency_median_ns": row.latencies.at_ns(0.5), "latency_p99_ns": row.latencies.at_ns(0.99),
    })
}

fn traffic(traffic: &Traffic) -> Value {
    let extents =
        traffic.extents.iter().map(|(start, end)| json!({ "address": format!("{start:#x}"), "bytes": end - start }));
    json!({
        "count": traffic.count, "bytes": traffic.bytes, "size_bytes": spread(&traffic.size),
        "relaxed": traffic.relaxed, "address_64_bits": traffic.wide, "extents": extents.collect::<Vec<_>>(),
    })
}

fn drive(drive: &Drive) -> Value {
    let range = |range: Option<[u64; 2]>| {
        range.map(|[first, behind]| json!({ "address": format!("{first:#x}"), "bytes": behind - first }))
    };
    let queues = drive.queues.iter().map(|(number, queue)| {
        json!({
            "queue": number, "commands": queue.commands, "submission": range(queue.submission),
            "completion": range(queue.completion), "phases": queue.phases,
        })
    });
    let doorbells = drive.doorbells.iter().map(|(address, (is_tail, queue, count))| {
        json!({
            "address": format!("{address:#x}"), "register": if *is_tail { "submission tail" } else { "completion head" },
            "queue": queue, "count": count,
        })
    });
    let sizes = |sizes: Vec<(u64, u64)>| -> Value {
        sizes.into_iter().map(|(size, count)| json!({ "size": size, "count": count })).collect()
    };
    let of_bytes = |counted: &std::collections::BTreeMap<u32, u64>| {
        sizes(counted.iter().map(|(&bytes, &count)| (bytes.into(), count)).collect())
    };
    let interrupts =
        drive.interrupts.iter().map(|(address, count)| json!({ "address": format!("{address:#x}"), "count": count }));
    json!({
        "drive": drive.id.to_string(), "way": drive.way.word(), "queues": queues.collect::<Vec<_>>(),
        "registers": drive.registers.map(|base| format!("{base:#x}")), "doorbells": doorbells.collect::<Vec<_>>(),
        "fetches_commands": sizes(drive.fetches.iter().map(|(&commands, &count)| (commands as u64, count)).collect()),
        "lists_bytes": of_bytes(&drive.lists), "data_reads_bytes": of_bytes(&drive.data_reads),
        "data_writes_bytes": of_bytes(&drive.data_writes), "completion_entries": drive.completions,
        "interrupts": interrupts.collect::<Vec<_>>(), "unexplained": drive.unexplained,
        "commands": drive.commands.iter().map(command).collect::<Vec<_>>(),
    })
}

fn command(command: &Command) -> Value {
    let phases: Map<String, Value> = PHASES
        .iter()
        .zip(command.phases())
        .map(|(name, ns)| (format!("{}_ns", name.replace(' ', "_")), json!(ns)))
        .collect();
    json!({
        "queue": command.queue, "id": command.entry.id, "command": command.word(), "opcode": command.entry.opcode,
        "namespace": command.entry.namespace, "block": command.blocks().map(|(block, _)| block),
        "blocks": command.blocks().map(|(_, blocks)| blocks), "block_bytes": command.block_bytes(),
        "pages": command.entry.pages.map(|page| format!("{page:#x}")), "doorbell_ns": command.doorbell_ns,
        "fetch_ns": command.fetch_ns, "list_ns": command.list_ns, "data_ns": command.data_ns,
        "data_bytes": command.data_bytes, "data_requests": command.data_requests, "entry_ns": command.entry_ns,
        "status": command.status, "interrupt_ns": command.interrupt_ns, "phases": phases,
    })
}

/// The transactions, a line each.
pub fn csv(found: &Capture) -> String {
    let number = |value: Option<i64>| value.map_or(String::new(), |value| value.to_string());
    let mut out =
        "frame,start_ns,way,initiator,tag,command,address,bytes,completions,first_ns,end_ns,ended_by,clocks\n"
            .to_string();
    for one in &found.transactions {
        let (initiator, command, address) = (one.requester.id, one.kind.word(), one.address);
        out += &format!("{},{},{},{initiator},", one.frame, one.start_ns, one.way.word());
        out += &format!("{},{command},{address:#x},{},{},", one.requester.tag, one.bytes, one.pieces.len());
        out += &format!("{},{},{},{}\n", number(one.first_ns), number(one.end_ns), one.ended.word(), one.clocks);
    }
    out
}
