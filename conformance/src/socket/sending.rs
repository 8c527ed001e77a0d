//! The send queue of an end: messages and RDMA requests, carried out and completed in posting order.

use std::collections::VecDeque;

use smbd_core::error::WorkError;
use smbd_core::{BufferDescriptorV1, RdmaVerb, Token, WrId};

use super::frame::{DATA_MAX, Frame, Reason, Violation, broken};
use super::memory::Buffer;
use super::wire::Wire;

/// Bytes that wait for the socket, from which on no more work is begun.
pub(super) const AHEAD: usize = 1 << 18;
/// Most receives that a peer may have posted.
const RECEIVES_MAX: u32 = 1 << 16;

/// What is to be done.
#[derive(Debug)]
pub(super) enum Kind {
    Send(Vec<u8>, Option<Token>),
    Rdma {
        verb: RdmaVerb,
        buffer: Buffer,
        offset: u32,
        remote: BufferDescriptorV1,
    },
    /// A message whose bytes are not inside their buffer.
    Outside,
}

#[derive(Debug)]
enum State {
    Waiting(Kind),
    /// Done when the socket has taken the stream up to here.
    Leaving(u64),
    /// A Read: where its data go, and how many they are.
    Reading(Buffer, u32, u32),
}

#[derive(Debug)]
struct Posted {
    id: WrId,
    signal: bool,
    state: State,
}

/// What is posted, and what the peer allows.
#[derive(Debug, Default)]
pub(super) struct Sending {
    posted: VecDeque<Posted>,
    /// Of `posted`, from the front.
    begun: usize,
    /// Receives of the peer, as it told of them: how many of which length.
    receives: VecDeque<(u32, u32)>,
    receives_count: u32,
    /// Reads under way at a time, at most.
    read_depth: u16,
    /// Reads of the peer, without what was queued of them already.
    served: VecDeque<BufferDescriptorV1>,
}

/// Why work was not begun.
pub(super) enum Held {
    /// It has to wait.
    Yet,
    /// It cannot be done, and the connection ends.
    Never(WorkError, Reason, String),
}

impl Sending {
    pub(super) fn post(&mut self, id: WrId, signal: bool, kind: Kind) {
        self.posted.push_back(Posted { id, signal, state: State::Waiting(kind) });
    }

    pub(super) fn limit_reads(&mut self, depth: u16) {
        self.read_depth = depth;
    }

    /// The peer has posted receives.
    pub(super) fn receives(&mut self, count: u32, length: u32) -> Result<(), Violation> {
        let all = self.receives_count.checked_add(count).filter(|all| *all <= RECEIVES_MAX);
        self.receives_count = all.ok_or_else(|| {
            broken(format!("{count} receives besides {}, {RECEIVES_MAX} are valid", self.receives_count))
        })?;
        match self.receives.back_mut() {
            Some((before, len)) if *len == length => *before += count,
            _ if count > 0 => self.receives.push_back((count, length)),
            _ => {}
        }
        Ok(())
    }

    /// Data of the oldest Read.
    pub(super) fn take_data(&mut self, data: &[u8]) -> Result<(), Violation> {
        let is_reading = |posted: &&mut Posted| matches!(posted.state, State::Reading(..));
        let oldest = self.posted.iter_mut().find(is_reading).map(|posted| &mut posted.state);
        let Some(state) = oldest else { return Err(broken("READ DATA without a READ")) };
        let State::Reading(buffer, offset, left) = state else { return Ok(()) };
        let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let rest = left.checked_sub(len).filter(|rest| len > 0 || *rest == 0);
        let rest =
            rest.ok_or_else(|| broken(format!("READ DATA of {len} bytes, {left} are left of the READ")))?;
        // That it fits was looked at when it was asked for.
        let _ = buffer.fill(*offset, data);
        (*offset, *left) = (offset.saturating_add(len), rest);
        if rest == 0 {
            *state = State::Leaving(0);
        }
        Ok(())
    }

    /// Reads of the peer whose data have not been queued as a whole.
    pub(super) fn served(&self) -> usize {
        self.served.len()
    }

    pub(super) fn serve(&mut self, remote: BufferDescriptorV1) {
        self.served.push_back(remote);
    }

    /// A piece of the oldest Read of the peer whose data have not been queued.
    pub(super) fn next_served(&mut self, len: usize) -> Option<BufferDescriptorV1> {
        let next = self.served.front_mut()?;
        let (piece, behind) = cut(*next, len);
        *next = behind;
        if behind.length == 0 {
            self.served.pop_front();
        }
        Some(piece)
    }

    /// The work to be begun next.
    pub(super) fn next_id(&self) -> Option<WrId> {
        self.posted.get(self.begun).map(|posted| posted.id)
    }

