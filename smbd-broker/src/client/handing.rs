//! Connections that go to another process, over a socket that both have ([`pair`](crate::socket::pair)).

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;

use super::owner::Connection;
use crate::socket::{PacketBuffer, PacketSocket, UnixPackets};
use crate::wire::{Messages, Newcomer, Notice, Packet};

/// Gives a connection to the process at the other end of `to`, from which nothing was taken: its socket, and what the broker has said of
/// it, as the notice NEW. It goes on there when it is [attached](super::Broker::attach); if that process closes `to`, it ends.
///
/// # Errors
/// That process is gone, or something was taken from the connection, which would be lost. The connection ends.
pub async fn hand_over(to: &mut UnixPackets, connection: Connection) -> io::Result<()> {
    let (socket, newcomer) = connection.give_away().map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidInput, "something was taken from the connection")
    })?;
    let mut packet = Packet::new();
    Notice::New(newcomer).write(&mut packet);
    poll_fn(|cx| to.poll_send(cx, packet.bytes(), Some(&socket))).await
}

/// Takes a connection that the process at the other end of `from` has [handed over](hand_over). None is lost if this is dropped.
///
/// # Errors
/// That process is gone (`UnexpectedEof`), or has sent something else.
pub async fn take_over(from: &mut UnixPackets) -> io::Result<(OwnedFd, Newcomer)> {
    let mut packet = PacketBuffer::new();
    let descriptors = poll_fn(|cx| from.poll_receive(cx, &mut packet)).await?;
    let newcomer = newcomer(packet.bytes());
    newcomer
        .and_then(|newcomer| Some((descriptors.into_iter().next()?, newcomer)))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is no connection that is handed over"))
}

/// What a packet says of a connection, if it is that of one.
fn newcomer(packet: &[u8]) -> Option<Newcomer> {
    let message = Messages::of(packet).next()?.ok()?;
    match Notice::parse(&message) {
        Ok(Some(Notice::New(newcomer))) => Some(newcomer),
        _ => None,
    }
}
