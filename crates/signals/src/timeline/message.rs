//! Messages of Protocol Buffers, as they lie in a file: fields, each a tag and a value.
//!
//! A tag is the field's number times eight plus its wire type; a varint has seven bits a byte, the lowest first.

/// Wire types.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

/// A message that is being put together.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// What has been put together so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Begins anew, in the same memory.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u64, wire_type: u64) {
        self.varint(field << 3 | wire_type);
    }

    /// A field of type uint64, uint32, bool or enum, or a signed one that is not negative.
    pub(super) fn number(&mut self, field: u64, value: u64) {
        self.tag(field, VARINT);
        self.varint(value);
    }

    /// A field of type fixed64.
    pub(super) fn fixed(&mut self, field: u64, value: u64) {
        self.tag(field, FIXED64);
        self.0.extend(value.to_le_bytes());
    }

    /// A field of type double.
    pub(super) fn fraction(&mut self, field: u64, value: f64) {
        self.fixed(field, value.to_bits());
    }

    /// A field of type string or bytes, or a message that is complete.
    pub(super) fn text(&mut self, field: u64, bytes: &[u8]) {
        self.tag(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// A field that is a message.
    pub(super) fn message(&mut self, field: u64, fill: impl FnOnce(&mut Message)) {
        self.tag(field, BYTES);
        let start = self.0.len();
        fill(self);
        let length = self.0.len() - start;
        self.varint(length as u64);
        // The length goes before what it is of.
        let width = self.0.len() - start - length;
        self.0[start..].rotate_right(width);
    }
}
