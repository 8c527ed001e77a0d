//! What is to be done, on its way to both sides.

use std::task::Context;

use smbd_link::transport::{Memory, Transport};
use smbd_smb2::relay::{BufferId, Reason, Side, Source};

use super::buffers::Buffers;
use super::ending::Ending;
use super::outbox::Outbox;
use super::peer::Peer;
use super::rewriting::Action;
use super::stream::Stream;

/// Zeros that are copied at once.
static ZEROS: [u8; 16 << 10] = [0; 16 << 10];

#[derive(Debug)]
pub(super) struct Outgoing<M> {
    pub(super) outbox: Outbox,
    pub(super) buffers: Buffers<M>,
    /// The message to the peer that is being put together.
    message: Vec<u8>,
}

/// What came of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Something,
    Idle,
    Closed(Reason),
}

impl<M: Memory + Clone> Outgoing<M> {
    /// To the stream of this side.
    pub(super) const fn new(buffers: Buffers<M>, side: Side) -> Self {
        Self { outbox: Outbox::new(side), buffers, message: Vec::new() }
    }

    /// Whether nothing waits here for a side.
    pub(super) fn is_empty(&self) -> bool {
        self.outbox.is_empty() && self.message.is_empty()
    }

    /// Carries out an action, or keeps it until the stream takes it.
    pub(super) fn carry_out<T: Transport<BufferId, Memory = M>>(
        &mut self,
        action: Action<'_>,
        stream: &mut impl Stream<M>,
        peer: &mut Peer<T>,
        cx: &mut Context<'_>,
    ) -> Result<Done, Ending> {
        match action {
            Action::ToStream(Source::Bytes(bytes)) => self.outbox.bytes(bytes, stream, cx)?,
            Action::ToStream(Source::Buffer { head, buffer, offset, len }) => {
                if !head.is_empty() {
                    self.outbox.bytes(head, stream, cx)?;
                }
                self.outbox.buffer(buffer, offset, len);
            }
            Action::ToPeer { write, bytes, remaining, invalidate } => {
                if let Some(transfer) = write {
                    let memory = self.buffers.get(transfer.buffer)?.clone();
                    peer.write_ahead(transfer, memory);
                }
                if self.message.is_empty() {
                    self.message.reserve_exact(bytes.len().saturating_add(remaining as usize));
                }
                self.message.extend_from_slice(bytes);
                if remaining == 0 {
                    peer.send(std::mem::take(&mut self.message).into(), invalidate);
                }
            }
            Action::Rdma(verb, transfer) => {
                let memory = self.buffers.get(transfer.buffer)?.clone();
                peer.rdma(verb, transfer, memory);
            }
            Action::Store { buffer, offset, bytes } => self.buffers.get(buffer)?.fill(offset, bytes)?,
            Action::Zero { buffer, offset, len } => self.zero(buffer, offset, len)?,
            Action::Register { buffer, access } => {
                let memory = self.buffers.get(buffer)?.clone();
                peer.register(buffer, memory, access);
            }
            Action::Deregister { buffer } => peer.deregister(buffer),
            Action::Idle => return Ok(Done::Idle),
            Action::Close(reason) => return Ok(Done::Closed(reason)),
        }
        Ok(Done::Something)
    }

    fn zero(&mut self, buffer: BufferId, offset: u32, len: u32) -> Result<(), Ending> {
        let memory = self.buffers.get(buffer)?;
        let (mut offset, mut left) = (offset, len);
        while left > 0 {
            let part = left.min(u32::try_from(ZEROS.len()).unwrap_or(u32::MAX));
            memory.fill(offset, ZEROS.get(..part as usize).unwrap_or_default())?;
            (offset, left) = (offset.saturating_add(part), left.saturating_sub(part));
        }
        Ok(())
    }
}
