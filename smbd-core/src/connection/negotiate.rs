//! Negotiation, both sides (3.1.5.2, 3.1.5.3, 3.1.5.6, 3.1.5.7).

use super::phase::{Cause, Established, Phase, Request, Step};
use super::send::Carries;
use super::{Connection, Pending};
use crate::config::{MAX_FRAGMENTED_SIZE_MIN, MAX_RECEIVE_SIZE_MIN, NEGOTIATE_RECEIVE_SIZE};
use crate::error::Violation;
use crate::wire::status::{INSUFFICIENT_RESOURCES, NOT_SUPPORTED, SUCCESS};
use crate::wire::{NegotiateRequest, NegotiateResponse, NtStatus, PROTOCOL_VERSION};
use crate::{Action, Head, Negotiated, Role};

const ACCEPTOR: &str = "3.1.5.6";
const INITIATOR: &str = "3.1.5.7";

impl Connection {
    pub(super) fn poll_negotiation(&mut self) -> Option<Action> {
        match &mut self.phase {
            Phase::Connecting { step, .. } => match step {
                // NE-14: nothing can arrive before there is a place for it. LC-4: exactly one.
                Step::PostReceive => {
                    *step = Step::Start;
                    Some(Action::PostRecv { id: self.receiver.post()?, len: NEGOTIATE_RECEIVE_SIZE })
                }
                Step::Start => {
                    *step = Step::Await;
                    self.transport.started = true;
                    Some(match self.role {
                        Role::Initiator => Action::Connect,
                        Role::Acceptor => Action::Accept,
                    })
                }
                Step::Await => None,
            },
            Phase::Negotiating { request: request @ Request::Due, .. } => {
                *request = Request::Posted;
                let message = self.negotiate_request();
                self.post_head(Head::written(|to| message.encode(to)), Carries::Control, true)
            }
            // NE-2: the answer asks for a completion, which ends the connection.
            Phase::Rejecting { posted: posted @ false, status, .. } => {
                *posted = true;
                let message = NegotiateResponse::failure(*status);
                self.post_head(Head::written(|to| message.encode(to)), Carries::Refusal, true)
            }
            Phase::Negotiating { .. }
            | Phase::Rejecting { .. }
            | Phase::Established(_)
            | Phase::Closing(_)
            | Phase::Drained => None,
        }
    }

    /// A message without payload.
    pub(super) fn post_head(&mut self, head: Head, carries: Carries, signal: bool) -> Option<Action> {
        let id = self.sender.post(carries)?;
        Some(Action::PostSend { id, head, body: None, invalidate: None, signal, solicit: false })
    }

    /// 3.1.5.2.
    fn negotiate_request(&self) -> NegotiateRequest {
        NegotiateRequest {
            min_version: PROTOCOL_VERSION,
            max_version: PROTOCOL_VERSION,
            credits_requested: self.config.send_credit_target,
            preferred_send_size: self.config.max_send_size,
            max_receive_size: self.config.max_receive_size,
            max_fragmented_size: self.config.max_fragmented_recv_size,
        }
    }

    /// 3.1.5.3. Grants everything posted, which is what was asked for at most (NE-9).
    pub(super) fn negotiate_response(&mut self) -> NegotiateResponse {
        let (max_send_size, max_receive_size) =
            self.negotiated.map_or((0, 0), |settled| (settled.max_send_size, settled.max_receive_size));
        NegotiateResponse {
            min_version: PROTOCOL_VERSION,
            max_version: PROTOCOL_VERSION,
            negotiated_version: PROTOCOL_VERSION,
            credits_requested: self.config.send_credit_target,
            credits_granted: self.credits.grant(),
            status: SUCCESS,
            max_read_write_size: self.config.max_read_write_size,
            preferred_send_size: max_send_size,
            max_receive_size,
            max_fragmented_size: self.config.max_fragmented_recv_size,
        }
    }

    /// The acceptor's first message (3.1.5.6).
    pub(super) fn on_request(&mut self, head: &Head, len: u32) {
        if let Err(violation) = check_long(len) {
            return self.end(Cause::Violation(violation));
        }
        let Ok(request) = NegotiateRequest::parse(head.as_bytes()) else {
            return self.end(Cause::Violation(short(NegotiateRequest::LEN, head, ACCEPTOR)));
        };
        if let Err(refusal) = self.check_version(&request) {
            return self.refuse(refusal);
        }
        if let Err(violation) =
            check_request(&request).and_then(|()| self.check_preferred(request.preferred_send_size))
        {
            return self.end(Cause::Violation(violation));
        }
        // Note <5>: what Windows does instead of taking the smaller size.
        if let Some(max) = self.config.reject_preferred_send_size_above
            && request.preferred_send_size > max
        {
            let violation = Violation::PreferredSendSize {
                max,
                got: request.preferred_send_size,
                section: "3.1.5.6 note <5>",
            };
            return self.refuse((INSUFFICIENT_RESOURCES, violation));
        }
        self.credits.start(request.credits_requested, 0);
        let peer = PeerSizes {
            preferred_send_size: request.preferred_send_size,
            max_receive_size: request.max_receive_size,
            max_fragmented_size: request.max_fragmented_size,
            // NE-6: a request says nothing about it.
            max_read_write_size: u32::MAX,
        };
        let deadline = self.negotiation_deadline();
        self.establish(&peer, true, deadline);
    }

    /// Note <4>: some refuse every range but one; the text wants 1.0 to be in it (NE-11).
    fn check_version(&self, request: &NegotiateRequest) -> Result<(), (NtStatus, Violation)> {
        let (min, max) = (request.min_version, request.max_version);
        let included = (min..=max).contains(&PROTOCOL_VERSION);
        if included && (min == max || !self.config.reject_version_range) {
            return Ok(());
        }
        Err((NOT_SUPPORTED, Violation::Version { min, max }))
    }

