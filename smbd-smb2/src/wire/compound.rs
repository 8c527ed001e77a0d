//! Compounds (3.2.4.1.4, 3.3.5.2.7): several elements in one message, each with a header.

use alloc::vec::Vec;
use core::ops::Range;

use super::body::Body;
use super::error::WireError;
use super::header::{self, Header, field};
use super::writer::Writer;

/// An element of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// Where it begins in the message, in bytes.
    pub offset: usize,
    /// Its header.
    pub header: Header,
    /// All of it: header, body, and the padding before the next element.
    pub bytes: &'a [u8],
}

impl Element<'_> {
    /// Where it is in the message.
    #[must_use]
    pub const fn range(&self) -> Range<usize> {
        self.offset..self.offset.saturating_add(self.bytes.len())
    }
}

/// Yields the elements of a message. An error is the last item. There are at most as many items as headers fit into the message.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    offset: usize,
    rest: Option<&'a [u8]>,
}

impl<'a> Elements<'a> {
    /// The elements of a message, which begins with an SMB2 header.
    #[must_use]
    pub const fn new(message: &'a [u8]) -> Self {
        Self { offset: 0, rest: Some(message) }
    }
}

/// Where the element with this NextCommand ends, counted from its beginning, if another follows; `len` bytes of the message are left.
pub(crate) fn end(next_command: u32, len: usize) -> Result<Option<usize>, WireError> {
    let (next, place, least) = (u64::from(next_command), field::NEXT_COMMAND.place(), header::LEN as u64);
    if next == 0 {
        return Ok(None);
    }
    if next < least {
        return Err(WireError::Inside { field: place, value: next, first: least });
    }
    if !next.is_multiple_of(8) {
        return Err(WireError::Misaligned { field: place, value: next });
    }
    match usize::try_from(next) {
        Ok(next) if next < len => Ok(Some(next)),
        _ => Err(WireError::Beyond { field: place, offset: next, length: least, got: len as u64 }),
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<Element<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let (header, end) = match Header::parse(rest)
            .and_then(|header| Ok((header, end(header.next_command, rest.len())?)))
        {
            Ok(first) => first,
            Err(error) => return Some(Err(error)),
        };
        let (bytes, behind) = end.and_then(|end| rest.split_at_checked(end)).unwrap_or((rest, &[]));
        let element = Element { offset: self.offset, header, bytes };
        self.offset = self.offset.saturating_add(bytes.len());
        self.rest = end.map(|_| behind);
        Some(Ok(element))
    }
}

/// Appends an element to `out`: a message of its own, if `out` is empty.
///
/// # Errors
/// [`WireError::TooLarge`] if a part is longer than its field can say. Nothing is appended then.
#[inline(always)]
pub fn write_element(out: &mut Vec<u8>, header: &Header, body: &impl Body) -> Result<(), WireError> {
    let mut element = Writer::new(out);
    let written = header.put(&mut element).and_then(|()| body.put(&mut element));
    if written.is_err() {
        element.undo();
    }
    written
}

/// Builds a message of several elements: each begins at a multiple of 8, and NextCommand says where.
///
/// ```
/// use smbd_smb2::wire::{
///     CloseRequest, Compound, CreateRequest, Elements, FileId, Header, Text,
/// };
///
/// let mut message = Vec::new();
/// let mut compound = Compound::new(&mut message);
/// let create = CreateRequest { name: Text::from("file"), ..CreateRequest::default() };
/// compound.add(&Header::request::<CreateRequest>(1), &create)?;
/// // The same session, tree and file as before it.
/// let close = CloseRequest { file_id: FileId::RELATED, ..CloseRequest::default() };
/// compound.add(&Header::request::<CloseRequest>(2).related(), &close)?;
///
/// assert_eq!(Elements::new(&message).count(), 2);
/// # Ok::<(), smbd_smb2::wire::WireError>(())
/// ```
#[derive(Debug)]
pub struct Compound<'v> {
    out: &'v mut Vec<u8>,
    start: usize,
    /// Where the last element begins.
    last: Option<usize>,
}

impl<'v> Compound<'v> {
    /// Begins a message behind what is in `out`.
    pub const fn new(out: &'v mut Vec<u8>) -> Self {
        let start = out.len();
        Self { out, start, last: None }
    }

    /// Appends an element. NextCommand of its header should be 0.
    ///
    /// # Errors
    /// [`WireError::TooLarge`] if a part, or the element before it, is longer than its field can say. Nothing is appended then.
    pub fn add(&mut self, header: &Header, body: &impl Body) -> Result<(), WireError> {
        let len = self.out.len();
        let added = self.try_add(header, body);
        if added.is_err() {
            self.out.truncate(len);
        }
        added
    }

    fn try_add(&mut self, header: &Header, body: &impl Body) -> Result<(), WireError> {
        let own = self.out.len().saturating_sub(self.start);
        let padded = own.checked_next_multiple_of(8).unwrap_or(own);
        self.out.resize(self.start.saturating_add(padded), 0);
        let begin = self.out.len();
        write_element(self.out, header, body)?;
        if let Some(last) = self.last {
            let bytes = self.out.get_mut(last..).unwrap_or_default();
            field::NEXT_COMMAND.set_size(bytes, begin.saturating_sub(last))?;
        }
        self.last = Some(begin);
        Ok(())
    }
}
