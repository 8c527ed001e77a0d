//! What a broker answers to NEGOTIATE (MS-SMB2 3.3.5.4).

use bytes::Bytes;
use smbd_smb2::wire::{
    Capabilities, Cipher, Dialect, HashAlgorithm, Header, List, NegotiateContext, NegotiateRequest,
    NegotiateResponse, NtStatus, RdmaTransformId, Records, SecurityMode, SigningAlgorithm, write_element,
};

use crate::wire::Negotiation;

const DIALECTS: [Dialect; 3] = [Dialect::SMB_3_1_1, Dialect::SMB_3_0_2, Dialect::SMB_3_0];
/// What a client has to have as well.
const COMMON: [Capabilities; 5] = [
    Capabilities::MULTI_CHANNEL,
    Capabilities::PERSISTENT_HANDLES,
    Capabilities::DIRECTORY_LEASING,
    Capabilities::ENCRYPTION,
    Capabilities::NOTIFICATIONS,
];

/// The answer to NEGOTIATE, with the highest dialect that is in common, and one credit. `salt` is random, `system_time` a FILETIME. `None` if
/// there is none: no dialect, or for 3.1.1 no SHA-512, or two contexts of a kind.
#[must_use]
pub fn answer(own: &Negotiation, request: &[u8], salt: &[u8; 32], system_time: u64) -> Option<Bytes> {
    let asked = Header::parse(request).ok()?;
    let request = NegotiateRequest::parse(request).ok()?;
    let has = |dialect: Dialect| request.dialects.iter().any(|other| other == dialect);
    let dialect = DIALECTS.into_iter().find(|dialect| dialect.0 <= own.dialect_max && has(*dialect))?;
    let is_311 = dialect == Dialect::SMB_3_1_1;
    let chosen = if is_311 { Chosen::of(own, &request)? } else { Chosen::default() };
    let mut contexts = Vec::new();
    if is_311 {
        let hash_algorithms = List::from(&[HashAlgorithm::SHA_512]);
        contexts.push(NegotiateContext::PreauthIntegrity { hash_algorithms, salt });
    }
    if let Some(cipher) = &chosen.cipher {
        contexts.push(NegotiateContext::Encryption(List::from(std::slice::from_ref(cipher))));
    }
    if let Some(signing) = &chosen.signing {
        contexts.push(NegotiateContext::Signing(List::from(std::slice::from_ref(signing))));
    }
    if let Some(transforms) = &chosen.transforms {
        contexts.push(NegotiateContext::RdmaTransform(List::from(transforms.as_slice())));
    }
    let response = NegotiateResponse {
        security_mode: SecurityMode(own.security_mode),
        dialect,
        server_guid: own.server_guid,
        capabilities: capabilities(own, &request, dialect),
        max_transact_size: own.max_transact_size,
        max_read_size: own.max_read_size,
        max_write_size: own.max_write_size,
        system_time,
        server_start_time: 0,
        security_buffer: &own.blob,
        contexts: Records::from(contexts.as_slice()),
    };
    let mut message = Vec::new();
    // The client may ask for any number, and for none. Its owner is to count from one.
    let header = Header { credits: 1, ..asked.response(NtStatus::SUCCESS) };
    let written = write_element(&mut message, &header, &response);
    written.is_ok().then(|| message.into())
}

/// What is in common of the contexts of 3.1.1.
#[derive(Default)]
struct Chosen {
    cipher: Option<Cipher>,
    signing: Option<SigningAlgorithm>,
    transforms: Option<Vec<RdmaTransformId>>,
}

impl Chosen {
    fn of(own: &Negotiation, request: &NegotiateRequest<'_>) -> Option<Self> {
        let mut chosen = Self::default();
        let mut has_hash = false;
        let mut kinds = Vec::new();
        for context in request.contexts.iter() {
            let context = context.ok()?;
            let kind = std::mem::discriminant(&context);
            if is_single(&context) && kinds.contains(&kind) {
                return None;
            }
            kinds.push(kind);
            match context {
                NegotiateContext::PreauthIntegrity { hash_algorithms, .. } => {
                    has_hash |= hash_algorithms.iter().any(|hash| hash == HashAlgorithm::SHA_512);
                }
                NegotiateContext::Encryption(offered) if !own.ciphers.is_empty() => {
                    let common = first(&own.ciphers, |own| offered.iter().any(|other| other.0 == own));
                    chosen.cipher = Some(common.map_or(Cipher::NONE, Cipher));
                }
                NegotiateContext::Signing(offered) if !own.signing.is_empty() => {
                    let common = first(&own.signing, |own| offered.iter().any(|other| other.0 == own));
                    chosen.signing = Some(common.map_or(SigningAlgorithm::AES_CMAC, SigningAlgorithm));
                }
                NegotiateContext::RdmaTransform(offered) if !own.transforms.is_empty() => {
                    let own = own.transforms.iter().copied().map(RdmaTransformId);
                    let common: Vec<_> =
                        own.filter(|own| offered.iter().any(|other| other == *own)).collect();
                    let none = vec![RdmaTransformId::NONE];
                    chosen.transforms = Some(if common.is_empty() { none } else { common });
                }
                _ => {}
            }
        }
        has_hash.then_some(chosen)
    }
}

/// Whether a second one of the kind makes the request invalid.
const fn is_single(context: &NegotiateContext<'_>) -> bool {
    matches!(
        context,
        NegotiateContext::PreauthIntegrity { .. }
            | NegotiateContext::Encryption(_)
            | NegotiateContext::Compression { .. }
            | NegotiateContext::RdmaTransform(_)
            | NegotiateContext::Signing(_)
    )
}

fn first(own: &[u16], is_common: impl Fn(u16) -> bool) -> Option<u16> {
    own.iter().copied().find(|own| is_common(*own))
}

/// Own capabilities, less those that the client has to have as well and has not, and those of another dialect.
fn capabilities(own: &Negotiation, request: &NegotiateRequest<'_>, dialect: Dialect) -> Capabilities {
    let own = Capabilities(own.capabilities);
    let keep = |capabilities: Capabilities, common: Capabilities| {
        let is_of_dialect = match common {
            // With 3.1.1 there is a context for it.
            Capabilities::ENCRYPTION => dialect != Dialect::SMB_3_1_1,
            Capabilities::NOTIFICATIONS => dialect == Dialect::SMB_3_1_1,
            _ => true,
        };
        let is_kept = own.contains(common) && request.capabilities.contains(common) && is_of_dialect;
        capabilities.with(common, is_kept)
    };
    COMMON.into_iter().fold(own, keep)
}
