//! The status of a Negotiate Response (2.2.2).

use core::fmt;

/// An NTSTATUS. Any value may arrive; the constants are those that the protocol itself sends.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct NtStatus(pub u32);

/// The negotiation succeeded.
pub const SUCCESS: NtStatus = NtStatus(0);
/// No version in common (3.1.5.6).
pub const NOT_SUPPORTED: NtStatus = NtStatus(0xC000_00BB);
/// Windows refuses a `PreferredSendSize` above 8,136 bytes with it (note <5>).
pub const INSUFFICIENT_RESOURCES: NtStatus = NtStatus(0xC000_009A);

impl NtStatus {
    /// Whether this is `STATUS_SUCCESS`. Other success codes are failures here (2.2.2).
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.0 == SUCCESS.0
    }

    /// The symbolic name, if it is one of these constants.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        match self {
            SUCCESS => Some("STATUS_SUCCESS"),
            NOT_SUPPORTED => Some("STATUS_NOT_SUPPORTED"),
            INSUFFICIENT_RESOURCES => Some("STATUS_INSUFFICIENT_RESOURCES"),
            _ => None,
        }
    }
}

impl fmt::Debug for NtStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for NtStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (0x{:08X})", self.name().unwrap_or("NTSTATUS"), self.0)
    }
}
