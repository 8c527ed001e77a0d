//! Data that go by RDMA signed or encrypted: each rule of 3.2.5.11 that is about them, and what its breach returns.

use smbd_smb2::client::*;
use smbd_smb2::security::{RdmaTransforms, SecurityError};
use smbd_smb2::wire::rdma_transform::{crypto, field};
use smbd_smb2::wire::*;

use crate::flows::{content, read};
use crate::server::Setup;
use crate::world::{Got, World, rdma};

const BUFFER: BufferId = BufferId(1);
/// Where the structure begins in the answer to a READ.
const START: usize = 80;
/// Where its transform begins.
const CRYPTO: usize = START + rdma_transform::LEN;

pub fn both() -> Option<Vec<RdmaTransformId>> {
    Some(RdmaTransforms::ALL.ids().to_vec())
}

pub fn signed() -> Setup {
    Setup { require_signing: true, transforms: both(), ..Setup::default() }
}

pub fn encrypted() -> Setup {
    Setup { encrypt_session: true, transforms: both(), ..Setup::default() }
}

pub fn params(rdma_transforms: RdmaTransforms) -> Params {
    Params { transport: rdma(), rdma_transforms, ..Params::default() }
}

/// With a buffer of 6000 bytes, in which is something else, and a file of 10,000.
pub fn ready(setup: Setup) -> (World, TreeHandle) {
    with(setup, params(RdmaTransforms::ALL))
}

fn with(setup: Setup, params: Params) -> (World, TreeHandle) {
    let (mut world, _, tree) = World::connected(setup, params);
    world.server.file = content(10_000);
    world.memory.buffers.insert(BUFFER, vec![0xee; 6000]);
    (world, tree)
}

/// A READ of 5000 bytes by RDMA, whose answer is changed before it is signed or encrypted. Nothing of what came is shown.
fn refused(setup: Setup, change: impl FnMut(&mut Vec<u8>) + 'static) -> TransformError {
    let (mut world, tree) = ready(setup);
    world.server.before_signing = Some(Box::new(change));
    nothing_is_shown(&mut world, tree)
}

fn nothing_is_shown(world: &mut World, tree: TreeHandle) -> TransformError {
    let got = world.act(tree, &read(0, 5000, Some(BUFFER)));
    let Got::Failed(Failure::Transform(error)) = got else { panic!("{got:?} {:?}", world.ended) };
    assert_eq!(world.checked.len(), 1);
    assert!(world.checked[0].1 != vec![0xee; 5000], "data came");
    let buffer = &world.memory.buffers[&BUFFER];
    assert!(buffer[..5000] == vec![0; 5000] && buffer[5000..] == vec![0xee; 1000]);
    assert_eq!(world.ended, None);
    error
}

/// The same, for what returns STATUS_INVALID_NETWORK_RESPONSE.
fn invalid(setup: Setup, change: impl FnMut(&mut Vec<u8>) + 'static) -> TransformError {
    let error = refused(setup, change);
    assert_eq!(error.status(), NtStatus::INVALID_NETWORK_RESPONSE, "{error}");
    error
}

