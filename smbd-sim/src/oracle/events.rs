//! Checks events against the records.

use smbd_core::error::{
    Aborted, CloseReason, ConnectError, DisconnectReason, OpError, ProbeError, RegistrationError,
};
use smbd_core::{Event, Instant};

use super::law::{Law, Verdicts};
use super::negotiation;
use super::records::{Cause, Records};
use super::rule::Rule;

impl Records {
    pub(super) fn on_event(&mut self, now: Instant, event: &Event, v: &mut Verdicts) {
        self.began.get_or_insert(now);
        self.count_action(false, event, v);
        if matches!(event, Event::Closed(_) | Event::ConnectFailed(_)) {
            self.whole.paused = false;
            self.absorb(v);
        }
        self.check_event(now, event, v);
    }

    fn check_event(&mut self, now: Instant, event: &Event, v: &mut Verdicts) {
        v.check(Law::Events, !self.told.end || matches!(event, Event::Drained), move || {
            format!("{event:?} after the end was told")
        });
        let first = matches!(event, Event::Established(_) | Event::ConnectFailed(_) | Event::Drained);
        v.check(Law::Events, self.told.established || first, move || format!("{event:?} before Established"));
        if self.cause.is_none() && self.is_cut_off(event) && self.is_timed_out(now) {
            self.end(Cause::Itself);
        }
        match event {
            Event::Established(negotiated) => {
                v.check(Law::Events, !self.told.established, || "Established twice".to_owned());
                v.check(Law::Negotiation, self.negotiated == Some(*negotiated), || {
                    format!("settled on {negotiated:?}, expected {:?}", self.negotiated)
                });
                v.check(Law::Events, self.link.connected, || "Established before Connected".to_owned());
                self.told.established = true;
            }
            Event::Data(fragment) => self.receiving.on_event(fragment, v),
            Event::Invalidated { id, token } => self.registrations.on_invalidated_event(*id, *token, v),
            Event::Sent { msg, result } => {
                let ok = result.is_ok();
                v.check(Law::Results, ok || self.is_ending(now), move || {
                    format!("{msg:?} aborted, and nothing ends")
                });
                self.sending.on_result(*msg, ok, v);
            }
            Event::RdmaDone { op, result } => {
                // Its result may be the last thing that a flush waits for.
                let ending = self.is_ending(now);
                self.ops.on_result(*op, result.is_ok(), ending, v);
                let fits = !matches!(result, Err(OpError::Aborted(Aborted))) || ending;
                v.check(Law::Results, fits, move || format!("{op:?} aborted, and nothing ends"));
            }
            Event::Registered { id, result } => {
                let ending = self.is_ending(now);
                self.registrations.on_registered_event(*id, *result, ending, v);
            }
            Event::Deregistered { id, result } => {
                let ending = self.is_ending(now);
                self.registrations.on_deregistered_event(*id, *result, ending, v);
            }
            Event::Probed(result) => self.on_probed(*result, self.is_ending(now), v),
            Event::Writable => {
                let [send, rdma] = self.writable();
                v.check(Law::Results, send || rdma, || "Writable for no reason".to_owned());
                self.refused = [self.refused[0] && !send, self.refused[1] && !rdma];
            }
            Event::ConnectFailed(error) => {
                v.check(Law::Events, !self.told.established, move || format!("{error:?} after Established"));
                let right = self.explains_failure(now, error);
                v.check(Law::Reasons, right, || format!("{error:?}, expected {:?}", self.cause));
                self.told.end = true;
                let unseen: Vec<_> = self.receiving.forget().collect();
                for recv in unseen {
                    self.recvs.close(recv.slot(), recv);
                }
                self.registrations.forget();
            }
            Event::Closed(reason) => {
                let right = self.explains_close(now, reason);
                v.check(Law::Reasons, right, || format!("{reason:?}, expected {:?}", self.cause));
                self.told.end = true;
                let (untold, due) = (self.untold(), self.receiving.due());
                v.check(Law::Results, untold == 0 && due == 0, move || {
                    format!("Closed with {untold} commands without a result, {due} fragments not handed up")
                });
            }
            Event::Drained => self.on_drained(v),
        }
    }

    fn on_probed(
        &mut self,
        result: Result<core::time::Duration, ProbeError>,
        ending: bool,
        v: &mut Verdicts,
    ) {
        let right = match result {
            Ok(time) => self.keepalive.on_probed(Some(time)),
            Err(ProbeError::Unanswered) => self.keepalive.on_probed(None),
            Err(_) => {
                let was = self.keepalive.on_probe_aborted();
                return v.check(Law::Results, was && ending, || "a probe aborted".to_owned());
            }
        };
        v.check(Law::Keepalive, right.is_ok(), move || format!("probe told {result:?}, expected {right:?}"));
    }

