//! Transforms of RDMA data: how they are negotiated (3.3.5.4), data of READs (3.3.5.12), and what holds for READs and WRITEs.

use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::server::{Misuse, OperationId, Params};
use smbd_smb2::wire::rdma_transform::field;
use smbd_smb2::wire::*;

use crate::rig::{Answer, NOW, Protect, RDMA, Rig, message, params};
use crate::transforms::{
    CIPHERS, GCM, INVALID, INVALIDATE, PROTECTED, V1, begin_fetch, begin_put, both, came, content, covered,
    fetch, filled, of, put, ready,
};

/// The structure in the answer to a READ, and its only transform.
fn stated(answer: &Answer) -> (RdmaTransform<'_>, RdmaCryptoTransform<'_>) {
    let response = ReadResponse::parse(&answer.bytes).unwrap();
    assert_eq!(response.flags, ReadResponseFlags::RDMA_TRANSFORM);
    assert_eq!(read::response::DATA_OFFSET.get(&answer.bytes), Ok(80));
    let structure = RdmaTransform::parse(response.data).unwrap();
    let crypto = structure.transforms.iter().next().unwrap().unwrap();
    assert_eq!((structure.channel, structure.transforms.count()), (Channel::NONE, 1));
    assert_eq!(field::RDMA_DESCRIPTOR_OFFSET.get(response.data), Ok(0));
    assert_eq!(field::RDMA_DESCRIPTOR_LENGTH.get(response.data), Ok(0));
    assert_eq!(response.data.len(), (rdma_transform::LEN + crypto.len()).next_multiple_of(8), "DataLength");
    (structure, crypto)
}

#[test]
fn the_context_is_answered_with_what_both_have_or_with_none_and_ignored_by_a_server_without_transforms() {
    const ENCRYPTION: RdmaTransformId = RdmaTransformId::ENCRYPTION;
    const SIGNING: RdmaTransformId = RdmaTransformId::SIGNING;
    let only =
        |encryption, signing| Params { rdma_transforms: RdmaTransforms { encryption, signing }, ..params() };
    let cases = [
        (both(), vec![SIGNING, ENCRYPTION], Some(vec![ENCRYPTION, SIGNING])),
        (both(), vec![RdmaTransformId(9), SIGNING], Some(vec![SIGNING])),
        (only(true, false), vec![SIGNING, ENCRYPTION], Some(vec![ENCRYPTION])),
        (only(true, false), vec![SIGNING], Some(vec![RdmaTransformId::NONE])),
        (both(), vec![RdmaTransformId::NONE], Some(vec![RdmaTransformId::NONE])),
        (params(), vec![SIGNING, ENCRYPTION], None),
        (params(), vec![], None),
    ];
    for (params, offer, expected) in cases {
        let mut rig = Rig::new(params, RDMA);
        rig.offer = Some(offer);
        assert_eq!(rig.negotiate(&[Dialect::SMB_3_1_1], &[GCM]).status(), NtStatus::SUCCESS);
        assert_eq!(rig.chosen, expected);
    }
    let mut rig = Rig::new(both(), RDMA);
    rig.negotiate(&[Dialect::SMB_3_1_1], &[GCM]);
    assert_eq!(rig.chosen, None, "nobody asked");
}

#[test]
fn a_context_that_is_short_empty_or_there_twice_is_refused() {
    let negotiate = |contexts: &[NegotiateContext<'_>]| {
        let mut rig = Rig::new(both(), RDMA);
        let header = rig.header::<NegotiateRequest<'_>>(0);
        let preauth = NegotiateContext::PreauthIntegrity {
            hash_algorithms: List::from(&[HashAlgorithm::SHA_512]),
            salt: &[1; 32],
        };
        let contexts: Vec<_> = [preauth].into_iter().chain(contexts.iter().copied()).collect();
        let request = NegotiateRequest {
            dialects: List::from(&[Dialect::SMB_3_1_1]),
            contexts: Records::from(&contexts[..]),
            ..NegotiateRequest::default()
        };
        rig.ask(&header, &request).status()
    };
    let ids = RdmaTransforms::ALL.ids();
    let context = NegotiateContext::RdmaTransform(List::from(ids));
    assert_eq!(negotiate(&[context]), NtStatus::SUCCESS);
    assert_eq!(negotiate(&[context, context]), INVALID, "twice");
    assert_eq!(negotiate(&[NegotiateContext::RdmaTransform(List::EMPTY)]), INVALID, "TransformCount");
    assert_eq!(
        negotiate(&[NegotiateContext::Other(ContextType::RDMA_TRANSFORM, &[1, 0, 0, 0])]),
        INVALID,
        "DataLength"
    );
}

#[test]
fn a_read_keeps_its_channel_and_rdma_transform_is_refused() {
    for protect in [Protect::Nothing, Protect::Sign, Protect::Seal] {
        let (mut rig, file) = ready(protect);
        filled(&mut rig, file, &content(1000));
        assert_eq!(fetch(&mut rig, file, 1000, Channel::RDMA_TRANSFORM).status(), INVALID);
    }
}

