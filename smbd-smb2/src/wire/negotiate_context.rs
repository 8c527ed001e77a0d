//! Negotiate contexts (2.2.3.1, 2.2.4.1), which dialect 3.1.1 has.

use super::error::WireError;
use super::layout::layout;
use super::list::List;
use super::names::{flags, values};
use super::reader;
use super::records::Record;
use super::text::Text;
use super::writer::{Part, Writer};

values! {
    /// ContextType (2.2.3.1).
    pub struct ContextType(u16) {
        PREAUTH_INTEGRITY = 0x0001 "SMB2_PREAUTH_INTEGRITY_CAPABILITIES",
        ENCRYPTION = 0x0002 "SMB2_ENCRYPTION_CAPABILITIES",
        COMPRESSION = 0x0003 "SMB2_COMPRESSION_CAPABILITIES",
        NETNAME = 0x0005 "SMB2_NETNAME_NEGOTIATE_CONTEXT_ID",
        TRANSPORT = 0x0006 "SMB2_TRANSPORT_CAPABILITIES",
        RDMA_TRANSFORM = 0x0007 "SMB2_RDMA_TRANSFORM_CAPABILITIES",
        SIGNING = 0x0008 "SMB2_SIGNING_CAPABILITIES",
    }

    /// A hash function of the preauthentication integrity (2.2.3.1.1).
    pub struct HashAlgorithm(u16) {
        SHA_512 = 0x0001 "SHA-512",
    }

    /// A cipher (2.2.3.1.2).
    pub struct Cipher(u16) {
        NONE = 0x0000 "none",
        AES_128_CCM = 0x0001 "AES-128-CCM",
        AES_128_GCM = 0x0002 "AES-128-GCM",
        AES_256_CCM = 0x0003 "AES-256-CCM",
        AES_256_GCM = 0x0004 "AES-256-GCM",
    }

    /// A compression algorithm (2.2.3.1.3).
    pub struct CompressionAlgorithm(u16) {
        NONE = 0x0000 "none",
        LZNT1 = 0x0001 "LZNT1",
        LZ77 = 0x0002 "LZ77",
        LZ77_HUFFMAN = 0x0003 "LZ77+Huffman",
        PATTERN_V1 = 0x0004 "Pattern_V1",
        LZ4 = 0x0005 "LZ4",
    }

    /// A transform of data that goes by RDMA (2.2.3.1.6).
    pub struct RdmaTransformId(u16) {
        NONE = 0x0000 "none",
        ENCRYPTION = 0x0001 "encryption",
        SIGNING = 0x0002 "signing",
    }

    /// A signing algorithm (2.2.3.1.7).
    pub struct SigningAlgorithm(u16) {
        HMAC_SHA256 = 0x0000 "HMAC-SHA256",
        AES_CMAC = 0x0001 "AES-CMAC",
        AES_GMAC = 0x0002 "AES-GMAC",
    }
}

flags! {
    /// Whether compressed parts of a message may be chained (2.2.3.1.3).
    pub struct CompressionFlags(u32) {
        CHAINED = 0x0000_0001 "CHAINED",
    }

    /// What the transport can do (2.2.3.1.5).
    pub struct TransportFlags(u32) {
        ACCEPT_TRANSPORT_LEVEL_SECURITY = 0x0000_0001 "ACCEPT_TRANSPORT_LEVEL_SECURITY",
    }
}

layout! {
    /// Fields before the data of each context (2.2.3.1).
    pub mod field: "NEGOTIATE_CONTEXT", "2.2.3.1", from 0;
    CONTEXT_TYPE: ContextType = "ContextType" at 0;
    DATA_LENGTH: u16 = "DataLength" at 2;
    RESERVED: u32 = "Reserved" at 4;
}

layout! {
    /// Fields of the data of SMB2_PREAUTH_INTEGRITY_CAPABILITIES (2.2.3.1.1).
    pub mod preauth_integrity: "SMB2_PREAUTH_INTEGRITY_CAPABILITIES", "2.2.3.1.1", from 0;
    HASH_ALGORITHM_COUNT: u16 = "HashAlgorithmCount" at 0;
    SALT_LENGTH: u16 = "SaltLength" at 2;
}

