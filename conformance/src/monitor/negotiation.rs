//! The two messages of the negotiation.

use smbd_core::wire::{
    NegotiateRequest, NegotiateResponse, PROTOCOL_VERSION, negotiate_request, negotiate_response, status,
};
use smbd_sim::decode::{Direction, Message};

use super::rules::{Rule, negotiation as rules};
use super::verdict::{At, Journal};

/// Least MaxReceiveSize (3.1.5.6, 3.1.5.7).
const MAX_RECEIVE_MIN: u32 = 128;
/// Least MaxFragmentedSize (3.1.5.6, 3.1.5.7).
const MAX_FRAGMENTED_MIN: u32 = 131_072;
/// Above this Windows refuses a PreferredSendSize (note 5).
const PREFERRED_MOST: u32 = 8136;
/// What the Microsoft suite wants to be able to read or write at once.
const READ_WRITE_MIN: u32 = 1 << 20;
/// The acceptor's negotiation timer (3.1.7.2).
const TIMER_NS: u64 = 5_000_000_000;
/// Severity of an NTSTATUS that is an error.
const SEVERITY_ERROR: u32 = 3;

/// How far the negotiation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is not, or not all of it, in the capture.
    Unknown,
    Fresh,
    Requested,
    Refused,
    Established,
}

impl Phase {
    /// What is wrong with a data message in this phase, and what should be there.
    pub(super) const fn before_data(self) -> (&'static str, &'static str) {
        match self {
            Self::Refused => ("a data message after a failure", "the end of the connection"),
            _ => ("a data message before the Negotiate Response", "the Negotiate Response first"),
        }
    }
}

/// What the negotiation said.
#[derive(Debug)]
pub(super) struct Negotiation {
    phase: Phase,
    request: Option<NegotiateRequest>,
    response: Option<NegotiateResponse>,
    connected_ns: Option<u64>,
}

impl Negotiation {
    pub(super) const fn new(from_start: bool) -> Self {
        let phase = if from_start { Phase::Fresh } else { Phase::Unknown };
        Self { phase, request: None, response: None, connected_ns: None }
    }

    pub(super) const fn phase(&self) -> Phase {
        self.phase
    }

    pub(super) const fn request(&self) -> Option<&NegotiateRequest> {
        self.request.as_ref()
    }

    /// The response, if it was a success.
    pub(super) const fn response(&self) -> Option<&NegotiateResponse> {
        self.response.as_ref()
    }

    /// The transport's connection was made.
    pub(super) fn connected(&mut self, now_ns: u64) {
        self.connected_ns.get_or_insert(now_ns);
    }

    /// Something is missing. It matters only as long as it may have been the negotiation.
    pub(super) fn lost(&mut self) {
        if matches!(self.phase, Phase::Fresh | Phase::Requested) {
            self.phase = Phase::Unknown;
        }
    }

    /// Whether a negotiation message of this direction would be one too many.
    pub(super) const fn is_over_for(&self, direction: Direction) -> bool {
        match self.phase {
            Phase::Unknown | Phase::Fresh => false,
            Phase::Requested => matches!(direction, Direction::ToAcceptor),
            Phase::Refused | Phase::Established => {
                matches!(direction, Direction::ToInitiator) || self.request.is_some()
            }
        }
    }

    pub(super) fn requested(&mut self, request: &NegotiateRequest) {
        self.request = Some(*request);
        if matches!(self.phase, Phase::Unknown | Phase::Fresh) {
            self.phase = Phase::Requested;
        }
    }

    pub(super) fn answered(&mut self, response: &NegotiateResponse) {
        if response.status.is_success() {
            self.response = Some(*response);
            self.phase = Phase::Established;
        } else {
            self.phase = Phase::Refused;
        }
    }
}

/// Whether what has to be a data message is another negotiation message: exactly as long as one, with its versions, and
/// with payload outside if it is read as data.
pub(super) fn reads_as_one(message: &Message) -> bool {
    let versions = [PROTOCOL_VERSION; 2];
    let is_request = message.len == NegotiateRequest::LEN as u64
        && NegotiateRequest::parse(&message.bytes).is_ok_and(|request| {
            let outside = u64::from(request.max_receive_size) + u64::from(request.max_fragmented_size);
            [request.min_version, request.max_version] == versions && outside > message.len
        });
    let is_response = message.len == NegotiateResponse::LEN as u64
        && NegotiateResponse::parse(&message.bytes).is_ok_and(|response| {
            [response.min_version, response.max_version, response.negotiated_version] == [PROTOCOL_VERSION; 3]
        });
    is_request || is_response
}

