//! Where the values of a message are: a value that is wrong, one in another place, and one whose bytes are the other way round
//! are three different faults.

use std::ops::Range;

use super::peer::Peer;
use super::trace::hex;

/// Bytes that are the other way round.
const BYTE_ORDER: &str = "2.2-04";

/// A field: the statement that says where it is, those that say what it holds, its name, its bytes, and its value.
#[derive(Clone, Debug)]
pub(super) struct Place<'a>(
    pub(super) &'static str,
    pub(super) &'a str,
    pub(super) &'static str,
    pub(super) Range<usize>,
    pub(super) u32,
);

impl Place<'_> {
    fn found(&self, bytes: &[u8]) -> Option<u32> {
        let field = bytes.get(self.3.clone())?;
        Some(field.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
    }

    /// Whether its bytes are those of its value, and the other way round.
    fn is_reversed(&self, bytes: &[u8]) -> bool {
        let wanted = self.4.to_le_bytes();
        let mut wanted = wanted[..self.3.len().min(4)].to_vec();
        wanted.reverse();
        bytes.get(self.3.clone()) == Some(&wanted[..])
    }

    /// Whether it holds what belongs to another place, where that is not.
    fn is_elsewhere(&self, bytes: &[u8], all: &[Self]) -> bool {
        let found = self.found(bytes);
        all.iter().any(|other| {
            other.4 != 0 && other.4 != self.4 && found == Some(other.4) && other.found(bytes) != Some(other.4)
        })
    }
}

impl Peer<'_> {
    /// Each field of a message holds its value. Returns whether all do.
    pub(super) fn layout(&mut self, bytes: &[u8], all: &[Place<'_>]) -> bool {
        let mut right = true;
        for place in all {
            let Place(layout, duties, name, range, wanted) = place;
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
                let came = hex(bytes.get(range.clone()).unwrap_or_default());
                self.check(broken, false, || {
                    format!("{name} should be 0x{wanted:x}, its bytes are {came}{what}")
                });
            }
        }
        right
    }
}
