//! Who the client is, and messages that nobody else can write or read: keys, signatures, encryption, NTLM, SPNEGO.
//!
//! Time, entropy and credentials come in as arguments; nothing here asks for them. Keys are wiped when they are dropped, `Debug` shows
//! none, and what is secret is compared in constant time. Nothing that a peer sends makes this panic, loop, or allocate more than a few
//! times what it sent.
//!
//! - [`Initiator`] and [`Acceptor`] are SPNEGO: they take tokens of SESSION_SETUP and give tokens, until both sides know who the client
//!   is. [`NtlmClient`] and [`NtlmAcceptor`] are what they carry, or whatever else is a [`Mechanism`].
//! - [`PreauthHash`] and [`KeySchedule`] make the keys of a session and of its channels.
//! - [`Signer`] and [`Verifier`] are for one channel, [`Sealer`] and [`Opener`] for a session with all its channels. They take messages
//!   in pieces, and encrypt in place: nothing is gathered. Data that go by RDMA are signed and encrypted with the same keys, counts and
//!   limits as messages.
//!
//! x86 targets without vector registers, such as `x86_64-unknown-none`, need the ciphers' portable code: `--cfg aes_backend="soft"` and
//! `--cfg polyval_backend="soft"` in `RUSTFLAGS`.
//!
//! # A user logs in, and a message is signed and encrypted
//!
//! ```
//! use smbd_smb2::security::{
//!     Acceptor, AcceptorConfig, AuthError, Credentials, Fresh, Initiator, KeySchedule, NtHash, NtlmAcceptor,
//!     PreauthHash, SecurityError, Side, Step,
//! };
//! use smbd_smb2::wire::{Cipher, EchoRequest, Header, SessionId, SigningAlgorithm, transform, write_element};
//!
//! // Time and entropy: each from where the program has them.
//! let fresh = |entropy: u8| Fresh::new(0x01dc_5000_0000_0000, [entropy; 32]);
//!
//! let user = Credentials::of_password("tester", "correct horse");
//! let mut client = Initiator::ntlm(user, "CLIENT", "cifs/server");
//!
//! let accounts = |user: &str, _: &str| (user == "tester").then(|| NtHash::of_password("correct horse"));
//! let ntlm = NtlmAcceptor::new(AcceptorConfig::new("SERVER"), accounts);
//! let mut server = Acceptor::new(vec![Box::new(ntlm)]);
//!
//! let (mut token, mut entropy) = (Vec::new(), 0);
//! while let Step::Continue(request) = client.step(&token, &fresh(entropy))? {
//!     // The token goes with a SESSION_SETUP, and the server's with the answer.
//!     token = match server.step(&request, &fresh(entropy + 1))? {
//!         Step::Continue(answer) => answer,
//!         Step::Done(answer) => answer.unwrap_or_default(),
//!     };
//!     entropy += 2;
//! }
//!
//! // Both hash the same messages, and make the same keys.
//! let preauth = PreauthHash::new();
//! let schedule = KeySchedule::Smb311 {
//!     signing: SigningAlgorithm::AES_GMAC,
//!     cipher: Some(Cipher::AES_256_GCM),
//!     preauth: &preauth,
//! };
//! let key = |established: Option<smbd_smb2::security::Established>| established.and_then(|it| it.session_key);
//! let own = key(client.established()).ok_or(AuthError::LogonFailure)?;
//! let mut own = schedule.session(Side::Client, &own)?;
//! let other = key(server.established()).ok_or(AuthError::LogonFailure)?;
//! let other = schedule.session(Side::Server, &other)?;
//!
//! let mut message = Vec::new();
//! write_element(&mut message, &Header::request::<EchoRequest>(5), &EchoRequest::default())?;
//! own.signer.sign_in_place(&mut message)?;
//! other.verifier.verify([&message[..]])?;
//!
//! // In two pieces, as it may lie in memory.
//! let (sealer, opener) = own.encryption.as_mut().zip(other.encryption.as_ref()).ok_or(AuthError::LogonFailure)?;
//! let (first, second) = message.split_at_mut(30);
//! let header = sealer.0.seal_message(SessionId(1), &mut [first, second])?;
//! opener.1.open_message(&header, &mut [&mut message])?;
//! assert!(message.starts_with(b"\xfeSMB"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod auth_error;
mod blocks;
mod cipher;
mod counter;
mod der;
mod error;
#[cfg(test)]
mod hex;
mod kdf;
mod keys;
mod mechanism;
mod negotiate_flags;
mod ntlm;
mod preauth;
mod rdma;
mod seal;
mod secret;
mod sign;
mod spnego;

pub use crate::side::Side;
pub use auth_error::AuthError;
pub use error::SecurityError;
pub use keys::{KeySchedule, SessionKeys};
pub use mechanism::{AnyMechanism, Established, Fresh, Identity, Mechanism, Step};
pub use negotiate_flags::NegotiateFlags;
pub use ntlm::{
    AcceptorConfig, Accounts, AuthenticateMessage, AvId, AvPairs, ChallengeMessage, Credentials,
    NegotiateMessage, NtHash, NtlmAcceptor, NtlmClient, NtlmResponse, capital,
};
pub use preauth::PreauthHash;
pub use rdma::{RdmaSignature, RdmaTransforms};
pub use seal::{Opener, Sealer};
pub use secret::{SECRET_MAX, Secret};
pub use sign::{BindingSigner, Signer, SigningKey, Verifier};
pub use spnego::{
    Acceptor, Initiator, KERBEROS_OID, KERBEROS_OID_MICROSOFT, MechTypes, NegState, NegTokenInit,
    NegTokenResp,
};
