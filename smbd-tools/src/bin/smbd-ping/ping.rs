//! The steps of a ping, and their results.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_core::error::{ConnectError, ConnectReason, ProbeError};
use smbd_core::wire::NegotiateResponse;
use smbd_core::{Config, Negotiated, Role};
use smbd_link::blocking::Connection;
use smbd_tools::exercise::fill_pattern;
use smbd_tools::smb2::{Guid, NegotiateRequest, Nonsense, Response};
use smbd_tools::tool::{ADVICE_ON_DEVICE, advice_on_close, advice_on_connect};
use smbd_verbs::blocking::Failure;
use smbd_verbs::{Clock, LinkType, PORT_IWARP, PORT_ROCE, VerbsConnection};

use crate::options::Options;

/// How long to wait for an answer of the upper layer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// The core's own limit for a probe is shorter and says more.
const PROBE_WITHIN: Duration = Duration::from_secs(30);
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// Everything that was found out.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) target: String,
    /// One for each attempt.
    pub(crate) connections: Vec<Attempt>,
    /// Of the first connection.
    pub(crate) probes: Vec<Result<Duration, Trouble>>,
    /// What kept it from even trying.
    pub(crate) trouble: Option<Trouble>,
}

/// One connection, or the attempt.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) address: SocketAddr,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) device: Option<String>,
    pub(crate) link: Option<LinkType>,
    /// The Negotiate Response as it came.
    pub(crate) received: Option<NegotiateResponse>,
    /// What was settled on, and how long connecting and negotiating took.
    pub(crate) outcome: Result<(Negotiated, Duration), Trouble>,
    pub(crate) smb2: Option<Result<(Response, Duration), Trouble>>,
}

/// Something that did not go well.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    pub(crate) what: String,
    pub(crate) advice: Option<String>,
}

impl Trouble {
    fn new(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), advice: Some(advice.into()) }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        let advice = match &failure {
            Failure::Connect(error) => advice_on_connect(error),
            Failure::Closed(reason) => advice_on_close(reason),
            Failure::Backend(_) => ADVICE_ON_DEVICE,
            _ => return Self { what: failure.to_string(), advice: None },
        };
        Self::new(failure.to_string(), advice)
    }
}

impl Report {
    /// Whether the peer did all it was asked for.
    pub(crate) fn is_well(&self) -> bool {
        let refused = |answer: &(Response, Duration)| matches!(answer.0, Response::Error(_));
        let went_well = |attempt: &Attempt| {
            let smb2 = attempt.smb2.as_ref();
            attempt.outcome.is_ok()
                && smb2.is_none_or(|answer| answer.as_ref().is_ok_and(|answer| !refused(answer)))
        };
        self.trouble.is_none()
            && !self.connections.is_empty()
            && self.connections.iter().all(went_well)
            && self.probes.iter().all(Result::is_ok)
    }
}

/// Does all of it.
pub(crate) fn run(options: &Options, config: &Config) -> Report {
    let Some(target) = &options.target else { return Report::default() };
    let mut report = Report { target: target.to_string(), ..Report::default() };
    let address = match target.at(PORT_IWARP) {
        Ok(address) => address,
        Err(error) => {
            report.trouble =
                Some(Trouble::new(error.to_string(), "a name that the system can resolve, or an address"));
            return report;
        }
    };
    let mut port = address.port();
    for round in 0..options.count {
        let probes = if round == 0 { options.probes } else { 0 };
        let at = SocketAddr::new(address.ip(), port);
        let mut attempt = attempt(at, options, config, probes, &mut report.probes);
        // The device is known only after the attempt. Asking 5445 first disturbs nobody; on iWARP port 445 is that of
        // SMB over TCP.
        if round == 0 && target.port.is_none() && is_wrong_port(&attempt) {
            port = PORT_ROCE;
            let at = SocketAddr::new(address.ip(), port);
            attempt = self::attempt(at, options, config, probes, &mut report.probes);
        }
        let failed = attempt.outcome.is_err();
        report.connections.push(attempt);
        if failed {
            break;
        }
    }
    report
}

fn is_wrong_port(attempt: &Attempt) -> bool {
    attempt.outcome.is_err() && matches!(attempt.link, Some(LinkType::Roce | LinkType::InfiniBand))
}