/// Breaks `rule` if `value` is less than `least`.
fn at_least(rule: &'static Rule, at: At, name: &str, value: u32, least: u32, journal: &mut Journal) {
    if value < least {
        journal.broken(rule, at, format!("{name} {value}"), format!("at least {least}"));
    }
}

/// Breaks `rule` if `value` is more than `most`.
fn at_most(rule: &'static Rule, at: At, name: &str, value: u32, most: u32, journal: &mut Journal) {
    if value > most {
        journal.broken(rule, at, format!("{name} {value}"), format!("at most {most}"));
    }
}

/// Versions and Reserved, alike in both messages.
fn head(
    at: At,
    (min, max): (u16, u16),
    reserved: Option<&[u8]>,
    (version_rule, reserved_rule): (&'static Rule, &'static Rule),
    journal: &mut Journal,
) {
    if (min, max) != (PROTOCOL_VERSION, PROTOCOL_VERSION) {
        let seen = format!("MinVersion {min:#06x}, MaxVersion {max:#06x}");
        journal.broken(version_rule, at, seen, "0x0100 in both");
    }
    match reserved {
        Some([0, 0]) => {}
        Some(bytes) => journal.broken(reserved_rule, at, format!("Reserved {bytes:02x?}"), "0"),
        None => journal.not_judged(reserved_rule),
    }
}

/// Holds a Negotiate Request against its rules.
pub(super) fn request(at: At, request: &NegotiateRequest, message: &Message, journal: &mut Journal) {
    let reserved = message.bytes.get(negotiate_request::field::RESERVED);
    let versions = (request.min_version, request.max_version);
    head(at, versions, reserved, (&rules::REQUEST_VERSION, &rules::REQUEST_RESERVED), journal);
    for (rule, name, value, least) in minima(request) {
        at_least(rule, at, name, value, least, journal);
    }
    let preferred = request.preferred_send_size;
    at_least(&rules::REQUEST_PREFERRED_SMALL, at, "PreferredSendSize", preferred, MAX_RECEIVE_MIN, journal);
    at_most(&rules::REQUEST_PREFERRED_LARGE, at, "PreferredSendSize", preferred, PREFERRED_MOST, journal);
}

/// Fields of a request for which there is a minimum.
fn minima(request: &NegotiateRequest) -> [(&'static Rule, &'static str, u32, u32); 3] {
    [
        (&rules::REQUEST_CREDITS, "CreditsRequested", request.credits_requested.into(), 1),
        (&rules::REQUEST_MAX_RECEIVE, "MaxReceiveSize", request.max_receive_size, MAX_RECEIVE_MIN),
        (
            &rules::REQUEST_MAX_FRAGMENTED,
            "MaxFragmentedSize",
            request.max_fragmented_size,
            MAX_FRAGMENTED_MIN,
        ),
    ]
}

/// Holds a Negotiate Response against its rules.
pub(super) fn response(
    at: At,
    response: &NegotiateResponse,
    message: &Message,
    known: &Negotiation,
    journal: &mut Journal,
) {
    if known.phase == Phase::Fresh {
        journal.broken(&rules::RESPONSE_BEFORE_REQUEST, at, "no request before it", "the request first");
    }
    let reserved = message.bytes.get(negotiate_response::field::RESERVED);
    let versions = (response.min_version, response.max_version);
    head(at, versions, reserved, (&rules::RESPONSE_VERSION, &rules::RESPONSE_RESERVED), journal);
    if response.status.is_success() {
        success(at, response, journal);
    } else {
        failure(at, response, journal);
    }
    match known.request() {
        Some(request) => against_request(at, response, request, journal),
        None => journal.not_judged(&rules::INVALID_REQUEST_ANSWERED),
    }
    if let Some(connected) = known.connected_ns
        && response.status.is_success()
        && let Some(late) = at.time_ns.checked_sub(connected).filter(|late| *late > TIMER_NS)
    {
        let seen = format!("answered {} ms after the connection was made", late / 1_000_000);
        journal.broken(&rules::NEGOTIATION_LATE, at, seen, "the end of the connection after 5000 ms");
    }
}

