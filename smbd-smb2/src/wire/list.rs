//! Lists of values of one size, without anything between them.

use alloc::vec::Vec;
use core::fmt;

use super::error::WireError;
use super::field::{Field, Value};
use super::writer::{Part, Writer};

/// A list of a message: as it came, or to be sent. Equal if the values are.
#[derive(Clone, Copy)]
pub struct List<'a, T>(Source<'a, T>);

#[derive(Clone, Copy)]
enum Source<'a, T> {
    Wire(&'a [u8]),
    Own(&'a [T]),
}

impl<'a, T: Value> List<'a, T> {
    /// No value.
    pub const EMPTY: Self = Self(Source::Own(&[]));

    /// The list in `bytes`, whose length `field` has.
    pub(super) fn from_wire<L: Value>(bytes: &'a [u8], field: &'static Field<L>) -> Result<Self, WireError> {
        if bytes.len().is_multiple_of(T::SIZE) {
            Ok(Self(Source::Wire(bytes)))
        } else {
            let (value, size) = (bytes.len() as u64, T::SIZE as u64);
            Err(WireError::Ragged { field: field.place(), value, size })
        }
    }

    /// Number of values.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.0 {
            // No value has a size of 0.
            Source::Wire(bytes) => match bytes.len().checked_div(T::SIZE) {
                Some(count) => count,
                None => 0,
            },
            Source::Own(values) => values.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value at `index`, from 0; `None` beyond the end.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<T> {
        match self.0 {
            Source::Wire(bytes) => bytes.get(index.checked_mul(T::SIZE)?..).and_then(T::read),
            Source::Own(values) => values.get(index).copied(),
        }
    }

    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = T> + Clone + 'a {
        let (wire, own) = match self.0 {
            Source::Wire(bytes) => (bytes, &[][..]),
            Source::Own(values) => (&[][..], values),
        };
        wire.chunks_exact(T::SIZE).filter_map(T::read).chain(own.iter().copied())
    }
}

impl<T: Value> Default for List<'_, T> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<'a, T> From<&'a [T]> for List<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Self(Source::Own(values))
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for List<'a, T> {
    fn from(values: &'a [T; N]) -> Self {
        Self(Source::Own(values))
    }
}

impl<T: Value + PartialEq> PartialEq for List<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Value + Eq> Eq for List<'_, T> {}

impl<T: Value + fmt::Debug> fmt::Debug for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Value> Part for List<'_, T> {
    fn is_empty(&self) -> bool {
        List::is_empty(self)
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        self.iter().for_each(|value| out.append_value(value));
        Ok(())
    }
}

/// The bytes of values, one behind the other: buffer descriptors for a channel, for instance.
#[must_use]
pub fn pack<T: Value>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len().saturating_mul(T::SIZE));
    pack_to(&mut bytes, values);
    bytes
}

/// Appends the bytes of values.
fn pack_to<T: Value>(bytes: &mut Vec<u8>, values: &[T]) {
    let mut out = Writer::new(bytes);
    values.iter().for_each(|value| out.append_value(*value));
}
