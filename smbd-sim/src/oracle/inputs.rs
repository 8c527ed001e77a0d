//! Records inputs and commands.

use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::{Close, Fragment, Input, Instant, Misuse, RdmaVerb, WrId};

use super::law::{Law, Verdicts};
use super::records::{Cause, Records, Slot};
use super::registrations::Done;
use super::sending::Carries;
use crate::CommandRefused;
use crate::probe::Command;

impl Records {
    pub(super) fn on_input(
        &mut self,
        now: Instant,
        input: &Input<'_>,
        result: Result<(), Misuse>,
        v: &mut Verdicts,
    ) {
        self.something_happened();
        self.heard = now;
        self.actions = 0;
        self.timeout = matches!(input, Input::Timeout).then_some(now);
        let known = self.is_known(input);
        v.check(Law::Ledger, known == result.is_ok(), move || {
            let was = if known { "is outstanding" } else { "is not outstanding" };
            format!("{input:?} {was}, the connection says {result:?}")
        });
        if !known {
            return;
        }
        match *input {
            Input::Received { id, .. } => {
                let slot = self.recvs.close(id.slot(), id);
                self.spent[0] = Some(id.into());
                self.on_received(now, input, slot == Some(Slot::Posted { data: true }), v);
            }
            Input::Sent { id } => {
                self.spent[1] = Some(id.into());
                let carries = self.sends.close(id.slot(), id);
                self.sending.on_complete(carries.unwrap_or(Carries::Control), true);
                self.on_refusal_gone(carries);
            }
            Input::RdmaDone { id } => {
                self.spent[2] = Some(id.into());
                if let Some(op) = self.rdma.close(id.slot(), id) {
                    self.ops.on_complete(op, true);
                }
            }
            Input::Failed { id, error } => self.on_failed(id, error == WorkError::Flushed),
            Input::Timeout => {
                self.keepalive.on_timeout(now, self.credit.lets_peer_speak());
                self.stalled = self.credit.left() == 0 && !self.sending.is_empty();
            }
            Input::Registered { id, segments, bind_complete } => {
                self.registrations.on_registered(id, segments, bind_complete);
            }
            Input::BindComplete { id } => {
                self.registrations.on_done(id, Done::BindComplete);
            }
            Input::Deregistered { id } => {
                self.spent[3] = Some(id.into());
                self.registrations.on_done(id, Done::Deregistered);
            }
            Input::Connected { limits } => {
                self.link.connected = true;
                self.limits = smbd_core::Limits {
                    read_depth: limits.read_depth.min(self.limits.read_depth),
                    send_queue: limits.send_queue.min(self.limits.send_queue),
                    ..limits
                };
                self.registrations.set_requests_per_segment(limits.registration_requests);
            }
            Input::ConnectFailed { .. } => {
                self.link.over = true;
                self.end(Cause::ConnectFailed);
            }
            Input::Disconnected { reason } => {
                self.link.over = true;
                self.on_refusal_gone(Some(Carries::Control));
                // A flush was a consequence, maybe of this.
                let flushed = matches!(self.cause, Some(Cause::Lost(DisconnectReason::Unknown)));
                if flushed && !self.told.end {
                    self.cause = Some(Cause::Lost(reason));
                } else {
                    self.end(Cause::Lost(reason));
                }
            }
        }
    }

    /// Whether an input is the answer to something that was asked and not answered.
    fn is_known(&mut self, input: &Input<'_>) -> bool {
        match *input {
            Input::Received { id, .. } => {
                self.link.started && matches!(self.recvs.get(id.slot(), id), Some(Slot::Posted { .. }))
            }
            Input::Sent { id } => self.sends.get(id.slot(), id).is_some(),
            Input::RdmaDone { id } => self.rdma.get(id.slot(), id).is_some(),
            Input::Failed { id, .. } => match id {
                WrId::Recv(id) => matches!(self.recvs.get(id.slot(), id), Some(Slot::Posted { .. })),
                WrId::Send(id) => self.sends.get(id.slot(), id).is_some(),
                WrId::Rdma(id) => self.rdma.get(id.slot(), id).is_some(),
                WrId::Reg(id) => self.registrations.expects(id, Done::Failed { flushed: false }),
            },
            Input::Timeout => true,
            Input::Registered { id, .. } => self.registrations.expects_registered(id),
            Input::BindComplete { id } => self.registrations.expects(id, Done::BindComplete),
            Input::Deregistered { id } => self.registrations.expects(id, Done::Deregistered),
            Input::Connected { .. } => self.link.started && !self.link.connected && !self.link.over,
            Input::ConnectFailed { .. } => self.link.started && !self.link.connected && !self.link.over,
            Input::Disconnected { .. } => (self.link.started || self.link.disconnect) && !self.link.over,
        }
    }

    /// NE-2: the failure response is gone, and with it the reason to stay.
    fn on_refusal_gone(&mut self, carries: Option<Carries>) {
        if carries.is_some()
            && self.cause.is_none()
            && let Some(status) = self.rejecting
        {
            self.end(Cause::Negotiation(super::negotiation::Verdict::RejectsPeer(status)));
        }
    }

