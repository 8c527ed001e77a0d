//! The laws, checked from outside.
//!
//! [`Oracles`] watches the interface of both connections and keeps records of its own: outstanding ids, credits that
//! the bytes on the wire grant and use, and results that are due. It shares no code with the connection: the rules are
//! implemented here a second time.

mod actions;
mod credit;
mod events;
mod fingerprint;
mod ids;
mod inputs;
mod keepalive;
mod law;
mod lone;
mod messages;
mod negotiation;
mod operations;
mod receiving;
mod records;
mod registrations;
mod rule;
mod sending;
#[cfg(test)]
mod tests;
mod whole;

use smbd_core::error::{CommandError, DisconnectReason, RdmaError, RegisterError, SendError, WorkError};
use smbd_core::{Action, Config, Event, Input, Instant, Misuse, WrId};

pub use law::{Failure, Law, Verdicts};
pub(crate) use lone::Lone;
pub use rule::Rule;

use crate::probe::{At, Command, Probe, Whole};
use crate::{CommandRefused, Side};
use records::Records;

/// Watches both sides of one connection after the other.
#[derive(Clone, Debug)]
pub struct Oracles {
    sides: [Records; 2],
    configs: [Config; 2],
    /// Something went wrong, so that the connection may end without anybody's disconnect.
    disturbed: bool,
    /// Whose process is gone.
    killed: [bool; 2],
    verdicts: Verdicts,
}

impl Oracles {
    /// For a connection that has not begun, initiator first.
    #[must_use]
    pub fn new(configs: [Config; 2]) -> Self {
        let at = At { now: Instant::ORIGIN, side: Side::Initiator };
        Self {
            sides: records_of(&configs),
            verdicts: Verdicts::new(at),
            configs,
            disturbed: false,
            killed: [false; 2],
        }
    }

    /// The next connection of the same hosts begins.
    pub fn renew(&mut self) {
        self.sides = records_of(&self.configs);
        (self.disturbed, self.killed) = (false, [false; 2]);
    }

    /// What one side is told of the end is what the other did: only of two sides that are both watched.
    fn check_end(&mut self, at: At, reason: DisconnectReason) {
        let [here, there] = [at.side, at.side.peer()].map(|side| self.sides[side.index()].link);
        if !here.touched || !there.touched {
            return;
        }
        let right = match reason {
            DisconnectReason::Local => here.disconnect,
            DisconnectReason::PeerClosed => there.disconnect || self.killed[at.side.peer().index()],
            _ => self.disturbed,
        };
        self.verdicts.check(Law::LinkReported, right, || {
            let disturbed = if self.disturbed { "something" } else { "nothing" };
            format!(
                "Disconnected, {reason}: this side disconnected: {}, the peer: {}, {disturbed} went wrong",
                here.disconnect, there.disconnect
            )
        });
    }

    /// A side's connection was made now. Without this it is taken to be made when it first acts.
    pub fn begin(&mut self, at: At) {
        self.sides[at.side.index()].began = Some(at.now);
    }

    /// What was found.
    #[must_use]
    pub const fn verdicts(&self) -> &Verdicts {
        &self.verdicts
    }

    pub(crate) const fn verdicts_mut(&mut self) -> &mut Verdicts {
        &mut self.verdicts
    }

    /// Names that have come back on a side: a receive, a send, an RDMA request, a registration.
    #[must_use]
    pub fn spent(&self, side: Side) -> [Option<WrId>; 4] {
        self.sides[side.index()].spent
    }

    /// Send credits a side has left, by the bytes on the wire.
    #[must_use]
    pub fn credits_left(&self, side: Side) -> u64 {
        self.sides[side.index()].credit.left()
    }

    /// Whether a side's idle timer has expired, and no keepalive response came since.
    #[must_use]
    pub fn is_asking(&self, side: Side) -> bool {
        self.sides[side.index()].keepalive.is_asking()
    }
}

fn records_of(configs: &[Config; 2]) -> [Records; 2] {
    Side::BOTH.map(|side| Records::new(side.into(), &configs[side.index()]))
}

impl Probe for Oracles {
    fn input(&mut self, at: At, input: &Input<'_>, result: Result<(), Misuse>) {
        self.verdicts.at(at);
        match *input {
            Input::Failed { error, .. } => self.disturbed |= error != WorkError::Flushed,
            Input::Disconnected { reason } if result.is_ok() => self.check_end(at, reason),
            _ => {}
        }
        self.sides[at.side.index()].on_input(at.now, input, result, &mut self.verdicts);
    }

    fn action(&mut self, at: At, action: &Action) {
        self.verdicts.at(at);
        self.sides[at.side.index()].on_action(at.now, action, &mut self.verdicts);
    }

    fn event(&mut self, at: At, event: &Event) {
        self.verdicts.at(at);
        self.sides[at.side.index()].on_event(at.now, event, &mut self.verdicts);
    }

    fn disturbed(&mut self) {
        self.disturbed = true;
    }

    fn killed(&mut self, side: Side) {
        (self.disturbed, self.killed[side.index()]) = (true, true);
    }

    fn begin_whole(&mut self, at: At) {
        self.sides[at.side.index()].whole.begin();
    }

    fn begin_pieces(&mut self, at: At) {
        self.sides[at.side.index()].whole.begin_pieces();
    }

    fn paused(&mut self, at: At, paused: bool) {
        let records = &mut self.sides[at.side.index()];
        if paused && !records.whole.paused {
            records.receiving.on_pause();
        }
        records.whole.paused = paused;
        // What was kept is taken in, and its receives may be posted again.
        records.waiting = false;
    }

    fn whole(&mut self, at: At, message: &Whole<'_>) {
        self.verdicts.at(at);
        self.sides[at.side.index()].on_whole(message, &mut self.verdicts);
    }

    fn arrived(&self, side: Side) -> Option<usize> {
        Some(self.sides[side.index()].whole.arrived())
    }

    fn command(&mut self, at: At, command: &Command<'_>) {
        self.verdicts.at(at);
        self.sides[at.side.index()].on_command(at.now, command, &mut self.verdicts);
    }
}

/// The part of a refusal that all commands have in common.
const fn command_error(error: &CommandRefused) -> Option<&CommandError> {
    match error {
        CommandRefused::Send(SendError::Command(command))
        | CommandRefused::Rdma(RdmaError::Command(command))
        | CommandRefused::Register(RegisterError::Command(command))
        | CommandRefused::Command(command) => Some(command),
        _ => None,
    }
}

/// Whether a refusal was for want of room.
const fn is_no_room(error: &CommandRefused) -> bool {
    matches!(command_error(error), Some(CommandError::NoRoom { .. }))
}

/// Whether a refusal says that it is too early or too late for any command.
const fn is_wrong_time(error: &CommandRefused) -> bool {
    matches!(command_error(error), Some(CommandError::NotEstablished | CommandError::Closing))
}
