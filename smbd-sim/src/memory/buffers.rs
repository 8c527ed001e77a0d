use std::collections::BTreeMap;

use crate::{Breach, Breaches};

/// A piece of a host's memory; dead after [`Buffers::free`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buffer {
    index: u32,
    generation: u32,
}

impl Buffer {
    /// Of hosts without memory.
    pub(crate) const NOWHERE: Self = Self { index: u32::MAX, generation: u32::MAX };

    /// Its number, reused after it was freed.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.index
    }
}

/// A range of a buffer, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The buffer.
    pub buffer: Buffer,
    /// Where the range begins.
    pub offset: u32,
    /// Its length.
    pub len: u32,
}

impl Range {
    /// `len` bytes at `offset` of this range, if it has them.
    #[must_use]
    pub fn part(self, offset: u32, len: u32) -> Option<Self> {
        let end = offset.checked_add(len)?;
        (end <= self.len).then_some(Self { offset: self.offset.checked_add(offset)?, len, ..self })
    }
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    live: bool,
    address: u64,
    len: u32,
    /// Empty if the world keeps lengths only.
    bytes: Vec<u8>,
    /// Uses by the device that only read: sends, RDMA Write sources.
    reads: u32,
    /// Uses by which bytes may change: RDMA Read sinks, registrations.
    writes: u32,
}

/// How a device uses a buffer while it holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Read,
    Write,
}

/// All buffers of a host.
#[derive(Debug)]
pub struct Buffers {
    slots: Vec<Slot>,
    free: Vec<u32>,
    next_address: u64,
    content: bool,
    /// What was done wrong with them.
    pub breaches: Breaches,
}

/// Distance kept free behind a buffer, so that an access one byte too far hits nothing.
const GUARD: u64 = 4096;

