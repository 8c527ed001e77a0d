//! What a client is told when it is made.

use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use thiserror::Error;

use crate::security::RdmaTransforms;
use crate::wire::{Cipher, Dialect, Guid, SigningAlgorithm};

/// The transport below, for one connection. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// The longest message that the server receives: over direct TCP 0xFF_FFFF, over SMB Direct Connection.MaxFragmentedSendSize.
    pub max_send: u32,
    /// The longest message that this side receives.
    pub max_receive: u32,
    /// The RDMA channel; `None` over TCP.
    pub rdma: Option<Rdma>,
}

/// An RDMA channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rdma {
    /// Transfers of more bytes than this go by the channel, where it is allowed (3.2.4.6, 3.2.4.7). Others use it as well: 4096.
    pub threshold: u32,
    /// Connection.MaxReadWriteSize of SMB Direct: the most bytes of one READ or WRITE.
    pub max_read_write: u32,
    /// Whether the device takes remote invalidation (MS-SMBD 3.1.5.8). Then requests ask for it from dialect 3.0.2 on.
    pub invalidates: bool,
}

/// What a client does and how much it may use. [`Config::new`] checks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// ClientGuid.
    pub client_guid: Guid,
    /// The lowest dialect that is offered: 3.0, 3.0.2 or 3.1.1.
    pub min_dialect: Dialect,
    /// The highest dialect that is offered.
    pub max_dialect: Dialect,
    /// The server's name for SMB2_NETNAME_NEGOTIATE_CONTEXT_ID; no context if it is empty.
    pub server_name: String,
    /// Ciphers, the preferred one first; none, if nothing is ever encrypted. 3.0 and 3.0.2 know AES-128-CCM only.
    pub ciphers: Vec<Cipher>,
    /// Signing algorithms of 3.1.1, the preferred one first; without one AES-CMAC is used.
    pub signing: Vec<SigningAlgorithm>,
    /// Transforms that data may have which go by RDMA, in 3.1.1 (2.2.3.1.6). Whoever offers one does what [`Output::Sign`],
    /// [`Output::Encrypt`] and [`Output::Check`] ask for. Otherwise data of signed or encrypted requests go in messages.
    ///
    /// [`Output::Sign`]: super::Output::Sign
    /// [`Output::Encrypt`]: super::Output::Encrypt
    /// [`Output::Check`]: super::Output::Check
    pub rdma_transforms: RdmaTransforms,
    /// How often a session may be bound to another connection; 0: never, and then SMB2_GLOBAL_CAP_MULTI_CHANNEL is not offered. All
    /// connections of a session have to offer it. If AES-GMAC signs, a login begins with as many ECHOs as bring it to the MessageId
    /// 2 * `bindings`.
    pub bindings: u16,
    /// RequireMessageSigning.
    pub require_signing: bool,
    /// Whether all of a session is encrypted, whatever the server wants.
    pub require_encryption: bool,
    /// Whether a user who is let in as a guest, or as nobody, may go on (AllowInsecureGuestAccess).
    pub allow_guests: bool,
    /// The salt of the preauthentication integrity: random, once for each connection.
    pub salt: [u8; 32],
    /// The transport.
    pub transport: Transport,
    /// How many credits the connection is to have.
    pub credits: u16,
    /// The most operations at once, those told but not yet polled included.
    pub operations: u16,
    /// The most requests at once, sent or not. A transfer that is cut has one for each piece under way.
    pub requests: u16,
    /// The most sessions at once.
    pub sessions: u16,
    /// The most tree connects at once.
    pub trees: u16,
    /// The most pieces of one transfer that are under way at once.
    pub pieces: u16,
    /// How long a request may wait: for credits, then for its answer.
    pub timeout: Duration,
    /// How long a request may wait after an interim answer; without end if `None`.
    pub pending_timeout: Option<Duration>,
    /// After so long without a message of the server an ECHO goes out.
    pub echo_after: Duration,
    /// After so long without one the connection is closed. Longer than `echo_after`.
    pub silence_max: Duration,
}

impl Default for Params {
    /// All dialects and ciphers, over direct TCP. `client_guid` and `salt` are zero, and are to be set.
    fn default() -> Self {
        Self {
            client_guid: Guid([0; 16]),
            min_dialect: Dialect::SMB_3_0,
            max_dialect: Dialect::SMB_3_1_1,
            server_name: String::new(),
            ciphers: Vec::from([
                Cipher::AES_128_GCM,
                Cipher::AES_128_CCM,
                Cipher::AES_256_GCM,
                Cipher::AES_256_CCM,
            ]),
            signing: Vec::from([SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC]),
            rdma_transforms: RdmaTransforms::NONE,
            bindings: 0,
            require_signing: false,
            require_encryption: false,
            allow_guests: false,
            salt: [0; 32],
            transport: Transport { max_send: 0xFF_FFFF, max_receive: 0xFF_FFFF, rdma: None },
            credits: 256,
            operations: 128,
            requests: 128,
            sessions: 4,
            trees: 16,
            pieces: 8,
            timeout: Duration::from_secs(60),
            pending_timeout: None,
            echo_after: Duration::from_secs(60),
            silence_max: Duration::from_secs(120),
        }
    }
}

