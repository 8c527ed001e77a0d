//! The server's messages on their way to the client.

use alloc::boxed::Box;

use super::action::{Action, BufferId, Idle, Misuse, Placement, Transfer, Way};
use super::config::Config;
use super::deliver::Use;
use super::incoming::Incoming;
use super::position::{Mode, Outgoing, State};
use super::reason::Reason;
use super::request::ANSWER_LEN;
use super::shared::{Shared, add};
use super::slots::Slots;
use super::step::{Down, Progress};
use crate::wire::Token;

/// The direction to the client.
#[derive(Debug)]
pub(super) struct Downstream {
    pub(super) incoming: Incoming,
    pub(super) state: State,
    /// Buffers whose data are written to the client's memory, or will be.
    pub(super) slots: Slots<Use>,
    /// The answer that goes behind data, or went last.
    pub(super) answer: [u8; ANSWER_LEN],
    /// The token that it invalidates, or a message that goes as a whole.
    pub(super) invalidate: Option<Token>,
}

impl Downstream {
    pub(super) fn new(config: &Config) -> Self {
        let slots = Slots::new(config.buffers());
        let (incoming, answer) = (Incoming::new(), [0; ANSWER_LEN]);
        Self { incoming, state: State::FRAMING, slots, answer, invalidate: None }
    }

    /// The next step, with what has arrived and `room` bytes that the client takes.
    pub(super) fn step(
        &mut self,
        server: &mut &[u8],
        room: usize,
        shared: &mut Shared,
    ) -> Result<Option<Down>, Box<Reason>> {
        if !self.state.is_moving() {
            match self.advance(server, room, shared)? {
                Progress::Moved => {}
                Progress::Step(step) => return Ok(Some(step)),
                Progress::Blocked => return Ok(None),
            }
        }
        Ok(match &mut self.state {
            State::Delivering(delivery) => {
                let buffer_len = shared.config.params().buffer_len;
                delivery.step(&mut self.incoming, server, room, &mut self.slots, buffer_len)
            }
            State::Sending { left, .. } => match self.incoming.available(server, room.min(*left)) {
                0 => None,
                len => Some(Down::Send(len)),
            },
            State::Framing { .. } | State::Deciding { .. } | State::Element(_) | State::Skipping { .. } => {
                None
            }
        })
    }

    /// Whether it waits for bytes of the server only.
    #[inline]
    pub(super) fn is_idle(&self, buffer_len: u32) -> bool {
        let is_waiting = match &self.state {
            State::Delivering(delivery) => delivery.is_waiting(buffer_len),
            State::Framing { .. }
            | State::Deciding { .. }
            | State::Element(_)
            | State::Sending { .. }
            | State::Skipping { .. } => true,
        };
        is_waiting && self.incoming.is_in_stream()
    }

    /// Whether a message has come in part, or has not gone yet.
    pub(super) fn is_amid_message(&self) -> bool {
        self.state.is_amid_message(&self.incoming)
    }