    fn on_drained(&mut self, v: &mut Verdicts) {
        v.check(Law::Drained, self.told.end && !self.told.drained, || {
            "Drained twice or too early".to_owned()
        });
        let over = self.link.over || !self.link.touched;
        v.check(Law::Drained, self.is_empty() && over, || {
            format!(
                "Drained with {} receives, {} sends, {} RDMA requests, {} registrations outstanding, link over {over}",
                self.recvs.used(),
                self.sends.used(),
                self.rdma.used(),
                self.registrations.with_device(),
            )
        });
        self.told.drained = true;
    }

    /// Once the end is there, results of failure come out, and nothing else has happened.
    fn is_ending(&self, now: Instant) -> bool {
        self.cause.is_some() || self.is_timed_out(now)
    }

    /// Whether a timer may end the connection now.
    fn is_timed_out(&self, now: Instant) -> bool {
        self.keepalive.is_over(now)
            || self.is_stalled()
            || self.flush.is_some_and(|until| until <= now)
            || (self.flush.is_some() && self.is_flushed())
    }

    fn is_stalled(&self) -> bool {
        self.stalled && self.config.send_credit_timeout.is_some()
    }

    fn negotiation_is_over(&self, now: Instant) -> bool {
        self.negotiation_deadline().is_some_and(|at| at <= now)
    }

    fn explains_failure(&self, now: Instant, error: &ConnectError) -> bool {
        match (&self.cause, error) {
            // A peer may fall silent before the transport says that the connection is up.
            (None, ConnectError::Timeout) => self.negotiation_is_over(now) || self.keepalive.is_over(now),
            (None, ConnectError::RejectedPeer { status, .. }) => {
                self.rejecting == Some(*status) && self.negotiation_is_over(now)
            }
            (Some(Cause::Closed), ConnectError::Local)
            | (Some(Cause::Lost(DisconnectReason::PeerClosed)), ConnectError::PeerClosed)
            | (Some(Cause::ConnectFailed), ConnectError::Connect(_))
            | (Some(Cause::Work), ConnectError::Transport { .. }) => true,
            (Some(Cause::Lost(known)), ConnectError::Lost { reason }) => is_told_as_lost(*known, *reason),
            (Some(Cause::Broken(rules)), ConnectError::Violation(violation)) => {
                rules.contains(Rule::of(violation))
            }
            (Some(Cause::Negotiation(verdict)), error) => negotiation::explains(verdict, error),
            _ => false,
        }
    }

    /// Whether a command was cut off by the end: what the device has flushed was not.
    fn is_cut_off(&self, event: &Event) -> bool {
        let flushed = match event {
            Event::Registered { id, .. } | Event::Deregistered { id, .. } => {
                self.registrations.is_flushed(*id)
            }
            _ => false,
        };
        is_aborted(event) && !flushed
    }

    fn explains_close(&self, now: Instant, reason: &CloseReason) -> bool {
        match (&self.cause, reason) {
            (None | Some(Cause::Itself), CloseReason::KeepaliveTimeout) => self.keepalive.is_over(now),
            (None | Some(Cause::Itself), CloseReason::CreditStall) => self.is_stalled(),
            (None | Some(Cause::Itself), CloseReason::Local) => {
                self.flush.is_some_and(|until| until <= now) || (self.flush.is_some() && self.is_flushed())
            }
            (Some(Cause::Closed), CloseReason::Local)
            | (Some(Cause::Lost(DisconnectReason::PeerClosed)), CloseReason::PeerClosed)
            | (Some(Cause::Work), CloseReason::Transport { .. }) => true,
            (Some(Cause::Lost(known)), CloseReason::Lost { reason }) => is_told_as_lost(*known, *reason),
            (Some(Cause::Broken(rules)), CloseReason::Violation(violation)) => {
                rules.contains(Rule::of(violation))
            }
            _ => false,
        }
    }
}

/// Whether an end that was reported with a reason may be told as a loss for another: an orderly close has a word of its own.
fn is_told_as_lost(known: DisconnectReason, told: DisconnectReason) -> bool {
    known == told && known != DisconnectReason::PeerClosed
}

/// Whether a command was cut off.
const fn is_aborted(event: &Event) -> bool {
    matches!(
        event,
        Event::Sent { result: Err(Aborted), .. }
            | Event::RdmaDone { result: Err(OpError::Aborted(Aborted)), .. }
            | Event::Registered { result: Err(RegistrationError::Aborted(Aborted)), .. }
            | Event::Deregistered { result: Err(RegistrationError::Aborted(Aborted)), .. }
            | Event::Probed(Err(ProbeError::Aborted(Aborted)))
    )
}