    pub(super) fn oldest_read(&self) -> Option<WrId> {
        let mut reads = self.posted.iter().filter(|posted| matches!(posted.state, State::Reading(..)));
        reads.next().map(|posted| posted.id)
    }

    /// This work and all before it are done.
    pub(super) fn forget_until(&mut self, id: WrId) {
        while let Some(posted) = self.posted.pop_front() {
            self.begun = self.begun.saturating_sub(1);
            if posted.id == id {
                return;
            }
        }
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = WrId> + use<> {
        self.begun = 0;
        std::mem::take(&mut self.posted).into_iter().map(|posted| posted.id)
    }

    fn reading(&self) -> usize {
        self.posted.iter().filter(|posted| matches!(posted.state, State::Reading(..))).count()
    }

    /// Takes a receive of the peer for a message of so many bytes.
    fn take_receive(&mut self, len: usize) -> Result<(), Held> {
        let Some((count, length)) = self.receives.front_mut() else {
            let text = format!("a message of {len} bytes has no receive at the peer");
            return Err(Held::Never(WorkError::ReceiverNotReady, Reason::NoReceive, text));
        };
        if usize::try_from(*length).is_ok_and(|room| room < len) {
            let text = format!("a message of {len} bytes, the receive has {length}");
            return Err(Held::Never(WorkError::RemoteInvalidRequest, Reason::TooLong, text));
        }
        *count -= 1;
        if *count == 0 {
            self.receives.pop_front();
        }
        self.receives_count -= 1;
        Ok(())
    }

    /// Begins the first work that was not begun.
    pub(super) fn begin(&mut self, wire: &mut Wire) -> Result<(), Held> {
        let reading = self.reading();
        let Some(Posted { state: State::Waiting(kind), .. }) = self.posted.get(self.begun) else {
            return Err(Held::Yet);
        };
        let outside = || {
            let text = "the local buffer of a work request is too short".to_owned();
            Held::Never(WorkError::LocalProtection, Reason::Failed, text)
        };
        let state = match kind {
            Kind::Outside => return Err(outside()),
            Kind::Send(message, _) => {
                self.take_receive(message.len())?;
                let Some(Posted { state: State::Waiting(Kind::Send(message, invalidate)), .. }) =
                    self.posted.get(self.begun)
                else {
                    return Err(Held::Yet);
                };
                State::Leaving(wire.queue(&Frame::Send { invalidate: *invalidate, message }))
            }
            Kind::Rdma { verb: RdmaVerb::Write, buffer, offset, remote } => {
                let data = buffer.copy(*offset, remote.length).map_err(|_| outside())?;
                State::Leaving(queue_write(wire, *remote, &data))
            }
            Kind::Rdma { verb: RdmaVerb::Read, buffer, offset, remote } => {
                if reading >= usize::from(self.read_depth) {
                    return Err(Held::Yet);
                }
                buffer.copy(*offset, remote.length).map_err(|_| outside())?;
                wire.queue(&Frame::Read(*remote));
                State::Reading(buffer.clone(), *offset, remote.length)
            }
        };
        if let Some(posted) = self.posted.get_mut(self.begun) {
            posted.state = state;
        }
        self.begun += 1;
        Ok(())
    }

    /// Takes the first work if it is done.
    pub(super) fn next_done(&mut self, handed: u64) -> Option<(WrId, bool)> {
        let is_done = |posted: &&Posted| matches!(posted.state, State::Leaving(end) if end <= handed);
        let Posted { id, signal, .. } = self.posted.front().filter(is_done)?;
        let done = (*id, *signal);
        self.posted.pop_front();
        self.begun -= 1;
        Some(done)
    }
}

/// Queues a Write. Where it ends in the stream.
fn queue_write(wire: &mut Wire, remote: BufferDescriptorV1, data: &[u8]) -> u64 {
    let mut rest = remote;
    let mut end = 0;
    // One of no bytes is a frame, too.
    let pieces = data.chunks(DATA_MAX).chain(data.is_empty().then_some(data));
    for piece in pieces {
        let (first, behind) = cut(rest, piece.len());
        end = wire.queue(&Frame::Write(first, piece));
        rest = behind;
    }
    end
}

/// The first bytes of what a descriptor describes, at most so many, and what is behind them.
fn cut(whole: BufferDescriptorV1, len: usize) -> (BufferDescriptorV1, BufferDescriptorV1) {
    let length = u32::try_from(len).unwrap_or(u32::MAX).min(whole.length);
    let offset = whole.offset.wrapping_add(length.into());
    let behind = BufferDescriptorV1 { offset, length: whole.length - length, ..whole };
    (BufferDescriptorV1 { length, ..whole }, behind)
}
