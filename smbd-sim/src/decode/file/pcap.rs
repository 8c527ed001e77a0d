//! The classic format: a 24-byte header, then records of 16 bytes and a frame each.

use std::io::Read;

use super::source::{Order, Source};
use super::{FileError, Frame, LinkType, RECORD_MAX, nanoseconds};

const HEADER_REST: u32 = 20;
const RECORD_LEN: u32 = 16;
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    order: Order,
    per_second: u64,
}

impl Kind {
    pub(super) fn from_magic(magic: [u8; 4]) -> Option<Self> {
        let kind = |order, per_second| Some(Self { order, per_second });
        match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
            (MICROSECONDS, _) => kind(Order::Little, 1_000_000),
            (NANOSECONDS, _) => kind(Order::Little, 1_000_000_000),
            (_, MICROSECONDS) => kind(Order::Big, 1_000_000),
            (_, NANOSECONDS) => kind(Order::Big, 1_000_000_000),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Header {
    kind: Kind,
    link: LinkType,
}

impl Header {
    /// Reads what follows the magic number.
    pub(super) fn read<R: Read>(source: &mut Source<R>, kind: Kind) -> Result<Self, FileError> {
        let rest = source.exactly("the pcap file header", HEADER_REST)?;
        let major = kind.order.u16(&rest, 0);
        if major != 2 {
            return Err(source.broken(4, "the major version", major, "2 is the only one"));
        }
        // The upper bits tell the length of a frame check sequence.
        let link = LinkType::from_number(kind.order.u32(&rest, 16) & 0xffff);
        Ok(Self { kind, link })
    }

    pub(super) fn next_frame<R: Read>(&self, source: &mut Source<R>) -> Result<Option<Frame>, FileError> {
        source.record += 1;
        let offset = source.offset;
        let Some(record) = source.exactly_or_end("the record header", RECORD_LEN)? else { return Ok(None) };
        let field = |at| self.kind.order.u32(&record, at);
        let (seconds, fraction, captured, original_len) = (field(0), field(4), field(8), field(12));
        if captured > RECORD_MAX {
            return Err(source.broken(offset, "the captured length", captured, "more than any frame has"));
        }
        let data = source.exactly("the frame", captured)?;
        let time_ns = u64::from(seconds)
            .saturating_mul(1_000_000_000)
            .saturating_add(nanoseconds(fraction.into(), self.kind.per_second));
        Ok(Some(Frame { number: 0, time_ns, link: self.link, original_len, data }))
    }
}