impl Buffers {
    /// No buffers. Without `content`, only lengths are kept and nothing is ever copied.
    #[must_use]
    pub fn new(content: bool) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            next_address: 0x1000_0000,
            content,
            breaches: Breaches::default(),
        }
    }

    /// Whether bytes are kept.
    #[must_use]
    pub const fn content(&self) -> bool {
        self.content
    }

    /// A new buffer of `len` zero bytes.
    pub fn alloc(&mut self, len: u32) -> Buffer {
        let buffer = self.reserve(len);
        self.fill(buffer, &[]);
        buffer
    }

    /// A new buffer of `len` bytes that nobody looks at before [`fill`](Self::fill): it has none until then.
    pub(crate) fn reserve(&mut self, len: u32) -> Buffer {
        let address = self.next_address;
        self.place(address, len)
    }

    /// The first bytes of a reserved buffer; all others are zero.
    pub(crate) fn fill(&mut self, buffer: Buffer, bytes: &[u8]) {
        let content = self.content;
        if let Some(slot) = self.slot_mut(buffer).filter(|_| content) {
            let len = slot.len as usize;
            if slot.bytes.capacity() < len {
                // What is there is not copied.
                slot.bytes = Vec::with_capacity(len);
            }
            slot.bytes.clear();
            slot.bytes.extend_from_slice(&bytes[..bytes.len().min(len)]);
            slot.bytes.resize(len, 0);
        }
    }

    /// A new buffer of `len` zero bytes at a chosen address; `None` if something else is there.
    pub fn alloc_at(&mut self, address: u64, len: u32) -> Option<Buffer> {
        let end = address.checked_add(u64::from(len))?;
        let overlaps =
            self.slots.iter().any(|s| s.live && address < s.address + u64::from(s.len) && s.address < end);
        if overlaps {
            return None;
        }
        let buffer = self.place(address, len);
        self.fill(buffer, &[]);
        Some(buffer)
    }

    /// A new buffer that holds `bytes`.
    pub fn alloc_with(&mut self, bytes: &[u8]) -> Buffer {
        let buffer = self.reserve(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.fill(buffer, bytes);
        buffer
    }

    fn place(&mut self, address: u64, len: u32) -> Buffer {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let end = address.saturating_add(u64::from(len)).saturating_add(GUARD).next_multiple_of(GUARD);
        self.next_address = self.next_address.max(end);
        let slot = &mut self.slots[index as usize];
        slot.live = true;
        slot.address = address;
        slot.len = len;
        slot.bytes.clear();
        Buffer { index, generation: slot.generation }
    }

    /// Gives a buffer back. A breach if it is gone already, or the device may still use it.
    pub fn free(&mut self, buffer: Buffer) {
        let Some(slot) = self.slot_mut(buffer) else {
            return self.breaches.record(Breach::UseAfterFree { buffer: buffer.index });
        };
        let used = slot.reads + slot.writes > 0;
        slot.live = false;
        slot.generation = slot.generation.wrapping_add(1);
        (slot.reads, slot.writes) = (0, 0);
        self.free.push(buffer.index);
        if used {
            self.breaches.record(Breach::InUse { buffer: buffer.index, what: "freed" });
        }
    }

    fn slot(&self, buffer: Buffer) -> Option<&Slot> {
        self.slots.get(buffer.index as usize).filter(|s| s.live && s.generation == buffer.generation)
    }

    fn slot_mut(&mut self, buffer: Buffer) -> Option<&mut Slot> {
        self.slots.get_mut(buffer.index as usize).filter(|s| s.live && s.generation == buffer.generation)
    }

    /// Places for buffers, used or not.
    #[must_use]
    pub const fn places(&self) -> usize {
        self.slots.len()
    }

    /// Whether the buffer exists.
    #[must_use]
    pub fn is_live(&self, buffer: Buffer) -> bool {
        self.slot(buffer).is_some()
    }

    /// Buffers that were not freed.
    #[must_use]
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// All of a live buffer as a range.
    #[must_use]
    pub fn whole(&self, buffer: Buffer) -> Option<Range> {
        self.slot(buffer).map(|s| Range { buffer, offset: 0, len: s.len })
    }

    /// Address of its first byte; 0 if it is gone.
    #[must_use]
    pub fn address(&self, buffer: Buffer) -> u64 {
        self.slot(buffer).map_or(0, |s| s.address)
    }

    /// The bytes of a live buffer; none of a dead one, or without content.
    #[must_use]
    pub fn bytes(&self, buffer: Buffer) -> &[u8] {
        self.slot(buffer).map_or(&[], |s| &s.bytes)
    }

    /// The bytes of a range; none if it is gone, or without content.
    #[must_use]
    pub fn range(&self, range: Range) -> &[u8] {
        let start = range.offset as usize;
        self.bytes(range.buffer).get(start..start + range.len as usize).unwrap_or(&[])
    }

    /// The bytes of a buffer to write to, by the program. A breach if it is gone or the device may be reading it.
    pub fn bytes_mut(&mut self, buffer: Buffer) -> &mut [u8] {
        let breach = match self.slot(buffer) {
            None => Some(Breach::UseAfterFree { buffer: buffer.index }),
            Some(s) if s.reads > 0 => Some(Breach::InUse { buffer: buffer.index, what: "written" }),
            Some(_) => None,
        };
        if let Some(breach) = breach {
            self.breaches.record(breach);
        }
        self.slot_mut(buffer).map_or(&mut [], |s| &mut s.bytes)
    }

    /// Writes by the device. `false` if the range is gone.
    pub(crate) fn dma(&mut self, range: Range, from: &[u8]) -> bool {
        let content = self.content;
        let Some(slot) = self.slot_mut(range.buffer) else {
            self.breaches.record(Breach::UseAfterFree { buffer: range.buffer.index });
            return false;
        };
        if range.offset.checked_add(range.len).is_none_or(|end| end > slot.len) {
            return false;
        }
        let start = range.offset as usize;
        if content && let Some(to) = slot.bytes.get_mut(start..start + from.len().min(range.len as usize)) {
            to.copy_from_slice(&from[..to.len()]);
        }
        true
    }

    /// The device begins to use the buffer.
    pub(crate) fn hold(&mut self, buffer: Buffer, how: Hold) {
        match self.slot_mut(buffer) {
            None => self.breaches.record(Breach::UseAfterFree { buffer: buffer.index }),
            Some(slot) => match how {
                Hold::Read => slot.reads += 1,
                Hold::Write => slot.writes += 1,
            },
        }
    }

    /// The device no longer uses the buffer.
    pub(crate) fn unhold(&mut self, buffer: Buffer, how: Hold) {
        if let Some(slot) = self.slot_mut(buffer) {
            let count = match how {
                Hold::Read => &mut slot.reads,
                Hold::Write => &mut slot.writes,
            };
            *count = count.saturating_sub(1);
        }
    }

    /// Whether the device may still use the buffer.
    #[must_use]
    pub fn in_use(&self, buffer: Buffer) -> bool {
        self.slot(buffer).is_some_and(|s| s.reads + s.writes > 0)
    }

    /// Live buffers by address, for reports.
    #[must_use]
    pub fn map(&self) -> BTreeMap<u64, u32> {
        self.slots.iter().filter(|s| s.live).map(|s| (s.address, s.len)).collect()
    }
}
