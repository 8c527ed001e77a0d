//! pcapng: blocks with their length at both ends. Frames are in enhanced, simple and (obsolete) packet blocks.

use std::io::Read;

use super::source::{Order, Source};
use super::{FileError, Frame, LinkType, RECORD_MAX, nanoseconds};

/// Type of a section header block, the same in both byte orders.
pub(super) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;
/// More interfaces than this in one section are taken for damage.
const INTERFACES_MAX: usize = 4096;

#[derive(Debug, Clone, Copy)]
struct Interface {
    link: LinkType,
    snap_len: u32,
    per_second: u64,
    offset_seconds: i64,
}

impl Interface {
    fn time_ns(&self, ticks: u64) -> u64 {
        let shift = self.offset_seconds.unsigned_abs().saturating_mul(1_000_000_000);
        let time = nanoseconds(ticks, self.per_second);
        if self.offset_seconds < 0 { time.saturating_sub(shift) } else { time.saturating_add(shift) }
    }
}

#[derive(Debug)]
pub(super) struct Section {
    order: Order,
    interfaces: Vec<Interface>,
}

/// A block without its type and lengths.
struct Block {
    kind: u32,
    record: u64,
    offset: u64,
    body: Vec<u8>,
}

impl Block {
    fn need(&self, what: &'static str, needed: u64) -> Result<(), FileError> {
        let got = self.body.len() as u64;
        if got >= needed {
            return Ok(());
        }
        Err(FileError::Truncated { record: self.record, offset: self.offset + 8, what, needed, got })
    }

    fn broken(&self, field: &'static str, got: u64, expected: &'static str) -> FileError {
        FileError::Broken { record: self.record, offset: self.offset, field, got, expected }
    }
}

impl Section {
    /// Reads the section header block whose type has been read.
    pub(super) fn read_first<R: Read>(source: &mut Source<R>) -> Result<Self, FileError> {
        source.record = 1;
        let mut section = Self { order: Order::Little, interfaces: Vec::new() };
        section.read_header(source)?;
        Ok(section)
    }

    fn read_header<R: Read>(&mut self, source: &mut Source<R>) -> Result<(), FileError> {
        let offset = source.offset - 4;
        let head = source.exactly("the section header", 8)?;
        self.order = match (Order::Little.u32(&head, 4), Order::Big.u32(&head, 4)) {
            (BYTE_ORDER_MAGIC, _) => Order::Little,
            (_, BYTE_ORDER_MAGIC) => Order::Big,
            (other, _) => {
                let right = "439041101 (0x1a2b3c4d) in either byte order is right";
                return Err(source.broken(offset, "the byte-order magic", other, right));
            }
        };
        self.interfaces.clear();
        let total = self.order.u32(&head, 0);
        self.rest(source, offset, "the section header", total, 16)?;
        Ok(())
    }

    /// What lies between the fixed parts of a block of `total` bytes, which take `fixed`; its length stands behind it again.
    fn rest<R: Read>(
        &self,
        source: &mut Source<R>,
        offset: u64,
        what: &'static str,
        total: u32,
        fixed: u32,
    ) -> Result<Vec<u8>, FileError> {
        if !total.is_multiple_of(4) || total < fixed || total > RECORD_MAX {
            let right = "a multiple of 4 from 12 to 16 MiB is right";
            return Err(source.broken(offset, "the block length", total, right));
        }
        let body = source.exactly(what, total - fixed)?;
        let trailer = source.exactly("the trailing block length", 4)?;
        let behind = self.order.u32(&trailer, 0);
        if behind != total {
            let differs = "the leading one differs";
            return Err(source.broken(offset, "the trailing block length", behind, differs));
        }
        Ok(body)
    }

    /// The next block that is no section header, `None` at the end.
    fn next_block<R: Read>(&mut self, source: &mut Source<R>) -> Result<Option<Block>, FileError> {
        loop {
            source.record += 1;
            let offset = source.offset;
            let Some(kind) = source.exactly_or_end("the block type", 4)? else { return Ok(None) };
            if kind == SECTION_HEADER {
                self.read_header(source)?;
                continue;
            }
            let len = source.exactly("the block length", 4)?;
            let total = self.order.u32(&len, 0);
            let body = self.rest(source, offset, "the block", total, 12)?;
            return Ok(Some(Block { kind: self.order.u32(&kind, 0), record: source.record, offset, body }));
        }
    }

