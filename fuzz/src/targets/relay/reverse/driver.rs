//! What a driver has carried out: buffers, registrations, and what was given away of them.

use smbd_core::Access;
use smbd_smb2::relay::reverse::{Action, Arrived, Event};
use smbd_smb2::relay::{BufferId, Room, Source, Way};
use smbd_smb2::wire::{BufferDescriptorV1, Channel, Command, Header, ReadRequest, Token, WriteRequest};

/// What a buffer is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// So many bytes from its beginning on were written since it was registered last.
    Own(u32),
    Registering,
    Open(Token),
    Deregistering,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) usage: Use,
    /// Bytes that were given for the client, and have not gone.
    pub(super) unsent: u32,
}

/// What was done so far.
pub(super) struct Driver {
    pub(super) buffer_len: u32,
    pub(super) buffers: [Vec<Buffer>; 2],
    pub(super) sent: Vec<(BufferId, u32)>,
    next_token: u32,
    /// A message to the server, and what remains of it.
    message: Vec<u8>,
    remaining: Option<u32>,
    /// Registrations whose end was ordered since the last message was complete: the server has answered what it does not have.
    ended: Vec<Token>,
    pub(super) is_closed: bool,
}

impl Driver {
    pub(super) fn new(buffer_len: u32, count: u16) -> Self {
        let unused = vec![Buffer { usage: Use::Own(0), unsent: 0 }; count.into()];
        Self {
            buffer_len,
            buffers: [unused.clone(), unused],
            sent: Vec::new(),
            next_token: 1,
            message: Vec::new(),
            remaining: None,
            ended: Vec::new(),
            is_closed: false,
        }
    }

    /// Buffers of which something was ordered.
    pub(super) fn due(&self) -> Vec<BufferId> {
        let count = self.buffers[0].len() as u16;
        let ways = [Way::ToServer, Way::ToClient].into_iter();
        let all = ways.flat_map(|way| (0..count).map(move |index| BufferId { way, index }));
        all.filter(|id| self.is_due(*id)).collect()
    }

    pub(super) fn buffer(&mut self, id: BufferId) -> &mut Buffer {
        &mut self.buffers[id.way as usize][usize::from(id.index)]
    }

    /// Bytes are written to a buffer: it is nobody else's, and they continue what is in it.
    pub(super) fn write(&mut self, id: BufferId, offset: u32, len: u32) {
        let buffer_len = self.buffer_len;
        let buffer = self.buffer(id);
        let Use::Own(filled) = &mut buffer.usage else { panic!("{id:?} is {:?}", buffer.usage) };
        assert!(buffer.unsent == 0 && len > 0 && offset + len <= buffer_len);
        assert!(offset == 0 || offset == *filled, "bytes at {offset}, behind {filled}");
        *filled = offset + len;
    }

    pub(super) fn is_due(&self, id: BufferId) -> bool {
        let buffer = self.buffers[id.way as usize].get(usize::from(id.index));
        buffer.is_some_and(|buffer| matches!(buffer.usage, Use::Registering | Use::Deregistering))
    }

    /// Ends what was ordered for a buffer.
    pub(super) fn finish(&mut self, id: BufferId) -> Event {
        let (token, length) = (Token(self.next_token), self.buffer_len);
        let buffer = self.buffer(id);
        if buffer.usage == Use::Deregistering {
            buffer.usage = Use::Own(0);
            return Event::Deregistered { buffer: id };
        }
        buffer.usage = Use::Open(token);
        self.next_token += 1;
        let descriptor = BufferDescriptorV1 { offset: 0x10_0000 * u64::from(token.0), token, length };
        Event::Registered { buffer: id, descriptor }
    }

    /// Whether there was nothing to do.
    pub(super) fn carry_out(&mut self, action: Action<'_>, arrived: &Arrived<'_>, room: Room) -> bool {
        assert!(!self.is_closed || matches!(action, Action::Idle(_)), "after the end: {action:?}");
        match action {
            Action::ToServer { bytes, remaining } => {
                assert!(!bytes.is_empty() && bytes.len() <= room.server);
                let all = bytes.len() as u32 + remaining;
                assert_eq!(self.remaining.unwrap_or(all), all);
                self.message.extend_from_slice(bytes);
                self.remaining = (remaining > 0).then_some(remaining);
                if remaining == 0 {
                    let message = std::mem::take(&mut self.message);
                    self.has_access(&message);
                    self.ended.clear();
                }
            }
            Action::ToClient(Source::Bytes(bytes)) => {
                assert!(!bytes.is_empty() && bytes.len() <= room.client);
            }
            Action::ToClient(Source::Buffer { head, buffer, len, .. }) => {
                assert!(len > 0 && head.len() + len as usize <= room.client);
                assert!(
                    matches!(self.buffer(buffer).usage, Use::Own(_)),
                    "the server has access to {buffer:?}"
                );
                self.buffer(buffer).unsent += len;
                self.sent.push((buffer, len));
            }
            Action::Store { buffer, offset, bytes } => {
                assert_eq!(buffer.way, Way::ToServer);
                self.write(buffer, offset, bytes.len() as u32);
            }
            Action::Zero { buffer, offset, len } => self.write(buffer, offset, len),
            Action::Register { buffer, access } => {
                assert_eq!(access, if buffer.way == Way::ToServer { Access::Read } else { Access::Write });
                let len = self.buffer_len;
                let state = self.buffer(buffer);
                assert!(state.usage == Use::Own(len) && state.unsent == 0, "{buffer:?} is {state:?}");
                state.usage = Use::Registering;
            }
            Action::Deregister { buffer } => {
                let state = self.buffer(buffer);
                let Use::Open(token) = state.usage else { panic!("{buffer:?} is {state:?}") };
                state.usage = Use::Deregistering;
                self.ended.push(token);
            }
            Action::Idle(idle) => {
                assert_eq!(idle.pause_client, !arrived.client.is_empty());
                assert_eq!(idle.pause_server, !arrived.server.bytes.is_empty());
                return true;
            }
            Action::Close(reason) => {
                assert!(reason.to_string().len() < 300);
                self.is_closed = true;
            }
        }
        false
    }

    /// What a message alone names to the server is registered.
    fn has_access(&self, message: &[u8]) {
        // What is no message of SMB2 names nothing.
        let Ok(header) = Header::parse(message) else { return };
        let request = match header.command {
            Command::READ => {
                let read = ReadRequest::parse(message).ok();
                read.map(|read| (Way::ToClient, read.channel, read.descriptors()))
            }
            Command::WRITE => {
                let write = WriteRequest::parse(message).ok();
                write.map(|write| (Way::ToServer, write.channel, write.descriptors()))
            }
            _ => None,
        };
        let Some((way, channel, descriptors)) = request else { return };
        if channel != Channel::RDMA_V1 && channel != Channel::RDMA_V1_INVALIDATE {
            return;
        }
        for descriptor in descriptors.expect("made by the gateway").iter() {
            let is_open = |buffer: &Buffer| buffer.usage == Use::Open(descriptor.token);
            let is_registered = self.buffers[way as usize].iter().any(is_open);
            assert!(
                is_registered || self.ended.contains(&descriptor.token),
                "{descriptor:?} is not registered"
            );
        }
    }
}
