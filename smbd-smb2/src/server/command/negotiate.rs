//! NEGOTIATE (3.3.5.3, 3.3.5.4).

use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::authenticate::acceptor;
use crate::security::{PreauthHash, RdmaTransforms};
use crate::server::action::Action;
use crate::server::answer::{answer, success};
use crate::server::chain::{Answer, Asked, Hash};
use crate::server::inner::Inner;
use crate::server::negotiated::{Negotiated, Phase};
use crate::server::pending::Outcome;
use crate::server::refused::Refused;
use crate::wire::{
    Capabilities, Cipher, Dialect, HashAlgorithm, List, NegotiateContext, NegotiateRequest,
    NegotiateResponse, NtStatus, RdmaTransformId, Records, SecurityMode, SigningAlgorithm, WireError,
};

/// The most dialects that a client may offer. There are five.
const DIALECTS_MAX: usize = 64;
/// What the server has, the preferred one last.
const DIALECTS: [Dialect; 3] = [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];
/// What the server has, the preferred one first: GCM is the faster mode. Those of 256 bits are behind those of 128, as in other servers:
/// with them clients of Linux make other signing keys (SE-1).
const CIPHERS: [Cipher; 4] =
    [Cipher::AES_128_GCM, Cipher::AES_128_CCM, Cipher::AES_256_GCM, Cipher::AES_256_CCM];
const SIGNING: [SigningAlgorithm; 3] =
    [SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC, SigningAlgorithm::HMAC_SHA256];
/// The same where a session can be bound: bindings would use nonces of AES-GMAC twice (SE-2).
const SIGNING_OF_CHANNELS: [SigningAlgorithm; 3] =
    [SigningAlgorithm::AES_CMAC, SigningAlgorithm::HMAC_SHA256, SigningAlgorithm::AES_GMAC];

/// What a client of SMB1 is told, which offers SMB 2.??? (3.3.5.3.1).
pub(in crate::server) fn of_smb1(inner: &mut Inner, asked: &Asked) -> Outcome {
    inner.link.phase = Phase::Smb1Answered;
    let capabilities = Capabilities::LARGE_MTU;
    respond(inner, asked, Dialect::SMB_2_WILDCARD, capabilities, &[])
}