    pub(super) fn next_frame<R: Read>(&mut self, source: &mut Source<R>) -> Result<Option<Frame>, FileError> {
        while let Some(block) = self.next_block(source)? {
            match block.kind {
                INTERFACE => self.add_interface(&block)?,
                ENHANCED_PACKET | PACKET => return self.packet(&block).map(Some),
                SIMPLE_PACKET => return self.simple_packet(&block).map(Some),
                _ => {}
            }
        }
        Ok(None)
    }

    fn add_interface(&mut self, block: &Block) -> Result<(), FileError> {
        block.need("the interface description", 8)?;
        if self.interfaces.len() >= INTERFACES_MAX {
            let got = self.interfaces.len() as u64 + 1;
            return Err(block.broken("the number of interfaces", got, "at most 4096 are taken"));
        }
        let mut interface = Interface {
            link: LinkType::from_number(self.order.u16(&block.body, 0).into()),
            snap_len: self.order.u32(&block.body, 4),
            per_second: 1_000_000,
            offset_seconds: 0,
        };
        let mut options = block.body.get(8..).unwrap_or_default();
        while let Some((head, rest)) = options.split_at_checked(4) {
            let (code, len) = (self.order.u16(head, 0), usize::from(self.order.u16(head, 2)));
            let Some(value) = rest.get(..len) else { break };
            match (code, value) {
                (0, _) => break,
                (OPTION_TIME_RESOLUTION, [resolution, ..]) => {
                    interface.per_second = ticks_per_second(*resolution);
                }
                (OPTION_TIME_OFFSET, [_, _, _, _, _, _, _, _]) => {
                    let (low, high) = match self.order {
                        Order::Little => (self.order.u32(value, 0), self.order.u32(value, 4)),
                        Order::Big => (self.order.u32(value, 4), self.order.u32(value, 0)),
                    };
                    interface.offset_seconds = (u64::from(high) << 32 | u64::from(low)).cast_signed();
                }
                _ => {}
            }
            options = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        }
        self.interfaces.push(interface);
        Ok(())
    }

    fn interface(&self, block: &Block, number: u32) -> Result<&Interface, FileError> {
        let none = "no such interface was described";
        let interface = self.interfaces.get(number as usize);
        interface.ok_or_else(|| block.broken("the interface number", number.into(), none))
    }

    fn packet(&self, block: &Block) -> Result<Frame, FileError> {
        block.need("the packet block", 20)?;
        let field = |at| self.order.u32(&block.body, at);
        // The obsolete block has a drop count in the other half of the interface number.
        let number = if block.kind == PACKET { self.order.u16(&block.body, 0).into() } else { field(0) };
        let interface = self.interface(block, number)?;
        let ticks = u64::from(field(4)) << 32 | u64::from(field(8));
        let captured = field(12);
        block.need("the captured frame", 20 + u64::from(captured))?;
        let data = block.body.get(20..20 + captured as usize).unwrap_or_default().to_vec();
        let time_ns = interface.time_ns(ticks);
        Ok(Frame { number: 0, time_ns, link: interface.link, original_len: field(16), data })
    }

    fn simple_packet(&self, block: &Block) -> Result<Frame, FileError> {
        block.need("the simple packet block", 4)?;
        let interface = self.interface(block, 0)?;
        let original_len = self.order.u32(&block.body, 0);
        let limit = if interface.snap_len == 0 { original_len } else { original_len.min(interface.snap_len) };
        block.need("the captured frame", 4 + u64::from(limit))?;
        let data = block.body.get(4..4 + limit as usize).unwrap_or_default().to_vec();
        Ok(Frame { number: 0, time_ns: 0, link: interface.link, original_len, data })
    }
}

/// The resolution option: a power of ten, or of two when the upper bit is set.
fn ticks_per_second(option: u8) -> u64 {
    let power = u32::from(option & 0x7f);
    if option & 0x80 != 0 {
        1_u64.checked_shl(power).unwrap_or(u64::MAX)
    } else {
        10_u64.checked_pow(power).unwrap_or(u64::MAX)
    }
}
