//! Translates statuses of completions and of the connection manager to errors of the core.

use smbd_core::error::{ConnectReason, DisconnectReason, WorkError};

use crate::CallError;
use crate::quirks::Quirks;

/// `enum ibv_wc_status` by number: the order is part of the library's interface.
pub(crate) const fn work_error(status: u32) -> Option<WorkError> {
    Some(match status {
        0 => return None,
        1 => WorkError::LocalLength,
        2 | 6 => WorkError::LocalOperation,
        4 => WorkError::LocalProtection,
        5 => WorkError::Flushed,
        9 => WorkError::RemoteInvalidRequest,
        10 => WorkError::RemoteAccess,
        11 => WorkError::RemoteOperation,
        12 => WorkError::RetryExceeded,
        13 => WorkError::ReceiverNotReady,
        other => WorkError::Other(other),
    })
}

/// A connection manager says why by an error number, its own or that of the
/// call, or (`REJECTED`) by a reject reason of InfiniBand.
pub(crate) fn connect_reason(status: i32) -> ConnectReason {
    match status.saturating_abs() {
        libc::ECONNREFUSED | libc::ECONNRESET => ConnectReason::Refused,
        libc::ETIMEDOUT => ConnectReason::TimedOut,
        libc::ENETUNREACH | libc::EHOSTUNREACH | libc::ENODEV | libc::EADDRNOTAVAIL | libc::ENETDOWN => {
            ConnectReason::Unreachable
        }
        other => ConnectReason::Other(other),
    }
}

/// As [`connect_reason`], for a call that failed.
pub(crate) fn connect_reason_of(error: CallError) -> ConnectReason {
    connect_reason(error.errno())
}

/// Why a connection is gone that this side did not disconnect, by the status of `RDMA_CM_EVENT_DISCONNECTED`. Without a
/// known provider, it does not tell.
pub(crate) const fn disconnect_reason(status: i32, quirks: Option<&Quirks>) -> DisconnectReason {
    match (status.saturating_abs(), quirks) {
        (0, Some(quirks)) if quirks.close_in_status => DisconnectReason::PeerClosed,
        (libc::ECONNRESET, _) => DisconnectReason::PeerAborted,
        (libc::ETIMEDOUT, _) => DisconnectReason::Unreachable,
        _ => DisconnectReason::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{connect_reason, disconnect_reason, work_error};
    use crate::quirks::{self, Quirks};
    use smbd_core::error::{ConnectReason, DisconnectReason, WorkError};

    #[test]
    fn only_status_0_of_a_provider_that_says_so_is_an_orderly_close() {
        let row = |name| *quirks::TABLE.iter().find(|row| row.name == name).unwrap();
        let (rxe, siw): (&Quirks, &Quirks) = (row("rxe"), row("siw"));
        assert_eq!(disconnect_reason(0, Some(rxe)), DisconnectReason::PeerClosed);
        assert_eq!(disconnect_reason(0, Some(siw)), DisconnectReason::Unknown);
        assert_eq!(disconnect_reason(0, None), DisconnectReason::Unknown);
        for quirks in [Some(rxe), Some(siw), None] {
            assert_eq!(disconnect_reason(-104, quirks), DisconnectReason::PeerAborted);
            assert_eq!(disconnect_reason(-110, quirks), DisconnectReason::Unreachable);
            assert_eq!(disconnect_reason(-5, quirks), DisconnectReason::Unknown);
            assert_eq!(disconnect_reason(i32::MIN, quirks), DisconnectReason::Unknown);
        }
    }

    #[test]
    fn completion_statuses_have_the_names_of_the_header() {
        let named: Vec<_> = (0..=14).map(work_error).collect();
        let other = |status| Some(WorkError::Other(status));
        assert_eq!(
            named,
            [
                None,
                Some(WorkError::LocalLength),
                Some(WorkError::LocalOperation),
                other(3),
                Some(WorkError::LocalProtection),
                Some(WorkError::Flushed),
                Some(WorkError::LocalOperation),
                other(7),
                other(8),
                Some(WorkError::RemoteInvalidRequest),
                Some(WorkError::RemoteAccess),
                Some(WorkError::RemoteOperation),
                Some(WorkError::RetryExceeded),
                Some(WorkError::ReceiverNotReady),
                other(14),
            ]
        );
    }

    #[test]
    fn error_numbers_of_both_signs_mean_the_same() {
        assert_eq!(connect_reason(-111), ConnectReason::Refused);
        assert_eq!(connect_reason(111), ConnectReason::Refused);
        assert_eq!(connect_reason(-104), ConnectReason::Refused);
        assert_eq!(connect_reason(-110), ConnectReason::TimedOut);
        assert_eq!([19, 99, 101, 113].map(connect_reason), [ConnectReason::Unreachable; 4]);
        assert_eq!(connect_reason(-5), ConnectReason::Other(5));
        assert_eq!(connect_reason(i32::MIN), ConnectReason::Other(i32::MAX));
    }
}
