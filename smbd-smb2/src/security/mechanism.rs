//! What proves to both sides who the client is: NTLM here, Kerberos or anything else from outside.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::auth_error::AuthError;
use super::secret::Secret;

/// What a step needs that only the caller has. Never the same entropy twice.
#[derive(Clone)]
pub struct Fresh {
    now: u64,
    entropy: Zeroizing<[u8; 32]>,
}

impl Fresh {
    /// `now` is a FILETIME: 100 ns since 1601, UTC. `entropy` is from a source fit for keys.
    #[must_use]
    pub fn new(now: u64, entropy: [u8; 32]) -> Self {
        Self { now, entropy: Zeroizing::new(entropy) }
    }

    /// What step `number` of an authentication needs, from what all of it was given: the same time, and entropy that nobody can work
    /// out from that of another step.
    #[must_use]
    pub fn step(&self, number: u32) -> Self {
        let hash = Sha256::new_with_prefix(self.entropy.as_slice()).chain_update(number.to_le_bytes());
        Self::new(self.now, hash.finalize().into())
    }

    /// The time: a FILETIME.
    #[must_use]
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// The entropy.
    #[must_use]
    pub fn entropy(&self) -> &[u8; 32] {
        &self.entropy
    }
}

impl fmt::Debug for Fresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fresh").field("now", &self.now).finish_non_exhaustive()
    }
}

/// What comes of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The token goes to the other side, which answers with another one.
    Continue(Vec<u8>),
    /// This side has what it needs. If there is a token, the other side needs it.
    Done(Option<Vec<u8>>),
}

/// Who the client is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A user who has proved it.
    User {
        /// The name, as the client says it.
        user: Arc<str>,
        /// The domain, as the client says it; it may be empty.
        domain: String,
    },
    /// Nobody known, let in as a guest. Only the server knows it before its answer.
    Guest,
    /// Nobody, who says so.
    Anonymous,
}

/// What an authentication gave.
#[derive(Clone, Debug)]
pub struct Established {
    /// Who the client is.
    pub identity: Identity,
    /// The key that both sides have and nobody else: SessionKey and FullSessionKey of 3.2.5.3.1 and 3.3.5.5.3 are made of it. `None` for
    /// guests and anonymous users, whose messages can be neither signed nor encrypted.
    pub session_key: Option<Secret>,
}

/// One side of an authentication: a mechanism of GSS-API (RFC 2743), carried by SPNEGO.
///
/// [`super::NtlmClient`] and [`super::NtlmAcceptor`] are such. Kerberos, or whatever a GSS library has, is put behind this trait:
///
/// ```
/// use smbd_smb2::security::{
///     AuthError, Established, Fresh, Identity, Initiator, KERBEROS_OID, KERBEROS_OID_MICROSOFT, Mechanism, Secret, Step,
/// };
///
/// /// A context of a GSS library, as libgssapi has it.
/// # struct GssContext { done: bool }
/// # impl GssContext {
/// #     fn init(_: &str) -> Self { Self { done: false } }
/// #     fn step(&mut self, _: &[u8]) -> Result<Option<Vec<u8>>, &'static str> { self.done = true; Ok(Some(vec![0x60])) }
/// #     fn is_complete(&self) -> bool { self.done }
/// #     fn session_key(&self) -> Option<[u8; 32]> { Some([7; 32]) }
/// #     fn get_mic(&self, _: &[u8]) -> Option<Vec<u8>> { Some(vec![1]) }
/// #     fn verify_mic(&self, _: &[u8], mic: &[u8]) -> bool { mic == [1] }
/// # }
/// struct Kerberos {
///     context: GssContext,
/// }
///
/// impl Mechanism for Kerberos {
///     fn oids(&self) -> &[&'static [u8]] {
///         &[KERBEROS_OID_MICROSOFT, KERBEROS_OID]
///     }
///
///     fn step(&mut self, token: &[u8], _: &Fresh) -> Result<Step, AuthError> {
///         // gss_init_sec_context; the library has time and entropy of its own.
///         let token = self.context.step(token).map_err(|text| AuthError::Mechanism(text.into()))?;
///         match token {
///             token if self.context.is_complete() => Ok(Step::Done(token)),
///             Some(token) => Ok(Step::Continue(token)),
///             None => Err(AuthError::OutOfOrder),
///         }
///     }
///
///     fn established(&self) -> Option<Established> {
///         // gss_inquire_sec_context_by_oid with GSS_C_INQ_SSPI_SESSION_KEY.
///         let session_key = Secret::new(&self.context.session_key()?);
///         let identity = Identity::User { user: "tester".into(), domain: "EXAMPLE.NET".into() };
///         self.context.is_complete().then_some(Established { identity, session_key })
///     }
///
///     fn mic(&self, message: &[u8]) -> Option<Vec<u8>> {
///         self.context.get_mic(message)
///     }
///
///     fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), AuthError> {
///         if self.context.verify_mic(message, mic) { Ok(()) } else { Err(AuthError::BadMic) }
///     }
/// }
///
/// let context = GssContext::init("cifs/server.example.net");
/// let mut client = Initiator::new(vec![Box::new(Kerberos { context })]);
/// # let entropy = [0; 32];
/// let first = client.step(b"", &Fresh::new(0x01d0_aecb_adf5_a1a1, entropy))?;
/// assert!(matches!(first, Step::Continue(token) if token.starts_with(&[0x60])));
/// # Ok::<(), AuthError>(())
/// ```
pub trait Mechanism {
    /// Its object identifiers, the preferred one first: what an OBJECT IDENTIFIER of DER holds, without tag and length.
    fn oids(&self) -> &[&'static [u8]];

    /// Takes the other side's token, empty in the client's first step, and says what follows.
    ///
    /// # Errors
    /// The authentication failed. No step follows.
    fn step(&mut self, token: &[u8], fresh: &Fresh) -> Result<Step, AuthError>;

    /// What came of it; `None` before [`Step::Done`], and after an error.
    fn established(&self) -> Option<Established>;

    /// GSS_GetMIC, after [`Step::Done`]; `None` if both sides have no key for it.
    fn mic(&self, message: &[u8]) -> Option<Vec<u8>>;

    /// GSS_VerifyMIC, after [`Step::Done`].
    ///
    /// # Errors
    /// [`AuthError::BadMic`].
    fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), AuthError>;

    /// The user that the client has named, even if the authentication failed: for logs. 256 characters at most.
    fn claimed(&self) -> Option<&str> {
        None
    }

    /// Whether a first token is its own, outside of SPNEGO. Clients send those of NTLM like that.
    fn recognizes(&self, token: &[u8]) -> bool {
        let _ = token;
        false
    }
}

/// A mechanism of any kind.
pub type AnyMechanism = Box<dyn Mechanism + Send>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_entropy_of_its_own_and_the_same_time() {
        let fresh = Fresh::new(7, [3; 32]);
        let steps = [fresh.step(0), fresh.step(1), fresh.step(0)];
        assert_eq!(steps.each_ref().map(Fresh::now), [7; 3]);
        assert_ne!(steps[0].entropy(), steps[1].entropy());
        assert_ne!(steps[0].entropy(), fresh.entropy());
        assert_eq!(steps[0].entropy(), steps[2].entropy());
    }
}
