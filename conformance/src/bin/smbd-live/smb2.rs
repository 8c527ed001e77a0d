//! As much of SMB2 as tests of SMB Direct need: NEGOTIATE, which every peer answers, and the end of a session.

use smbd_smb2::wire::{
    Capabilities, Dialect, ErrorResponse, Guid, HashAlgorithm, Header, List, NegotiateContext,
    NegotiateRequest, NtStatus, Records, Response, SecurityMode, header, write_element,
};

use crate::case::Failure;

/// A NEGOTIATE with all dialects that exist, in bytes.
pub(crate) fn negotiate(message_id: u64) -> Vec<u8> {
    let contexts = [NegotiateContext::PreauthIntegrity {
        hash_algorithms: List::from(&[HashAlgorithm::SHA_512]),
        salt: &[0x5a; 32],
    }];
    negotiate_with(message_id, Records::from(&contexts))
}

/// The same with these contexts.
pub(crate) fn negotiate_with(message_id: u64, contexts: Records<'_, NegotiateContext<'_>>) -> Vec<u8> {
    let body = NegotiateRequest {
        security_mode: SecurityMode::SIGNING_ENABLED,
        // All that exist up to 3.1.1: the answer shows what the server has of them.
        capabilities: Capabilities(0x7f),
        client_guid: Guid(*b"smbd-conformance"),
        dialects: List::from(&Dialect::ALL),
        contexts,
    };
    // No dialect that has CreditCharge is agreed on yet.
    let header = Header { credit_charge: 0, ..Header::request::<NegotiateRequest<'_>>(message_id) };
    let mut message = Vec::new();
    // All of it fits into its fields.
    let _ = write_element(&mut message, &header, &body);
    message
}

/// The dialect that an answer to it chooses, or the status of its failure.
pub(crate) fn agreed(answer: &[u8]) -> Result<Result<Dialect, NtStatus>, Failure> {
    let status = Header::parse(answer)?.status;
    match Response::parse(answer)? {
        Response::Negotiate(agreed) => Ok(Ok(agreed.dialect)),
        Response::Error(_) => Ok(Err(status)),
        other => Err(format!("NEGOTIATE was answered with {other:?}").into()),
    }
}

/// The answer to `request` that it failed.
pub(crate) fn failure(request: &[u8], status: NtStatus) -> Result<Vec<u8>, Failure> {
    let mut answer = Vec::new();
    write_element(&mut answer, &Header::parse(request)?.response(status), &ErrorResponse::default())?;
    Ok(answer)
}

/// Makes an SMB2 message without credits the header of the SMB Direct message that carries it, at DataOffset 0: its ProtocolId
/// is CreditsRequested and CreditsGranted, and its Flags are DataLength, so it gets a length of which the four lowest bits
/// are `flags`.
pub(crate) fn its_own_header(mut message: Vec<u8>, flags: usize) -> Result<Vec<u8>, Failure> {
    // Part of DataOffset, and what is reserved.
    header::field::CREDITS.set(&mut message, 0)?;
    header::field::CREDIT_CHARGE.set(&mut message, 0)?;
    while message.len() % 16 != flags {
        message.push(0);
    }
    let len = u32::try_from(message.len())?;
    header::field::FLAGS.set(&mut message, header::Flags(len))?;
    Ok(message)
}
