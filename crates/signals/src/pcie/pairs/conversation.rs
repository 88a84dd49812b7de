//! Packets of a conversation, for tests: requests, and completions of them.

use crate::pcie::tlp::{Access, Body, Enables, Id, Requester, Tlp};

fn who(id: u16, tag: u16) -> Requester {
    Requester { id: Id(id), tag }
}

/// A memory read of whole double words.
pub fn read(id: u16, tag: u16, address: u64, bytes: usize) -> Tlp<'static> {
    memory(Access::Read, who(id, tag), address, bytes, &[])
}

/// A memory write of whole double words.
pub fn write(id: u16, address: u64, data: &[u8]) -> Tlp<'_> {
    memory(Access::Write, who(id, 0), address, data.len(), data)
}

fn memory(access: Access, requester: Requester, address: u64, bytes: usize, payload: &[u8]) -> Tlp<'_> {
    let enables = Enables { first: 15, last: if bytes == 4 { 0 } else { 15 } };
    let wide = address >> 32 != 0;
    Tlp::plain(Body::Memory { access, requester, enables, address, hint: 0, wide }, (bytes / 4) as u16, payload)
}

/// A completion of which so many bytes are left with these.
pub fn completion(id: u16, tag: u16, left: u16, data: &[u8]) -> Tlp<'_> {
    let body = Body::Completion {
        with_data: true,
        locked: false,
        completer: Id(0x1b00),
        status: 0,
        modified: false,
        byte_count: left,
        requester: who(id, tag),
        lower_address: 0,
    };
    Tlp::plain(body, (data.len() / 4) as u16, data)
}

/// A completion without data.
pub fn failure(id: u16, tag: u16, status: u8) -> Tlp<'static> {
    let mut tlp = completion(id, tag, 4, &[]);
    if let Body::Completion { with_data, status: at, .. } = &mut tlp.body {
        (*with_data, *at) = (false, status);
    }
    tlp
}
