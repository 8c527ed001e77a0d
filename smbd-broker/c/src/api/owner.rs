//! Calls on a broker.

use std::ffi::{c_char, c_int};
use std::os::fd::{BorrowedFd, IntoRawFd};

use smbd_broker::wire::{self, Parameters, Rule};
use smbd_smb2::wire::Guid;

use super::pointers::{self, bytes, get, put, text};
use crate::failure::{self, Failure, call};
use crate::owner::Owner;
use crate::table;
use crate::types::{Newcomer, SMBD_BROKER_PEER_LENGTH, SocketParameters};

/// Becomes an owner of the broker that listens at `path`, with a name for its log. Returns the file descriptor of the broker: readable means
/// that there may be a connection.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_connect(path: *const c_char, name: *const c_char) -> c_int {
    call(|| {
        // SAFETY: texts, by the caller's word.
        let (path, name) = unsafe { (pointers::path(path)?, text(name, "name")?) };
        Ok(table::add_owner(Owner::connect(path, name)?))
    })
}

/// Closes a broker or a connection. A connection ends with that, when what was ordered is done. The slots of a broker go with it and with
/// the last of its connections. No other function may close these file descriptors.
#[unsafe(no_mangle)]
pub extern "C" fn smbd_broker_close(fd: c_int) -> c_int {
    call(|| table::remove(fd).map(|()| 0))
}

/// Takes connections that no rule matches; with `is_on` 0 no more.
#[unsafe(no_mangle)]
pub extern "C" fn smbd_broker_listen(broker: c_int, is_on: c_int) -> c_int {
    call(|| table::owner(broker)?.ask(|broker| broker.listen(is_on != 0)).map(|()| 0))
}

/// How connections are configured that come from now on. Only for who listens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_set_parameters(
    broker: c_int,
    parameters: *const SocketParameters,
) -> c_int {
    call(|| {
        // SAFETY: a structure, by the caller's word.
        let with = unsafe { get(parameters, "parameters") }?;
        if !(1..=wire::KEEPALIVE_MAX).contains(&with.keepalive_interval_msec) {
            return Err(Failure::new(libc::EINVAL, "keepalive_interval_msec is 1 to 86400000"));
        }
        let parameters = Parameters {
            receive_credit_max: with.recv_credit_max,
            send_credit_target: with.send_credit_target,
            max_send_size: with.max_send_size,
            max_receive_size: with.max_recv_size,
            max_fragmented_size: with.max_fragmented_recv_size,
            max_read_write_size: with.max_read_write_size,
            keepalive_interval: with.keepalive_interval_msec,
            negotiation: None,
        };
        table::owner(broker)?.ask(|broker| broker.set_parameters(parameters)).map(|()| 0)
    })
}

/// Takes connections that bind this session; with `is_held` 0 no more.
#[unsafe(no_mangle)]
pub extern "C" fn smbd_broker_set_session_id(broker: c_int, session_id: u64, is_held: c_int) -> c_int {
    call(|| {
        if session_id == 0 {
            return Err(Failure::new(libc::EINVAL, "session_id is 0"));
        }
        table::owner(broker)?.ask(|broker| broker.set_session_id(session_id, is_held != 0)).map(|()| 0)
    })
}

/// Takes connections of the client with these 16 bytes as ClientGuid; with `is_held` 0 no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_set_client_guid(
    broker: c_int,
    client_guid: *const u8,
    is_held: c_int,
) -> c_int {
    call(|| {
        // SAFETY: 16 bytes, by the caller's word.
        let guid = unsafe { bytes(client_guid.cast(), 16, "client_guid") }?;
        let guid = <[u8; 16]>::try_from(guid).ok().filter(|guid| *guid != [0; 16]);
        let guid = Guid(guid.ok_or_else(|| Failure::new(libc::EINVAL, "client_guid is 0"))?);
        table::owner(broker)?.ask(|broker| broker.set_client_guid(guid, is_held != 0)).map(|()| 0)
    })
}

/// The next connection, in `timeout` milliseconds; less than 0 waits for ever. Returns its file descriptor; readable means that there may be
/// events. `-EAGAIN`: none has come. `newcomer` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_accept(broker: c_int, newcomer: *mut Newcomer, timeout: c_int) -> c_int {
    call(|| {
        let connection = table::owner(broker)?.accept(pointers::timeout(timeout))?;
        // SAFETY: memory for a structure, by the caller's word.
        unsafe { put(newcomer, about(&connection.newcomer()?)) };
        Ok(table::add_connection(connection))
    })
}

/// Gives a connection away: its file descriptor, which this call returns, is the program's from now on, to be sent to another process or
/// closed. What has come and was not read is still in it. `-EBUSY`: something was read and not taken, or a transfer is under way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_detach(connection: c_int, newcomer: *mut Newcomer) -> c_int {
    call(|| match table::take_connection(connection)?.detach() {
        Ok((socket, said)) => {
            // SAFETY: memory for a structure, by the caller's word.
            unsafe { put(newcomer, about(&said)) };
            Ok(socket.into_raw_fd())
        }
        Err(back) => {
            let (connection, failure) = *back;
            table::put_back(connection);
            Err(failure)
        }
    })
}

/// Takes over a connection that another process or another owner has given away. Returns its new file descriptor. `socket` stays the
/// program's, which closes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_attach(
    broker: c_int,
    socket: c_int,
    newcomer: *const Newcomer,
) -> c_int {
    call(|| {
        // SAFETY: a structure, by the caller's word.
        let newcomer = said(&unsafe { get(newcomer, "newcomer") }?);
        // SAFETY: asks about a number, whatever it is.
        if socket < 0 || unsafe { libc::fcntl(socket, libc::F_GETFD) } < 0 {
            return Err(Failure::new(libc::EBADF, "socket is not open"));
        }
        // SAFETY: it is open, and by the caller's word stays so during this call.
        let socket = unsafe { BorrowedFd::borrow_raw(socket) }.try_clone_to_owned()?;
        Ok(table::add_connection(table::owner(broker)?.attach(socket, newcomer)?))
    })
}

/// Why the last call of this thread that returned an error has failed: a text for people, valid until the next one fails.
#[unsafe(no_mangle)]
pub extern "C" fn smbd_broker_strerror() -> *const c_char {
    failure::why()
}

fn about(newcomer: &wire::Newcomer) -> Newcomer {
    let mut peer = [0; SMBD_BROKER_PEER_LENGTH];
    let text = newcomer.peer.bytes().take(SMBD_BROKER_PEER_LENGTH - 1);
    for (to, byte) in peer.iter_mut().zip(text) {
        *to = byte.cast_signed() as c_char;
    }
    Newcomer {
        connection: newcomer.connection,
        rule: (newcomer.rule as u16).into(),
        is_negotiated: newcomer.is_negotiated.into(),
        max_fragmented_send_size: newcomer.max_send_size,
        max_read_write_size: newcomer.max_read_write_size,
        peer,
    }
}

fn said(newcomer: &Newcomer) -> wire::Newcomer {
    let peer =
        newcomer.peer.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8).collect::<Vec<_>>();
    wire::Newcomer {
        connection: newcomer.connection,
        rule: match newcomer.rule {
            1 => Rule::SessionId,
            2 => Rule::ClientGuid,
            _ => Rule::Default,
        },
        is_negotiated: newcomer.is_negotiated != 0,
        max_send_size: newcomer.max_fragmented_send_size,
        max_read_write_size: newcomer.max_read_write_size,
        peer: String::from_utf8_lossy(&peer).into_owned(),
    }
}