fn set<T: Value>(at: &'static Field<T>, start: usize, value: T) -> impl FnMut(&mut Vec<u8>) + 'static {
    move |bytes| at.set(&mut bytes[start..], value).unwrap()
}

#[test]
fn the_buffer_is_deregistered_before_anybody_sees_it_and_before_it_is_looked_at() {
    for setup in [encrypted(), signed()] {
        let (mut world, tree) = ready(setup);
        // That nothing is registered then, the world looks at.
        assert_eq!(world.act(tree, &read(0, 5000, Some(BUFFER))), Got::Read(5000));
        assert_eq!(world.checked.len(), 1);
        // A server that goes on to write until then changes what is looked at, and not what was.
        let (mut world, tree) = ready(signed());
        world.while_registered = Some(Box::new(|memory| memory.buffers.get_mut(&BUFFER).unwrap()[7] ^= 1));
        let error = nothing_is_shown(&mut world, tree);
        assert_eq!(error, TransformError::Security(SecurityError::BadSignature));
    }
}

#[test]
fn the_status_of_an_error_is_returned_and_nothing_of_what_was_written_is_shown() {
    let (mut world, tree) = ready(encrypted());
    world.server.fail.insert(Command::READ, vec![NtStatus::ACCESS_DENIED]);
    world.while_registered = Some(Box::new(|memory| memory.buffers.get_mut(&BUFFER).unwrap()[..9].fill(1)));
    let got = world.act(tree, &read(0, 5000, Some(BUFFER)));
    assert_eq!(got, Got::Failed(Failure::Status(NtStatus::ACCESS_DENIED)));
    assert!(world.memory.buffers[&BUFFER][..5000] == [0; 5000]);
}

#[test]
fn over_another_transport_than_rdma_the_flag_is_an_invalid_network_response() {
    let params = Params { rdma_transforms: RdmaTransforms::ALL, ..Params::default() };
    for params in [params, self::params(RdmaTransforms::ALL)] {
        let (mut world, tree) = with(encrypted(), params);
        world.server.before_signing =
            Some(Box::new(set(&read::response::FLAGS, 0, ReadResponseFlags::RDMA_TRANSFORM)));
        // RT-12: and over RDMA, if the READ has no channel.
        let got = world.act(tree, &read(0, 100, Some(BUFFER)));
        assert_eq!(got, Got::Failed(Failure::Transform(TransformError::NoChannel)));
        assert_eq!(TransformError::NoChannel.status(), NtStatus::INVALID_NETWORK_RESPONSE);
        assert!(world.data.is_empty());
    }
}

#[test]
fn over_another_transport_than_rdma_the_data_of_the_message_and_their_length_are_returned() {
    let params = Params { rdma_transforms: RdmaTransforms::ALL, ..Params::default() };
    let (mut world, tree) = with(encrypted(), params);
    let id = world.submit(tree, &read(100, 50_000, Some(BUFFER)));
    assert_eq!(world.wait(id), Got::Read(9900));
    assert!(world.data[&id] == world.server.file[100..]);
}

#[test]
fn before_3_1_1_the_flag_is_reserved_and_not_looked_at() {
    let setup = Setup {
        dialect: Dialect::SMB_3_0_2,
        cipher: Some(Cipher::AES_128_CCM),
        signing: SigningAlgorithm::AES_CMAC,
        ..Setup::default()
    };
    let (mut world, tree) = ready(setup);
    world.server.before_signing =
        Some(Box::new(set(&read::response::FLAGS, 0, ReadResponseFlags::RDMA_TRANSFORM)));
    assert_eq!(world.act(tree, &read(0, 5000, Some(BUFFER))), Got::Read(5000));
    assert!(world.checked.is_empty());
}

#[test]
fn a_transform_without_negotiated_ones_is_an_invalid_network_response() {
    let (mut world, tree) = with(Setup::default(), params(RdmaTransforms::NONE));
    world.server.before_signing =
        Some(Box::new(set(&read::response::FLAGS, 0, ReadResponseFlags::RDMA_TRANSFORM)));
    let got = world.act(tree, &read(0, 5000, Some(BUFFER)));
    assert_eq!(got, Got::Failed(Failure::Transform(TransformError::NotNegotiated)));
    assert_eq!(TransformError::NotNegotiated.status(), NtStatus::INVALID_NETWORK_RESPONSE);
}

#[test]
fn a_transform_count_of_0_is_an_invalid_network_response() {
    for setup in [encrypted(), signed()] {
        assert_eq!(invalid(setup, set(&field::TRANSFORM_COUNT, START, 0)), TransformError::Empty);
    }
}

#[test]
fn encrypted_data_with_an_answer_that_is_not_encrypted_are_an_invalid_network_response() {
    let change = set(&crypto::TRANSFORM_TYPE, CRYPTO, RdmaTransformType::ENCRYPTION);
    assert_eq!(invalid(signed(), change), TransformError::EncryptedAlone);
}

#[test]
fn signed_data_with_an_encrypted_answer_are_an_invalid_network_response() {
    let change = set(&crypto::TRANSFORM_TYPE, CRYPTO, RdmaTransformType::SIGNING);
    assert_eq!(invalid(encrypted(), change), TransformError::SignedOnly);
}

fn without_transform(bytes: &mut Vec<u8>) {
    read::response::FLAGS.set(bytes, ReadResponseFlags::NONE).unwrap();
    read::response::DATA_LENGTH.set(bytes, 0).unwrap();
    bytes.truncate(START);
}

#[test]
fn an_encrypted_answer_without_an_encryption_of_its_data_is_an_invalid_network_response() {
    // RT-4: also without any structure.
    let missing = TransformError::Missing(RdmaTransformType::ENCRYPTION);
    assert_eq!(invalid(encrypted(), without_transform), missing);
    let unknown = set(&crypto::TRANSFORM_TYPE, CRYPTO, RdmaTransformType(3));
    assert_eq!(invalid(encrypted(), unknown), TransformError::Unknown(RdmaTransformType(3)));
}

#[test]
fn an_answer_without_a_signature_of_its_data_is_an_invalid_network_response() {
    let missing = TransformError::Missing(RdmaTransformType::SIGNING);
    assert_eq!(invalid(signed(), without_transform), missing);
    let unknown = set(&crypto::TRANSFORM_TYPE, CRYPTO, RdmaTransformType(0));
    assert_eq!(invalid(signed(), unknown), TransformError::Unknown(RdmaTransformType(0)));
}

#[test]
fn both_transforms_may_be_negotiated_and_encrypted_data_need_no_signature_of_their_own() {
    // RT-2
    let (mut world, tree) = ready(encrypted());
    assert_eq!(world.client.negotiated().unwrap().rdma_transforms, RdmaTransforms::ALL);
    assert_eq!(world.act(tree, &read(0, 5000, Some(BUFFER))), Got::Read(5000));
}

#[test]
fn more_than_one_transform_is_an_invalid_network_response() {
    for setup in [encrypted(), signed()] {
        let count = set(&field::TRANSFORM_COUNT, START, 2);
        assert_eq!(invalid(setup.clone(), count), TransformError::Several { count: 2 });
        let behind = |bytes: &mut Vec<u8>| {
            let transform = bytes[CRYPTO..].to_vec();
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes.extend_from_slice(&transform);
            set_length(bytes);
        };
        assert_eq!(invalid(setup, behind), TransformError::Behind { len: 36 });
    }
}

#[test]
fn a_transform_that_nobody_knows_is_an_invalid_network_response() {
    for setup in [encrypted(), signed()] {
        let unknown = RdmaTransformType(0x7777);
        let error = invalid(setup, set(&crypto::TRANSFORM_TYPE, CRYPTO, unknown));
        assert_eq!(error, TransformError::Unknown(unknown));
    }
}

#[test]
fn a_structure_that_cannot_be_read_is_an_invalid_network_response() {
    for setup in [encrypted(), signed()] {
        for len in [0, 15, 16, 20, 51] {
            let error = invalid(setup.clone(), set(&read::response::DATA_LENGTH, 0, len));
            assert!(matches!(error, TransformError::Malformed(_)), "{len}: {error:?}");
        }
    }
}

#[test]
fn a_transform_that_was_not_negotiated_is_an_invalid_network_response() {
    // RT-5: the text would take these data as they are.
    let encryption = Setup { transforms: Some(vec![RdmaTransformId::ENCRYPTION]), ..Setup::default() };
    let error = invalid(encryption, stated(RdmaTransformType::SIGNING, 16, 12));
    assert_eq!(error, TransformError::NotOffered(RdmaTransformType::SIGNING));
}

/// Puts a structure into an answer that has none.
fn stated(
    transform_type: RdmaTransformType,
    signature: usize,
    nonce: usize,
) -> impl FnMut(&mut Vec<u8>) + 'static {
    move |bytes| {
        let (signature, nonce) = (vec![1; signature], vec![2; nonce]);
        let transforms = [RdmaCryptoTransform { transform_type, signature: &signature, nonce: &nonce }];
        let structure = RdmaTransform { transforms: Records::from(&transforms), ..RdmaTransform::default() };
        bytes.truncate(START);
        structure.write(bytes).unwrap();
        set_length(bytes);
        read::response::FLAGS.set(bytes, ReadResponseFlags::RDMA_TRANSFORM).unwrap();
    }
}

