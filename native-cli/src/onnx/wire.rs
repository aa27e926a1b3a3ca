//! Messages of protocol buffers, as far as models have them.
//!
//! A message is a list of fields. Each is a key, which is its number and its type, and its value: an integer as a
//! varint (type 0), bytes with their length before them (type 2), or a float (type 5).
//! <https://protobuf.dev/programming-guides/encoding>

/// A message under construction. Fields are written in the order in which they are added, so equal messages are equal
/// bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wire {
    bytes: Vec<u8>,
}

impl Wire {
    /// An empty message.
    pub(crate) fn new() -> Wire {
        Wire::default()
    }

    /// Adds an integer.
    pub(crate) fn int(mut self, field: u32, value: i64) -> Wire {
        self.key(field, 0);
        // A negative number is its two's complement of 64 bits.
        self.varint(value.cast_unsigned());
        self
    }

    /// Adds bytes.
    pub(crate) fn bytes(mut self, field: u32, value: &[u8]) -> Wire {
        self.key(field, 2);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    /// Adds a text.
    pub(crate) fn text(self, field: u32, value: &str) -> Wire {
        self.bytes(field, value.as_bytes())
    }

    /// Adds a message.
    pub(crate) fn message(self, field: u32, value: &Wire) -> Wire {
        self.bytes(field, &value.bytes)
    }

    /// Adds each of several messages as a field of this number.
    pub(crate) fn messages(self, field: u32, values: impl IntoIterator<Item = Wire>) -> Wire {
        values.into_iter().fold(self, |wire, value| wire.message(field, &value))
    }

    /// Adds each of several integers as a field of this number.
    pub(crate) fn ints(self, field: u32, values: impl IntoIterator<Item = i64>) -> Wire {
        values.into_iter().fold(self, |wire, value| wire.int(field, value))
    }

    /// The bytes of the message.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    fn key(&mut self, field: u32, kind: u32) {
        self.varint(u64::from(field << 3 | kind));
    }

    /// Seven bits a byte, the lowest first; all bytes but the last have the highest bit.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_encoding_s_page() {
        // The examples of the page: `a = 150`, `b = "testing"`, and a message with the first as its field 3.
        assert_eq!(Wire::new().int(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        assert_eq!(Wire::new().text(2, "testing").into_bytes(), [0x12, 7, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        assert_eq!(Wire::new().message(3, &Wire::new().int(1, 150)).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        // -2 of `int64`, and a field number that takes two bytes.
        let minus_two = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Wire::new().int(1, -2).into_bytes(), [&[0x08][..], &minus_two].concat());
        assert_eq!(Wire::new().ints(20, [0, 1]).into_bytes(), [0xa0, 0x01, 0, 0xa0, 0x01, 1]);
    }
}
