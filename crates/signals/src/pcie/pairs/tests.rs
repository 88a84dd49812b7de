//! Requests and what answers them, in orders that are rare.

use super::conversation::{completion, failure, read, write};
use super::*;

fn seen(frame: u64, way: Way) -> Seen {
    Seen { frame, at_ns: frame as i64 * 100, way, clocks: 0 }
}

#[test]
fn a_read_ends_with_the_last_of_its_pieces_in_whatever_order_they_come() {
    let data: Vec<u8> = (0..128).collect();
    for order in [[0, 1], [1, 0]] {
        let mut pairs = Pairs::default();
        assert!(pairs.take(seen(1, Way::Taken), &read(1, 5, 0x1000, 128)).ended.is_empty());
        let pieces = [completion(1, 5, 128, &data[..64]), completion(1, 5, 64, &data[64..])];
        let first = pairs.take(seen(2, Way::Given), &pieces[order[0]]);
        assert!(first.ended.is_empty());
        assert_eq!(first.cut, Some(Cut { address: [0x1040, 0x1080][order[0]], more: order[0] == 0 }));
        let ended = pairs.take(seen(4, Way::Given), &pieces[order[1]]).ended;
        assert_eq!(
            (ended[0].ended, ended[0].latency_ns(), ended[0].first_ns),
            (Ended::Completed, Some(300), Some(200))
        );
        assert_eq!((&ended[0].pieces[..], &ended[0].data), (&[64, 64][..], &data));
        assert!(pairs.finish().is_empty());
    }
}

#[test]
fn a_completion_answers_only_what_went_the_other_way() {
    let mut pairs = Pairs::default();
    pairs.take(seen(1, Way::Given), &read(1, 0, 0x1000, 64));
    pairs.take(seen(2, Way::Taken), &read(1, 0, 0x1000, 64));
    let ended = pairs.take(seen(3, Way::Given), &completion(1, 0, 64, &[0; 64])).ended;
    assert_eq!((ended[0].way, ended[0].frame), (Way::Taken, 2));
    pairs.take(seen(4, Way::Given), &completion(1, 0, 64, &[0; 64]));
    assert_eq!((pairs.strays.completions, pairs.finish().len()), (1, 1));
}

#[test]
fn what_is_lost_is_said() {
    let mut pairs = Pairs::default();
    pairs.take(seen(1, Way::Taken), &read(1, 0, 0, 128));
    pairs.take(seen(2, Way::Given), &completion(1, 0, 128, &[0; 64]));
    assert!(pairs.take(seen(3, Way::Taken), &read(1, 0, 0, 128)).ended.is_empty());
    assert_eq!(pairs.strays.tags_used_again, 1);
    let left: Vec<Ended> = pairs.finish().iter().map(|left| left.ended).collect();
    assert_eq!(left, [Ended::InPart, Ended::Unanswered]);
    pairs.take(seen(5, Way::Taken), &read(2, 0, 0, 128));
    let failed = pairs.take(seen(6, Way::Given), &failure(2, 0, 1)).ended;
    assert_eq!((failed[0].ended.word(), failed[0].latency_ns()), ("unsupported request", None));
}

#[test]
fn a_request_that_is_captured_before_the_last_answer_to_its_tag_takes_none_of_it() {
    let mut pairs = Pairs::default();
    let piece = [0; 64];
    let mut take = |frame, way, tlp: &Tlp| pairs.take(seen(frame, way), tlp).ended;
    take(1, Way::Taken, &read(1, 0, 0x1000, 128));
    take(9, Way::Given, &completion(1, 0, 128, &piece));
    // Its other half is late.
    take(10, Way::Taken, &read(1, 0, 0x2000, 128));
    assert_eq!(take(11, Way::Given, &completion(1, 0, 64, &piece))[0].address, 0x1000);
    // Both halves are late: nothing was ever answered in 200 ns.
    take(12, Way::Taken, &read(1, 0, 0x3000, 128));
    assert!(take(14, Way::Given, &completion(1, 0, 128, &piece)).is_empty());
    assert_eq!(take(15, Way::Given, &completion(1, 0, 64, &piece))[0].address, 0x2000);
    take(21, Way::Given, &completion(1, 0, 128, &piece));
    let last = take(22, Way::Given, &completion(1, 0, 64, &piece));
    assert_eq!((last[0].address, last[0].ended, pairs.strays.completions), (0x3000, Ended::Completed, 0));
}

/// Two requests of one tag, seen before any completion; the first ones of all were answered in 17,500 ns.
fn doubtful(lost: bool) -> Vec<(u64, Option<i64>)> {
    let mut pairs = Pairs::default();
    let piece = [0; 64];
    let mut ended = Vec::new();
    let mut take = |frame, way, tlp: &Tlp| ended.extend(pairs.take(seen(frame, way), tlp).ended);
    for begin in [0, 200] {
        take(begin, Way::Taken, &read(1, 0, begin, 64));
        take(begin + 175, Way::Given, &completion(1, 0, 64, &piece));
    }
    take(1_000, Way::Taken, &read(1, 0, 0x1000, 64));
    if lost {
        take(2_000, Way::Taken, &read(1, 0, 0x2000, 64));
        take(2_170, Way::Given, &completion(1, 0, 64, &piece));
    } else {
        // The adapter has captured the next request before the answer to the one before.
        take(1_160, Way::Taken, &read(1, 0, 0x2000, 64));
        take(1_176, Way::Given, &completion(1, 0, 64, &piece));
        take(1_340, Way::Given, &completion(1, 0, 64, &piece));
    }
    ended.drain(2..).map(|one| (one.address, one.latency_ns())).collect()
}

#[test]
fn what_either_request_of_a_tag_lacks_goes_where_the_time_is_usual() {
    assert_eq!(doubtful(false), [(0x1000, Some(17_600)), (0x2000, Some(18_000))]);
    assert_eq!(doubtful(true), [(0x2000, Some(17_000))]);
}

#[test]
fn a_write_is_posted_and_its_data_are_kept_where_they_are_short() {
    let mut pairs = Pairs::default();
    let ended = pairs.take(seen(1, Way::Given), &write(0, 0xfee0_1004, &[1, 2, 3, 4])).ended;
    assert_eq!((ended[0].ended, &ended[0].data[..]), (Ended::Posted, &[1, 2, 3, 4][..]));
    assert!(pairs.take(seen(2, Way::Given), &write(0, 0x1000, &[0; 256])).ended[0].data.is_empty());
}