    fn on_failed(&mut self, id: WrId, flushed: bool) {
        match id {
            WrId::Recv(id) => {
                if self.recvs.close(id.slot(), id) == Some(Slot::Posted { data: true }) {
                    self.credit.on_receive_failed();
                }
            }
            WrId::Send(id) => {
                let carries = self.sends.close(id.slot(), id);
                self.sending.on_complete(carries.unwrap_or(Carries::Control), false);
                self.on_refusal_gone(carries);
            }
            WrId::Rdma(id) => {
                if let Some(op) = self.rdma.close(id.slot(), id) {
                    self.ops.on_complete(op, false);
                }
            }
            WrId::Reg(id) => {
                if self.registrations.on_done(id, Done::Failed { flushed }) != Some(true) {
                    return;
                }
            }
        }
        // A flush is a consequence, and may be reported before what caused it.
        // What fails after an orderly close by the peer is a consequence as well.
        if flushed {
            self.end(Cause::Lost(DisconnectReason::Unknown));
        } else if let Some(Cause::Lost(reason)) = self.cause
            && reason != DisconnectReason::PeerClosed
            && !self.told.end
        {
            self.cause = Some(Cause::Work);
        } else {
            self.end(Cause::Work);
        }
    }

    pub(super) fn on_command(&mut self, now: Instant, command: &Command<'_>, v: &mut Verdicts) {
        self.something_happened();
        // The others are not told the time.
        if matches!(
            command,
            Command::Send { result: Ok(_), .. }
                | Command::Rdma { result: Ok(_), .. }
                | Command::Probe { result: Ok(()) }
                | Command::Close(_)
                | Command::Release { .. }
        ) {
            self.heard = now;
        }
        self.actions = self.actions.saturating_sub(4);
        match *command {
            Command::Send { range, invalidate, unsignalled, result } => {
                let valid =
                    self.negotiated.is_some_and(|n| (1..=n.max_fragmented_send_size).contains(&range.len));
                let full = self.sending.is_full();
                self.check_command("send", &result, valid, full, v);
                if let Ok(id) = result {
                    let after = self.ops.writes_commanded;
                    self.sending.on_command(id, range.len, (invalidate, unsignalled), after, v);
                }
            }
            Command::Rdma { verb, local, remote, offset, unsignalled, result } => {
                let total: u64 = remote.iter().map(|d| u64::from(d.length)).sum();
                let fits = offset.checked_add(u64::from(local.len)).is_some_and(|end| end <= total)
                    && remote
                        .iter()
                        .all(|d| d.length == 0 || d.offset.checked_add(u64::from(d.length) - 1).is_some());
                let short = self.negotiated.is_some_and(|n| local.len <= n.max_read_write_size);
                let depth = verb == RdmaVerb::Write || self.limits.read_depth > 0;
                let full = self.ops.is_full();
                self.check_command("rdma", &result, fits && short && depth, full, v);
                if let Ok(id) = result {
                    self.ops.on_command(id, (verb, local.len), (remote, offset), unsignalled, v);
                }
            }
            Command::Register { access, segments_max, result, .. } => {
                // Room for segments depends on what others gave back: the connection's own business.
                let taken = result.is_ok();
                v.check(Law::Commands, !taken || self.takes_commands(), || {
                    "register taken too late".to_owned()
                });
                if let Ok(id) = result {
                    self.registrations.on_register(id, access, segments_max, v);
                }
            }
            Command::Deregister { id, result } => {
                if result.is_ok() {
                    v.check(Law::Commands, self.takes_commands(), || "deregister taken too late".to_owned());
                    self.registrations.on_deregister(id, v);
                }
            }
            Command::Release { fragment } => self.on_release(fragment, v),
            Command::Probe { result } => {
                let busy = self.keepalive.probing();
                self.check_command("probe", &result, true, busy, v);
                if result.is_ok() {
                    self.keepalive.on_probe(now);
                }
            }
            Command::Close(how) => self.on_close(how),
        }
    }

    fn check_command<T>(
        &mut self,
        what: &'static str,
        result: &Result<T, CommandRefused>,
        valid: bool,
        full: bool,
        v: &mut Verdicts,
    ) {
        let right = match result {
            Ok(_) => valid && !full && self.takes_commands(),
            // A timer may have ended it a moment ago: seen from outside only later.
            Err(error) if super::is_wrong_time(error) => {
                !self.takes_commands() || self.timeout.is_some() || self.told.end
            }
            Err(error) if super::is_no_room(error) => full,
            Err(_) => !valid,
        };
        if result.as_ref().is_err_and(super::is_no_room) {
            self.refused[0] |= what == "send";
            self.refused[1] |= what == "rdma";
        }
        v.check(Law::Commands, right, || {
            let error = result.as_ref().err();
            format!(
                "{what}: refused with {error:?}; valid {valid}, full {full}, taken now {}",
                self.takes_commands()
            )
        });
    }

    fn on_release(&mut self, fragment: &Fragment, v: &mut Verdicts) {
        let id = fragment.recv();
        let slot = self.recvs.close(id.slot(), id);
        self.whole.given_back();
        v.check(Law::Ledger, slot == Some(Slot::Borrowed), move || format!("{id:?} released, was {slot:?}"));
    }

    fn on_close(&mut self, how: Close) {
        match how {
            Close::Flush { until } if self.is_announced() && self.is_flowing() => {
                self.flush = Some(self.flush.map_or(until, |earlier| earlier.min(until)));
                // It may be over already, and no timer has been told of it.
                self.timeout = None;
            }
            Close::Flush { .. } | Close::Abort => self.end(Cause::Closed),
        }
    }
}
