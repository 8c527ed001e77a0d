//! Log messages. Without the feature `tracing` they do nothing.

#[cfg(not(feature = "tracing"))]
use silent as to;
#[cfg(feature = "tracing")]
use spoken as to;

pub(crate) use to::*;

/// Declares each message once, for both ways.
macro_rules! messages {
    ($($(#[$doc:meta])* $level:ident $name:ident($($value:ident: $type:ty),*) $text:literal;)*) => {
        #[cfg(feature = "tracing")]
        mod spoken {
            use super::*;
            $($(#[$doc])* pub(crate) fn $name($($value: $type),*) {
                tracing::$level!($($value = %$value,)* $text);
            })*
        }
        #[cfg(not(feature = "tracing"))]
        mod silent {
            use super::*;
            $($(#[$doc])* pub(crate) fn $name($($value: $type),*) {
                $(let _ = $value;)*
            })*
        }
    };
}

use std::net::SocketAddr;

use smbd_core::error::WorkError;
use smbd_core::{Misuse, WrId};

use crate::{CallError, Error, RejectReason};

messages! {
    /// The device cannot be read any more.
    error provider_failed(error: CallError) "the provider failed";
    /// A piece of work ended badly.
    debug completion_failed(work: WrId, error: WorkError, vendor_error: u32) "a work request failed";
    /// The device completed what was not posted.
    error unknown_completion(misuse: Misuse) "a completion of unknown work was dropped";
    /// The listener refused a connection by itself.
    info refused(peer: SocketAddr, reason: RejectReason) "a connection was refused";
    /// The listener could not take a connection.
    warn lost_request(error: Error) "a connection request could not be taken";
}