layout! {
    /// Fields of the data of SMB2_ENCRYPTION_CAPABILITIES (2.2.3.1.2).
    pub mod encryption: "SMB2_ENCRYPTION_CAPABILITIES", "2.2.3.1.2", from 0;
    COUNT: u16 = "CipherCount" at 0;
}

layout! {
    /// Fields of the data of SMB2_COMPRESSION_CAPABILITIES (2.2.3.1.3).
    pub mod compression: "SMB2_COMPRESSION_CAPABILITIES", "2.2.3.1.3", from 0;
    COUNT: u16 = "CompressionAlgorithmCount" at 0;
    PADDING: u16 = "Padding" at 2;
    FLAGS: CompressionFlags = "Flags" at 4;
}

layout! {
    /// Fields of the data of SMB2_TRANSPORT_CAPABILITIES (2.2.3.1.5).
    pub mod transport: "SMB2_TRANSPORT_CAPABILITIES", "2.2.3.1.5", from 0;
    FLAGS: TransportFlags = "Flags" at 0;
}

layout! {
    /// Fields of the data of SMB2_RDMA_TRANSFORM_CAPABILITIES (2.2.3.1.6).
    pub mod rdma_transform: "SMB2_RDMA_TRANSFORM_CAPABILITIES", "2.2.3.1.6", from 0;
    COUNT: u16 = "TransformCount" at 0;
    RESERVED1: u16 = "Reserved1" at 2;
    RESERVED2: u32 = "Reserved2" at 4;
}

layout! {
    /// Fields of the data of SMB2_SIGNING_CAPABILITIES (2.2.3.1.7).
    pub mod signing: "SMB2_SIGNING_CAPABILITIES", "2.2.3.1.7", from 0;
    COUNT: u16 = "SigningAlgorithmCount" at 0;
}

