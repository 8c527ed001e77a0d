//! A Negotiate Request that the core would not send, in front of a peer that should refuse it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use smbd_core::backend::{Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, Payload, ReceiveMemory};
use smbd_core::wire::{NegotiateRequest, NegotiateResponse};
use smbd_core::{Config, Head, Input, Instant, Params, RecvId, Role};
use smbd_link::blocking::Connection;
use smbd_verbs::blocking::{Blocking, Failure as CallFailure};
use smbd_verbs::{Buffer, Clock, Error, VerbsConnection};

use super::port;
use crate::case::Failure;
use crate::patience::PATIENCE;
use crate::settings;

/// The parameters of Windows, as a request.
pub(super) const ORDINARY: NegotiateRequest = NegotiateRequest {
    min_version: 0x0100,
    max_version: 0x0100,
    credits_requested: 255,
    preferred_send_size: 1364,
    max_receive_size: 8192,
    max_fragmented_size: 1 << 20,
};

/// What the peer made of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Answered with success; the numbers of the response.
    Taken(NegotiateResponse),
    /// Answered with a status, or hung up on: as the core says it.
    Refused(CallFailure),
}

/// Sends `request`, cut or filled with zeros to `len` bytes, as first message of a connection whose core has `params`.
pub(super) fn connect(
    address: IpAddr,
    params: Params,
    request: &NegotiateRequest,
    len: usize,
) -> Result<Result<Connection<Doctored>, CallFailure>, Failure> {
    let mut bytes = vec![0; len.max(NegotiateRequest::LEN)];
    request.encode(&mut bytes)?;
    bytes.truncate(len);
    let config = Config::try_from(params)?;
    let end = VerbsConnection::connect(SocketAddr::new(address, port()), None, &config, Clock::start())?;
    let doctored = Doctored { end, request: Some(bytes) };
    Ok(Connection::establish(Role::Initiator, doctored, &config))
}

/// What ksmbd makes of `request`. An answer is waited for as long as it takes, `no_answer` for three seconds.
pub(super) fn verdict(
    address: IpAddr,
    request: &NegotiateRequest,
    len: usize,
    no_answer: bool,
) -> Result<Verdict, Failure> {
    let active_negotiation_timeout = if no_answer { Duration::from_secs(3) } else { PATIENCE };
    let params = Params { active_negotiation_timeout, ..settings::windows() };
    match connect(address, params, request, len)? {
        Ok(connection) => {
            let head = connection.backend().end.first_received().ok_or("no message came")?;
            let response = NegotiateResponse::parse(head.as_bytes())?;
            connection.close(PATIENCE)?;
            Ok(Verdict::Taken(response))
        }
        Err(failure) => Ok(Verdict::Refused(failure)),
    }
}

/// An end whose first message is replaced.
#[derive(Debug)]
pub(super) struct Doctored {
    end: VerbsConnection,
    request: Option<Vec<u8>>,
}

impl ReceiveMemory for Doctored {
    fn received(&self, id: RecvId) -> &[u8] {
        self.end.received(id)
    }
}

impl Backend for Doctored {
    type Buffer = Buffer;

    fn now(&self) -> Instant {
        self.end.now()
    }

    fn execute(&mut self, step: BackendOp<'_, Buffer>) {
        let BackendOp::PostSend { id, signal, solicit, .. } = step else { return self.end.execute(step) };
        let Some(request) = self.request.take() else { return self.end.execute(step) };
        let head = &Head::of(&request);
        let rest = request.get(Head::MAX..).unwrap_or_default();
        let body = (!rest.is_empty()).then_some(Payload::Copy(rest));
        self.end.execute(BackendOp::PostSend { id, head, body, invalidate: None, signal, solicit });
    }

    fn ring_doorbell(&mut self) {
        self.end.ring_doorbell();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        self.end.next_input()
    }
}

impl HostMemory for Doctored {
    fn allocate(&mut self, len: u32) -> Result<Buffer, OutOfMemory> {
        self.end.allocate(len)
    }

    fn fill(&mut self, buffer: &Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.end.fill(buffer, offset, bytes)
    }

    fn read(&self, buffer: &Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.end.read(buffer, offset, out)
    }
}

impl Blocking for Doctored {
    type Error = Error;

    fn wait(&mut self, until: Option<Instant>) -> Result<(), Error> {
        Blocking::wait(&mut self.end, until)
    }
}
