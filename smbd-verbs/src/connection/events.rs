//! Polls file descriptors, and handles events of the connection manager.

use std::time::Duration;

use smbd_core::error::{ConnectReason, DisconnectReason};

use super::VerbsConnection;
use super::completions::Polled;
use super::link::Early;
use super::phase::Phase;
use super::reports::Report;
use crate::depth::{Told, header_of};
use crate::ffi::{CmEvent, CmEventKind};
use crate::{LinkType, status};

/// While nothing happens, file descriptors are looked at once in so many calls of `next_input`: it is a system call.
const LOOK_AFTER: u32 = 32;
/// How long the connection manager's last message may take after the first message of the peer, which has overtaken it.
/// If it was lost, it is sent again after seconds only.
const OVERTAKEN: Duration = Duration::from_millis(100);
/// Reject reason of the connection manager: the consumer said no. 8: nobody listens at that service.
const REJECTED_BY: [i32; 2] = [28, 8];

impl VerbsConnection {
    /// The next thing to say.
    pub(super) fn next_report(&mut self) -> Option<Report> {
        loop {
            if let Some(report) = self.reports.pop() {
                return Some(report);
            }
            if let Some(input) = self.queues.poll() {
                return Some(Report::Input(self.note_windows(input)));
            }
            if let Some(failure) = self.link.reports.poll_failure() {
                return Some(Report::Input(failure));
            }
            match self.poll_device() {
                Polled::Input(input) => return Some(Report::Input(input)),
                Polled::Noted => continue,
                Polled::Nothing => {}
            }
            if let Some(report) = self.reports.pop_held() {
                return Some(report);
            }
            if let Some(input) = self.link.reports.poll_connected() {
                return Some(Report::Input(input));
            }
            if !self.busy_poll() && !self.progress_ending() {
                return self.link.reports.poll_end().map(Report::Input);
            }
        }
    }

    /// At the next look at what happens, file descriptors are looked at as well: a flush comes of an end that the
    /// connection manager may know the reason of.
    pub(crate) const fn look_soon(&mut self) {
        self.quiet_calls = LOOK_AFTER;
    }

    /// Notes that there was nothing but completions. `false`: not, since it is time to look at file descriptors.
    pub(super) const fn stays_quiet(&mut self) -> bool {
        let quiet = self.quiet_calls.saturating_add(1);
        if quiet >= LOOK_AFTER {
            return false;
        }
        self.quiet_calls = quiet;
        true
    }

    /// Looks at the file descriptors if it is time; whether there was something.
    fn busy_poll(&mut self) -> bool {
        self.quiet_calls = self.quiet_calls.saturating_add(1);
        if self.quiet_calls < LOOK_AFTER && self.is_up() {
            return false;
        }
        self.quiet_calls = 0;
        let ready = self.wake.ready();
        if ready.completions
            && let Some(open) = &mut self.open
        {
            open.take_events();
        }
        if ready.call {
            self.call_returned();
        }
        if ready.timer {
            self.timer_fired();
        }
        ready.events && self.take_link_events() || ready.call || ready.timer
    }

    const fn is_up(&self) -> bool {
        matches!(self.link.phase, Phase::Up | Phase::Over)
    }

    fn timer_fired(&mut self) {
        match &mut self.link.phase {
            Phase::Settling(limits) => {
                let limits = *limits;
                self.announce(limits);
            }
            Phase::Up => self.look_for_first(),
            Phase::Ending(ending) => ending.time_is_up(),
            Phase::Accepting(_) => self.tell_of_early(),
            _ => {}
        }
    }

    fn take_link_events(&mut self) -> bool {
        let mut any = false;
        loop {
            match self.link.channel.next() {
                Ok(Some(event)) => self.link_event(&event),
                Ok(None) => return any,
                Err(error) => {
                    self.link.fail(status::connect_reason_of(error));
                    return true;
                }
            }
            any = true;
        }
    }

    fn link_event(&mut self, event: &CmEvent) {
        if matches!(event.kind, CmEventKind::Established) {
            self.early_is_known();
        }
        // What comes during or after the own disconnect is no news.
        if matches!(self.link.phase, Phase::Ending(_) | Phase::Over) {
            return;
        }
        match event.kind {
            CmEventKind::AddrResolved => self.addr_resolved(),
            CmEventKind::RouteResolved => self.route_resolved(),
            CmEventKind::Established => self.established(event),
            CmEventKind::AddrError | CmEventKind::RouteError => {
                // Some kernels say why only by a number that means "no such device".
                let reason = status::connect_reason(event.status);
                let known = matches!(reason, ConnectReason::TimedOut | ConnectReason::Unreachable);
                self.link.fail(if known { reason } else { ConnectReason::Unreachable });
            }
            CmEventKind::Unreachable => {
                let reason = status::connect_reason(event.status);
                let known = !matches!(reason, ConnectReason::Other(_));
                self.link.fail(if known { reason } else { ConnectReason::TimedOut });
            }
            CmEventKind::ConnectError => self.link.fail(status::connect_reason(event.status)),
            CmEventKind::Rejected => {
                self.link.reject_data = event.private_data;
                let refused = REJECTED_BY.contains(&event.status);
                let reason = status::connect_reason(event.status);
                self.link.fail(if refused { ConnectReason::Refused } else { reason });
            }
            CmEventKind::Disconnected => {
                let quirks = self.open.as_ref().map(|open| open.quirks);
                self.link.lose(status::disconnect_reason(event.status, quirks));
            }
            CmEventKind::DeviceRemoval => self.link.lose(DisconnectReason::DeviceFailed),
            // Follows a disconnect, with nothing new.
            CmEventKind::ConnectRequest
            | CmEventKind::AddrChange
            | CmEventKind::TimewaitExit
            | CmEventKind::Other(_) => {}
        }
    }

    fn established(&mut self, event: &CmEvent) {
        match &self.link.phase {
            Phase::Accepting(terms) => {
                let depth = terms.read_depth;
                self.connected(depth);
            }
            Phase::Connecting(_) => {
                let depths = self.depths();
                let header =
                    if depths.has_header() { header_of(event.private_data.as_bytes()) } else { Ok(None) };
                let (incoming, outgoing) = (event.responder_resources, event.initiator_depth);
                let adopted = header.and_then(|header| depths.adopt(Told { header, incoming, outgoing }));
                match adopted {
                    Ok(depth) => self.connected(depth),
                    Err(reason) => self.link.fail(reason),
                }
            }
            _ => {}
        }
    }

    /// A message came before the connection manager's last one: that may be lost, and the message says as much.
    pub(super) fn received_early(&mut self) {
        let iwarp = self.link_type() == Some(LinkType::Iwarp);
        if matches!(self.link.phase, Phase::Accepting(_)) && !iwarp && self.link.early == Early::None {
            self.link.early = Early::Noticed;
            self.wake.set_timer(OVERTAKEN);
        }
    }

    /// Tells the connection manager that the connection is up, if a message has said so.
    pub(super) fn tell_of_early(&mut self) {
        if self.link.early != Early::Noticed {
            return;
        }
        // Refused if its last message has come meanwhile; then that is on its way to us.
        let told = self.link.id.notify_established().is_ok();
        self.link.early = if told { Early::Told } else { Early::None };
    }

    /// The connection manager knows that the connection is up. An end of it that had to wait for that can go on.
    fn early_is_known(&mut self) {
        let told = std::mem::take(&mut self.link.early) == Early::Told;
        if told && matches!(self.link.phase, Phase::Ending(_)) {
            // The queues are in error already; this tells the peer.
            let _ = self.link.id.disconnect();
        }
    }
}