    /// The action of a step.
    #[inline]
    pub(super) fn action<'r, 'a: 'r>(
        &'r mut self,
        step: Down,
        server: &mut &'a [u8],
        shared: &mut Shared,
    ) -> Action<'r> {
        match step {
            Down::Write { index, len, is_last: false } => {
                self.write(index, len, shared).map_or(Action::Idle(Idle::default()), Action::RdmaWrite)
            }
            Down::Write { index, len, is_last: true } => {
                let write = self.write(index, len, shared);
                self.answer(0, ANSWER_LEN as u8, write, shared)
            }
            Down::Store { index, offset, len } => self.store(index, offset, len, server),
            Down::Send(len) => self.send(len, server, shared),
            Down::Whole(len) => {
                add(&mut shared.statistics.bytes.to_client, len as u64);
                let taken = self.incoming.take(server, len);
                let bytes = self.incoming.bytes(taken);
                Action::ToClient { write: None, bytes, remaining: 0, invalidate: self.invalidate }
            }
            Down::Answer { start, end } => self.answer(start, end, None, shared),
        }
    }

    /// [`Down::Send`].
    #[inline]
    fn send<'r, 'a: 'r>(&'r mut self, len: usize, server: &mut &'a [u8], shared: &mut Shared) -> Action<'r> {
        let taken = self.incoming.take(server, len);
        let State::Sending { mode, left, outgoing } = &mut self.state else {
            return Action::Idle(Idle::default());
        };
        *left = left.saturating_sub(len);
        let sent = u32::try_from(len).unwrap_or(u32::MAX);
        outgoing.remaining = outgoing.remaining.saturating_sub(sent);
        let Outgoing { remaining, invalidate } = *outgoing;
        add(&mut shared.statistics.bytes.to_client, len as u64);
        if *left == 0 {
            let mode = match *mode {
                Mode::Together { .. } => Mode::Together { remaining },
                mode @ (Mode::Single | Mode::Alone) => mode,
            };
            self.state = State::behind(&self.incoming, 0, mode);
        }
        Action::ToClient { write: None, bytes: self.incoming.bytes(taken), remaining, invalidate }
    }

    /// [`Down::Answer`], behind the last data.
    #[inline]
    fn answer(&mut self, start: u8, end: u8, write: Option<Transfer>, shared: &mut Shared) -> Action<'_> {
        add(&mut shared.statistics.bytes.to_client, end.saturating_sub(start).into());
        if let State::Delivering(delivery) = &mut self.state
            && let Some(left) = delivery.answer(end)
        {
            self.state = State::behind(&self.incoming, left, Mode::Alone);
        }
        let bytes = self.answer.get(start.into()..end.into()).unwrap_or_default();
        let remaining = (ANSWER_LEN as u32).saturating_sub(end.into());
        Action::ToClient { write, bytes, remaining, invalidate: self.invalidate }
    }

    /// [`Down::Write`].
    #[inline]
    fn write(&mut self, index: u16, len: u32, shared: &mut Shared) -> Option<Transfer> {
        let State::Delivering(delivery) = &mut self.state else { return None };
        delivery.write(index, len, &mut self.slots, shared)
    }

    /// [`Down::Store`].
    #[inline]
    fn store<'r, 'a: 'r>(
        &'r mut self,
        index: u16,
        offset: u32,
        len: u32,
        server: &mut &'a [u8],
    ) -> Action<'r> {
        if let State::Delivering(delivery) = &mut self.state {
            delivery.store(index, offset, len);
        }
        let buffer = BufferId { way: Way::ToClient, index };
        let taken = self.incoming.take(server, len as usize);
        Action::Store { buffer, offset, bytes: self.incoming.bytes(taken) }
    }

    /// An RDMA Write has ended.
    pub(super) fn on_written(&mut self, buffer: BufferId) -> Result<(), Misuse> {
        match self.slots.get(buffer.index) {
            Some(Use::Writing) => {
                self.slots.free(buffer.index);
                Ok(())
            }
            Some(Use::Filling) | None => Err(Misuse { event: "RdmaDone", buffer }),
        }
    }

    /// Where the next bytes of the stream can be put at once.
    pub(super) fn placement(&mut self, shared: &Shared) -> Option<Placement> {
        let State::Delivering(delivery) = &mut self.state else { return None };
        let buffer_len = shared.config.params().buffer_len;
        delivery.placement(&self.incoming, &mut self.slots, buffer_len)
    }

    /// Bytes were put there.
    pub(super) fn on_placed(&mut self, buffer: BufferId, len: u32, shared: &Shared) -> Result<(), Misuse> {
        let misuse = Misuse { event: "Placed", buffer };
        let State::Delivering(delivery) = &mut self.state else { return Err(misuse) };
        let (index, buffer_len) = (buffer.index, shared.config.params().buffer_len);
        let is_possible = delivery.on_placed(&mut self.incoming, index, len, buffer_len);
        if is_possible { Ok(()) } else { Err(misuse) }
    }
}
