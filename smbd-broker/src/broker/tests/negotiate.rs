//! What a broker answers to NEGOTIATE, parsed back.

use bytes::Bytes;
use smbd_smb2::wire::{
    Capabilities, Cipher, Dialect, Guid, HashAlgorithm, Header, List, NegotiateContext, NegotiateRequest,
    NegotiateResponse, NtStatus, RdmaTransformId, Records, SigningAlgorithm, write_element,
};

use super::routing::negotiation;
use crate::broker::answer;
use crate::wire::Negotiation;

const SALT: [u8; 32] = [6; 32];
const TIME: u64 = 0x01DC_0000_0000_0000;
const SHA: NegotiateContext<'static> =
    NegotiateContext::PreauthIntegrity { hash_algorithms: List::EMPTY, salt: b"salt" };

fn preauth() -> NegotiateContext<'static> {
    let NegotiateContext::PreauthIntegrity { salt, .. } = SHA else { return SHA };
    NegotiateContext::PreauthIntegrity { hash_algorithms: List::from(&[HashAlgorithm::SHA_512]), salt }
}

fn ask(dialects: &[Dialect], contexts: &[NegotiateContext<'_>], credits: u16) -> Vec<u8> {
    let request = NegotiateRequest {
        client_guid: Guid([1; 16]),
        capabilities: Capabilities(0x7F),
        dialects: List::from(dialects),
        contexts: Records::from(contexts),
        ..NegotiateRequest::default()
    };
    let header = Header { credits, ..Header::request::<NegotiateRequest<'_>>(0) };
    let mut bytes = Vec::new();
    write_element(&mut bytes, &header, &request).expect("there is room");
    bytes
}

fn answered(own: &Negotiation, request: &[u8]) -> Bytes {
    answer(own, request, &SALT, TIME).expect("there is an answer")
}

fn parsed(response: &[u8]) -> NegotiateResponse<'_> {
    NegotiateResponse::parse(response).expect("it is a response")
}

#[test]
fn the_highest_common_dialect_is_answered_with_what_the_owner_said() {
    for (offered, dialect_max, expected) in [
        (&[0x0210, 0x0300][..], 0x0311, Dialect::SMB_3_0),
        (&[0x0300, 0x0302], 0x0311, Dialect::SMB_3_0_2),
        (&[0x0300, 0x0302, 0x0311], 0x0302, Dialect::SMB_3_0_2),
        (&[0x0311, 0x0302, 0x0300], 0x0300, Dialect::SMB_3_0),
        (&[0x0300, 0x0302, 0x0311], 0x0311, Dialect::SMB_3_1_1),
    ] {
        let own = Negotiation { dialect_max, ..negotiation() };
        let dialects: Vec<_> = offered.iter().copied().map(Dialect).collect();
        let response = answered(&own, &ask(&dialects, &[preauth()], 1));
        let header = Header::parse(&response).expect("a header");
        assert!(header.is_response());
        assert_eq!((header.status, header.message_id.0), (NtStatus::SUCCESS, 0));
        let response = parsed(&response);
        assert_eq!(response.dialect, expected);
        assert_eq!(response.server_guid, own.server_guid);
        assert_eq!(response.security_mode.0, own.security_mode);
        assert_eq!(
            (response.max_transact_size, response.max_read_size, response.max_write_size),
            (1 << 16, 1 << 20, 2 << 20)
        );
        assert_eq!((response.system_time, response.server_start_time), (TIME, 0));
        assert_eq!(response.security_buffer, b"blob");
        let contexts = response.contexts.iter().count();
        assert_eq!(contexts, usize::from(expected == Dialect::SMB_3_1_1));
    }
}

#[test]
fn a_client_without_a_common_dialect_or_hash_has_no_answer() {
    let own = negotiation();
    let none: [&[u8]; 4] = [
        &ask(&[Dialect(0x0202), Dialect(0x0210)], &[], 1),
        &ask(&[Dialect::SMB_3_1_1], &[], 1),
        &ask(&[Dialect::SMB_3_1_1], &[SHA], 1),
        b"noise",
    ];
    for request in none {
        assert_eq!(answer(&own, request, &SALT, TIME), None);
    }
}

#[test]
fn one_credit_is_granted_however_many_are_asked_for() {
    for credits in [0, 1, u16::MAX] {
        let response = answered(&negotiation(), &ask(&[Dialect::SMB_3_0], &[], credits));
        assert_eq!(Header::parse(&response).expect("a header").credits, 1);
    }
}

#[test]
fn the_contexts_of_3_1_1_are_those_that_are_in_common() {
    let transforms = [RdmaTransformId(1), RdmaTransformId(2)];
    let offered = [
        preauth(),
        NegotiateContext::Encryption(List::from(&[Cipher(1), Cipher(2)])),
        NegotiateContext::Signing(List::from(&[SigningAlgorithm(2), SigningAlgorithm(1)])),
        NegotiateContext::RdmaTransform(List::from(&transforms)),
    ];
    let own = Negotiation { transforms: vec![2], ..negotiation() };
    let response = answered(&own, &ask(&[Dialect::SMB_3_1_1], &offered, 1));
    let response = parsed(&response);
    let contexts: Vec<_> = response.contexts.iter().map(|context| context.expect("valid")).collect();
    let expected = [
        NegotiateContext::PreauthIntegrity {
            hash_algorithms: List::from(&[HashAlgorithm::SHA_512]),
            salt: &SALT,
        },
        // The owner prefers it.
        NegotiateContext::Encryption(List::from(&[Cipher(2)])),
        NegotiateContext::Signing(List::from(&[SigningAlgorithm(1)])),
        NegotiateContext::RdmaTransform(List::from(&transforms[1..])),
    ];
    assert_eq!(contexts, expected);
}

#[test]
fn without_anything_in_common_3_1_1_has_no_cipher_aes_cmac_and_no_transform() {
    let offered = [
        preauth(),
        NegotiateContext::Encryption(List::from(&[Cipher(9)])),
        NegotiateContext::Signing(List::from(&[SigningAlgorithm(9)])),
        NegotiateContext::RdmaTransform(List::from(&[RdmaTransformId(9)])),
    ];
    let own = Negotiation { transforms: vec![2], ..negotiation() };
    let response = answered(&own, &ask(&[Dialect::SMB_3_1_1], &offered, 1));
    let contexts: Vec<_> = parsed(&response).contexts.iter().map(|context| context.expect("valid")).collect();
    let expected = [
        NegotiateContext::Encryption(List::from(&[Cipher(0)])),
        NegotiateContext::Signing(List::from(&[SigningAlgorithm(1)])),
        NegotiateContext::RdmaTransform(List::from(&[RdmaTransformId(0)])),
    ];
    assert_eq!(contexts[1..], expected);
}

#[test]
fn contexts_of_what_the_owner_has_not_are_ignored() {
    let offered = [
        preauth(),
        NegotiateContext::Encryption(List::from(&[Cipher(1)])),
        NegotiateContext::Signing(List::from(&[SigningAlgorithm(1)])),
        NegotiateContext::RdmaTransform(List::from(&[RdmaTransformId(1)])),
    ];
    let own = Negotiation { ciphers: vec![], signing: vec![], ..negotiation() };
    let response = answered(&own, &ask(&[Dialect::SMB_3_1_1], &offered, 1));
    assert_eq!(parsed(&response).contexts.iter().count(), 1);
}

#[test]
fn two_contexts_of_a_kind_have_no_answer() {
    let cipher = NegotiateContext::Encryption(List::from(&[Cipher(1)]));
    let signing = NegotiateContext::Signing(List::from(&[SigningAlgorithm(1)]));
    for twice in [preauth(), cipher, signing] {
        let request = ask(&[Dialect::SMB_3_1_1], &[preauth(), twice, twice], 1);
        assert_eq!(answer(&negotiation(), &request, &SALT, TIME), None);
    }
}

#[test]
fn capabilities_that_a_client_has_to_have_as_well_are_the_common_ones_of_the_dialect() {
    // DFS, leasing and large sizes are the server's own.
    for (client, dialect, expected) in [
        (0x7F, Dialect::SMB_3_0, 0x7F),
        (0, Dialect::SMB_3_0, 0x07),
        (0x08, Dialect::SMB_3_0_2, 0x0F),
        (0xFF, Dialect::SMB_3_0_2, 0x7F),
        // Encryption is a context there; notifications are there only.
        (0xFF, Dialect::SMB_3_1_1, 0xBF),
    ] {
        let contexts = [preauth()];
        let request = NegotiateRequest {
            capabilities: Capabilities(client),
            dialects: List::from(std::slice::from_ref(&dialect)),
            contexts: Records::from(&contexts),
            ..NegotiateRequest::default()
        };
        let mut bytes = Vec::new();
        write_element(&mut bytes, &Header::request::<NegotiateRequest<'_>>(0), &request).expect("room");
        let own = Negotiation { capabilities: 0xFF, ..negotiation() };
        let response = answered(&own, &bytes);
        assert_eq!(parsed(&response).capabilities, Capabilities(expected), "{dialect:?}, {client:#x}");
    }
}
