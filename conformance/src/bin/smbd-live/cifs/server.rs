//! The server that a mount meets: NEGOTIATE is answered, SESSION_SETUP refused.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use smbd_conformance::smb2::server::{Options, Served, Server};
use smbd_core::error::CloseReason;
use smbd_core::{Config, Params, wire};
use smbd_smb2::wire::{Command, Dialect, Header, NegotiateRequest, NtStatus};
use smbd_verbs::blocking::Connection;
use smbd_verbs::{LinkType, ListenOptions, Listener, PORT_IWARP, PORT_ROCE, Ports};

use crate::case::Failure;
use crate::device::link_type;
use crate::expect::same;
use crate::linux::Linux;
use crate::patience::PATIENCE;
use crate::smb2;

/// A connection of cifs whose SESSION_SETUP waits for an answer.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) connection: Connection,
    setup: Bytes,
}

/// The port at which cifs looks first. That nobody is there would be an error in the kernel's log.
pub(crate) fn port(address: IpAddr) -> Result<u16, Failure> {
    let is_iwarp = Linux::running()?.cifs().any_link_at_5445 || link_type(address)? == LinkType::Iwarp;
    Ok(if is_iwarp { PORT_IWARP } else { PORT_ROCE })
}

/// Listens there.
pub(crate) fn listen(address: IpAddr) -> Result<Listener, Failure> {
    Ok(Listener::bind(SocketAddr::new(address, port(address)?), ListenOptions::default())?)
}

/// Listens where the specification has SMB Direct for the kind of link (2.1).
pub(crate) fn listen_by_link_type(address: IpAddr) -> Result<Listener, Failure> {
    let options = ListenOptions { ports: Ports::ByLinkType, ..ListenOptions::default() };
    Ok(Listener::bind(SocketAddr::new(address, 0), options)?)
}

impl Session {
    /// Takes the next connection as far as its SESSION_SETUP.
    pub(crate) fn accept(listener: &mut Listener, params: Params) -> Result<Self, Failure> {
        let incoming = listener.wait(PATIENCE)?.ok_or("cifs did not connect")?;
        let mut connection = Connection::accept(incoming, &Config::try_from(params)?)?;
        let message = connection.recv(PATIENCE)?;
        let dialects: Vec<_> = NegotiateRequest::parse(&message)?.dialects.iter().collect();
        same("dialects of `vers=3.1.1`", dialects.as_slice(), &[Dialect::SMB_3_1_1])?;
        for served in Server::new(Options::default()).take(&message)? {
            if let Served::Answer(answer) = served {
                connection.send(answer.into())?;
            }
        }
        let setup = connection.recv(PATIENCE)?;
        same("command of the second request", Header::parse(&setup)?.command, Command::SESSION_SETUP)?;
        Ok(Self { connection, setup })
    }

    /// The Negotiate Request as cifs sent it.
    pub(crate) fn request(&self) -> Result<wire::NegotiateRequest, Failure> {
        let head = self.connection.backend().first_received().ok_or("no message came")?;
        Ok(wire::NegotiateRequest::parse(head.as_bytes())?)
    }

    /// Bytes of the SESSION_SETUP.
    pub(crate) fn setup_len(&self) -> usize {
        self.setup.len()
    }

    /// Refuses the session and waits for cifs to end the connection.
    pub(crate) fn refuse(mut self) -> Result<CloseReason, Failure> {
        self.connection.send(smb2::failure(&self.setup, NtStatus::LOGON_FAILURE)?.into())?;
        Ok(self.connection.drain()?)
    }
}
