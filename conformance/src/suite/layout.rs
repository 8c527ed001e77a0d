//! Where the values of a message are: a value that is wrong, one in another place, and one whose bytes are the other way round
//! are three different faults.

use std::ops::Range;

use super::peer::Peer;
use super::trace::hex;

/// Bytes that are the other way round.
const BYTE_ORDER: &str = "2.2-04";

/// A field of a message: the statement that says where it is, its name, and its bytes.
#[derive(Clone, Debug)]
pub(super) struct Field(&'static str, &'static str, Range<usize>);

impl Field {
    /// With the statements that say what it holds, and its value.
    pub(super) const fn holds(self, duties: &str, value: u32) -> Place<'_> {
        Place { field: self, duties, value }
    }
}

/// A field, the statements that say what it holds, and its value.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    field: Field,
    duties: &'a str,
    value: u32,
}

/// Fields of a Negotiate Request (2.2.1).
pub(super) mod of_request {
    use super::Field;

    pub(in crate::suite) const MIN_VERSION: Field = Field("2.2.1-02", "MinVersion", 0..2);
    pub(in crate::suite) const MAX_VERSION: Field = Field("2.2.1-04", "MaxVersion", 2..4);
    pub(in crate::suite) const RESERVED: Field = Field("2.2.1-08", "Reserved", 4..6);
    pub(in crate::suite) const CREDITS_REQUESTED: Field = Field("2.2.1-11", "CreditsRequested", 6..8);
    pub(in crate::suite) const PREFERRED_SEND_SIZE: Field = Field("2.2.1-12", "PreferredSendSize", 8..12);
    pub(in crate::suite) const MAX_RECEIVE_SIZE: Field = Field("2.2.1-13", "MaxReceiveSize", 12..16);
    pub(in crate::suite) const MAX_FRAGMENTED_SIZE: Field = Field("2.2.1-14", "MaxFragmentedSize", 16..20);
}

/// Fields of a Negotiate Response (2.2.2).
pub(super) mod of_response {
    use super::Field;

    pub(in crate::suite) const MIN_VERSION: Field = Field("2.2.2-02", "MinVersion", 0..2);
    pub(in crate::suite) const MAX_VERSION: Field = Field("2.2.2-04", "MaxVersion", 2..4);
    pub(in crate::suite) const NEGOTIATED_VERSION: Field = Field("2.2.2-08", "NegotiatedVersion", 4..6);
    pub(in crate::suite) const RESERVED: Field = Field("2.2.2-10", "Reserved", 6..8);
    pub(in crate::suite) const CREDITS_REQUESTED: Field = Field("2.2.2-13", "CreditsRequested", 8..10);
    pub(in crate::suite) const CREDITS_GRANTED: Field = Field("2.2.2-14", "CreditsGranted", 10..12);
    pub(in crate::suite) const STATUS: Field = Field("2.2.2-15", "Status", 12..16);
    pub(in crate::suite) const MAX_READ_WRITE_SIZE: Field = Field("2.2.2-17", "MaxReadWriteSize", 16..20);
    pub(in crate::suite) const PREFERRED_SEND_SIZE: Field = Field("2.2.2-18", "PreferredSendSize", 20..24);
    pub(in crate::suite) const MAX_RECEIVE_SIZE: Field = Field("2.2.2-20", "MaxReceiveSize", 24..28);
    pub(in crate::suite) const MAX_FRAGMENTED_SIZE: Field = Field("2.2.2-21", "MaxFragmentedSize", 28..32);
}

/// Fields of a Data Transfer message (2.2.3).
pub(super) mod of_data {
    use super::Field;

    pub(in crate::suite) const CREDITS_REQUESTED: Field = Field("2.2.3-02", "CreditsRequested", 0..2);
    pub(in crate::suite) const FLAGS: Field = Field("2.2.3-04", "Flags", 4..6);
    pub(in crate::suite) const RESERVED: Field = Field("2.2.3-08", "Reserved", 6..8);
    pub(in crate::suite) const REMAINING_DATA_LENGTH: Field = Field("2.2.3-11", "RemainingDataLength", 8..12);
    pub(in crate::suite) const DATA_OFFSET: Field = Field("2.2.3-13", "DataOffset", 12..16);
    pub(in crate::suite) const DATA_LENGTH: Field = Field("2.2.3-16", "DataLength", 16..20);
}

impl Place<'_> {
    fn bytes_in<'b>(&self, message: &'b [u8]) -> Option<&'b [u8]> {
        message.get(self.field.2.clone())
    }

    fn found(&self, bytes: &[u8]) -> Option<u32> {
        let field = self.bytes_in(bytes)?;
        Some(field.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
    }

    /// Whether its bytes are those of its value, and the other way round.
    fn is_reversed(&self, bytes: &[u8]) -> bool {
        let wanted = self.value.to_le_bytes();
        let mut wanted = wanted[..self.field.2.len().min(4)].to_vec();
        wanted.reverse();
        self.bytes_in(bytes) == Some(&wanted[..])
    }

    /// Whether it holds what belongs to another place, where that is not.
    fn is_elsewhere(&self, bytes: &[u8], all: &[Self]) -> bool {
        let found = self.found(bytes);
        all.iter().any(|other| {
            let value = other.value;
            value != 0 && value != self.value && found == Some(value) && other.found(bytes) != Some(value)
        })
    }
}

impl Peer<'_> {
    /// Each field of a message holds its value. Returns whether all do.
    pub(super) fn layout(&mut self, bytes: &[u8], all: &[Place<'_>]) -> bool {
        let mut right = true;
        for place in all {
            let Place { field: Field(layout, name, _), duties, value: wanted } = place;
            if place.found(bytes) == Some(*wanted) {
                self.check(&format!("{layout} {duties} +{BYTE_ORDER}"), true, String::new);
                continue;
            }
            right = false;
            let (broken, what) = if place.is_reversed(bytes) {
                (BYTE_ORDER, ", the least significant byte first")
            } else if place.is_elsewhere(bytes, all) {
                (*layout, ", and holds what belongs elsewhere")
            } else {
                (*duties, "")
            };
            // A value for which nothing is said here is judged where something is.
            if !broken.is_empty() {
                let came = hex(place.bytes_in(bytes).unwrap_or_default());
                self.check(broken, false, || {
                    format!("{name} should be 0x{wanted:x}, its bytes are {came}{what}")
                });
            }
        }
        right
    }
}
