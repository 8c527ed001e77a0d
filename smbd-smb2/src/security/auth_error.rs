//! Why an authentication fails.

use alloc::string::String;

use thiserror::Error;

use super::negotiate_flags::NegotiateFlags;
use crate::wire::WireError;

/// Why an authentication fails. None of it says which of user and password was wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AuthError {
    /// A message of NTLM cannot be read.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A token of SPNEGO is not DER, or not what it should be.
    #[error("SPNEGO: at {at} there is no {expected} (RFC 4178 4.2)")]
    Der {
        /// Where, in bytes from the beginning of the token.
        at: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// A token is longer than a SESSION_SETUP can carry.
    #[error("a token has {len} bytes, and can have 65535 at most (2.2.5)")]
    TooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// A token came when none was expected, or none came when one was; or the authentication has failed before.
    #[error("a token came, or did not come, out of order")]
    OutOfOrder,
    /// No mechanism is known to both sides.
    #[error("no authentication mechanism is known to both sides")]
    NoCommonMechanism,
    /// The other side ended the negotiation.
    #[error("the other side rejected the authentication (RFC 4178 4.2.2)")]
    Rejected,
    /// The other side's flags lack what is needed.
    #[error("NegotiateFlags lack {missing} (MS-NLMP 2.2.2.5)")]
    Weak {
        /// What is missing.
        missing: NegotiateFlags,
    },
    /// A list of AV_PAIR has no end.
    #[error("a list of AV_PAIR does not end with MsvAvEOL (MS-NLMP 2.2.2.1)")]
    NoEnd,
    /// A value of an AV_PAIR has the wrong length.
    #[error("the value of AV_PAIR {id} has {len} bytes, expected {expected} (MS-NLMP 2.2.2.1)")]
    AvLength {
        /// AvId.
        id: u16,
        /// AvLen.
        len: usize,
        /// What it has to be.
        expected: usize,
    },
    /// The server does not say who it is, so its answers could not be trusted.
    #[error("TargetInfo lacks MsvAvNbComputerName or MsvAvNbDomainName (MS-NLMP 3.1.5.1.2)")]
    NoTargetNames,
    /// A response is not one of NTLMv2. Others are never accepted.
    #[error("NtChallengeResponse has {len} bytes and is none of NTLMv2 (MS-NLMP 2.2.2.8)")]
    NotVersion2 {
        /// Its length in bytes.
        len: usize,
    },
    /// EncryptedRandomSessionKey has the wrong length.
    #[error("EncryptedRandomSessionKey has {len} bytes, expected 16 (MS-NLMP 2.2.1.3)")]
    SessionKeyLength {
        /// Its length in bytes.
        len: usize,
    },
    /// The user is not known, or the password is wrong, or such users are not let in.
    #[error("the user is unknown or the password is wrong")]
    LogonFailure,
    /// The response is not one to this challenge: its AV_PAIRs lack some of the challenge, or have others.
    #[error("the AV_PAIRs of the response are not those of the challenge (MS-NLMP 3.3.2)")]
    OtherTarget,
    /// The response is older or newer than it may be.
    #[error("the response was made at {made}, and it is {now}: FILETIMEs (MS-NLMP 3.2.5.1.2)")]
    Expired {
        /// The time in it.
        made: u64,
        /// The time.
        now: u64,
    },
    /// A message integrity code is wrong.
    #[error("a message integrity code is wrong (MS-NLMP 3.2.5.1.2, RFC 4178 5)")]
    BadMic,
    /// A message integrity code is missing.
    #[error("mechListMIC is missing (RFC 4178 5)")]
    NoMic,
    /// What another mechanism says.
    #[error("{0}")]
    Mechanism(String),
}
