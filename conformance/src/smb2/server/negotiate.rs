//! NEGOTIATE, in SMB2 and in SMB1.

use smbd_smb2::wire::{
    Capabilities, ContextType, Dialect, Guid, HashAlgorithm, Header, NegotiateContext, NegotiateRequest,
    NegotiateResponse, NtStatus, SecurityMode, Smb1Negotiate, smb1,
};

use super::authentication::offer;
use super::bad::BadMessage;
use super::request::{Reply, Request, reply};
use super::security::Chosen;
use super::state::{Agreed, Failed, Phase, State};

/// SMB_COM_NEGOTIATE with dialects of SMB2 among others (3.3.5.3).
pub(super) fn in_smb1(state: &mut State, negotiate: &Smb1Negotiate<'_>) -> Result<Reply, Failed> {
    if state.phase != Phase::New {
        return Err(Failed::End(BadMessage::NegotiatedTwice));
    }
    let offers = |wanted: &[u8]| negotiate.dialects().any(|dialect| dialect == wanted);
    let speaks = |dialect: &Dialect| state.options.dialects.contains(dialect);
    let header = Header::request::<NegotiateRequest<'_>>(0);
    let dialect = if offers(Smb1Negotiate::SMB_2_WILDCARD) && Dialect::ALL.iter().skip(1).any(speaks) {
        // 3.3.5.3.1
        state.phase = Phase::AskedAgain;
        Dialect::SMB_2_WILDCARD
    } else if offers(Smb1Negotiate::SMB_2_002) && speaks(&Dialect::SMB_2_0_2) {
        // 3.3.5.3.2
        state.phase = Phase::Agreed(Agreed {
            dialect: Dialect::SMB_2_0_2,
            dialects: vec![Dialect::SMB_2_0_2],
            client: Guid::default(),
            security_mode: SecurityMode::NONE,
            capabilities: Capabilities::NONE,
        });
        Dialect::SMB_2_0_2
    } else {
        return Err(Failed::End(BadMessage::Protocol(smb1::PROTOCOL_ID)));
    };
    answer(state, &header, dialect, &Chosen::default())
}

/// 3.3.5.4
pub(super) fn negotiate(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    let negotiate = NegotiateRequest::parse(request.bytes)?;
    if negotiate.dialects.is_empty() {
        return Err(NtStatus::INVALID_PARAMETER.into());
    }
    let dialects: Vec<Dialect> = negotiate.dialects.iter().collect();
    let common = dialects.iter().copied().filter(|dialect| state.options.dialects.contains(dialect));
    let dialect = common.max().ok_or(NtStatus::NOT_SUPPORTED)?;
    let mut chosen = Chosen::default();
    if dialect == Dialect::SMB_3_1_1 {
        check_contexts(&negotiate)?;
    }
    if let Some(security) = &mut state.security {
        chosen = security.choose(&negotiate);
    }
    state.phase = Phase::Agreed(Agreed {
        dialect,
        dialects,
        client: negotiate.client_guid,
        security_mode: negotiate.security_mode,
        capabilities: negotiate.capabilities,
    });
    answer(state, &request.header, dialect, &chosen)
}

/// The contexts of 3.1.1. Only that of the hash is looked at closely: the others may have nothing for this server.
fn check_contexts(negotiate: &NegotiateRequest<'_>) -> Result<(), Failed> {
    const ONCE: [ContextType; 5] = [
        ContextType::PREAUTH_INTEGRITY,
        ContextType::ENCRYPTION,
        ContextType::COMPRESSION,
        ContextType::RDMA_TRANSFORM,
        ContextType::SIGNING,
    ];
    let contexts = negotiate.contexts.iter().collect::<Result<Vec<_>, _>>()?;
    let count = |wanted| contexts.iter().filter(|context| context.context_type() == wanted).count();
    if ONCE.into_iter().any(|once| count(once) > 1) {
        return Err(NtStatus::INVALID_PARAMETER.into());
    }
    let hashes = contexts.iter().find_map(|context| match context {
        NegotiateContext::PreauthIntegrity { hash_algorithms, .. } => Some(hash_algorithms),
        _ => None,
    });
    let mut hashes = hashes.ok_or(NtStatus::INVALID_PARAMETER)?.iter();
    if !hashes.any(|hash| hash == HashAlgorithm::SHA_512) {
        return Err(NtStatus::SMB_NO_PREAUTH_INTEGRITY_HASH_OVERLAP.into());
    }
    Ok(())
}

/// What the server has.
pub(super) fn capabilities(dialect: Dialect) -> Capabilities {
    // 3.3.5.4: more than one credit for a request since 2.1.
    Capabilities::NONE.with(Capabilities::LARGE_MTU, dialect > Dialect::SMB_2_0_2)
}

fn answer(state: &State, header: &Header, dialect: Dialect, chosen: &Chosen) -> Result<Reply, Failed> {
    let options = &state.options;
    let security = state.security.as_ref();
    let token = security.map_or_else(offer, |security| security.offer());
    let mut contexts = vec![NegotiateContext::PreauthIntegrity {
        hash_algorithms: (&[HashAlgorithm::SHA_512]).into(),
        salt: &options.salt,
    }];
    let Chosen { ciphers, signing, transforms } = chosen;
    let others = [
        (ciphers.is_empty(), NegotiateContext::Encryption((&ciphers[..]).into())),
        (signing.is_empty(), NegotiateContext::Signing((&signing[..]).into())),
        (transforms.is_empty(), NegotiateContext::RdmaTransform((&transforms[..]).into())),
    ];
    contexts.extend(others.into_iter().filter(|(is_empty, _)| !is_empty).map(|(_, context)| context));
    let body = NegotiateResponse {
        security_mode: security.map_or(SecurityMode::SIGNING_ENABLED, |security| security.mode()),
        dialect,
        server_guid: options.guid,
        capabilities: capabilities(dialect),
        max_transact_size: options.max_transact,
        max_read_size: options.max_read,
        max_write_size: options.max_write,
        system_time: state.files.now(),
        server_start_time: 0,
        security_buffer: &token,
        contexts: contexts[..].into(),
    };
    reply(&header.response(NtStatus::SUCCESS), &body)
}