/// 3.3.5.4. `element` is the whole message.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &NegotiateRequest<'_>,
    element: &[u8],
) -> Result<Outcome, NtStatus> {
    let count = request.dialects.len();
    if count == 0 || count > DIALECTS_MAX || !asked.is_alone {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let common = DIALECTS.into_iter().rev().find(|own| request.dialects.iter().any(|other| other == *own));
    let Some(dialect) = common else {
        let offered: Vec<_> = request.dialects.iter().map(|dialect| dialect.to_string()).collect();
        inner.push(Action::Refused(Refused::Dialects { offered: offered.join(",") }));
        return Err(NtStatus::NOT_SUPPORTED);
    };
    let own = inner.params().rdma_transforms;
    let has_channels =
        inner.params().channels_max > 1 && request.capabilities.contains(Capabilities::MULTI_CHANNEL);
    let chosen = match dialect {
        Dialect::SMB_3_1_1 => choose(request, own, if has_channels { SIGNING_OF_CHANNELS } else { SIGNING })?,
        _ => Chosen::default(),
    };
    let mut capabilities = Capabilities::LARGE_MTU;
    let mut cipher = chosen.cipher;
    if dialect != Dialect::SMB_3_1_1 && request.capabilities.contains(Capabilities::ENCRYPTION) {
        capabilities = capabilities | Capabilities::ENCRYPTION;
        cipher = Some(Cipher::AES_128_CCM);
    }
    if has_channels {
        capabilities = capabilities | Capabilities::MULTI_CHANNEL;
    }
    let signing_required = inner.params().signing_required;
    let mut preauth = PreauthHash::new();
    preauth.update([element]);
    let client_dialects: Vec<Dialect> = request.dialects.iter().collect();
    inner.link.phase = Phase::Negotiated(Negotiated {
        dialect,
        client_guid: request.client_guid,
        client_capabilities: request.capabilities,
        client_security_mode: request.security_mode,
        client_dialects,
        capabilities,
        security_mode: SecurityMode::SIGNING_ENABLED.with(SecurityMode::SIGNING_REQUIRED, signing_required),
        cipher,
        signing: chosen.signing.unwrap_or(SigningAlgorithm::AES_CMAC),
        rdma_transforms: chosen.transforms.unwrap_or_default(),
        preauth,
    });
    let salt = inner.entropy.next();
    let ciphers = [cipher.unwrap_or(Cipher::NONE)];
    let signing = [chosen.signing.unwrap_or(SigningAlgorithm::AES_CMAC)];
    let preauth = NegotiateContext::PreauthIntegrity {
        hash_algorithms: List::from(&[HashAlgorithm::SHA_512]),
        salt: &salt,
    };
    let mut contexts = alloc::vec![preauth];
    if chosen.has_ciphers {
        contexts.push(NegotiateContext::Encryption(List::from(&ciphers)));
    }
    if chosen.signing.is_some() || chosen.has_signing {
        contexts.push(NegotiateContext::Signing(List::from(&signing)));
    }
    if let Some(transforms) = chosen.transforms {
        let ids = if transforms.is_empty() { &[RdmaTransformId::NONE][..] } else { transforms.ids() };
        contexts.push(NegotiateContext::RdmaTransform(List::from(ids)));
    }
    Ok(respond(inner, asked, dialect, capabilities, &contexts))
}

fn respond(
    inner: &mut Inner,
    asked: &Asked,
    dialect: Dialect,
    capabilities: Capabilities,
    contexts: &[NegotiateContext<'_>],
) -> Outcome {
    let params = inner.params();
    let mode = SecurityMode::SIGNING_ENABLED.with(SecurityMode::SIGNING_REQUIRED, params.signing_required);
    // Without it clients begin by themselves.
    let hint = acceptor(inner).hint().unwrap_or_default();
    let response = NegotiateResponse {
        security_mode: mode,
        dialect,
        server_guid: params.guid,
        capabilities,
        max_transact_size: inner.max_transact(),
        max_read_size: params.max_read_size,
        max_write_size: params.max_write_size,
        system_time: inner.now,
        server_start_time: 0,
        security_buffer: &hint,
        contexts: Records::from(contexts),
    };
    if dialect == Dialect::SMB_2_WILDCARD {
        return success(&mut inner.chunks, asked, &response);
    }
    Outcome::Answer(Answer {
        hash: Some(Hash::Connection),
        ..answer(&mut inner.chunks, asked, NtStatus::SUCCESS, &response)
    })
}

/// What is taken of the contexts of 3.1.1.
#[derive(Default)]
struct Chosen {
    cipher: Option<Cipher>,
    has_ciphers: bool,
    signing: Option<SigningAlgorithm>,
    has_signing: bool,
    /// Connection.RDMATransformIds, if the context is looked at.
    transforms: Option<RdmaTransforms>,
}

fn choose(
    request: &NegotiateRequest<'_>,
    own: RdmaTransforms,
    signing: [SigningAlgorithm; 3],
) -> Result<Chosen, NtStatus> {
    let mut chosen = Chosen::default();
    let mut hashes = None;
    let (mut compressions, mut transforms) = (0_u8, 0_u8);
    for context in request.contexts.iter() {
        let context = context.map_err(|_: WireError| NtStatus::INVALID_PARAMETER)?;
        match context {
            NegotiateContext::PreauthIntegrity { hash_algorithms, .. } => {
                once(hashes.replace(hash_algorithms).is_some())?
            }
            NegotiateContext::Encryption(ciphers) => {
                once(core::mem::replace(&mut chosen.has_ciphers, true))?;
                chosen.cipher = CIPHERS.into_iter().find(|own| ciphers.iter().any(|other| other == *own));
            }
            NegotiateContext::Signing(algorithms) => {
                once(core::mem::replace(&mut chosen.has_signing, true) || algorithms.is_empty())?;
                chosen.signing = signing.into_iter().find(|own| algorithms.iter().any(|other| other == *own));
            }
            NegotiateContext::Compression { .. } => {
                compressions = compressions.saturating_add(1);
                once(compressions > 1)?;
            }
            NegotiateContext::RdmaTransform(ids) => {
                transforms = transforms.saturating_add(1);
                once(transforms > 1 || (ids.is_empty() && !own.is_empty()))?;
                chosen.transforms = (!own.is_empty()).then(|| RdmaTransforms::of(ids).common(own));
            }
            NegotiateContext::Netname(_) | NegotiateContext::Transport(_) | NegotiateContext::Other(..) => {}
        }
    }
    let hashes: List<'_, HashAlgorithm> = hashes.ok_or(NtStatus::INVALID_PARAMETER)?;
    if !hashes.iter().any(|hash| hash == HashAlgorithm::SHA_512) {
        return Err(NtStatus::SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP);
    }
    Ok(chosen)
}

fn once(is_repeated: bool) -> Result<(), NtStatus> {
    if is_repeated { Err(NtStatus::INVALID_PARAMETER) } else { Ok(()) }
}
