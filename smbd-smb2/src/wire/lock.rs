//! LOCK (2.2.26, 2.2.27).

use super::body::Body;
use super::error::WireError;
use super::field::Value;
use super::header;
use super::id::FileId;
use super::layout::layout;
use super::list::List;
use super::names::flags;
use super::reader;
use super::structure::{message, role};
use super::writer::{Part, Writer};

flags! {
    /// What is done with a range (2.2.26.1).
    pub struct LockFlags(u32) {
        SHARED_LOCK = 0x0000_0001 "SHARED_LOCK",
        EXCLUSIVE_LOCK = 0x0000_0002 "EXCLUSIVE_LOCK",
        UNLOCK = 0x0000_0004 "UNLOCK",
        FAIL_IMMEDIATELY = 0x0000_0010 "FAIL_IMMEDIATELY",
    }
}

/// A range that is locked or unlocked (2.2.26.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockElement {
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// What is done with it.
    pub flags: LockFlags,
}

layout! {
    /// Fields of an element (2.2.26.1), from its beginning.
    pub mod element: "SMB2_LOCK_ELEMENT", "2.2.26.1", from 0;
    OFFSET: u64 = "Offset" at 0;
    LENGTH: u64 = "Length" at 8;
    FLAGS: LockFlags = "Flags" at 16;
    RESERVED: u32 = "Reserved" at 20;
}

impl Value for LockElement {
    const SIZE: usize = 24;

    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            offset: element::OFFSET.get(bytes).ok()?,
            length: element::LENGTH.get(bytes).ok()?,
            flags: element::FLAGS.get(bytes).ok()?,
        })
    }

    fn write(self, bytes: &mut [u8]) -> Option<()> {
        element::OFFSET.set(bytes, self.offset).ok()?;
        element::LENGTH.set(bytes, self.length).ok()?;
        element::FLAGS.set(bytes, self.flags).ok()?;
        element::RESERVED.set(bytes, 0).ok()
    }
}

layout! {
    /// Fields of a LOCK Request (2.2.26), from the beginning of the SMB2 header.
    pub mod request: "LOCK Request", "2.2.26", from header::LEN;
    STRUCTURE_SIZE: u16 = "StructureSize" at 0;
    LOCK_COUNT: u16 = "LockCount" at 2;
    LOCK_SEQUENCE: u32 = "LockSequenceNumber,LockSequenceIndex" at 4;
    FILE_ID: FileId = "FileId" at 8;
}

/// A LOCK Request (2.2.26).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LockRequest<'a> {
    /// LockSequenceNumber in the lowest four bits, LockSequenceIndex in the others.
    pub lock_sequence: u32,
    /// The file.
    pub file_id: FileId,
    /// Ranges, at least one.
    pub locks: List<'a, LockElement>,
}

impl<'a> LockRequest<'a> {
    /// StructureSize of the body.
    pub const STRUCTURE_SIZE: u16 = 48;

    /// Reads the body of an element, which begins with its SMB2 header.
    ///
    /// # Errors
    /// The fixed part or a range is not complete, or StructureSize is another.
    pub fn parse(element: &'a [u8]) -> Result<Self, WireError> {
        request::LAYOUT.check(element)?;
        request::STRUCTURE_SIZE.expect(element, Self::STRUCTURE_SIZE)?;
        let count = u64::from(request::LOCK_COUNT.get(element)?);
        let len = count.saturating_mul(LockElement::SIZE as u64);
        let locks = reader::range(element, &request::LOCK_COUNT, request::LAYOUT.end() as u64, len)?;
        Ok(Self {
            lock_sequence: request::LOCK_SEQUENCE.get(element)?,
            file_id: request::FILE_ID.get(element)?,
            locks: List::from_wire(locks, &request::LOCK_COUNT)?,
        })
    }
}

impl Body for LockRequest<'_> {
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.begin(&request::LAYOUT);
        out.set(&request::STRUCTURE_SIZE, Self::STRUCTURE_SIZE)?;
        out.set_size(&request::LOCK_COUNT, self.locks.len())?;
        out.set(&request::LOCK_SEQUENCE, self.lock_sequence)?;
        out.set(&request::FILE_ID, self.file_id)?;
        self.locks.put(out)
    }
}

role!(LockRequest<'a>: LOCK request);

message! {
    /// A LOCK Response (2.2.27).
    pub struct LockResponse: LOCK response;
    pub mod response: "LOCK Response", "2.2.27", size 4, least 0;
    fields {}
    reserved {
        RESERVED: u16 = "Reserved" at 2;
    }
    parts {}
}
