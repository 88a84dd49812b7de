//! Packets, written and read again.

use super::*;
use proptest::prelude::*;

#[track_caller]
fn goes_both_ways<'a>(bytes: &'a [u8]) -> Tlp<'a> {
    let tlp = Tlp::decode(bytes).unwrap();
    assert_eq!(tlp.encode().unwrap(), bytes, "{tlp:?}");
    tlp
}

#[test]
fn a_read_of_three_double_words_is_as_figure_2_17_has_it() {
    // MRd, TC 1, relaxed, 128 double words, 19:00.0, tag 7, all bytes, 0xa0000e00.
    let bytes = [0, 0x10, 0x20, 0x80, 0x19, 0, 7, 0xff, 0xa0, 0, 0x0e, 0];
    let tlp = goes_both_ways(&bytes);
    assert_eq!((tlp.body.kind(), tlp.length, tlp.traffic_class), (Kind::MRd, 128, 1));
    assert!(tlp.attributes.relaxed_ordering && !tlp.attributes.no_snoop && !tlp.attributes.id_based_ordering);
    let Body::Memory { requester, address, enables, wide, .. } = tlp.body else { panic!("{tlp:?}") };
    assert_eq!(
        (requester.id.to_string(), requester.tag, address, wide),
        ("19:00.0".to_string(), 7, 0xa000_0e00, false)
    );
    assert_eq!(enables.bytes(tlp.length), 512);
}

#[test]
fn a_read_of_four_double_words_has_its_address_high_word_first_and_a_length_of_0_is_1024() {
    let bytes = [0x20, 0x88, 0, 0, 0x01, 0x09, 0xff, 0xff, 0, 0, 0, 2, 0x80, 0, 0x10, 0];
    let tlp = goes_both_ways(&bytes);
    let Body::Memory { requester, address, wide, .. } = tlp.body else { panic!("{tlp:?}") };
    assert_eq!((tlp.length, address, wide), (1024, 0x2_8000_1000, true));
    // T9 and T8 are beside the traffic class.
    assert_eq!((requester.tag, requester.id.to_string()), (0x3ff, "01:01.1".to_string()));
}

#[test]
fn a_write_has_its_data_and_its_digest_and_what_follows_is_left_alone() {
    let bytes = [0x40, 0, 0xc0, 1, 0, 0, 0, 0x0f, 0xfe, 0xe0, 0x10, 4, 0x21, 0x40, 0, 0, 1, 2, 3, 4];
    let tlp = goes_both_ways(&bytes);
    assert_eq!((tlp.body.kind(), tlp.payload, tlp.digest), (Kind::MWr, &bytes[12..16], Some(Some(0x0102_0304))));
    assert!(tlp.poisoned);
    let longer: Vec<u8> = bytes.iter().copied().chain([9; 30]).collect();
    assert_eq!(Tlp::decode(&longer).unwrap(), tlp);
    let cut = Tlp::decode(&bytes[..14]).unwrap();
    assert_eq!((cut.payload, cut.missing_bytes(), cut.digest), (&bytes[12..14], 2, Some(None)));
    assert!(cut.encode().is_err());
}

#[test]
fn a_completion_says_who_answers_whom_and_how_much_is_left() {
    let mut bytes = vec![0x4a, 0, 0x20, 0x40, 0x1b, 0, 0x02, 0, 0x19, 0, 5, 0x40];
    bytes.extend([7; 256]);
    let tlp = goes_both_ways(&bytes);
    let Body::Completion { completer, status, byte_count, requester, lower_address, .. } = tlp.body else {
        panic!("{tlp:?}")
    };
    assert_eq!((completer, status, byte_count, lower_address), (Id(0x1b00), 0, 512, 0x40));
    assert_eq!((requester.id, requester.tag, tlp.payload.len()), (Id(0x1900), 5, 256));
    // Unsupported request, without data; its length is reserved.
    let tlp = goes_both_ways(&[0x0a, 0, 0, 0, 0, 0, 0x20, 4, 1, 0, 3, 0]);
    let Body::Completion { status, .. } = tlp.body else { panic!("{tlp:?}") };
    assert_eq!((tlp.body.kind(), status, tlp.length), (Kind::Cpl, 1, 0));
}

