//! What Linux is asked for: sockets, who is at their other end, memory that is shared.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_socket_send_buffer_size, socket_cookie, socket_peercred, socket_send_buffer_size,
};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect as connect_to,
    recvmsg, sendmsg, socket_with, socketpair,
};

use super::buffer::PacketBuffer;
use crate::wire::PACKET_MAX;

/// The most file descriptors that are taken with a packet. The system closes the others.
const DESCRIPTORS_MAX: usize = 8;
/// Connections of owners that wait to be accepted.
const BACKLOG: i32 = 64;

/// Who has connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Its user.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// Its process.
    pub pid: i32,
}

/// A socket that listens at a path, which must not be there.
///
/// # Errors
/// The path cannot be made.
pub fn listen(path: &Path) -> io::Result<OwnedFd> {
    let socket = new_socket()?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// A socket that is connected to the one that listens at a path.
///
/// # Errors
/// Nobody listens there, or it is not allowed.
pub fn connect(path: &Path) -> io::Result<OwnedFd> {
    let socket = new_socket()?;
    connect_to(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

/// Two sockets that are connected to each other.
///
/// # Errors
/// There are no file descriptors left.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags(), None)?)
}

/// A number that no other socket of this host has or had: with it the other end of [`pair`] is known again.
///
/// # Errors
/// It is not a socket.
pub fn cookie(socket: impl AsFd) -> io::Result<u64> {
    Ok(socket_cookie(socket)?)
}

/// Who is at the other end, by what it was when it connected.
///
/// # Errors
/// It is not a Unix socket.
pub fn credentials(socket: impl AsFd) -> io::Result<Credentials> {
    let of = socket_peercred(socket)?;
    Ok(Credentials { uid: of.uid.as_raw(), gid: of.gid.as_raw(), pid: of.pid.as_raw_nonzero().get() })
}

/// A file in memory of `len` bytes, which nobody can make longer or shorter.
///
/// # Errors
/// There is no memory, or there are no file descriptors left.
pub fn memory(len: u64) -> io::Result<OwnedFd> {
    let file = memfd_create("smbd-broker", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&file, len)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

/// Takes a packet, in the place of what is in `packet`, and the file descriptors that came with it. Does not wait.
pub(super) fn receive(socket: BorrowedFd<'_>, packet: &mut PacketBuffer) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let mut take = || recvmsg(socket, &mut [IoSliceMut::new(packet.space())], &mut control, flags);
    let received = match take() {
        // Told once if the other end was closed with something unread in it. What it had sent is still here.
        Err(Errno::CONNRESET) => take(),
        received => received,
    }?;
    let descriptors = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    });
    let descriptors = descriptors.collect();
    if received.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if received.bytes > PACKET_MAX || received.flags.contains(ReturnFlags::TRUNC) {
        let why = format!("a packet is longer than {PACKET_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    packet.filled(received.bytes);
    Ok(descriptors)
}

/// Sends a packet. Does not wait.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    packet: &[u8],
    descriptor: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.map(|descriptor| [descriptor]);
    if let Some(descriptors) = &descriptors {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    sendmsg(socket, &[IoSlice::new(packet)], &mut control, flags)?;
    Ok(())
}

/// Calls of a connected socket return at once from here on, and the longest packet fits into what it sends: with less (`net.core.wmem_default`)
/// one would be refused by `EMSGSIZE`.
pub(super) fn prepare(socket: BorrowedFd<'_>) -> io::Result<()> {
    rustix::io::ioctl_fionbio(socket, true)?;
    // Linux reserves twice of what it is asked for, and tells that.
    if socket_send_buffer_size(socket)? < 2 * PACKET_MAX {
        set_socket_send_buffer_size(socket, PACKET_MAX)?;
    }
    Ok(())
}

fn new_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags(), None)?)
}

const fn flags() -> SocketFlags {
    SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK)
}