#[test]
fn data_of_an_encrypted_read_are_encrypted_with_every_cipher() {
    for (cipher, nonce_len) in CIPHERS {
        for (channel, token) in [(INVALIDATE, Some(Token(3))), (V1, None)] {
            let (mut rig, file) = of(both(), RDMA, Protect::Seal, cipher, RdmaTransforms::ALL.ids());
            filled(&mut rig, file, &content(1000));
            let answer = fetch(&mut rig, file, 2000, channel);
            assert_eq!((answer.status(), answer.invalidate), (NtStatus::SUCCESS, token));
            assert!(answer.is_encrypted);
            assert_eq!(ReadResponse::parse(&answer.bytes).unwrap().data_remaining, 1000);
            let (_, crypto) = stated(&answer);
            assert_eq!(crypto.transform_type, RdmaTransformType::ENCRYPTION);
            assert_eq!((crypto.signature.len(), crypto.nonce.len()), (16, nonce_len));
            let mut data = came(&rig);
            assert!(data[..1000] != content(1000) && data[1000..] == [0xee; 1300]);
            let (_, opener) = rig.keys.as_ref().unwrap().encryption.as_ref().unwrap();
            opener.open_rdma(crypto.nonce, crypto.signature, &mut [&mut data[..1000]]).unwrap();
            assert!(data[..1000] == content(1000));
        }
    }
}

#[test]
fn the_transform_of_an_answer_is_filled_up_to_a_multiple_of_8() {
    for (cipher, nonce_len) in CIPHERS {
        let (mut rig, file) = of(both(), RDMA, Protect::Seal, cipher, RdmaTransforms::ALL.ids());
        filled(&mut rig, file, &content(1000));
        let answer = fetch(&mut rig, file, 1000, V1);
        let buffer = ReadResponse::parse(&answer.bytes).unwrap().data;
        // Both fixed parts, and the tag.
        let end = 16 + 8 + 16 + nonce_len;
        assert!(end < 56 && buffer.len() == 56 && buffer[end..].iter().all(|byte| *byte == 0), "{cipher}");
    }
}

#[test]
fn data_of_a_signed_read_are_signed_with_a_nonce_for_aes_gmac_only() {
    for (algorithm, nonce_len) in [
        (SigningAlgorithm::AES_GMAC, 12),
        (SigningAlgorithm::AES_CMAC, 0),
        (SigningAlgorithm::HMAC_SHA256, 0),
    ] {
        let mut rig = Rig::new(both(), RDMA);
        (rig.offer, rig.signings) = (Some(vec![RdmaTransformId::SIGNING]), vec![algorithm]);
        rig.negotiate(&[Dialect::SMB_3_1_1], &[GCM]);
        rig.log_in("tester", "correct horse");
        rig.protect = Protect::Sign;
        rig.connect("data");
        let file = rig.file("a");
        filled(&mut rig, file, &content(1000));
        let answer = fetch(&mut rig, file, 1000, INVALIDATE);
        assert!(answer.header.flags.contains(Flags::SIGNED));
        let (_, crypto) = stated(&answer);
        assert_eq!(crypto.transform_type, RdmaTransformType::SIGNING);
        assert_eq!((crypto.signature.len(), crypto.nonce.len()), (16, nonce_len));
        let data = came(&rig);
        assert!(data[..1000] == content(1000));
        let verifier = &rig.keys.as_ref().unwrap().verifier;
        verifier.verify_rdma(crypto.nonce, crypto.signature, [&data[..1000]]).unwrap();
    }
}

#[test]
fn data_of_a_read_that_is_not_protected_or_whose_transform_was_not_negotiated_have_none() {
    for (protect, offer) in [
        // RT-3
        (Protect::Nothing, RdmaTransforms::ALL.ids()),
        (Protect::Seal, &[RdmaTransformId::SIGNING][..]),
        (Protect::Sign, &[RdmaTransformId::ENCRYPTION]),
        (Protect::Seal, &[RdmaTransformId::NONE]),
    ] {
        let (mut rig, file) = of(both(), RDMA, protect, GCM, offer);
        filled(&mut rig, file, &content(1000));
        let answer = fetch(&mut rig, file, 1000, INVALIDATE);
        let response = ReadResponse::parse(&answer.bytes).unwrap();
        assert_eq!(
            (response.flags, response.data, response.data_remaining),
            (ReadResponseFlags::NONE, &b""[..], 1000)
        );
        assert!(came(&rig)[..1000] == content(1000));
    }
}

#[test]
fn a_read_that_fails_has_no_transform_and_moves_nothing() {
    for protect in PROTECTED {
        let (mut rig, file) = ready(protect);
        let answer = fetch(&mut rig, file, 1000, INVALIDATE);
        assert_eq!((answer.status(), answer.invalidate), (NtStatus::END_OF_FILE, Some(Token(3))));
        assert!(came(&rig) == vec![0xee; 1300] && rig.untransformed.is_empty());
    }
}