/// Parameters that no client can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A dialect below 3.0, or none at all.
    #[error("the dialects are {min} to {max}; possible are 3.0, 3.0.2 and 3.1.1, ascending")]
    Dialects {
        /// The lowest.
        min: Dialect,
        /// The highest.
        max: Dialect,
    },
    /// A number that has to be larger.
    #[error("{name} is {value}, and has to be {min} at least")]
    TooSmall {
        /// Which parameter.
        name: &'static str,
        /// Its value.
        value: u64,
        /// The lowest possible value.
        min: u64,
    },
    /// `silence_max` is not longer than `echo_after`: no ECHO could be answered.
    #[error("silence_max has to be longer than echo_after")]
    Silence,
    /// A cipher of which nothing is known.
    #[error("the cipher is {0}; known are AES-128 and AES-256 with CCM or GCM (2.2.3.1.2)")]
    Cipher(Cipher),
    /// A signing algorithm of which nothing is known.
    #[error("the signing algorithm is {0}; known are HMAC-SHA256, AES-CMAC and AES-GMAC (2.2.3.1.7)")]
    Signing(SigningAlgorithm),
    /// Encryption is required, and there is no cipher for the dialects.
    #[error(
        "encryption is required, and there is no cipher for all dialects; 3.0 and 3.0.2 need AES-128-CCM"
    )]
    NoCipher,
}

/// Valid parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config(Params);

impl Config {
    /// The shortest message that a transport has to carry, in bytes: a READ answer of 4 KiB and what is around it.
    pub const TRANSPORT_MIN: u32 = 8192;

    /// Checks parameters.
    ///
    /// # Errors
    /// The first one that is not possible.
    pub fn new(params: Params) -> Result<Self, ConfigError> {
        let (min, max) = (params.min_dialect, params.max_dialect);
        let is_known = |dialect| DIALECTS.contains(&dialect);
        if !is_known(min) || !is_known(max) || min > max {
            return Err(ConfigError::Dialects { min, max });
        }
        let transport = &params.transport;
        let at_least = [
            ("transport.max_send", transport.max_send, Self::TRANSPORT_MIN),
            ("transport.max_receive", transport.max_receive, Self::TRANSPORT_MIN),
            ("transport.rdma.max_read_write", transport.rdma.map_or(1, |rdma| rdma.max_read_write), 1),
            ("credits", params.credits.into(), 1),
            ("operations", params.operations.into(), 1),
            ("requests", params.requests.into(), 1),
            ("sessions", params.sessions.into(), 1),
            ("trees", params.trees.into(), 1),
            ("pieces", params.pieces.into(), 1),
        ];
        if let Some((name, value, min)) = at_least.into_iter().find(|(_, value, min)| value < min) {
            return Err(ConfigError::TooSmall { name, value: value.into(), min: min.into() });
        }
        if params.silence_max <= params.echo_after {
            return Err(ConfigError::Silence);
        }
        let ciphers = [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM];
        if let Some(cipher) = params.ciphers.iter().find(|cipher| !ciphers.contains(cipher)) {
            return Err(ConfigError::Cipher(*cipher));
        }
        if let Some(signing) =
            params.signing.iter().find(|signing| !SigningAlgorithm::NAMED.contains(signing))
        {
            return Err(ConfigError::Signing(*signing));
        }
        let has_ccm = params.ciphers.contains(&Cipher::AES_128_CCM);
        let has_cipher = !params.ciphers.is_empty() && (has_ccm || min == Dialect::SMB_3_1_1);
        if params.require_encryption && !has_cipher {
            return Err(ConfigError::NoCipher);
        }
        Ok(Self(params))
    }

    /// The dialects that are offered, ascending.
    #[must_use]
    pub fn dialects(&self) -> Vec<Dialect> {
        let range = self.0.min_dialect..=self.0.max_dialect;
        DIALECTS.into_iter().filter(|dialect| range.contains(dialect)).collect()
    }
}

impl core::ops::Deref for Config {
    type Target = Params;

    fn deref(&self) -> &Params {
        &self.0
    }
}

const DIALECTS: [Dialect; 3] = [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];
