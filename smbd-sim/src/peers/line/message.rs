//! Data Transfer messages: fragmentation (3.1.5.4), checks and reassembly (3.1.5.8).

use smbd_core::wire::{DATA_OFFSET, DataTransfer, Flags};

use super::{Line, Order};
use crate::upper::content;

/// A piece of an upper-layer message, as it travels in one Data Transfer message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::peers) struct Segment {
    /// Which bytes.
    pub(in crate::peers) key: u16,
    /// Where the piece begins.
    pub(in crate::peers) offset: u32,
    /// DataLength.
    pub(in crate::peers) len: u32,
    /// RemainingDataLength.
    pub(in crate::peers) remaining: u32,
}

/// A Data Transfer message that was received and passed the checks.
#[derive(Clone, Copy, Debug)]
pub(in crate::peers) struct Arrived<'a> {
    pub(in crate::peers) header: DataTransfer,
    pub(in crate::peers) payload: &'a [u8],
}

/// Connection.FragmentReassemblyBuffer and Connection.FragmentReassemblyRemaining.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    buffer: Vec<u8>,
    remaining: u32,
}

impl Line {
    /// 3.1.5.4: the segments of a message, DataOffset 24 in each.
    pub(in crate::peers) fn segments(&self, key: u16, len: u32) -> Vec<Segment> {
        let most = self.sizes.max_send_size - DATA_OFFSET;
        let segment = |offset: u32| {
            let here = most.min(len - offset);
            Segment { key, offset, len: here, remaining: len - offset - here }
        };
        (0..len).step_by(most as usize).map(segment).collect()
    }

    /// Sends one Data Transfer message, empty without a segment.
    pub(in crate::peers) fn send(
        &mut self,
        segment: Option<Segment>,
        credits_requested: u16,
        credits_granted: u32,
        flags: Flags,
    ) {
        let mut header = DataTransfer {
            credits_requested,
            credits_granted: u16::try_from(credits_granted).unwrap_or(u16::MAX),
            flags,
            ..DataTransfer::default()
        };
        let mut payload: &[u8] = &[];
        if let Some(segment) = segment {
            header.data_offset = DATA_OFFSET;
            header.data_length = segment.len;
            header.remaining_data_length = segment.remaining;
            payload = content(segment.key, segment.offset, segment.len);
        }
        let mut bytes = vec![0; header.encoded_len()];
        if header.encode(&mut bytes).is_ok() {
            bytes.extend_from_slice(payload);
            self.sent += 1;
            self.orders.push_back(Order::Send(bytes));
        }
    }

    /// 3.1.5.8: the checks. What is wrong with the message, if something is.
    pub(in crate::peers) fn check<'a>(&self, message: &'a [u8]) -> Result<Arrived<'a>, &'static str> {
        let header = DataTransfer::parse(message).map_err(|_| "it got a message of less than 20 bytes")?;
        if header.credits_requested == 0 {
            return Err("it got a message with CreditsRequested 0");
        }
        if !header.data_offset.is_multiple_of(8) {
            return Err("it got a message with a misaligned DataOffset");
        }
        let total = u64::from(header.data_length) + u64::from(header.remaining_data_length);
        if total > u64::from(self.params.max_fragmented_recv_size) {
            return Err("it got a message beyond MaxFragmentedSize");
        }
        let (from, len) = (header.data_offset as usize, header.data_length as usize);
        let payload = message.get(from..).and_then(|rest| rest.get(..len));
        payload.map(|payload| Arrived { header, payload }).ok_or("it got data beyond the end of a message")
    }

    /// 3.1.5.8: puts the payload to what came before. An upper-layer message, if this completes one; `Err` if it cannot be.
    pub(in crate::peers) fn assemble(
        &mut self,
        arrived: &Arrived<'_>,
    ) -> Result<Option<Vec<u8>>, &'static str> {
        let Assembly { buffer, remaining } = &mut self.assembly;
        let header = &arrived.header;
        buffer.extend_from_slice(arrived.payload);
        *remaining = if *remaining == 0 {
            header.remaining_data_length
        } else {
            remaining
                .checked_sub(header.data_length)
                .ok_or("it got more than the first fragment announced")?
        };
        if header.remaining_data_length > 0 {
            return Ok(None);
        }
        if *remaining > 0 {
            return Err("it got a last fragment with bytes missing");
        }
        // A message about credits completes nothing, though literally it does (RA-6).
        Ok(Some(std::mem::take(buffer)).filter(|whole| !whole.is_empty()))
    }
}
