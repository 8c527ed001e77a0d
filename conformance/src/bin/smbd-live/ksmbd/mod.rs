//! smbd as initiator against ksmbd, the SMB server of the Linux kernel. What is said about it was seen on Linux 6.12
//! and 7.3. [`crate::linux`] has what differs between them.

mod deviations;
mod doctored;
mod life;
mod negotiate;
mod parameters;
mod race;
mod transforms;
mod upper;

use std::net::{IpAddr, SocketAddr};

use smbd_core::wire::NegotiateResponse;
use smbd_core::{Config, Params};
use smbd_smb2::wire::Dialect;
use smbd_verbs::blocking::Connection;
use smbd_verbs::{PORT_IWARP, PORT_ROCE};

use crate::case::{Case, Context, Failure};
use crate::expect::same;
use crate::patience::PATIENCE;
use crate::smb2;

/// All tests against ksmbd.
pub(crate) fn cases() -> Vec<Case> {
    [negotiate::CASES, parameters::CASES, life::CASES, deviations::CASES, upper::CASES, transforms::CASES]
        .concat()
}

/// Where ksmbd listens at `address`: on iWARP not at the port of SMB over TCP.
pub(crate) fn port() -> u16 {
    let told = std::env::var("KSMBD_PORT").ok().and_then(|port| port.parse().ok());
    let by_kind = || if std::env::var("RDMA_KIND").as_deref() == Ok("siw") { PORT_IWARP } else { PORT_ROCE };
    told.unwrap_or_else(by_kind)
}

/// A connection to the ksmbd of a host.
pub(crate) fn connect(address: IpAddr, params: Params) -> Result<Connection, Failure> {
    let config = Config::try_from(params)?;
    Ok(Connection::connect(SocketAddr::new(address, port()), &config)?)
}

/// A connection to the ksmbd of this host.
fn connect_here(context: &Context, params: Params) -> Result<Connection, Failure> {
    let config = Config::try_from(params)?;
    let to = SocketAddr::new(context.address, port());
    race::again_if_lost(|| Connection::connect(to, &config))
}

/// The Negotiate Response as ksmbd sent it.
pub(crate) fn response_of(connection: &Connection) -> Result<NegotiateResponse, Failure> {
    let head = connection.backend().first_received().ok_or("no message came")?;
    Ok(NegotiateResponse::parse(head.as_bytes())?)
}

/// Asks ksmbd for its dialect, which is 3.1.1.
pub(crate) fn smb2_negotiate(connection: &mut Connection) -> Result<Dialect, Failure> {
    connection.send(smb2::negotiate(0).into())?;
    let answer = connection.recv(PATIENCE)?;
    let agreed = smb2::agreed(&answer)?;
    same("answer to an SMB2 NEGOTIATE", agreed, Ok(Dialect::SMB_3_1_1))?;
    Ok(Dialect::SMB_3_1_1)
}

/// One SMB2 NEGOTIATE and an orderly end: the least that a session needs.
fn smb2_and_close(mut connection: Connection) -> Result<(), Failure> {
    smb2_negotiate(&mut connection)?;
    connection.close(PATIENCE)?;
    Ok(())
}
