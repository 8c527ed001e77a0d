//! Errors as C has them: a number, and a text for people.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::fmt::Display;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use smbd_broker::client::{CallError, Lost};
use smbd_broker::owner::{SendError, TransferError};
use smbd_broker::wire::Refusal;

/// Why a call has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// An `errno`.
    pub(crate) number: c_int,
    why: String,
}

impl Failure {
    pub(crate) fn new(number: c_int, why: impl Display) -> Self {
        Self { number, why: why.to_string() }
    }
}

thread_local! {
    static WHY: RefCell<CString> = RefCell::default();
}

/// The result of a call for C: what it returns, or a negative `errno`. Panics end here.
pub(crate) fn call<T: From<c_int>>(work: impl FnOnce() -> Result<T, Failure>) -> T {
    let result = catch_unwind(AssertUnwindSafe(work));
    let result =
        result.unwrap_or_else(|_| Err(Failure::new(libc::ENOTRECOVERABLE, "a fault of this library")));
    result.unwrap_or_else(|failure| {
        let text = CString::new(failure.why.replace('\0', " ")).unwrap_or_default();
        WHY.set(text);
        failure.number.saturating_neg().into()
    })
}

/// What the last call of this thread that failed has to say. Valid until the next one fails.
pub(crate) fn why() -> *const c_char {
    WHY.with_borrow(|why| why.as_ptr())
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let number = error.raw_os_error().unwrap_or(match error.kind() {
            io::ErrorKind::TimedOut => libc::ETIMEDOUT,
            io::ErrorKind::UnexpectedEof => libc::ECONNRESET,
            io::ErrorKind::InvalidInput => libc::EINVAL,
            io::ErrorKind::OutOfMemory => libc::ENOMEM,
            _ => libc::EIO,
        });
        Self::new(number, error)
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        let number = match &error {
            CallError::Refused(refusal) => number_of(*refusal),
            CallError::Gone => libc::ENOTCONN,
            CallError::Answer => libc::EPROTO,
            CallError::Socket(_) => 0,
        };
        match error {
            CallError::Socket(error) => error.into(),
            error => Self::new(number, error),
        }
    }
}

const fn number_of(refusal: Refusal) -> c_int {
    match refusal {
        Refusal::Version => libc::EPROTONOSUPPORT,
        Refusal::Order => libc::EPROTO,
        Refusal::Held => libc::EBUSY,
        Refusal::NotHeld => libc::ENOENT,
        Refusal::Quota => libc::EDQUOT,
        Refusal::Memory => libc::ENOMEM,
        Refusal::NotASocket => libc::ENOTSOCK,
        Refusal::Taken => libc::EADDRINUSE,
        Refusal::NotAcceptor => libc::EPERM,
        Refusal::Parameters => libc::EINVAL,
        Refusal::Ended => libc::ENOTCONN,
    }
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        let number = match &lost {
            Lost::Ended(_) => libc::ECONNRESET,
            Lost::Closed => libc::ENOTCONN,
            Lost::Broker(_) => libc::EPROTO,
        };
        Self::new(number, lost)
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        let number = match error {
            SendError::Empty => libc::EINVAL,
            SendError::TooLong { .. } => libc::EMSGSIZE,
            SendError::Full => libc::EAGAIN,
            SendError::Lost => libc::ENOTCONN,
        };
        Self::new(number, error)
    }
}

impl From<TransferError> for Failure {
    fn from(error: TransferError) -> Self {
        let number = match error {
            TransferError::Shape { .. } => libc::EINVAL,
            TransferError::TooLong { .. } => libc::EMSGSIZE,
            TransferError::Full => libc::EAGAIN,
            TransferError::Lost => libc::ENOTCONN,
        };
        Self::new(number, error)
    }
}
