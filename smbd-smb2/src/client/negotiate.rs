//! What NEGOTIATE says and gives (3.2.4.2.2.2, 3.2.5.2).

use alloc::vec::Vec;

use thiserror::Error;

use super::config::Config;
use crate::security::RdmaTransforms;
use crate::wire::{
    Capabilities, Cipher, ContextType, Dialect, Guid, HashAlgorithm, List, NegotiateContext,
    NegotiateRequest, NegotiateResponse, NtStatus, RdmaTransformId, Records, SecurityMode, SigningAlgorithm,
    Text, WireError,
};

/// What a connection has negotiated. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Negotiated {
    /// Connection.Dialect.
    pub dialect: Dialect,
    /// Connection.ServerGuid.
    pub server_guid: Guid,
    /// Connection.ServerCapabilities.
    pub capabilities: Capabilities,
    /// Connection.ServerSecurityMode.
    pub security_mode: SecurityMode,
    /// Connection.MaxTransactSize.
    pub max_transact_size: u32,
    /// Connection.MaxReadSize.
    pub max_read_size: u32,
    /// Connection.MaxWriteSize.
    pub max_write_size: u32,
    /// Connection.CipherId; in 3.0 and 3.0.2 AES-128-CCM if both sides can encrypt.
    pub cipher: Option<Cipher>,
    /// Connection.SigningAlgorithmId.
    pub signing: SigningAlgorithm,
    /// Connection.RDMATransformIds.
    pub rdma_transforms: RdmaTransforms,
    /// The server's clock, as a FILETIME: 100 ns since 1601.
    pub system_time: u64,
}

impl Negotiated {
    /// Connection.SupportsMultiCredit: whether a message may need more than one credit.
    #[must_use]
    pub const fn has_multi_credit(&self) -> bool {
        self.capabilities.contains(Capabilities::LARGE_MTU)
    }
}

/// Why the answer to NEGOTIATE is not one to go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NegotiateError {
    /// The server refuses it.
    #[error("NEGOTIATE: the server answers {0}")]
    Status(NtStatus),
    /// The answer cannot be read.
    #[error("NEGOTIATE: {0}")]
    Wire(#[from] WireError),
    /// A dialect that was not offered.
    #[error("DialectRevision is {0}, which was not offered (3.2.5.2)")]
    Dialect(Dialect),
    /// A limit below 65536.
    #[error("{field} is {got}, expected 65536 at least (3.2.5.2)")]
    TooSmall {
        /// Which limit.
        field: &'static str,
        /// Its value in bytes.
        got: u32,
    },
    /// A context that has to be there once, or once at most.
    #[error("{context} is there {count} times (3.2.5.2)")]
    Contexts {
        /// The context.
        context: ContextType,
        /// How often it is there.
        count: usize,
    },
    /// A context has another number of values than one.
    #[error("{context} has {count} values, expected 1 (3.2.5.2)")]
    Count {
        /// The context.
        context: ContextType,
        /// How many values it has.
        count: usize,
    },
    /// A context has more values than were offered.
    #[error("{context} has {count} values, and {max} were offered (3.2.5.2)")]
    TooMany {
        /// The context.
        context: ContextType,
        /// How many values it has.
        count: usize,
        /// How many were offered.
        max: usize,
    },
    /// A context has a value that was not offered.
    #[error("{context} has 0x{value:04x}, which was not offered (3.2.5.2)")]
    NotOffered {
        /// The context.
        context: ContextType,
        /// The value.
        value: u16,
    },
    /// Encryption is required, and the server has none.
    #[error("encryption is required, and the server does not encrypt")]
    NoEncryption,
}

/// Connection.ClientCapabilities.
pub(super) fn capabilities(config: &Config) -> Capabilities {
    let can_encrypt = match config.max_dialect {
        Dialect::SMB_3_1_1 => !config.ciphers.is_empty(),
        _ => config.ciphers.contains(&Cipher::AES_128_CCM),
    };
    let capabilities = Capabilities::LARGE_MTU.with(Capabilities::LEASING, true);
    let capabilities = capabilities.with(Capabilities::MULTI_CHANNEL, config.bindings > 0);
    capabilities.with(Capabilities::ENCRYPTION, can_encrypt)
}

/// Connection.ClientSecurityMode.
pub(super) fn security_mode(config: &Config) -> SecurityMode {
    if config.require_signing { SecurityMode::SIGNING_REQUIRED } else { SecurityMode::SIGNING_ENABLED }
}

