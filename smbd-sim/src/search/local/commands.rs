//! Commands of the upper layer, given to its connection and shown to watchers.

use std::time::Duration;

use smbd_core::{BufferDescriptorV1, Close, Connection, MsgId, RegId};

use super::host::{BUFFER_LEN, Host};
use super::upper::Held;
use crate::CommandRefused;
use crate::memory::{Buffer, Range};
use crate::oracle::Law;
use crate::probe::{Command, Probe};
use crate::search::setup::Do;

/// For flushes. Where nothing is late they take no time, elsewhere more of it is more states.
const FLUSH: Duration = Duration::from_secs(10);

const fn range(len: u32) -> Range {
    Range { buffer: Buffer::NOWHERE, offset: 0, len }
}

impl Host {
    fn show(&mut self, command: &Command<'_>, seen: &mut dyn Probe) {
        let at = self.at();
        seen.command(at, command);
        self.oracle.command(at, command);
    }

    /// Gives the next command of the script.
    pub(super) fn command(&mut self, seen: &mut dyn Probe) {
        let Some(command) = self.upper.next() else { return };
        let result = match command {
            Do::Send { len, tells, invalidates, unsignalled } => {
                self.send(len, (tells, invalidates, unsignalled), seen)
            }
            Do::Register(access) => {
                let result = self.connection.register(self.now, access, 1).map_err(CommandRefused::from);
                self.told = self.now;
                let shown = Command::Register { access, range: range(BUFFER_LEN), segments_max: 1, result };
                self.show(&shown, seen);
                result.map(drop)
            }
            Do::Deregister => self.deregister(seen),
            Do::Rdma(verb) => {
                let remote: Vec<BufferDescriptorV1> = self.upper.learned.into_iter().collect();
                let len = remote.iter().map(|d| d.length).sum();
                let result = self.connection.rdma(self.now, verb, len, remote.clone().into(), 0);
                let result = result.map_err(CommandRefused::from);
                self.told = self.now;
                self.show(
                    &Command::Rdma {
                        verb,
                        local: range(len),
                        remote: &remote,
                        offset: 0,
                        unsignalled: false,
                        result,
                    },
                    seen,
                );
                result.map(drop)
            }
            Do::Probe => {
                let result = self.connection.probe(self.now).map_err(CommandRefused::from);
                self.told = self.now;
                self.show(&Command::Probe { result }, seen);
                result
            }
            Do::Sleep(time) => {
                self.upper.commanded(false);
                self.upper.alarm = Some(self.now.saturating_add(time));
                return;
            }
            Do::Flush => {
                let how = Close::Flush { until: self.now.saturating_add(FLUSH) };
                return self.close(how, seen);
            }
            Do::Abort => return self.close(Close::Abort, seen),
            // Nothing to give.
            Do::Received(_) | Do::Answered => return,
        };
        match result {
            Ok(()) => self.upper.commanded(true),
            // There is no room, or the connection has ended and is about to tell so.
            Err(_) => self.upper.blocked = true,
        }
    }

    fn send(
        &mut self,
        len: u32,
        (tells, invalidates, unsignalled): (bool, bool, bool),
        seen: &mut dyn Probe,
    ) -> Result<(), CommandRefused> {
        let told = self.upper.registration.filter(|_| tells);
        let segment = told.and_then(|id: RegId| self.connection.live_segments(id).next());
        let invalidate = self.upper.learned.filter(|_| invalidates).map(|descriptor| descriptor.token);
        let send = if unsignalled { Connection::send_unsignalled } else { Connection::send };
        let result = send(&mut self.connection, self.now, len, invalidate).map_err(CommandRefused::from);
        self.show(&Command::Send { range: range(len), invalidate, unsignalled, result }, seen);
        let number = result.map(MsgId::sequence)?;
        self.told = self.now;
        let expected = self.upper.sent.len();
        self.oracle.check(self.at(), Law::Commands, number as usize == expected, || {
            format!("message {number}, expected {expected}")
        });
        self.upper.sent.push((len, segment));
        if invalidates {
            self.upper.learned = None;
        }
        Ok(())
    }

    fn deregister(&mut self, seen: &mut dyn Probe) -> Result<(), CommandRefused> {
        let Some(id) = self.upper.registration else { return Ok(()) };
        let result = self.connection.deregister(self.now, id).map_err(CommandRefused::from);
        self.told = self.now;
        self.show(&Command::Deregister { id, result }, seen);
        result
    }

    fn close(&mut self, how: Close, seen: &mut dyn Probe) {
        self.connection.close(self.now, how);
        self.told = self.now;
        self.show(&Command::Close(how), seen);
        self.upper.commanded(false);
    }

    /// Gives the oldest fragment back.
    pub(super) fn release(&mut self, seen: &mut dyn Probe) {
        let Some(Held(fragment)) = self.upper.held.pop_front() else { return };
        self.show(&Command::Release { fragment: &fragment }, seen);
        self.told = self.now;
        if let Err(misuse) = self.connection.release(self.now, fragment) {
            self.fail(Law::Device, format!("release refused: {misuse}"));
        }
    }
}
