//! The connection's side: it is driven, gets commands, and receives what the script does.

use smbd_core::{Access, Close};

use super::RawPeer;
use crate::Breach;
use crate::CommandRefused;
use crate::machine::{Source, breach_of};
use crate::memory::Range;
use crate::oracle::Law;
use crate::probe::{Command, Probe as _};

impl RawPeer {
    /// Nobody does anything until the connection's next timer.
    pub(super) fn pass_time(&mut self) {
        if let Some(at) = self.deadline {
            self.line.now = self.line.now.max(at);
            self.drive();
        }
    }

    pub(super) fn complete(&mut self) {
        let key = self.rng.chance(1, 2);
        self.line.complete(key);
        self.drive();
    }

    pub(super) fn command(&mut self) {
        let (at, now) = (self.at(), self.line.now);
        let most = self.rng.between(1, 2000);
        let kind = self.rng.below(4);
        let mut commands = self.driven.commands();
        let command = match kind {
            0 => Command::Probe { result: commands.probe(now).map_err(CommandRefused::from) },
            1 if self.config.registrations > 0 => {
                let access = Access::ReadWrite;
                let result = commands.register(now, access, 1).map_err(CommandRefused::from);
                let range = Range { len: 4096, ..self.reader.memory };
                Command::Register { access, range, segments_max: 1, result }
            }
            _ => {
                let range = Range { len: u32::try_from(most).unwrap_or(1), ..self.reader.memory };
                let bytes = vec![0x5a; range.len as usize];
                let sent = commands.send(now, range.len, || Source::Bytes(&bytes), None, false);
                let result = sent.map_err(CommandRefused::from);
                Command::Send { range, invalidate: None, unsignalled: false, result }
            }
        };
        self.watch.borrow_mut().command(at, &command);
        self.drive();
    }

    pub(super) fn command_close(&mut self) {
        let at = self.at();
        self.watch.borrow_mut().command(at, &Command::Close(Close::Abort));
        self.driven.commands().close(self.line.now, Close::Abort);
        self.drive();
    }

    pub(super) fn give_back(&mut self) {
        if let Some(fragment) = self.reader.held.pop() {
            self.reader.release(fragment, &mut self.driven.commands(), &self.line);
            self.drive();
        }
    }

    /// The connection does what it has to, by the loop that ships; then the script hears what was sent.
    pub(super) fn drive(&mut self) {
        let now = self.line.now;
        match self.driven.drive(now, &mut self.line, &mut self.reader) {
            Ok(until) => {
                self.deadline = until;
                if let Some(breach) = self.driven.fault(until, self.line.given) {
                    self.fail(breach);
                }
            }
            Err(error) => {
                self.deadline = None;
                self.fail(breach_of(error));
            }
        }
        while let Some(head) = self.line.heard.pop_front() {
            self.hear(head.as_bytes());
        }
    }

    fn fail(&mut self, breach: Breach) {
        self.check(Law::of(&breach), false, || breach.to_string());
    }
}
