use std::sync::Arc;

use smbd_core::endpoint::Message;
use smbd_core::{
    Access, BufferDescriptorV1, Close, Connection, Fragment, Instant, MsgId, OpId, RdmaVerb, RegId, Token,
};

use super::memory::Names;
use crate::error::CommandRefused;
use crate::machine::{Commands, Source};
use crate::memory::{Buffers, Range};
use crate::nic::Nic;
use crate::probe::{At, Command, Probe};
use crate::{Breach, Rng, Side};

/// What an upper layer can do while it is called.
pub struct Context<'a> {
    pub(super) at: At,
    pub(super) commands: Option<Commands<'a>>,
    pub(super) nic: &'a mut Nic,
    pub(super) names: &'a mut Names,
    pub(super) rng: &'a mut Rng,
    pub(super) probe: &'a mut dyn Probe,
    pub(super) alarm: &'a mut Option<Instant>,
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("at", &self.at).finish_non_exhaustive()
    }
}

impl<'a> Context<'a> {
    /// Virtual time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.at.now
    }

    /// Which host this is.
    #[must_use]
    pub const fn side(&self) -> Side {
        self.at.side
    }

    /// The connection.
    #[must_use]
    pub fn connection(&self) -> Option<&Connection> {
        self.commands.as_ref().map(Commands::connection)
    }

    /// The host's memory.
    pub const fn memory(&mut self) -> &mut Buffers {
        &mut self.nic.buffers
    }

    /// The source of chance.
    pub const fn rng(&mut self) -> &mut Rng {
        self.rng
    }

    /// Has [`Upper::wake`](super::Upper::wake) called at a time; a second call replaces the first.
    pub const fn wake_at(&mut self, at: Instant) {
        *self.alarm = Some(at);
    }

    /// Sends a message from memory that stays untouched until its `Sent` event.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub fn send(&mut self, range: Range, invalidate: Option<Token>) -> Result<MsgId, CommandRefused> {
        self.send_from(range, None, invalidate, false)
    }

    /// Sends a message from a buffer made for it.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub fn send_bytes(&mut self, bytes: &[u8], invalidate: Option<Token>) -> Result<MsgId, CommandRefused> {
        self.send_new(Source::Bytes(bytes), invalidate, false)
    }

    /// The same with bytes that an endpoint need not copy, and maybe without waiting for the result.
    ///
    /// # Errors
    /// As [`Connection::send`].
    pub fn send_static(
        &mut self,
        bytes: &'static [u8],
        invalidate: Option<Token>,
        unsignalled: bool,
    ) -> Result<MsgId, CommandRefused> {
        self.send_new(Source::Static(bytes), invalidate, unsignalled)
    }

    fn send_new(
        &mut self,
        source: Source<'_>,
        invalidate: Option<Token>,
        unsignalled: bool,
    ) -> Result<MsgId, CommandRefused> {
        let (Source::Bytes(bytes) | Source::Static(bytes)) = source;
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let buffer = self.nic.buffers.reserve(len);
        let range = Range { buffer, offset: 0, len };
        let result = self.send_from(range, Some(source), invalidate, unsignalled);
        match result {
            // It keeps them itself, and the device gets them from there.
            Ok(_) if self.commands.as_ref().is_some_and(Commands::keeps_messages) => {}
            Ok(_) => self.nic.buffers.fill(buffer, bytes),
            // Many are refused for want of room, and come again: these are not copied.
            Err(_) => self.nic.buffers.free(buffer),
        }
        result
    }

    /// With a `source`, the buffer was made for its bytes.
    fn send_from(
        &mut self,
        range: Range,
        source: Option<Source<'_>>,
        invalidate: Option<Token>,
        unsignalled: bool,
    ) -> Result<MsgId, CommandRefused> {
        let now = self.at.now;
        let result = self.check(range).and_then(|()| {
            let commands = self.commands.as_mut().ok_or(CommandRefused::NoConnection)?;
            let buffers = &self.nic.buffers;
            let source = || {
                let made = source.filter(|_| buffers.content());
                made.unwrap_or_else(|| Source::Bytes(buffers.range(range)))
            };
            Ok(commands.send(now, range.len, source, invalidate, unsignalled)?)
        });
        if let Ok(msg) = result {
            self.names.put_message(msg, range, source.is_some());
        }
        self.probe.command(self.at, &Command::Send { range, invalidate, unsignalled, result });
        result
    }

    fn check(&self, range: Range) -> Result<(), CommandRefused> {
        let whole = self.nic.buffers.whole(range.buffer).ok_or(CommandRefused::NoBuffer)?;
        whole.part(range.offset, range.len).map(|_| ()).ok_or(CommandRefused::NoBuffer)
    }

    fn commands(&mut self) -> Result<&mut Commands<'a>, CommandRefused> {
        self.commands.as_mut().ok_or(CommandRefused::NoConnection)
    }

    /// Moves bytes between a local buffer and the peer's.
    ///
    /// # Errors
    /// As [`Connection::rdma`].
    pub fn rdma(
        &mut self,
        verb: RdmaVerb,
        local: Range,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, CommandRefused> {
        self.rdma_with(verb, local, remote, offset, false)
    }

    /// The same, whose result may come with that of something later.
    ///
    /// # Errors
    /// As [`Connection::rdma_unsignalled`].
    pub fn rdma_unsignalled(
        &mut self,
        verb: RdmaVerb,
        local: Range,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, CommandRefused> {
        self.rdma_with(verb, local, remote, offset, true)
    }

    fn rdma_with(
        &mut self,
        verb: RdmaVerb,
        local: Range,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        unsignalled: bool,
    ) -> Result<OpId, CommandRefused> {
        let (now, whole) = (self.at.now, (Arc::clone(remote), offset));
        let result = self
            .check(local)
            .and_then(|()| Ok(self.commands()?.rdma(now, verb, local.len, whole, unsignalled)?));
        if let Ok(op) = result {
            self.names.put_op(op, local);
        }
        self.probe.command(self.at, &Command::Rdma { verb, local, remote, offset, unsignalled, result });
        result
    }

    /// Opens a buffer to the peer.
    ///
    /// # Errors
    /// As [`Connection::register`].
    pub fn register(
        &mut self,
        access: Access,
        range: Range,
        segments_max: u16,
    ) -> Result<RegId, CommandRefused> {
        let now = self.now();
        let result =
            self.check(range).and_then(|()| Ok(self.commands()?.register(now, access, segments_max)?));
        if let Ok(id) = result {
            self.names.put_registration(id, range);
        }
        self.probe.command(self.at, &Command::Register { access, range, segments_max, result });
        result
    }

    /// Closes a buffer to the peer.
    ///
    /// # Errors
    /// As [`Connection::deregister`].
    pub fn deregister(&mut self, id: RegId) -> Result<(), CommandRefused> {
        let now = self.now();
        let result = self.commands().and_then(|commands| Ok(commands.deregister(now, id)?));
        self.probe.command(self.at, &Command::Deregister { id, result });
        result
    }

    /// The bytes of a message.
    #[must_use]
    pub fn bytes<'b>(&'b self, message: &'b Message) -> &'b [u8] {
        match message {
            Message::Owned(bytes) => bytes,
            Message::Borrowed(fragment) => self.fragment(fragment),
        }
    }

    /// The bytes of a fragment; none without content.
    #[must_use]
    pub fn fragment(&self, fragment: &Fragment) -> &[u8] {
        self.nic.received(fragment.recv()).get(fragment.range()).unwrap_or(&[])
    }

    /// Gives a fragment back. What the connection thinks of it is recorded if it refuses.
    pub fn release(&mut self, fragment: Fragment) {
        self.probe.command(self.at, &Command::Release { fragment: &fragment });
        let Some(commands) = &mut self.commands else { return };
        if let Err(misuse) = commands.release(self.at.now, fragment) {
            self.nic.breaches.record(Breach::Misuse(misuse));
        }
    }

    /// Asks the peer for a keepalive response.
    ///
    /// # Errors
    /// As [`Connection::probe`].
    pub fn probe(&mut self) -> Result<(), CommandRefused> {
        let now = self.at.now;
        let result = self.commands().and_then(|commands| Ok(commands.probe(now)?));
        self.probe.command(self.at, &Command::Probe { result });
        result
    }

    /// Ends the connection.
    pub fn close(&mut self, how: Close) {
        if let Some(commands) = &mut self.commands {
            self.probe.command(self.at, &Command::Close(how));
            commands.close(self.at.now, how);
        }
    }

    /// Descriptors of a valid registration, in buffer order.
    #[must_use]
    pub fn descriptors(&self, id: RegId) -> Vec<BufferDescriptorV1> {
        self.connection().map_or_else(Vec::new, |c| c.live_segments(id).collect())
    }
}
