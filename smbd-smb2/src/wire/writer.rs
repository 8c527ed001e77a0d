//! Messages are appended to a vector, one element after the other.

use alloc::vec::Vec;

use super::error::WireError;
use super::field::{Field, Number, Value};
use super::layout::Layout;

/// A structure at the end of a vector, while it is written. Offsets count from its beginning.
#[derive(Debug)]
pub struct Writer<'v> {
    out: &'v mut Vec<u8>,
    start: usize,
}

/// What the field of an offset says if what it points to is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Empty {
    /// Zero.
    Zero,
    /// Where it would begin.
    Place,
}

impl Empty {
    /// Zero, if the condition does not hold.
    pub(super) const fn only_if(self, holds: bool) -> Self {
        if holds { self } else { Self::Zero }
    }
}

/// A part of a message whose place and length are in fields.
pub(super) trait Part {
    fn is_empty(&self) -> bool;
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError>;
}

impl Part for &[u8] {
    fn is_empty(&self) -> bool {
        <[u8]>::is_empty(self)
    }

    #[inline(always)]
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.append(self);
        Ok(())
    }
}

impl<'v> Writer<'v> {
    /// Begins a structure behind what is in `out`.
    pub(super) fn new(out: &'v mut Vec<u8>) -> Self {
        let start = out.len();
        Self { out, start }
    }

    /// Begins a structure behind what has been written.
    pub(super) fn nested(&mut self) -> Writer<'_> {
        Writer::new(self.out)
    }

    /// Takes back all that was written.
    pub(super) fn undo(self) {
        self.out.truncate(self.start);
    }

    /// Number of bytes written.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.out.len().saturating_sub(self.start)
    }

    /// What was written.
    #[inline]
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        self.out.get_mut(self.start..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    pub(super) fn append_value<T: Value>(&mut self, value: T) {
        let start = self.out.len();
        self.out.resize(start.saturating_add(T::SIZE), 0);
        // There are as many bytes as the value has.
        let _ = self.out.get_mut(start..).and_then(|bytes| value.write(bytes));
    }

    /// Appends zeros until there are at least `len` bytes.
    #[inline]
    pub(super) fn fill(&mut self, len: usize) {
        if self.len() < len {
            self.out.resize(self.start.saturating_add(len), 0);
        }
    }

    /// Appends zeros up to a multiple of `alignment`.
    #[inline(always)]
    pub(super) fn align(&mut self, alignment: usize) {
        if let Some(len) = self.len().checked_next_multiple_of(alignment) {
            self.fill(len);
        }
    }

    /// Begins a fixed part: all of it is zero.
    pub(super) fn begin(&mut self, layout: &Layout) {
        self.fill(layout.end());
    }

    pub(super) fn set<T: Value>(&mut self, field: &'static Field<T>, value: T) -> Result<(), WireError> {
        field.set(self.bytes(), value)
    }

    #[inline]
    pub(super) fn set_size<T: Number>(
        &mut self,
        field: &'static Field<T>,
        value: usize,
    ) -> Result<(), WireError> {
        field.set_size(self.bytes(), value)
    }

    /// Appends a part, and says in two fields where it is.
    #[inline(always)]
    pub(super) fn part<O: Number, L: Number>(
        &mut self,
        (offset, length): (&'static Field<O>, &'static Field<L>),
        alignment: usize,
        empty: Empty,
        part: &impl Part,
    ) -> Result<(), WireError> {
        if part.is_empty() {
            return if empty == Empty::Place { self.set_size(offset, self.len()) } else { Ok(()) };
        }
        self.align(alignment);
        let start = self.len();
        part.put(self)?;
        self.set_size(offset, start)?;
        self.set_size(length, self.len().saturating_sub(start))
    }
}
