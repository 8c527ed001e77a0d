//! Calls on a connection.

use std::ffi::c_int;

use libc::ssize_t;
use smbd_core::Token;

use super::pointers::{self, gather, get, pieces, put, scatter};
use crate::failure::{Failure, call};
use crate::table;
use crate::types::{Event, MessageHeader, SMBD_BROKER_REMOTE_INVALIDATE};

/// What has happened next, in `timeout` milliseconds; less than 0 waits for ever. Returns 1, or 0 if nothing has. The end of the connection is
/// an error: `-ECONNRESET` when the broker says why, `-ENOTCONN` when the broker is gone or another owner has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_event(connection: c_int, event: *mut Event, timeout: c_int) -> c_int {
    call(|| {
        if event.is_null() {
            return Err(Failure::new(libc::EINVAL, "event is NULL"));
        }
        let Some(happened) = table::connection(connection)?.event(pointers::timeout(timeout))? else {
            return Ok(0);
        };
        // SAFETY: memory for a structure, by the caller's word.
        unsafe { put(event, happened) };
        Ok(1)
    })
}

/// Takes the next message, in `timeout` milliseconds; less than 0 waits for ever. Returns its bytes. `-EAGAIN`: none has come. `-EMSGSIZE`: it
/// does not fit; it stays, and `length` says how long it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_recvmsg(
    connection: c_int,
    msg: *mut MessageHeader,
    timeout: c_int,
) -> ssize_t {
    let result = call(|| {
        // SAFETY: a structure and its pieces, by the caller's word.
        let (mut header, pieces) = unsafe {
            let header = get(msg, "msg")?;
            (header, pieces(header.msg_iov, header.msg_iovlen)?)
        };
        let received = table::connection(connection)?.receive(pointers::timeout(timeout), |message| {
            header.age = message.age;
            header.length = u32::try_from(message.bytes.len()).unwrap_or(u32::MAX);
            // SAFETY: memory of its own, by the caller's word.
            unsafe { scatter(&message.bytes, &pieces) }
        });
        // SAFETY: not null, so memory for a structure, by the caller's word.
        unsafe { put(msg, header) };
        match received? {
            Some(()) => Ok(Length(header.length as ssize_t)),
            None => Err(Failure::new(libc::EAGAIN, "no message has come")),
        }
    });
    result.0
}

/// Sends a message, one for each call. Returns its bytes. `-EAGAIN`: as many wait as may wait; an event `SMBD_BROKER_SENT` makes room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn smbd_broker_sendmsg(connection: c_int, msg: *const MessageHeader) -> ssize_t {
    let result = call(|| {
        let connection = table::connection(connection)?;
        let max = connection.newcomer()?.max_send_size;
        // SAFETY: a structure, its pieces and their bytes, by the caller's word.
        let (header, message) = unsafe {
            let header = get(msg, "msg")?;
            (header, gather(&pieces(header.msg_iov, header.msg_iovlen)?, max as usize)?)
        };
        let invalidate = match header.msg_flags {
            0 => None,
            SMBD_BROKER_REMOTE_INVALIDATE => Some(Token(header.remote_token)),
            other => return Err(Failure::new(libc::EINVAL, format!("msg_flags is 0x{other:x}"))),
        };
        connection.send(&message, invalidate)?;
        Ok(Length(message.len().cast_signed()))
    });
    result.0
}

/// Gives the broker what waits to be sent, in `timeout` milliseconds; less than 0 waits for ever. Returns 1, or 0 if it does not take all of it in
/// time.
#[unsafe(no_mangle)]
pub extern "C" fn smbd_broker_flush(connection: c_int, timeout: c_int) -> c_int {
    call(|| table::connection(connection)?.flush(pointers::timeout(timeout)).map(c_int::from))
}

/// What to wait for with `poll`, when there are no more events: `POLLIN`, or `POLLIN | POLLOUT`.
#[unsafe(no_mangle)]
pub extern "C" fn smbd_broker_poll_events(connection: c_int) -> c_int {
    call(|| {
        let has_outgoing = table::connection(connection)?.has_outgoing()?;
        Ok((libc::POLLIN | if has_outgoing { libc::POLLOUT } else { 0 }).into())
    })
}

/// Ends the connection when what was ordered is done, in `within` milliseconds at most. Its end is told as an error of `smbd_broker_event`.
#[unsafe(no_mangle)]
pub extern "C" fn smbd_broker_disconnect(connection: c_int, within: u32) -> c_int {
    call(|| table::connection(connection)?.disconnect(within).map(|()| 0))
}

/// Bytes, or a negative number.
struct Length(ssize_t);

impl From<c_int> for Length {
    fn from(number: c_int) -> Self {
        Self(number as ssize_t)
    }
}
