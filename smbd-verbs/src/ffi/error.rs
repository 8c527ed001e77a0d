//! Errors of calls of libibverbs and librdmacm.

use std::{fmt, io, ptr::NonNull};

use libc::c_int;

/// A call of libibverbs, librdmacm or the system failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallError {
    call: &'static str,
    errno: i32,
}

impl CallError {
    /// `errno` of either sign: some providers return it negated.
    pub(crate) const fn new(call: &'static str, errno: i32) -> Self {
        Self { call, errno: errno.saturating_abs() }
    }

    /// The error that the last call on this thread left in `errno`.
    pub(crate) fn last(call: &'static str) -> Self {
        Self::new(call, io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }

    /// The name of the function that failed.
    #[must_use]
    pub const fn call(&self) -> &'static str {
        self.call
    }

    /// The `errno` of the operating system; never negative.
    #[must_use]
    pub const fn errno(&self) -> i32 {
        self.errno
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = io::Error::from_raw_os_error(self.errno).to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        write!(f, "{}: {text} (error {})", self.call, self.errno)
    }
}

impl std::error::Error for CallError {}

/// The convention of librdmacm and the system: 0, or -1 and the reason in `errno`.
pub(super) fn ok(call: &'static str, returned: c_int) -> Result<(), CallError> {
    if returned == 0 { Ok(()) } else { Err(CallError::last(call)) }
}

/// The convention of libibverbs: 0 or the error number, which some providers negate.
pub(super) const fn ok_or_errno(call: &'static str, returned: c_int) -> Result<(), CallError> {
    if returned == 0 { Ok(()) } else { Err(CallError::new(call, returned)) }
}

/// The convention of calls that make something: a null pointer and the reason in `errno`.
pub(super) fn non_null<T>(call: &'static str, returned: *mut T) -> Result<NonNull<T>, CallError> {
    NonNull::new(returned).ok_or_else(|| CallError::last(call))
}

/// [`non_null`], for a call that is refused where the provider does not have it.
pub(super) fn some_non_null<T>(
    call: &'static str,
    returned: Option<*mut T>,
) -> Result<NonNull<T>, CallError> {
    match returned {
        Some(pointer) => non_null(call, pointer),
        None => Err(CallError::new(call, libc::EOPNOTSUPP)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_names_the_call_and_the_reason() {
        let refused = CallError::new("rdma_connect", 111);
        assert_eq!(refused.to_string(), "rdma_connect: Connection refused (error 111)");
        assert_eq!((refused.call(), refused.errno()), ("rdma_connect", 111));
    }

    #[test]
    fn a_negated_error_number_is_the_same_error() {
        assert_eq!(ok_or_errno("ibv_post_send", -22), Err(CallError::new("ibv_post_send", 22)));
        assert_eq!(CallError::new("x", i32::MIN).errno(), i32::MAX);
    }

    #[test]
    fn no_pointer_is_an_error_in_both_shapes() {
        assert_eq!(some_non_null::<u8>("ibv_alloc_mw", None).unwrap_err().errno(), libc::EOPNOTSUPP);
        assert!(some_non_null::<u8>("ibv_alloc_mw", Some(std::ptr::null_mut())).is_err());
    }
}