#[test]
fn no_nonce_of_data_comes_twice_whoever_sends_them() {
    for protect in PROTECTED {
        let (mut rig, file) = ready(protect);
        filled(&mut rig, file, &content(100));
        let mut nonces = std::collections::BTreeSet::new();
        for _ in 0..5 {
            let answer = fetch(&mut rig, file, 100, INVALIDATE);
            assert!(nonces.insert((protect == Protect::Seal, stated(&answer).1.nonce.to_vec())));
            let it = covered(&mut rig, &content(100), INVALIDATE);
            let structure = RdmaTransform::parse(&it.info).unwrap();
            let crypto = structure.transforms.iter().next().unwrap().unwrap();
            // Encryption has a key for each direction, signing one for both.
            assert!(nonces.insert((false, crypto.nonce.to_vec())));
        }
    }
}

#[test]
fn where_protection_is_required_data_go_by_rdma_with_it_or_not_at_all() {
    // RT-10
    let signs = Params { signing_required: true, ..both() };
    let seals = Params { encrypted: true, ..both() };
    let denied = NtStatus::ACCESS_DENIED;
    for (params, protect, share, offer, expected) in [
        (signs.clone(), Protect::Sign, "data", RdmaTransforms::ALL.ids(), NtStatus::SUCCESS),
        (signs.clone(), Protect::Seal, "data", RdmaTransforms::ALL.ids(), NtStatus::SUCCESS),
        (signs.clone(), Protect::Sign, "data", &[RdmaTransformId::ENCRYPTION][..], denied),
        (signs, Protect::Seal, "data", &[RdmaTransformId::SIGNING], denied),
        (seals.clone(), Protect::Seal, "data", RdmaTransforms::ALL.ids(), NtStatus::SUCCESS),
        (seals, Protect::Seal, "data", &[RdmaTransformId::SIGNING], denied),
        (both(), Protect::Seal, "secret", RdmaTransforms::ALL.ids(), NtStatus::SUCCESS),
        (both(), Protect::Seal, "secret", &[RdmaTransformId::SIGNING], denied),
    ] {
        let mut rig = Rig::new(params, RDMA);
        (rig.offer, rig.signings) = (Some(offer.to_vec()), vec![SigningAlgorithm::AES_GMAC]);
        rig.negotiate(&[Dialect::SMB_3_1_1], &[GCM]);
        rig.log_in("tester", "correct horse");
        rig.protect = protect;
        rig.connect(share);
        let file = rig.file("a");
        filled(&mut rig, file, &content(1000));
        assert_eq!(fetch(&mut rig, file, 1000, INVALIDATE).status(), expected);
        assert_eq!(came(&rig) == vec![0xee; 1300], expected == denied, "nothing is shown");
        let buffers = pack(&[rig.register(1, vec![7; 1000])]);
        assert_eq!(put(&mut rig, file, 1000, INVALIDATE, &buffers).status(), denied, "without a transform");
    }
}

#[test]
fn data_are_transformed_once_and_a_close_waits_for_them() {
    for is_write in [false, true] {
        let (mut rig, file) = ready(Protect::Seal);
        filled(&mut rig, file, &content(1000));
        rig.holds_data = true;
        let it = covered(&mut rig, &content(1000), INVALIDATE);
        let first = if is_write { begin_put(&mut rig, file, &it.info) } else { begin_fetch(&mut rig, file) };
        let close = rig.header::<CloseRequest>(0);
        rig.silent(&close, &CloseRequest { file_id: file, ..CloseRequest::default() });
        let cancel = rig.cancel_of(&first, None);
        rig.send(message(&cancel, &CancelRequest::default()));
        assert!(rig.answers().is_empty(), "what has begun goes on");
        assert_eq!(rig.files.open_count(), 1);
        let [(id, len)] = rig.untransformed[..] else { panic!() };
        assert_eq!(rig.connection.rdma_done(NOW, id, true), Err(Misuse::Unknown(id)));
        let other = OperationId(id.0 + 1);
        assert_eq!(rig.connection.transform(NOW, other, &mut []), Err(Misuse::Unknown(other)));
        rig.transform(id, len);
        rig.drive();
        let answers: Vec<_> =
            rig.answers().iter().map(|answer| (answer.header.message_id, answer.status())).collect();
        assert_eq!(answers, [(first.message_id, NtStatus::SUCCESS), (close.message_id, NtStatus::SUCCESS)]);
        assert_eq!(rig.connection.transform(NOW, id, &mut []), Err(Misuse::Unknown(id)));
        assert_eq!(rig.files.open_count(), 0);
    }
}

#[test]
fn a_session_that_ends_meanwhile_keeps_its_keys_for_data_that_are_on_their_way() {
    let (mut rig, file) = ready(Protect::Seal);
    filled(&mut rig, file, &content(1000));
    rig.holds_data = true;
    begin_fetch(&mut rig, file);
    assert_eq!(rig.status(&LogoffRequest::default()), NtStatus::SUCCESS);
    let [(id, len)] = rig.untransformed[..] else { panic!() };
    rig.transform(id, len);
    rig.drive();
    let answer = rig.answers().pop().unwrap();
    assert_eq!((answer.status(), answer.is_encrypted), (NtStatus::SUCCESS, true));
    assert!(came(&rig)[..1000] != content(1000), "never as they are");
}
