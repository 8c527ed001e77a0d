//! What is to be moved by RDMA.

use smbd_core::{BufferDescriptorV1, Token};

use super::error::WireError;
use super::reader::{Reader, Writer};
use super::{AREAS_MAX, DESCRIPTORS_MAX};

/// Bytes of slots, from the beginning of the slot on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// The slot.
    pub slot: u16,
    /// How many bytes of it, at least 1.
    pub len: u32,
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the client's memory to the slots: an RDMA Read.
    Read,
    /// From the slots to the client's memory: an RDMA Write.
    Write,
}

/// Bytes of slots, and the client's memory from or to which they are moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Which way.
    pub direction: Direction,
    /// Where in the client's memory they begin, in bytes from the beginning of the first descriptor's buffer.
    pub offset: u64,
    /// The client's memory: 1 to [`DESCRIPTORS_MAX`] descriptors (MS-SMBD 2.2.3.1).
    pub remote: Vec<BufferDescriptorV1>,
    /// The slots, one behind the other: 1 to [`AREAS_MAX`].
    pub areas: Vec<Area>,
}

impl Transfer {
    /// How many bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.areas.iter().map(|area| u64::from(area.len)).sum()
    }

    /// Whether there is nothing to move. No transfer that was parsed is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn parse(message: &'static str, direction: Direction, body: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(message, body);
        let offset = reader.u64("Offset")?;
        let descriptors = usize::from(reader.u16("DescriptorCount")?);
        let is_valid = (1..=DESCRIPTORS_MAX).contains(&descriptors);
        reader.check("DescriptorCount", descriptors as u64, is_valid, "it is 1 to 4095")?;
        let count = usize::from(reader.u16("AreaCount")?);
        reader.check("AreaCount", count as u64, (1..=AREAS_MAX).contains(&count), "it is 1 to 64")?;
        reader.reserved()?;
        reader.reserved()?;
        let mut areas = Vec::with_capacity(count);
        for _ in 0..count {
            let slot = reader.u16("Slot")?;
            reader.reserved()?;
            let len = reader.u32("AreaLength")?;
            reader.check("AreaLength", len.into(), len > 0, "it is at least 1")?;
            areas.push(Area { slot, len });
        }
        let mut remote = Vec::with_capacity(descriptors);
        for _ in 0..descriptors {
            let offset = reader.u64("Descriptor.Offset")?;
            let token = Token(reader.u32("Descriptor.Token")?);
            remote.push(BufferDescriptorV1 { offset, token, length: reader.u32("Descriptor.Length")? });
        }
        reader.end()?;
        Ok(Self { direction, offset, remote, areas })
    }

    pub(super) fn write(&self, to: &mut Writer<'_>) {
        to.u64(self.offset);
        to.u16(u16::try_from(self.remote.len()).unwrap_or(u16::MAX));
        to.u16(u16::try_from(self.areas.len()).unwrap_or(u16::MAX));
        to.u32(0);
        for area in &self.areas {
            to.u16(area.slot);
            to.u16(0);
            to.u32(area.len);
        }
        for descriptor in &self.remote {
            to.u64(descriptor.offset);
            to.u32(descriptor.token.0);
            to.u32(descriptor.length);
        }
    }
}
