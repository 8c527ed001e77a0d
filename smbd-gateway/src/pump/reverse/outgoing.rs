//! What is to be done, on its way to both sides.

use std::collections::VecDeque;
use std::task::Context;

use bytes::Bytes;
use smbd_smb2::relay::reverse::Action;
use smbd_smb2::relay::{BufferId, Reason, Room, Source};

use super::peer::Peer;
use crate::pump::buffers::Buffers;
use crate::pump::client::Memory;
use crate::pump::ending::Ending;
use crate::pump::outbox::Outbox;
use crate::pump::server::Server;

/// Messages that may wait before there is no room for others to the server.
const MESSAGES_MAX: usize = 8;
/// The longest message of direct TCP (MS-SMB2 2.1).
const MESSAGE_MAX: usize = 0x00FF_FFFF;
/// Zeros that are copied at once.
static ZEROS: [u8; 16 << 10] = [0; 16 << 10];

#[derive(Debug)]
pub(super) struct Outgoing<M> {
    pub(super) outbox: Outbox,
    pub(super) buffers: Buffers<M>,
    messages: VecDeque<Bytes>,
    /// The message to the server that is being put together.
    message: Vec<u8>,
}

/// What came of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Something,
    Idle,
    Closed(Reason),
}

impl<M: Memory> Outgoing<M> {
    pub(super) fn new(buffers: Buffers<M>) -> Self {
        Self { outbox: Outbox::default(), buffers, messages: VecDeque::new(), message: Vec::new() }
    }

    /// What the sides take now.
    pub(super) fn room(&self) -> Room {
        let server = if self.has_room() { MESSAGE_MAX } else { 0 };
        Room { client: self.outbox.room(), server }
    }

    /// Whether the server takes messages.
    pub(super) fn has_room(&self) -> bool {
        self.messages.len() < MESSAGES_MAX
    }

    /// Whether nothing waits for a side.
    pub(super) fn is_empty(&self) -> bool {
        let is_idle = self.outbox.is_empty() && self.buffers.running == 0;
        is_idle && self.messages.is_empty() && self.message.is_empty()
    }

    /// Carries out an action, or keeps it until a side takes it.
    pub(super) fn carry_out<P: Peer<Memory = M>>(
        &mut self,
        action: Action<'_>,
        client: &mut impl Server<M>,
        server: &mut P,
        cx: &mut Context<'_>,
    ) -> Result<Done, Ending> {
        match action {
            Action::ToServer { bytes, remaining } => {
                if self.message.is_empty() {
                    self.message.reserve_exact(bytes.len().saturating_add(remaining as usize));
                }
                self.message.extend_from_slice(bytes);
                if remaining == 0 {
                    self.messages.push_back(std::mem::take(&mut self.message).into());
                }
            }
            Action::ToClient(Source::Bytes(bytes)) => {
                self.outbox.bytes(bytes, client, cx).map_err(of_client)?;
            }
            Action::ToClient(Source::Buffer { head, buffer, offset, len }) => {
                if !head.is_empty() {
                    self.outbox.bytes(head, client, cx).map_err(of_client)?;
                }
                self.outbox.buffer(buffer, offset, len);
            }
            Action::Store { buffer, offset, bytes } => self.buffers.get(buffer)?.fill(offset, bytes)?,
            Action::Zero { buffer, offset, len } => self.zero(buffer, offset, len)?,
            Action::Register { buffer, access } => {
                let memory = self.buffers.get(buffer)?.clone();
                self.buffers.running = self.buffers.running.saturating_add(1);
                server.register(buffer, memory, access);
            }
            Action::Deregister { buffer } => {
                self.buffers.running = self.buffers.running.saturating_add(1);
                server.deregister(buffer);
            }
            Action::Idle(_) => return Ok(Done::Idle),
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

    /// Gives the server what it takes. Whether it took anything.
    pub(super) fn give(&mut self, server: &mut impl Peer<Memory = M>, cx: &mut Context<'_>) -> bool {
        let mut has_given = false;
        // Asked also if nothing waits: that moves what it has taken.
        while server.poll_ready(cx).is_ready() {
            let Some(message) = self.messages.pop_front() else { break };
            server.send(message);
            has_given = true;
        }
        has_given
    }
}

/// What ends the stream of this side is the client's end.
pub(super) fn of_client(ending: Ending) -> Ending {
    match ending {
        Ending::Server(why) => Ending::Client(why),
        other => other,
    }
}
