//! The negotiated values that both sides have to compute.

use smbd_core::error::ConnectError;
use smbd_core::wire::status::{INSUFFICIENT_RESOURCES, NOT_SUPPORTED};
use smbd_core::wire::{NegotiateRequest, NegotiateResponse, NtStatus};
use smbd_core::{Config, Negotiated, Role};

use super::law::{Law, Verdicts};
use super::rule::{Rule, Rules};

const VERSION: u16 = 0x0100;
/// Length of the receive for a negotiation message (3.1.4.1, 3.1.7.2).
pub(super) const RECEIVE: u32 = 512;
const RECEIVE_MIN: u32 = 128;
const FRAGMENTED_MIN: u32 = 131_072;

/// What a negotiation message of the peer means.
#[derive(Clone, Debug)]
pub(super) enum Verdict {
    Settled {
        negotiated: Negotiated,
        target: u16,
        granted: u16,
    },
    /// Ends the connection for one of these.
    Broken(Rules),
    /// The acceptor says so, with a status.
    RejectsPeer(NtStatus),
    /// The peer said so.
    Rejected(NtStatus),
}

fn receive_size(own: u32, preferred: u32) -> u32 {
    own.min(preferred).max(RECEIVE_MIN)
}

/// 3.1.5.6.
pub(super) fn judge_request(config: &Config, message: &[u8]) -> Verdict {
    let Ok(request) = NegotiateRequest::parse(message) else {
        return Verdict::Broken(Rules::one(Rule::ShortMessage));
    };
    let exact = request.min_version == VERSION && request.max_version == VERSION;
    let within = request.min_version <= VERSION && VERSION <= request.max_version;
    if !(if config.reject_version_range { exact } else { within }) {
        return Verdict::RejectsPeer(NOT_SUPPORTED);
    }
    let mut rules = Rules::none();
    rules.add_if(request.credits_requested == 0, Rule::CreditsRequestedZero);
    rules.add_if(request.max_receive_size < RECEIVE_MIN, Rule::MaxReceiveSize);
    rules.add_if(request.max_fragmented_size < FRAGMENTED_MIN, Rule::MaxFragmentedSize);
    rules.add_if(config.strict && request.preferred_send_size == 0, Rule::PreferredSendSizeZero);
    if !rules.is_empty() {
        return Verdict::Broken(rules);
    }
    if config.reject_preferred_send_size_above.is_some_and(|max| request.preferred_send_size > max) {
        return Verdict::RejectsPeer(INSUFFICIENT_RESOURCES);
    }
    let negotiated = Negotiated {
        protocol: VERSION,
        max_send_size: config.max_send_size.min(request.max_receive_size),
        max_receive_size: receive_size(config.max_receive_size, request.preferred_send_size),
        max_fragmented_send_size: request.max_fragmented_size,
        max_fragmented_recv_size: config.max_fragmented_recv_size,
        max_read_write_size: config.max_read_write_size,
        keepalive_interval: config.keepalive.map(|k| k.interval),
    };
    Verdict::Settled { negotiated, target: request.credits_requested, granted: 0 }
}

/// 3.1.5.7.
pub(super) fn judge_response(config: &Config, message: &[u8]) -> Verdict {
    let Ok(response) = NegotiateResponse::parse(message) else {
        return Verdict::Broken(Rules::one(Rule::ShortMessage));
    };
    if response.status.0 != 0 {
        return Verdict::Rejected(response.status);
    }
    let mut rules = Rules::none();
    rules.add_if(response.negotiated_version != VERSION, Rule::NegotiatedVersion);
    rules.add_if(response.credits_requested == 0, Rule::CreditsRequestedZero);
    rules.add_if(response.credits_granted == 0, Rule::CreditsGrantedZero);
    rules.add_if(response.max_receive_size < RECEIVE_MIN, Rule::MaxReceiveSize);
    rules.add_if(response.max_fragmented_size < FRAGMENTED_MIN, Rule::MaxFragmentedSize);
    rules.add_if(response.preferred_send_size > config.max_receive_size, Rule::PreferredSendSize);
    rules.add_if(config.strict && response.preferred_send_size == 0, Rule::PreferredSendSizeZero);
    if !rules.is_empty() {
        return Verdict::Broken(rules);
    }
    let negotiated = Negotiated {
        protocol: VERSION,
        max_send_size: config.max_send_size.min(response.max_receive_size),
        max_receive_size: receive_size(config.max_receive_size, response.preferred_send_size),
        max_fragmented_send_size: response.max_fragmented_size,
        max_fragmented_recv_size: config.max_fragmented_recv_size,
        max_read_write_size: config.max_read_write_size.min(response.max_read_write_size),
        keepalive_interval: config.keepalive.map(|k| k.interval),
    };
    Verdict::Settled { negotiated, target: response.credits_requested, granted: response.credits_granted }
}

/// Checks the negotiation message a side sends.
pub(super) fn check_sent(
    role: Role,
    config: &Config,
    settled: Option<&Negotiated>,
    rejecting: Option<NtStatus>,
    message: &[u8],
    v: &mut Verdicts,
) -> u16 {
    match role {
        Role::Initiator => {
            let wanted = NegotiateRequest {
                min_version: VERSION,
                max_version: VERSION,
                credits_requested: config.send_credit_target,
                preferred_send_size: config.max_send_size,
                max_receive_size: config.max_receive_size,
                max_fragmented_size: config.max_fragmented_recv_size,
            };
            let ok = message.len() == NegotiateRequest::LEN && NegotiateRequest::parse(message) == Ok(wanted);
            v.check(Law::Negotiation, ok, move || format!("request {message:02x?}, expected {wanted:?}"));
            0
        }
        Role::Acceptor => {
            let Ok(response) = NegotiateResponse::parse(message) else {
                v.fail(Law::Negotiation, format!("response of {} bytes", message.len()));
                return 0;
            };
            let wanted = match (settled, rejecting) {
                (_, Some(status)) => NegotiateResponse::failure(status),
                (Some(settled), None) => NegotiateResponse {
                    min_version: VERSION,
                    max_version: VERSION,
                    negotiated_version: VERSION,
                    credits_requested: config.send_credit_target,
                    credits_granted: response.credits_granted,
                    status: NtStatus(0),
                    max_read_write_size: config.max_read_write_size,
                    preferred_send_size: settled.max_send_size,
                    max_receive_size: settled.max_receive_size,
                    max_fragmented_size: config.max_fragmented_recv_size,
                },
                (None, None) => {
                    v.fail(Law::Negotiation, "a response to no request".to_owned());
                    return 0;
                }
            };
            let ok = message.len() == NegotiateResponse::LEN && response == wanted;
            v.check(Law::Negotiation, ok, move || format!("response {response:?}, expected {wanted:?}"));
            response.credits_granted
        }
    }
}

/// Whether an error of `ConnectFailed` says what the peer's message meant.
pub(super) fn explains(verdict: &Verdict, error: &ConnectError) -> bool {
    match (verdict, error) {
        (Verdict::Broken(rules), ConnectError::Violation(violation)) => rules.contains(Rule::of(violation)),
        (Verdict::RejectsPeer(wanted), ConnectError::RejectedPeer { status, .. })
        | (Verdict::Rejected(wanted), ConnectError::Rejected { status }) => wanted == status,
        _ => false,
    }
}