/// A negotiate context (2.2.3.1, 2.2.4.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NegotiateContext<'a> {
    /// SMB2_PREAUTH_INTEGRITY_CAPABILITIES.
    PreauthIntegrity {
        /// Hash functions that the client has, or the one that the server chose.
        hash_algorithms: List<'a, HashAlgorithm>,
        /// What goes into the hash besides.
        salt: &'a [u8],
    },
    /// SMB2_ENCRYPTION_CAPABILITIES: ciphers of the client, the preferred one first, or the one that the server chose.
    Encryption(List<'a, Cipher>),
    /// SMB2_COMPRESSION_CAPABILITIES.
    Compression {
        /// Whether compressed parts may be chained.
        flags: CompressionFlags,
        /// Algorithms, the preferred one first.
        algorithms: List<'a, CompressionAlgorithm>,
    },
    /// SMB2_NETNAME_NEGOTIATE_CONTEXT_ID: the name of the server, as the client knows it.
    Netname(Text<'a>),
    /// SMB2_TRANSPORT_CAPABILITIES.
    Transport(TransportFlags),
    /// SMB2_RDMA_TRANSFORM_CAPABILITIES.
    RdmaTransform(List<'a, RdmaTransformId>),
    /// SMB2_SIGNING_CAPABILITIES: algorithms of the client, the preferred one first, or the one that the server chose.
    Signing(List<'a, SigningAlgorithm>),
    /// A context of another type.
    Other(ContextType, &'a [u8]),
}

impl NegotiateContext<'_> {
    /// ContextType.
    #[must_use]
    pub const fn context_type(&self) -> ContextType {
        match self {
            Self::PreauthIntegrity { .. } => ContextType::PREAUTH_INTEGRITY,
            Self::Encryption(_) => ContextType::ENCRYPTION,
            Self::Compression { .. } => ContextType::COMPRESSION,
            Self::Netname(_) => ContextType::NETNAME,
            Self::Transport(_) => ContextType::TRANSPORT,
            Self::RdmaTransform(_) => ContextType::RDMA_TRANSFORM,
            Self::Signing(_) => ContextType::SIGNING,
            Self::Other(other, _) => *other,
        }
    }
}

/// A counted list behind the fixed fields of a context's data.
macro_rules! list {
    ($data:expr, $module:ident :: $COUNT:ident) => {{
        $module::LAYOUT.check($data)?;
        let len = u64::from($module::$COUNT.get($data)?).saturating_mul(2);
        let bytes = reader::range($data, &$module::$COUNT, $module::LAYOUT.end() as u64, len)?;
        List::from_wire(bytes, &$module::$COUNT)?
    }};
}

impl<'a> NegotiateContext<'a> {
    fn parse(context_type: ContextType, data: &'a [u8]) -> Result<Self, WireError> {
        Ok(match context_type {
            ContextType::PREAUTH_INTEGRITY => {
                let hash_algorithms = list!(data, preauth_integrity::HASH_ALGORITHM_COUNT);
                let len = preauth_integrity::SALT_LENGTH.get(data)?;
                let hashes_len = (hash_algorithms.len() as u64).saturating_mul(2);
                let start = (preauth_integrity::LAYOUT.end() as u64).saturating_add(hashes_len);
                let salt = reader::range(data, &preauth_integrity::SALT_LENGTH, start, len.into())?;
                Self::PreauthIntegrity { hash_algorithms, salt }
            }
            ContextType::ENCRYPTION => Self::Encryption(list!(data, encryption::COUNT)),
            ContextType::COMPRESSION => Self::Compression {
                algorithms: list!(data, compression::COUNT),
                flags: compression::FLAGS.get(data)?,
            },
            ContextType::NETNAME => Self::Netname(Text::from_wire(data)),
            ContextType::TRANSPORT => Self::Transport(transport::FLAGS.get(data)?),
            ContextType::RDMA_TRANSFORM => Self::RdmaTransform(list!(data, rdma_transform::COUNT)),
            ContextType::SIGNING => Self::Signing(list!(data, signing::COUNT)),
            other => Self::Other(other, data),
        })
    }

    fn put_data(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        match self {
            Self::PreauthIntegrity { hash_algorithms, salt } => {
                out.begin(&preauth_integrity::LAYOUT);
                out.set_size(&preauth_integrity::HASH_ALGORITHM_COUNT, hash_algorithms.len())?;
                out.set_size(&preauth_integrity::SALT_LENGTH, salt.len())?;
                hash_algorithms.put(out)?;
                salt.put(out)
            }
            Self::Encryption(ciphers) => {
                out.begin(&encryption::LAYOUT);
                out.set_size(&encryption::COUNT, ciphers.len())?;
                ciphers.put(out)
            }
            Self::Compression { flags, algorithms } => {
                out.begin(&compression::LAYOUT);
                out.set_size(&compression::COUNT, algorithms.len())?;
                out.set(&compression::FLAGS, *flags)?;
                algorithms.put(out)
            }
            Self::Netname(name) => name.put(out),
            Self::Transport(flags) => {
                out.begin(&transport::LAYOUT);
                out.set(&transport::FLAGS, *flags)
            }
            Self::RdmaTransform(ids) => {
                out.begin(&rdma_transform::LAYOUT);
                out.set_size(&rdma_transform::COUNT, ids.len())?;
                ids.put(out)
            }
            Self::Signing(algorithms) => {
                out.begin(&signing::LAYOUT);
                out.set_size(&signing::COUNT, algorithms.len())?;
                algorithms.put(out)
            }
            Self::Other(_, data) => data.put(out),
        }
    }
}

impl<'a> Record<'a> for NegotiateContext<'a> {
    fn read(bytes: &'a [u8]) -> Result<(Self, Option<&'a [u8]>), WireError> {
        field::LAYOUT.check(bytes)?;
        let (start, len) = (field::LAYOUT.end(), field::DATA_LENGTH.get(bytes)?);
        let data = reader::range(bytes, &field::DATA_LENGTH, start as u64, len.into())?;
        // The next begins at a multiple of 8, and behind the last there need not be any padding.
        let next = start.saturating_add(data.len()).checked_next_multiple_of(8);
        let rest = next.and_then(|next| bytes.get(next..)).unwrap_or_default();
        Ok((Self::parse(field::CONTEXT_TYPE.get(bytes)?, data)?, Some(rest)))
    }

    fn put(&self, out: &mut Writer<'_>, _is_last: bool) -> Result<(), WireError> {
        let mut context = out.nested();
        context.begin(&field::LAYOUT);
        context.set(&field::CONTEXT_TYPE, self.context_type())?;
        let start = context.len();
        self.put_data(&mut context.nested())?;
        context.set_size(&field::DATA_LENGTH, context.len().saturating_sub(start))
    }
}
