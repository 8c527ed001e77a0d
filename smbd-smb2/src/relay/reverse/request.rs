//! READs and WRITEs that could go by RDMA: what the client says, and what the server gets in their place.

use alloc::vec::Vec;

use crate::relay::Way;
use crate::relay::element::Element;
use crate::relay::request::{HEAD_LEN, STRUCTURE_SIZE, Verb};
use crate::wire::read::request as read;
use crate::wire::write::request as write;
use crate::wire::{BufferDescriptorV1, Channel, MessageId, ReadFlags, SessionId, WireError, pack};

/// The largest DataOffset of a WRITE that servers take (3.3.5.13).
const DATA_OFFSET_MAX: usize = 0x100;

/// A READ or WRITE alone in its message, unsigned and without a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) verb: Verb,
    pub(super) message_id: MessageId,
    pub(super) session_id: SessionId,
    /// Bytes to be moved.
    pub(super) len: u32,
    /// Bytes between the fixed part and the data of a WRITE.
    pub(super) gap: usize,
    head: [u8; HEAD_LEN],
}

impl Candidate {
    /// Reads the first [`HEAD_LEN`] bytes of a message of `len` bytes. Whatever a server would refuse is none, and passes.
    pub(super) fn read(bytes: &[u8], len: usize) -> Option<Self> {
        let head: [u8; HEAD_LEN] = *bytes.first_chunk()?;
        let Element { header, is_last, .. } = Element::read(bytes, len).ok()?;
        let verb = Verb::of(header.command)?;
        let is_alone = is_last
            && !header.flags.contains(crate::wire::Flags::RELATED_OPERATIONS)
            && !header.is_response();
        let is_plain =
            !header.flags.contains(crate::wire::Flags::SIGNED) && verb.channel(bytes) == Channel::NONE;
        if !is_alone || !is_plain || read::STRUCTURE_SIZE.get(bytes) != Ok(STRUCTURE_SIZE) {
            return None;
        }
        let (length, gap) = match verb {
            Verb::Read => (read::LENGTH.get(bytes).ok()?, 0),
            Verb::Write => {
                let (offset, length) =
                    (write::DATA_OFFSET.get(bytes).ok()?.into(), write::LENGTH.get(bytes).ok()?);
                let gap = usize::checked_sub(offset, HEAD_LEN).filter(|_| offset <= DATA_OFFSET_MAX)?;
                (length, Some(gap).filter(|_| offset.saturating_add(length as usize) <= len)?)
            }
        };
        let (message_id, session_id) = (header.message_id, header.session_id);
        Some(Self { verb, message_id, session_id, len: length, gap, head })
    }

    /// Which way its data go.
    pub(super) const fn way(&self) -> Way {
        match self.verb {
            Verb::Read => Way::ToClient,
            Verb::Write => Way::ToServer,
        }
    }

    /// The request with a channel (2.2.19, 2.2.21).
    pub(super) fn with_channel(
        &self,
        channel: Channel,
        descriptors: &[BufferDescriptorV1],
    ) -> Result<Vec<u8>, WireError> {
        let info = pack(descriptors);
        let (offset, info_len) = (HEAD_LEN as u16, u16::try_from(info.len()).unwrap_or(u16::MAX));
        let mut out = Vec::with_capacity(HEAD_LEN.saturating_add(info.len()));
        out.extend_from_slice(&self.head);
        match self.verb {
            Verb::Read => {
                read::CHANNEL.set(&mut out, channel)?;
                read::REMAINING_BYTES.set(&mut out, 0)?;
                read::READ_CHANNEL_INFO_OFFSET.set(&mut out, offset)?;
                read::READ_CHANNEL_INFO_LENGTH.set(&mut out, info_len)?;
                // A compressed answer could not be told from another.
                let flags = read::FLAGS.get(&out)?;
                read::FLAGS.set(&mut out, flags.with(ReadFlags::REQUEST_COMPRESSED, false))?;
            }
            Verb::Write => {
                write::CHANNEL.set(&mut out, channel)?;
                write::REMAINING_BYTES.set(&mut out, self.len)?;
                write::WRITE_CHANNEL_INFO_OFFSET.set(&mut out, offset)?;
                write::WRITE_CHANNEL_INFO_LENGTH.set(&mut out, info_len)?;
                // 3.3.5.13: with a channel both are 0.
                write::DATA_OFFSET.set(&mut out, 0)?;
                write::LENGTH.set(&mut out, 0)?;
            }
        }
        out.extend_from_slice(&info);
        Ok(out)
    }
}