#[test]
fn configuration_io_messages_and_atomics_have_their_places() {
    let tlp = goes_both_ways(&[0x05, 0, 0, 1, 0, 0, 9, 0x0f, 0x03, 0x08, 0x01, 0x10]);
    assert!(matches!(
        tlp.body,
        Body::Configuration { type1: true, write: false, target: Id(0x308), register: 0x110, .. }
    ));
    let tlp = goes_both_ways(&[0x42, 0, 0, 1, 0, 0, 9, 0x01, 0, 0, 0x03, 0xf8, 0x41, 0, 0, 0]);
    assert!(matches!(tlp.body, Body::Io { write: true, address: 0x3f8, .. }));
    // Assert_INTA, local.
    let tlp = goes_both_ways(&[0x34, 0, 0, 0, 1, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert!(matches!(tlp.body, Body::Message { routing: 4, code: 0x20, with_data: false, .. }));
    let tlp = goes_both_ways(&[0x4c, 0, 0, 1, 1, 0, 0, 0x0f, 0, 0, 0x10, 0, 1, 0, 0, 0]);
    assert_eq!(tlp.body.kind(), Kind::FetchAdd);
    let tlp = goes_both_ways(&[0x4e, 0, 0, 2, 1, 0, 0, 0xff, 0, 0, 0x10, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(tlp.body.kind(), Kind::Cas);
}

#[test]
fn what_no_packet_has_is_said_with_its_byte() {
    let what = |bytes: &[u8]| Tlp::decode(bytes).unwrap_err().to_string();
    assert_eq!(what(&[]), "byte 0 of the packet: the header is cut");
    assert_eq!(what(&[0x20; 12]), "byte 12 of the packet: the header is cut");
    assert_eq!(what(&[0x80; 16]), "byte 16 of the packet: the header is cut");
    assert_eq!(what(&[0x80; 64]), "byte 32 of the packet: more than 8 prefixes");
    assert_eq!(what(&[0xa0; 16]), "byte 0 of the packet: no packet has Fmt 101 and Type 00000");
    let behind_one = [[0x91, 0, 0, 7], [0x1f; 4], [0; 4], [0; 4]].concat();
    assert_eq!(what(&behind_one), "byte 4 of the packet: no packet has Fmt 000 and Type 11111");
    assert_eq!(what(&[0x1f; 16]), "byte 0 of the packet: no packet has Fmt 000 and Type 11111");
}

#[test]
fn byte_counts_are_those_of_table_2_38() {
    let bytes = |first, last, length| Enables { first, last }.bytes(length);
    assert_eq!(
        [bytes(0, 0, 1), bytes(1, 0, 1), bytes(0b1001, 0, 1), bytes(0b0110, 0, 1), bytes(8, 0, 1)],
        [1, 1, 4, 2, 1]
    );
    assert_eq!([bytes(0xf, 0xf, 1024), bytes(8, 1, 2), bytes(0b1100, 0xf, 16)], [4096, 2, 62]);
}

fn requester() -> impl Strategy<Value = Requester> {
    (any::<u16>(), 0u16..1024).prop_map(|(id, tag)| Requester { id: Id(id), tag })
}

fn enables() -> impl Strategy<Value = Enables> {
    (0u8..16, 0u8..16).prop_map(|(first, last)| Enables { first, last })
}

fn body() -> impl Strategy<Value = Body> {
    let access = prop::sample::select(vec![
        Access::Read,
        Access::ReadLocked,
        Access::Write,
        Access::FetchAdd,
        Access::Swap,
        Access::CompareSwap,
    ]);
    let memory = (access, requester(), enables(), any::<u64>(), 0u8..4, any::<bool>());
    let completion = (any::<[bool; 3]>(), any::<u16>(), 0u8..8, 1u16..=4096, requester(), 0u8..128);
    prop_oneof![
        memory.prop_map(|(access, requester, enables, address, hint, wide)| {
            let address = if wide { address & !3 } else { address & 0xffff_fffc };
            Body::Memory { access, requester, enables, address, hint, wide }
        }),
        (any::<bool>(), requester(), enables(), any::<u32>()).prop_map(|(write, requester, enables, address)| {
            Body::Io { write, requester, enables, address: address & !3 }
        }),
        (any::<[bool; 2]>(), requester(), enables(), any::<u16>(), 0u16..1024).prop_map(
            |(bits, requester, enables, id, r)| {
                let [write, type1] = bits;
                Body::Configuration { write, type1, requester, enables, target: Id(id), register: r * 4 }
            }
        ),
        (any::<bool>(), 0u8..8, requester(), any::<u8>(), any::<[u8; 8]>()).prop_map(
            |(with_data, routing, requester, code, rest)| Body::Message { with_data, routing, requester, code, rest }
        ),
        completion.prop_map(|(bits, completer, status, byte_count, requester, lower_address)| {
            let ([with_data, locked, modified], completer) = (bits, Id(completer));
            Body::Completion { with_data, locked, completer, status, modified, byte_count, requester, lower_address }
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        body in body(),
        [ordering, relaxed, snoop, ln, hints, poisoned] in any::<[bool; 6]>(),
        (traffic_class, address_type, length) in (0u8..8, 0u8..4, 1u16..=1024),
        digest in any::<Option<u32>>(),
        prefixes in prop::collection::vec((0x80u8..0xa0, any::<[u8; 3]>()), 0..=8),
        data in prop::collection::vec(any::<u8>(), 4096),
    ) {
        let attributes = Attributes { id_based_ordering: ordering, relaxed_ordering: relaxed, no_snoop: snoop };
        let length = if body.has_length() { length } else { 0 };
        let payload = &data[..if body.has_data() { usize::from(length) * 4 } else { 0 }];
        let prefixes: Vec<u8> = prefixes.into_iter().flat_map(|(first, rest)| [&[first], &rest[..]].concat()).collect();
        let tlp = Tlp {
            prefixes: &prefixes, traffic_class, attributes, lightweight_notification: ln, hints, poisoned, address_type, length, body, payload,
            digest: digest.map(Some),
        };
        let bytes = tlp.encode().unwrap();
        prop_assert_eq!(bytes.len(), tlp.whole_bytes());
        prop_assert_eq!(Tlp::decode(&bytes).unwrap(), tlp);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(tlp) = Tlp::decode(&bytes) {
            prop_assert!(tlp.payload.len() + tlp.missing_bytes() == tlp.payload_bytes());
            let _ = tlp.encode();
        }
    }
}