/// Gives NEGOTIATE to `write`.
pub(super) fn with_request<T>(config: &Config, write: impl FnOnce(&NegotiateRequest<'_>) -> T) -> T {
    let dialects = config.dialects();
    let mut contexts = Vec::from([NegotiateContext::PreauthIntegrity {
        hash_algorithms: List::from(&[HashAlgorithm::SHA_512]),
        salt: &config.salt,
    }]);
    if !config.ciphers.is_empty() {
        contexts.push(NegotiateContext::Encryption(List::from(&config.ciphers[..])));
    }
    if !config.signing.is_empty() {
        contexts.push(NegotiateContext::Signing(List::from(&config.signing[..])));
    }
    if !config.rdma_transforms.is_empty() {
        contexts.push(NegotiateContext::RdmaTransform(List::from(config.rdma_transforms.ids())));
    }
    if !config.server_name.is_empty() {
        contexts.push(NegotiateContext::Netname(Text::from(config.server_name.as_str())));
    }
    write(&NegotiateRequest {
        security_mode: security_mode(config),
        capabilities: capabilities(config),
        client_guid: config.client_guid,
        dialects: List::from(&dialects[..]),
        contexts: Records::from(&contexts[..]),
    })
}

/// Takes the answer (3.2.5.2).
pub(super) fn accept(config: &Config, answer: &NegotiateResponse<'_>) -> Result<Negotiated, NegotiateError> {
    if !config.dialects().contains(&answer.dialect) {
        return Err(NegotiateError::Dialect(answer.dialect));
    }
    let sizes = [
        ("MaxTransactSize", answer.max_transact_size),
        ("MaxReadSize", answer.max_read_size),
        ("MaxWriteSize", answer.max_write_size),
    ];
    if let Some((field, got)) = sizes.into_iter().find(|(_, size)| *size < 65536) {
        return Err(NegotiateError::TooSmall { field, got });
    }
    let Chosen { cipher, signing, rdma_transforms } = if answer.dialect == Dialect::SMB_3_1_1 {
        contexts(config, answer)?
    } else {
        let can_encrypt = answer.capabilities.contains(Capabilities::ENCRYPTION)
            && config.ciphers.contains(&Cipher::AES_128_CCM);
        Chosen { cipher: can_encrypt.then_some(Cipher::AES_128_CCM), ..Chosen::default() }
    };
    if config.require_encryption && cipher.is_none() {
        return Err(NegotiateError::NoEncryption);
    }
    Ok(Negotiated {
        dialect: answer.dialect,
        server_guid: answer.server_guid,
        capabilities: answer.capabilities,
        security_mode: answer.security_mode,
        max_transact_size: answer.max_transact_size,
        max_read_size: answer.max_read_size,
        max_write_size: answer.max_write_size,
        cipher,
        signing,
        rdma_transforms,
        system_time: answer.system_time,
    })
}

/// What the contexts of 3.1.1 choose.
#[derive(Clone, Copy)]
struct Chosen {
    cipher: Option<Cipher>,
    signing: SigningAlgorithm,
    rdma_transforms: RdmaTransforms,
}

impl Default for Chosen {
    fn default() -> Self {
        Self { cipher: None, signing: SigningAlgorithm::AES_CMAC, rdma_transforms: RdmaTransforms::NONE }
    }
}

fn contexts(config: &Config, answer: &NegotiateResponse<'_>) -> Result<Chosen, NegotiateError> {
    let (mut hashes, mut ciphers, mut signings, mut transforms) = (0_usize, 0_usize, 0_usize, 0_usize);
    let Chosen { mut cipher, mut signing, mut rdma_transforms } = Chosen::default();
    for context in answer.contexts.iter() {
        match context? {
            NegotiateContext::PreauthIntegrity { hash_algorithms, .. } => {
                hashes = hashes.saturating_add(1);
                let context = ContextType::PREAUTH_INTEGRITY;
                only(context, hash_algorithms, |hash| (hash.0, hash == HashAlgorithm::SHA_512))?;
            }
            NegotiateContext::Encryption(list) => {
                ciphers = ciphers.saturating_add(1);
                let is_offered = |cipher: Cipher| cipher == Cipher::NONE || config.ciphers.contains(&cipher);
                let chosen = only(ContextType::ENCRYPTION, list, |cipher| (cipher.0, is_offered(cipher)))?;
                cipher = Some(chosen).filter(|cipher| *cipher != Cipher::NONE);
            }
            NegotiateContext::Signing(list) => {
                signings = signings.saturating_add(1);
                let is_offered = |signing| config.signing.contains(&signing);
                signing = only(ContextType::SIGNING, list, |signing| (signing.0, is_offered(signing)))?;
            }
            // What was not offered, and what nobody knows.
            NegotiateContext::RdmaTransform(list) => {
                transforms = transforms.saturating_add(1);
                rdma_transforms = transforms_of(config, list)?;
            }
            NegotiateContext::Compression { .. }
            | NegotiateContext::Netname(_)
            | NegotiateContext::Transport(_)
            | NegotiateContext::Other(..) => {}
        }
    }
    if hashes != 1 {
        return Err(NegotiateError::Contexts { context: ContextType::PREAUTH_INTEGRITY, count: hashes });
    }
    let once = [
        (ContextType::ENCRYPTION, ciphers),
        (ContextType::SIGNING, signings),
        (ContextType::RDMA_TRANSFORM, transforms),
    ];
    match once.into_iter().find(|(_, count)| *count > 1) {
        Some((context, count)) => Err(NegotiateError::Contexts { context, count }),
        None => Ok(Chosen { cipher, signing, rdma_transforms }),
    }
}

/// Connection.RDMATransformIds.
fn transforms_of(config: &Config, list: List<'_, RdmaTransformId>) -> Result<RdmaTransforms, NegotiateError> {
    let (offered, context) = (config.rdma_transforms.ids(), ContextType::RDMA_TRANSFORM);
    // Whoever has offered none does not look at it. Alone, this value says that there is none (RT-6).
    if offered.is_empty() || (list.len() == 1 && list.get(0) == Some(RdmaTransformId::NONE)) {
        return Ok(RdmaTransforms::NONE);
    }
    if list.len() > offered.len() {
        return Err(NegotiateError::TooMany { context, count: list.len(), max: offered.len() });
    }
    match list.iter().find(|id| !offered.contains(id)) {
        Some(id) => Err(NegotiateError::NotOffered { context, value: id.0 }),
        None => Ok(RdmaTransforms::of(list)),
    }
}

/// The only value of a context, if it was offered.
fn only<T: crate::wire::Value>(
    context: ContextType,
    list: List<'_, T>,
    check: impl FnOnce(T) -> (u16, bool),
) -> Result<T, NegotiateError> {
    let (Some(value), 1) = (list.get(0), list.len()) else {
        return Err(NegotiateError::Count { context, count: list.len() });
    };
    match check(value) {
        (_, true) => Ok(value),
        (value, false) => Err(NegotiateError::NotOffered { context, value }),
    }
}
