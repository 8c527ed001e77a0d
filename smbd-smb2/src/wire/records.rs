//! Lists of structures that say themselves how long they are: contexts.

use core::fmt;

use super::error::WireError;
use super::writer::{Part, Writer};

/// A structure that stands in a list.
pub trait Record<'a>: Copy + PartialEq + fmt::Debug {
    /// Reads the structure at the beginning of `bytes`, and what comes behind it; `None` behind the last of a list that is not
    /// counted.
    ///
    /// # Errors
    /// It is not complete, or points outside.
    fn read(bytes: &'a [u8]) -> Result<(Self, Option<&'a [u8]>), WireError>;

    /// Appends the structure.
    ///
    /// # Errors
    /// A part is too long for its field.
    fn put(&self, out: &mut Writer<'_>, is_last: bool) -> Result<(), WireError>;
}

/// A list of structures of a message: as it came, or to be sent. Equal if all that can be read is.
#[derive(Clone, Copy)]
pub struct Records<'a, R>(Source<'a, R>);

#[derive(Clone, Copy)]
enum Source<'a, R> {
    Wire(&'a [u8], Option<u32>),
    Own(&'a [R]),
}

impl<'a, R: Record<'a>> Records<'a, R> {
    /// No structure.
    pub const EMPTY: Self = Self(Source::Own(&[]));

    /// The list in `bytes`, of so many structures.
    pub(super) const fn counted(bytes: &'a [u8], count: u32) -> Self {
        Self(Source::Wire(bytes, Some(count)))
    }

    /// The list in `bytes`, each of which says where the next begins.
    pub(super) const fn linked(bytes: &'a [u8]) -> Self {
        Self(Source::Wire(bytes, None))
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        match self.0 {
            Source::Wire(_, Some(count)) => count == 0,
            Source::Wire(bytes, None) => bytes.is_empty(),
            Source::Own(records) => records.is_empty(),
        }
    }

    /// The structures in order. An error is the last item. There are no more items than bytes.
    #[must_use]
    pub const fn iter(&self) -> RecordIter<'a, R> {
        RecordIter { left: self.0 }
    }

    /// How many the list says there are, or, if it does not, how many can be read.
    #[must_use]
    pub fn count(&self) -> usize {
        match self.0 {
            Source::Wire(_, Some(count)) => count as usize,
            Source::Wire(_, None) => self.iter().filter(Result::is_ok).count(),
            Source::Own(records) => records.len(),
        }
    }
}

/// Yields the structures of a list.
#[derive(Clone)]
pub struct RecordIter<'a, R> {
    left: Source<'a, R>,
}

impl<'a, R: Record<'a>> Iterator for RecordIter<'a, R> {
    type Item = Result<R, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (bytes, count) = match self.left {
            Source::Own(records) => {
                let (first, rest) = records.split_first()?;
                self.left = Source::Own(rest);
                return Some(Ok(*first));
            }
            Source::Wire(_, Some(0)) => return None,
            Source::Wire(bytes, Some(count)) => (bytes, Some(count.saturating_sub(1))),
            Source::Wire([], None) => return None,
            Source::Wire(bytes, None) => (bytes, None),
        };
        self.left = Source::Own(&[]);
        match R::read(bytes) {
            Ok((record, rest)) => {
                if let Some(rest) = rest {
                    self.left = Source::Wire(rest, count);
                }
                Some(Ok(record))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

impl<R: fmt::Debug> fmt::Debug for RecordIter<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordIter").finish_non_exhaustive()
    }
}

impl<'a, R: Record<'a>> Default for Records<'a, R> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<'a, R> From<&'a [R]> for Records<'a, R> {
    fn from(records: &'a [R]) -> Self {
        Self(Source::Own(records))
    }
}

impl<'a, R, const N: usize> From<&'a [R; N]> for Records<'a, R> {
    fn from(records: &'a [R; N]) -> Self {
        Self(Source::Own(records))
    }
}

impl<'a, R: Record<'a>> PartialEq for Records<'a, R> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<'a, R: Record<'a>> fmt::Debug for Records<'a, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, R: Record<'a>> Part for Records<'a, R> {
    fn is_empty(&self) -> bool {
        Records::is_empty(self)
    }

    /// Each begins at a multiple of 8.
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        let mut records = self.iter().peekable();
        while let Some(record) = records.next() {
            out.align(8);
            record?.put(out, records.peek().is_none())?;
        }
        Ok(())
    }
}
