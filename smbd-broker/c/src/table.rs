//! Which file descriptor is what.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::connection::Connection;
use crate::failure::Failure;
use crate::owner::Owner;

#[derive(Clone)]
enum Handle {
    Owner(Arc<Owner>),
    Connection(Arc<Connection>),
}

static TABLE: Mutex<BTreeMap<RawFd, Handle>> = Mutex::new(BTreeMap::new());

fn table() -> MutexGuard<'static, BTreeMap<RawFd, Handle>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A broker becomes known by the file descriptor of its socket.
pub(crate) fn add_owner(owner: Owner) -> RawFd {
    let fd = owner.fd();
    add(fd, Handle::Owner(Arc::new(owner)))
}

/// A connection becomes known by the file descriptor of its socket.
pub(crate) fn add_connection(connection: Connection) -> RawFd {
    let fd = connection.fd();
    add(fd, Handle::Connection(Arc::new(connection)))
}

fn add(fd: RawFd, handle: Handle) -> RawFd {
    let former = table().insert(fd, handle);
    // The program has closed a file descriptor that it should have given to this library. Its number is another's now, so it must not be
    // closed a second time: what is left of it is kept for ever.
    std::mem::forget(former);
    fd
}

pub(crate) fn owner(fd: RawFd) -> Result<Arc<Owner>, Failure> {
    match table().get(&fd) {
        Some(Handle::Owner(owner)) => Ok(Arc::clone(owner)),
        Some(Handle::Connection(_)) => {
            Err(Failure::new(libc::ENOTSOCK, "this is a connection, not a broker"))
        }
        None => Err(unknown()),
    }
}

pub(crate) fn connection(fd: RawFd) -> Result<Arc<Connection>, Failure> {
    match table().get(&fd) {
        Some(Handle::Connection(connection)) => Ok(Arc::clone(connection)),
        Some(Handle::Owner(_)) => Err(Failure::new(libc::ENOTSOCK, "this is a broker, not a connection")),
        None => Err(unknown()),
    }
}

/// It is not known any more. What other threads do with it at the moment, they finish.
pub(crate) fn remove(fd: RawFd) -> Result<(), Failure> {
    let removed = table().remove(&fd).ok_or_else(unknown)?;
    if let Handle::Connection(connection) = removed {
        connection.close();
    }
    Ok(())
}

/// A connection is not known any more, and is the caller's, unless another thread uses it.
pub(crate) fn take_connection(fd: RawFd) -> Result<Connection, Failure> {
    connection(fd)?;
    let mut table = table();
    match table.remove(&fd) {
        Some(Handle::Connection(connection)) => Arc::try_unwrap(connection).map_err(|connection| {
            table.insert(fd, Handle::Connection(connection));
            Failure::new(libc::EBUSY, "another thread uses the connection")
        }),
        other => {
            table.extend(other.map(|other| (fd, other)));
            Err(unknown())
        }
    }
}

/// Puts one back that was taken.
pub(crate) fn put_back(connection: Connection) {
    table().insert(connection.fd(), Handle::Connection(Arc::new(connection)));
}

fn unknown() -> Failure {
    Failure::new(libc::EBADF, "this is no file descriptor of a broker or a connection")
}
