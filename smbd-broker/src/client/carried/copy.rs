//! Copies between slots and the memory of a transfer.

use std::io;

use smbd_core::backend::OutOfRange;
use smbd_link::transport::Memory;

use crate::client::{SlotFile, Slots};
use crate::wire::Area;

/// Why bytes were not copied.
pub(super) enum CopyError {
    Slot(io::ErrorKind),
    Range(OutOfRange),
}

/// Copies the beginning of `memory` to slots.
pub(super) fn fill<F: SlotFile>(
    slots: &Slots<F>,
    areas: &[Area],
    memory: &impl Memory,
) -> Result<(), CopyError> {
    let mut at = At::default();
    let filled = slots.fill_with(areas, |bytes| at.next(bytes.len(), |offset| memory.read(offset, bytes)));
    filled.map_err(|error| at.why(&error))
}

/// Copies what is in slots to the beginning of `memory`.
pub(super) fn read<F: SlotFile>(
    slots: &Slots<F>,
    areas: &[Area],
    memory: &impl Memory,
) -> Result<(), CopyError> {
    let mut at = At::default();
    let read = slots.read_with(areas, |bytes| at.next(bytes.len(), |offset| memory.fill(offset, bytes)));
    read.map_err(|error| at.why(&error))
}

/// How far memory was copied.
#[derive(Default)]
struct At {
    offset: u32,
    outside: Option<OutOfRange>,
}

impl At {
    /// Copies `len` bytes, and goes on behind them.
    fn next(&mut self, len: usize, copy: impl FnOnce(u32) -> Result<(), OutOfRange>) -> io::Result<()> {
        if let Err(outside) = copy(self.offset) {
            self.outside = Some(outside);
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.offset = self.offset.saturating_add(u32::try_from(len).unwrap_or(u32::MAX));
        Ok(())
    }

    fn why(self, error: &io::Error) -> CopyError {
        self.outside.map_or(CopyError::Slot(error.kind()), CopyError::Range)
    }
}
