//! Advice for failed connections. The errors say what happened; the advice names the usual causes.

use smbd_core::error::{CloseReason, ConnectError, ConnectReason, DisconnectReason, WorkError};
use smbd_core::wire::status;

/// What to check when there is no RDMA device.
pub const ADVICE_ON_DEVICE: &str =
    "is there an RDMA device, and may this user open it? `rdma link`, `ls -l /dev/infiniband`";

/// What to check when a connection was not established.
#[must_use]
pub fn advice_on_connect(error: &ConnectError) -> &'static str {
    match error {
        ConnectError::Local => "this side gave up",
        ConnectError::Connect(reason) => advice_on_reason(*reason),
        ConnectError::PeerClosed | ConnectError::Lost { reason: DisconnectReason::Unknown } => {
            "the peer took the transport connection and ended it during negotiation: it refused the parameters \
             without a word, or something else than SMB Direct listens there"
        }
        ConnectError::Lost { reason } => advice_on_disconnect(*reason),
        ConnectError::Timeout => {
            "nobody answered in time: is the address right and the peer up, and is it SMB Direct that listens there? \
             --timeout allows more time"
        }
        ConnectError::Rejected { status } => match *status {
            status::NOT_SUPPORTED => "the peer speaks no version 1.0 of SMB Direct",
            status::INSUFFICIENT_RESOURCES => {
                "Windows answers so to a PreferredSendSize above 8136: lower --max-send-size"
            }
            _ => "the peer's log should say why",
        },
        ConnectError::RejectedPeer { .. } => "the peer's Negotiate Request was not acceptable here",
        ConnectError::Violation(_) => "the peer's negotiation message breaks MS-SMBD as said",
        ConnectError::Transport { error, .. } => advice_on_work(*error),
        _ => "no advice for this",
    }
}

const fn advice_on_reason(reason: ConnectReason) -> &'static str {
    match reason {
        ConnectReason::Refused => {
            "nothing listens there for RDMA, or it refused: right port? (445 on InfiniBand and RoCE, 5445 on iWARP); a \
             server of SMB over TCP does not listen for RDMA by itself"
        }
        ConnectReason::Unreachable => {
            "no RDMA device leads there: `rdma link` lists the devices of this host, `ip route get ADDRESS` tells \
             which interface is used"
        }
        ConnectReason::TimedOut => {
            "nobody answered: is the address right, is a firewall in between (UDP port 4791 for RoCE), is the peer's \
             device up?"
        }
        ConnectReason::ReadDepth => "MS-SMBD 6.2 demands an RDMA Read depth of at least 1 on both sides",
        ConnectReason::Other(_) => "`errno NUMBER` (package moreutils) names the error",
        _ => "no advice for this",
    }
}

/// What to check when an established connection ended.
#[must_use]
pub const fn advice_on_close(reason: &CloseReason) -> &'static str {
    match reason {
        CloseReason::Local => "this side ended it",
        CloseReason::PeerClosed => {
            "the peer ended the connection in order, or was killed: the peer's log should say why"
        }
        CloseReason::Lost { reason } => advice_on_disconnect(*reason),
        CloseReason::Violation(_) => "the peer broke MS-SMBD as said",
        CloseReason::KeepaliveTimeout => "the peer does not answer: it hangs, or the network is down",
        CloseReason::CreditStall => "the peer gives no send credits: its upper layer does not read",
        CloseReason::Transport { error, .. } => advice_on_work(*error),
        _ => "no advice for this",
    }
}

const fn advice_on_disconnect(reason: DisconnectReason) -> &'static str {
    match reason {
        DisconnectReason::Local => "this side ended it",
        DisconnectReason::PeerClosed | DisconnectReason::PeerAborted => {
            "the peer ended the connection: its log should say why"
        }
        DisconnectReason::Unreachable => {
            "the peer's device does not answer: is it up, does the network lose packets?"
        }
        DisconnectReason::DeviceFailed => "the own device ended it: `dmesg` may say why",
        // iWARP devices, siw among them, have one word for every end.
        _ => "the peer ended the connection or the network failed: the peer's log should say why",
    }
}

const fn advice_on_work(error: WorkError) -> &'static str {
    match error {
        WorkError::PostFailed { .. } => "the own device refused work: `dmesg` may say why",
        WorkError::Flushed => "the connection ended first",
        WorkError::ReceiverNotReady => {
            "the peer granted a credit without a receive behind it: a fault of the peer"
        }
        WorkError::RetryExceeded => {
            "the peer's device does not answer: is it up, does the network lose packets?"
        }
        WorkError::RemoteAccess => "the peer's memory was accessed in a way it does not allow",
        WorkError::RemoteOperation | WorkError::RemoteInvalidRequest => {
            "the peer's device could not take a message: its receive was too small, or it broke"
        }
        WorkError::LocalLength => "a message was longer than the receive posted for it: a fault of the peer",
        WorkError::LocalProtection | WorkError::LocalOperation => {
            "the own device failed; on iWARP often only that the peer has closed"
        }
        _ => "no advice for this",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_meets_the_commonest_failures_is_told_where_to_look() {
        let refused = advice_on_connect(&ConnectError::Connect(ConnectReason::Refused));
        assert!(refused.contains("5445"));
        let unreachable = advice_on_connect(&ConnectError::Connect(ConnectReason::Unreachable));
        assert!(unreachable.contains("rdma link"));
        let status = status::INSUFFICIENT_RESOURCES;
        assert!(advice_on_connect(&ConnectError::Rejected { status }).contains("--max-send-size"));
    }

    #[test]
    fn no_end_of_an_established_connection_is_without_advice() {
        use DisconnectReason::{DeviceFailed, Local, PeerAborted, PeerClosed, Unknown, Unreachable};
        for reason in [Local, PeerClosed, PeerAborted, Unreachable, DeviceFailed, Unknown] {
            assert!(!advice_on_close(&CloseReason::Lost { reason }).contains("no advice"), "{reason:?}");
            assert!(!advice_on_connect(&ConnectError::Lost { reason }).contains("no advice"), "{reason:?}");
        }
        assert!(advice_on_close(&CloseReason::PeerClosed).contains("in order"));
        assert!(advice_on_connect(&ConnectError::PeerClosed).contains("refused the parameters"));
    }
}