fn set_length(bytes: &mut [u8]) {
    let len = (bytes.len() - START) as u32;
    read::response::DATA_LENGTH.set(bytes, len).unwrap();
}

#[test]
fn a_signature_longer_than_16_is_an_invalid_network_response() {
    // SE-8: a shorter one as well.
    for len in [17, 15, 0, 200] {
        let error = invalid(encrypted(), stated(RdmaTransformType::ENCRYPTION, len, 12));
        let expected = SecurityError::SignatureLength { got: len };
        assert_eq!(error, TransformError::Security(expected));
        assert_eq!(invalid(signed(), stated(RdmaTransformType::SIGNING, len, 12)), error);
    }
}

#[test]
fn a_nonce_of_ccm_that_has_not_11_bytes_is_an_invalid_network_response() {
    nonces(&[Cipher::AES_128_CCM, Cipher::AES_256_CCM], 11);
}

#[test]
fn a_nonce_of_gcm_that_has_not_12_bytes_is_an_invalid_network_response() {
    nonces(&[Cipher::AES_128_GCM, Cipher::AES_256_GCM], 12);
}

fn nonces(ciphers: &[Cipher], expected: usize) {
    for cipher in ciphers {
        for len in [0, 10, 11, 12, 13, 16].into_iter().filter(|len| *len != expected) {
            let setup = Setup { cipher: Some(*cipher), ..encrypted() };
            let error = invalid(setup, stated(RdmaTransformType::ENCRYPTION, 16, len));
            assert_eq!(error, TransformError::Security(SecurityError::NonceLength { got: len, expected }));
        }
    }
}