fn success(at: At, response: &NegotiateResponse, journal: &mut Journal) {
    if response.negotiated_version != PROTOCOL_VERSION {
        let seen = format!("NegotiatedVersion {:#06x}", response.negotiated_version);
        journal.broken(&rules::RESPONSE_NEGOTIATED_VERSION, at, seen, "0x0100");
    }
    let least = [
        (&rules::RESPONSE_CREDITS_REQUESTED, "CreditsRequested", response.credits_requested.into(), 1),
        (&rules::RESPONSE_CREDITS_GRANTED, "CreditsGranted", response.credits_granted.into(), 1),
        (&rules::RESPONSE_MAX_READ_WRITE, "MaxReadWriteSize", response.max_read_write_size, READ_WRITE_MIN),
        (
            &rules::RESPONSE_PREFERRED_SMALL,
            "PreferredSendSize",
            response.preferred_send_size,
            MAX_RECEIVE_MIN,
        ),
        (&rules::RESPONSE_MAX_RECEIVE, "MaxReceiveSize", response.max_receive_size, MAX_RECEIVE_MIN),
        (
            &rules::RESPONSE_MAX_FRAGMENTED,
            "MaxFragmentedSize",
            response.max_fragmented_size,
            MAX_FRAGMENTED_MIN,
        ),
    ];
    for (rule, name, value, least) in least {
        at_least(rule, at, name, value, least, journal);
    }
}

fn failure(at: At, response: &NegotiateResponse, journal: &mut Journal) {
    let status = response.status;
    if status.0 >> 30 != SEVERITY_ERROR {
        journal.broken(&rules::FAILURE_SEVERITY, at, format!("Status {status}"), "an error, 0xC.......");
    }
    // Whatever is wrong with the versions has a rule of its own.
    let (min_version, max_version) = (response.min_version, response.max_version);
    let expected = NegotiateResponse { min_version, max_version, ..NegotiateResponse::failure(status) };
    if *response != expected {
        let seen = format!("Status {status} with fields that are not 0");
        journal.broken(&rules::FAILURE_FIELDS, at, seen, "0 in all but MinVersion, MaxVersion and Status");
    }
}

fn against_request(at: At, response: &NegotiateResponse, request: &NegotiateRequest, journal: &mut Journal) {
    let (min, max) = (request.min_version, request.max_version);
    let supported = (min..=max).contains(&PROTOCOL_VERSION);
    let refused = response.status == status::NOT_SUPPORTED;
    if !supported && !refused {
        let seen = format!("{} for versions {min:#06x} to {max:#06x}", response.status);
        journal.broken(&rules::VERSION_ACCEPTED, at, seen, status::NOT_SUPPORTED.to_string());
    }
    if supported && refused {
        let seen = format!("{} for versions {min:#06x} to {max:#06x}", response.status);
        journal.broken(&rules::VERSION_REFUSED, at, seen, "another status");
    }
    if supported {
        // The acceptor looks at the first that is wrong, and so does this.
        let wrong = minima(request).into_iter().find(|(_, _, value, least)| value < least);
        if let Some((_, name, value, least)) = wrong {
            let seen = format!("an answer to {name} {value}, below {least}");
            journal.broken(&rules::INVALID_REQUEST_ANSWERED, at, seen, "the end of the connection");
            return;
        }
    }
    if response.status.is_success() {
        let granted = response.credits_granted.into();
        let most = request.credits_requested.into();
        at_most(&rules::RESPONSE_CREDITS_ABOVE, at, "CreditsGranted", granted, most, journal);
        let (preferred, most) = (response.preferred_send_size, request.max_receive_size);
        at_most(&rules::RESPONSE_PREFERRED_ABOVE, at, "PreferredSendSize", preferred, most, journal);
        let most = request.preferred_send_size.max(MAX_RECEIVE_MIN);
        let size = response.max_receive_size;
        at_most(&rules::RESPONSE_MAX_RECEIVE_ABOVE, at, "MaxReceiveSize", size, most, journal);
    }
}
