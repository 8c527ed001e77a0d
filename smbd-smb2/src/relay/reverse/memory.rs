//! The driver's buffers, and what each is used for. None is used for two requests at once, and none without the driver's word that
//! the server's access to it has ended.

use alloc::vec::Vec;

use crate::relay::slots::Slots;
use crate::relay::{BufferId, Misuse, Way};
use crate::wire::BufferDescriptorV1;

/// All buffers of a connection.
#[derive(Debug)]
pub(super) struct Memory {
    to_server: Slots<Use>,
    to_client: Slots<Use>,
    buffer_len: u32,
}

/// What a buffer is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// It is filled, with data or zeros.
    Filling,
    /// A registration was ordered.
    Registering,
    /// The server has access.
    Open(BufferDescriptorV1),
    /// The end of its access was ordered.
    Deregistering,
    /// It has no access any more.
    Closed,
    /// The first `len` bytes go to the client; the driver was given some, and has sent some of these.
    Leaving { len: u32, given: u32, sent: u32 },
}

impl Memory {
    pub(super) fn new(buffers: u16, buffer_len: u32) -> Self {
        Self { to_server: Slots::new(buffers), to_client: Slots::new(buffers), buffer_len }
    }

    const fn slots(&mut self, way: Way) -> &mut Slots<Use> {
        match way {
            Way::ToServer => &mut self.to_server,
            Way::ToClient => &mut self.to_client,
        }
    }

    /// So many buffers, if they are free.
    pub(super) fn take(&mut self, way: Way, count: u16) -> Option<Vec<u16>> {
        let slots = self.slots(way);
        if slots.free_count() < count {
            return None;
        }
        (0..count).map(|_| slots.take(Use::Filling)).collect()
    }

    /// How many of `len` bytes of data are in the buffer at this place of its transfer.
    pub(super) fn part(&self, at: usize, len: u32) -> u32 {
        let before = u32::try_from(at).unwrap_or(u32::MAX).saturating_mul(self.buffer_len);
        len.saturating_sub(before).min(self.buffer_len)
    }

    pub(super) const fn buffer_len(&self) -> u32 {
        self.buffer_len
    }

    /// A registration is ordered.
    pub(super) fn register(&mut self, way: Way, index: u16) {
        self.set(way, index, Use::Registering);
    }

    /// The end of a registration is ordered.
    pub(super) fn deregister(&mut self, way: Way, index: u16) {
        self.set(way, index, Use::Deregistering);
    }

    fn set(&mut self, way: Way, index: u16, new: Use) {
        if let Some(state) = self.slots(way).get_mut(index) {
            *state = new;
        }
    }

    /// The descriptors of all these buffers, if the server has access to all of them: the first `len` bytes.
    pub(super) fn descriptors(
        &mut self,
        way: Way,
        indices: &[u16],
        len: u32,
    ) -> Option<Vec<BufferDescriptorV1>> {
        let parts: Vec<u32> = (0..indices.len()).map(|at| self.part(at, len)).collect();
        let slots = self.slots(way);
        let all = indices.iter().zip(parts).map(|(index, length)| {
            let Some(Use::Open(descriptor)) = slots.get(*index) else { return None };
            Some(BufferDescriptorV1 { length, ..*descriptor })
        });
        all.collect()
    }

    /// Whether the server has no access to any of these buffers any more.
    pub(super) fn are_closed(&mut self, way: Way, indices: &[u16]) -> bool {
        let slots = self.slots(way);
        indices.iter().all(|index| slots.get(*index) == Some(&Use::Closed))
    }

    /// Frees a buffer whose access has ended.
    pub(super) fn free(&mut self, way: Way, index: u16) {
        self.slots(way).free(index);
    }

    /// The first `len` bytes of a buffer go to the client. Without any it is free.
    pub(super) fn leave(&mut self, index: u16, len: u32) {
        if len == 0 {
            return self.free(Way::ToClient, index);
        }
        self.set(Way::ToClient, index, Use::Leaving { len, given: 0, sent: 0 });
    }

    /// The next bytes of a buffer for the client, at most `room`: where they begin, how many they are, and whether they are its last.
    pub(super) fn give(&mut self, index: u16, room: u32) -> Option<(u32, u32, bool)> {
        let Some(Use::Leaving { len, given, .. }) = self.to_client.get_mut(index) else { return None };
        let (offset, part) = (*given, len.saturating_sub(*given).min(room));
        *given = offset.saturating_add(part);
        (part > 0).then_some((offset, part, *given == *len))
    }

    pub(super) fn on_registered(
        &mut self,
        buffer: BufferId,
        descriptor: BufferDescriptorV1,
    ) -> Result<(), Misuse> {
        let misuse = Misuse { event: "Registered", buffer };
        let is_whole = descriptor.length >= self.buffer_len;
        if let Some(state @ Use::Registering) = self.slots(buffer.way).get_mut(buffer.index)
            && is_whole
        {
            *state = Use::Open(descriptor);
            return Ok(());
        }
        Err(misuse)
    }

    pub(super) fn on_deregistered(&mut self, buffer: BufferId) -> Result<(), Misuse> {
        if let Some(state @ Use::Deregistering) = self.slots(buffer.way).get_mut(buffer.index) {
            *state = Use::Closed;
            return Ok(());
        }
        Err(Misuse { event: "Deregistered", buffer })
    }

    /// Whether a registration or the end of one was ordered.
    pub(super) fn on_failed(&mut self, buffer: BufferId) -> Result<(), Misuse> {
        let state = self.slots(buffer.way).get(buffer.index);
        let is_due = matches!(state, Some(Use::Registering | Use::Deregistering));
        if is_due { Ok(()) } else { Err(Misuse { event: "Failed", buffer }) }
    }

    pub(super) fn on_sent(&mut self, buffer: BufferId, bytes: u32) -> Result<(), Misuse> {
        if let Some(Use::Leaving { len, given, sent }) = self.slots(buffer.way).get_mut(buffer.index)
            && bytes <= given.saturating_sub(*sent)
        {
            *sent = sent.saturating_add(bytes);
            if *sent == *len {
                self.free(buffer.way, buffer.index);
            }
            return Ok(());
        }
        Err(Misuse { event: "Sent", buffer })
    }
}