    /// NE-3: a preference of 0 is no preference.
    fn check_preferred(&mut self, preferred_send_size: u32) -> Result<(), Violation> {
        if preferred_send_size == 0 {
            let count = &mut self.stats.tolerances.preferred_send_size_zero;
            *count = count.saturating_add(1);
            if self.receiver.is_strict() {
                return Err(Violation::PreferredSendSizeZero);
            }
        }
        Ok(())
    }

    fn refuse(&mut self, (status, violation): (NtStatus, Violation)) {
        let Some(deadline) = self.negotiation_deadline() else { return };
        self.phase = Phase::Rejecting { deadline, posted: false, status, violation };
    }

    /// The initiator's first message (3.1.5.7).
    pub(super) fn on_response(&mut self, head: &Head, len: u32) {
        if let Err(violation) = check_long(len) {
            return self.end(Cause::Violation(violation));
        }
        let Ok(response) = NegotiateResponse::parse(head.as_bytes()) else {
            return self.end(Cause::Violation(short(NegotiateResponse::LEN, head, INITIATOR)));
        };
        // NE-1: the status first, since all other fields of a failure are zero.
        if !response.status.is_success() {
            return self.end(Cause::Rejected(response.status));
        }
        if let Err(violation) = self.check_response(&response) {
            return self.end(Cause::Violation(violation));
        }
        self.credits.start(response.credits_requested, response.credits_granted);
        let peer = PeerSizes {
            preferred_send_size: response.preferred_send_size,
            max_receive_size: response.max_receive_size,
            max_fragmented_size: response.max_fragmented_size,
            max_read_write_size: response.max_read_write_size,
        };
        self.establish(&peer, false, None);
    }

    fn check_response(&mut self, response: &NegotiateResponse) -> Result<(), Violation> {
        if response.negotiated_version != PROTOCOL_VERSION {
            return Err(Violation::NegotiatedVersion { got: response.negotiated_version });
        }
        check_sizes(response.max_receive_size, response.max_fragmented_size, INITIATOR)?;
        if response.credits_granted == 0 {
            return Err(Violation::CreditsGrantedZero);
        }
        check_credits(response.credits_requested, INITIATOR)?;
        let (max, got) = (self.config.max_receive_size, response.preferred_send_size);
        if got > max {
            return Err(Violation::PreferredSendSize { max, got, section: INITIATOR });
        }
        self.check_preferred(got)
    }

    /// What both sides can do.
    fn settle(&self, peer: &PeerSizes) -> Negotiated {
        let own = &self.config;
        Negotiated {
            protocol: PROTOCOL_VERSION,
            max_send_size: own.max_send_size.min(peer.max_receive_size),
            max_receive_size: receive_size(own.max_receive_size, peer.preferred_send_size),
            max_fragmented_send_size: peer.max_fragmented_size,
            max_fragmented_recv_size: own.max_fragmented_recv_size,
            max_read_write_size: own.max_read_write_size.min(peer.max_read_write_size),
            keepalive_interval: own.keepalive.map(|keepalive| keepalive.interval),
        }
    }

    /// NE-8: the phase changes before the response leaves, so that no data message can be taken for a request.
    fn establish(&mut self, peer: &PeerSizes, respond: bool, deadline: Option<crate::Instant>) {
        let settled = self.settle(peer);
        self.negotiated = Some(settled);
        self.receiver.max_receive_size = settled.max_receive_size;
        self.sender.set_max_send_size(settled.max_send_size);
        if !respond {
            self.credits.establish();
        }
        self.idle.restart(self.now);
        let announce_by = if self.transport.connected { None } else { deadline };
        self.phase = Phase::Established(Established { respond, announce_by, flush: None });
        self.push_event(Pending::Established);
    }
}

/// The sizes in the peer's negotiation message.
struct PeerSizes {
    preferred_send_size: u32,
    max_receive_size: u32,
    max_fragmented_size: u32,
    max_read_write_size: u32,
}

/// 3.1.5.6 and 3.1.5.7: the smaller of both, but at least 128.
fn receive_size(own: u32, preferred: u32) -> u32 {
    own.min(preferred).max(MAX_RECEIVE_SIZE_MIN)
}

fn check_request(request: &NegotiateRequest) -> Result<(), Violation> {
    check_credits(request.credits_requested, ACCEPTOR)?;
    check_sizes(request.max_receive_size, request.max_fragmented_size, ACCEPTOR)
}

const fn check_credits(requested: u16, section: &'static str) -> Result<(), Violation> {
    if requested == 0 { Err(Violation::CreditsRequestedZero { section }) } else { Ok(()) }
}

/// VA-5: a message may not be longer than the receive posted for it, whatever the device lets through.
const fn check_long(got: u32) -> Result<(), Violation> {
    let max = NEGOTIATE_RECEIVE_SIZE;
    if got > max { Err(Violation::LongMessage { max, got }) } else { Ok(()) }
}

const fn check_sizes(receive: u32, fragmented: u32, section: &'static str) -> Result<(), Violation> {
    if receive < MAX_RECEIVE_SIZE_MIN {
        return Err(Violation::MaxReceiveSize { got: receive, section });
    }
    if fragmented < MAX_FRAGMENTED_SIZE_MIN {
        return Err(Violation::MaxFragmentedSize { got: fragmented, section });
    }
    Ok(())
}

pub(super) fn short(needed: usize, head: &Head, section: &'static str) -> Violation {
    Violation::ShortMessage { needed: u32::try_from(needed).unwrap_or(u32::MAX), got: head.len(), section }
}