/// One connection from beginning to end.
fn attempt(
    address: SocketAddr,
    options: &Options,
    config: &Config,
    probes: u32,
    probed: &mut Vec<Result<Duration, Trouble>>,
) -> Attempt {
    let (local, device, link, received) = (None, None, None, None);
    let mut attempt =
        Attempt { address, local, device, link, received, outcome: Err(Trouble::new("", "")), smb2: None };
    let clock = Clock::start();
    let mut end = match VerbsConnection::connect(address, None, config, clock) {
        Ok(end) => end,
        Err(error) => return Attempt { outcome: Err(Failure::from(error).into()), ..attempt },
    };
    let connected = Connection::establish(Role::Initiator, &mut end, config);
    attempt.outcome = match connected {
        Ok(mut connection) => {
            let settled = connection
                .negotiated()
                .map(|settled| (settled, clock.now().saturating_since(smbd_core::Instant::ORIGIN)));
            if !options.no_smb2 {
                attempt.smb2 = Some(negotiate(&mut connection));
            }
            for _ in 0..probes {
                probed.push(probe(&mut connection));
                if connection.ended().is_some() {
                    break;
                }
            }
            // What is left to be said was said.
            let _ = connection.close(CLOSE_WITHIN);
            settled.ok_or_else(|| {
                Trouble::new("established without a result of the negotiation", "a fault of this program")
            })
        }
        Err(failure) => Err(with_reject_text(failure, &end)),
    };
    attempt.local = end.local_addr();
    attempt.device = end.device().map(|device| device.name.clone());
    attempt.link = end.link_type();
    attempt.received = end.first_received().and_then(|head| NegotiateResponse::parse(head.as_bytes()).ok());
    attempt
}

/// A peer that refuses a connection may say why.
fn with_reject_text(failure: Failure, end: &VerbsConnection) -> Trouble {
    let refused = matches!(failure, Failure::Connect(ConnectError::Connect(ConnectReason::Refused)));
    let mut trouble = Trouble::from(failure);
    let text = String::from_utf8_lossy(end.reject_data());
    let text = text.trim_matches(|c: char| c == '\0' || c.is_control() || c == '\u{fffd}');
    if refused && !text.is_empty() && text.chars().all(|c| !c.is_control() && c != '\u{fffd}') {
        trouble.what = format!("{}; the peer says: {text}", trouble.what);
    }
    trouble
}

fn negotiate(connection: &mut Connection<&mut VerbsConnection>) -> Result<(Response, Duration), Trouble> {
    let (mut guid, mut salt) = (Guid::default(), [0; 32]);
    fill_pattern(std::process::id().into(), 0, &mut guid.0);
    fill_pattern(std::process::id().into(), 64, &mut salt);
    let request = NegotiateRequest::new(guid);
    let start = now(connection);
    connection.send(request.encode(&salt))?;
    let answer = connection.recv(ANSWER_WITHIN).map_err(|failure| match failure {
        Failure::TimedOut => Trouble::new(
            format!("no answer to the SMB2 NEGOTIATE within {ANSWER_WITHIN:?}"),
            "is it an SMB2 server? --no-smb2 leaves this out",
        ),
        other => other.into(),
    })?;
    let time = now(connection).saturating_since(start);
    match Response::parse(&answer, &request) {
        Ok(response) => Ok((response, time)),
        Err(Nonsense::Echo) => Err(Trouble::new(Nonsense::Echo.to_string(), "for smbd-echo use --no-smb2")),
        Err(nonsense) => {
            Err(Trouble::new(format!("no SMB2 NEGOTIATE Response: {nonsense}"), "is it an SMB2 server?"))
        }
    }
}

fn now(connection: &Connection<&mut VerbsConnection>) -> smbd_core::Instant {
    smbd_core::backend::Backend::now(connection.backend())
}

fn probe(connection: &mut Connection<&mut VerbsConnection>) -> Result<Duration, Trouble> {
    let failure = match connection.probe(PROBE_WITHIN) {
        Ok(time) => return Ok(time),
        Err(failure) => failure,
    };
    Err(match (failure, connection.ended()) {
        (_, Some(reason)) => Failure::Closed(reason).into(),
        (Failure::Probe(unanswered @ ProbeError::Unanswered), None) => Trouble::new(
            unanswered.to_string(),
            "a peer has to answer a message with SMB_DIRECT_RESPONSE_REQUESTED (3.1.5.9)",
        ),
        (other, None) => other.into(),
    })
}