#[test]
fn signed_data_that_are_not_what_was_signed_are_an_invalid_signature() {
    for signing in [SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC] {
        let setup = || Setup { signing, ..signed() };
        let (mut world, tree) = ready(setup());
        world.server.before_rdma = Some(Box::new(|data| data[4999] ^= 0x80));
        let errors = [
            nothing_is_shown(&mut world, tree),
            refused(setup(), |bytes| bytes[CRYPTO + 8] ^= 1),
            refused(setup(), |bytes| {
                if bytes.len() > CRYPTO + 8 + 16 {
                    bytes[CRYPTO + 8 + 16] ^= 1
                } else {
                    bytes[CRYPTO + 9] ^= 1
                }
            }),
        ];
        for error in errors {
            assert_eq!(error, TransformError::Security(SecurityError::BadSignature));
            assert_eq!(error.status(), NtStatus::INVALID_SIGNATURE);
        }
    }
}

#[test]
fn encrypted_data_are_decrypted_in_place_and_fail_if_they_are_not_what_was_encrypted() {
    for cipher in [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM] {
        let setup = || Setup { cipher: Some(cipher), ..encrypted() };
        let (mut world, tree) = ready(setup());
        assert_eq!(world.act(tree, &read(10, 5000, Some(BUFFER))), Got::Read(5000));
        assert!(world.checked[0].1 != world.server.file[10..5010], "they came encrypted");
        assert!(world.memory.buffers[&BUFFER][..5000] == world.server.file[10..5010]);
        let (mut world, tree) = ready(setup());
        world.server.before_rdma = Some(Box::new(|data| data[0] ^= 1));
        let errors = [
            nothing_is_shown(&mut world, tree),
            refused(setup(), |bytes| bytes[CRYPTO + 8 + 15] ^= 1),
            refused(setup(), |bytes| bytes[CRYPTO + 8 + 16] ^= 1),
        ];
        for error in errors {
            assert_eq!(error, TransformError::Security(SecurityError::BadEncryption));
            assert_eq!(error.status(), NtStatus::AUTH_TAG_MISMATCH);
        }
    }
}

#[test]
fn data_of_another_size_than_data_remaining_fail() {
    for setup in [encrypted(), signed()] {
        let error = refused(setup.clone(), set(&read::response::DATA_REMAINING, 0, 4999));
        assert!(matches!(error, TransformError::Security(_)), "{error:?}");
        let (mut world, tree) = ready(setup.clone());
        // The file has 4000 bytes there, and the server says more.
        world.server.before_signing = Some(Box::new(set(&read::response::DATA_REMAINING, 0, 4500)));
        let got = world.act(tree, &read(6000, 5000, Some(BUFFER)));
        assert!(matches!(got, Got::Failed(Failure::Transform(TransformError::Security(_)))), "{got:?}");
        let (mut world, tree) = ready(setup);
        world.server.before_signing = Some(Box::new(set(&read::response::DATA_REMAINING, 0, 5001)));
        let got = world.act(tree, &read(0, 5000, Some(BUFFER)));
        let (field, section) = ("DataRemaining", "3.2.5.11");
        assert_eq!(got, Got::Failed(Failure::TooMuch { field, got: 5001, max: 5000, section }));
        assert!(world.memory.buffers[&BUFFER][..5000] == [0; 5000]);
    }
}

#[test]
fn over_rdma_data_remaining_and_the_data_are_returned_and_zeros_behind_them() {
    for setup in [encrypted(), signed()] {
        let (mut world, tree) = ready(setup);
        world.while_registered = Some(Box::new(|memory| memory.buffers.get_mut(&BUFFER).unwrap()[4000] = 9));
        assert_eq!(world.act(tree, &read(6000, 5000, Some(BUFFER))), Got::Read(4000));
        let buffer = &world.memory.buffers[&BUFFER];
        assert!(buffer[..4000] == world.server.file[6000..]);
        // RT-13
        assert!(buffer[4000..5000] == [0; 1000] && buffer[5000..] == [0xee; 1000]);
    }
}

#[test]
fn an_answer_without_data_needs_no_transform_and_shows_nothing() {
    let (mut world, tree) = ready(encrypted());
    world.server.before_signing = Some(Box::new(|bytes| {
        without_transform(bytes);
        read::response::DATA_REMAINING.set(bytes, 0).unwrap();
    }));
    assert_eq!(world.act(tree, &read(0, 5000, Some(BUFFER))), Got::Read(0));
    assert!(world.memory.buffers[&BUFFER][..5000] == [0; 5000]);
}

#[test]
fn data_that_need_no_transform_are_verified_if_the_server_has_signed_them() {
    let (mut world, tree) = ready(Setup { transforms: both(), ..Setup::default() });
    assert_eq!(world.act(tree, &read(0, 5000, Some(BUFFER))), Got::Read(5000));
    assert!(world.checked.is_empty(), "RT-3");
    let error =
        refused(Setup { transforms: both(), ..Setup::default() }, stated(RdmaTransformType::SIGNING, 16, 12));
    assert_eq!(error, TransformError::Security(SecurityError::BadSignature));
}
