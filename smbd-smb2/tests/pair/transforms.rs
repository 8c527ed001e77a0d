//! Files over RDMA in sessions that sign or encrypt: nothing is read or changed on the way that is not noticed.

use bytes::Bytes;
use proptest::prelude::*;
use smbd_smb2::client::{BufferId, Failure, Operation, Read, TransformError, Write, WriteData};
use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::wire::{Cipher, FileId, NtStatus, SigningAlgorithm, WriteFlags};
use smbd_testkit::steps;

use crate::rig::{Got, Pair, client_params, server_params};

const BUFFER: BufferId = BufferId(1);
const CIPHERS: [Cipher; 4] =
    [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM];
const SIGNINGS: [SigningAlgorithm; 3] =
    [SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC, SigningAlgorithm::HMAC_SHA256];

/// How a session is protected.
#[derive(Clone, Copy, Debug)]
enum How {
    Signed(SigningAlgorithm),
    Encrypted(Cipher),
}

fn ways() -> Vec<How> {
    CIPHERS.into_iter().map(How::Encrypted).chain(SIGNINGS.into_iter().map(How::Signed)).collect()
}

fn open(how: How) -> (Pair, smbd_smb2::client::TreeHandle, FileId) {
    let (mut client, mut server) = (client_params(), server_params());
    (client.rdma_transforms, server.rdma_transforms) = (RdmaTransforms::ALL, RdmaTransforms::ALL);
    match how {
        How::Signed(algorithm) => {
            client.signing = vec![algorithm];
            server.signing_required = true;
        }
        How::Encrypted(cipher) => {
            client.ciphers = vec![cipher];
            server.encrypted = true;
        }
    }
    Pair::open(client, server)
}

fn write(file_id: FileId, offset: u64, length: u64) -> Operation<'static> {
    let data = WriteData::Buffer(BUFFER, length);
    Operation::Write(Write { file_id, offset, flags: WriteFlags::NONE, data })
}

fn read(file_id: FileId, offset: u64, length: u64) -> Operation<'static> {
    Operation::Read(Read { file_id, offset, length, buffer: Some(BUFFER), ..Read::default() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_file_comes_back_as_it_was_written_whatever_its_length_and_however_memory_is_cut(
        way in 0..7_usize, len in 101..150_000_usize, offset in 0..1000_u64, more in 0..500_u64,
        segment in prop_oneof![Just(usize::MAX), 3000..70_000_usize], has_own_place: bool, seed: u8,
    ) {
        let how = ways()[way];
        let (mut pair, tree, file) = open(how);
        (pair.segment, pair.has_own_place) = (segment, has_own_place);
        let data = steps(len, seed);
        pair.buffers.insert(BUFFER, data.clone());
        prop_assert_eq!(pair.act(tree, &write(file, offset, len as u64)), Got::Moved(len as u64));
        let is_signed = matches!(how, How::Signed(_));
        prop_assert_eq!(pair.buffers[&BUFFER] == data, has_own_place || is_signed);
        prop_assert_eq!(pair.to_server.concat() == data, is_signed, "what went by RDMA");
        pair.buffers.insert(BUFFER, vec![0xee; len + more as usize + 9]);
        prop_assert_eq!(pair.act(tree, &read(file, offset, len as u64 + more)), Got::Moved(len as u64));
        prop_assert_eq!(pair.to_client.concat() == data, is_signed, "what went by RDMA");
        prop_assert!(pair.buffers[&BUFFER][..len] == data);
        prop_assert!(pair.buffers[&BUFFER][len + more as usize..] == [0xee; 9]);
    }

    #[test]
    fn a_bit_that_changes_on_the_way_fails_the_operation_and_shows_nothing_of_its_piece(
        way in 0..7_usize, len in 101..70_000_usize, bit: prop::sample::Index, which in 0..2_usize, is_write: bool,
    ) {
        let how = ways()[way];
        let (mut pair, tree, file) = open(how);
        let data = steps(len, 3);
        pair.buffers.insert(BUFFER, data.clone());
        if !is_write {
            prop_assert_eq!(pair.act(tree, &write(file, 0, len as u64)), Got::Moved(len as u64));
        }
        let (mut transfer, which) = (0, if len > 65536 { which } else { 0 });
        pair.on_the_way = Some(Box::new(move |data| {
            if transfer == which {
                let bit = bit.index(data.len() * 8);
                data[bit / 8] ^= 1 << (bit % 8);
            }
            transfer += 1;
        }));
        let (status, error) = match how {
            How::Encrypted(_) => (NtStatus::AUTH_TAG_MISMATCH, NtStatus::AUTH_TAG_MISMATCH),
            How::Signed(_) => (NtStatus::INVALID_SIGNATURE, NtStatus::INVALID_SIGNATURE),
        };
        if is_write {
            prop_assert_eq!(pair.act(tree, &write(file, 0, len as u64)), Got::Failed(Failure::Status(status)));
            pair.on_the_way = None;
            // What was changed is not in the file: of two pieces the other one may be.
            pair.buffers.insert(BUFFER, vec![0xee; len]);
            let got = pair.act(tree, &read(file, 0, len as u64));
            match (len > 65536, which) {
                (false, _) => prop_assert_eq!(got, Got::Failed(Failure::Status(NtStatus::END_OF_FILE))),
                (true, 0) => prop_assert!(pair.buffers[&BUFFER][..65536] == [0; 65536]),
                (true, _) => prop_assert_eq!(got, Got::Moved(65536)),
            }
        } else {
            pair.buffers.insert(BUFFER, vec![0xee; len]);
            let got = pair.act(tree, &read(file, 0, len as u64));
            let Got::Failed(Failure::Transform(TransformError::Security(failed))) = got else { panic!("{got:?}") };
            prop_assert_eq!(TransformError::Security(failed).status(), error);
            let piece = if which == 0 { 0..len.min(65536) } else { 65536..len };
            prop_assert!(pair.buffers[&BUFFER][piece].iter().all(|byte| *byte == 0));
        }
    }
}

#[test]
fn several_operations_under_way_have_a_nonce_each_and_none_sees_the_data_of_another() {
    for how in ways() {
        let (mut pair, tree, file) = open(how);
        let all = steps(400_000, 9);
        let ids: Vec<_> = (0..8_u64)
            .map(|at| {
                let buffer = BufferId(10 + at);
                pair.buffers.insert(buffer, all[at as usize * 50_000..][..50_000].to_vec());
                let data = WriteData::Buffer(buffer, 50_000);
                let offset = at * 50_000;
                let write = Operation::Write(Write { file_id: file, offset, flags: WriteFlags::NONE, data });
                pair.client.submit(smbd_core::Instant::ORIGIN, tree, &write).unwrap()
            })
            .collect();
        pair.run();
        assert!(ids.iter().all(|id| pair.results[id] == Got::Moved(50_000)));
        pair.buffers.insert(BUFFER, vec![0; 400_000]);
        assert_eq!(pair.act(tree, &read(file, 0, 400_000)), Got::Moved(400_000));
        assert!(pair.buffers[&BUFFER] == all);
    }
}

#[test]
fn without_a_common_transform_protected_data_go_in_messages() {
    for (offer, has, uses) in [
        (RdmaTransforms::ALL, RdmaTransforms::NONE, false),
        (RdmaTransforms::NONE, RdmaTransforms::ALL, false),
        (
            RdmaTransforms { encryption: true, signing: false },
            RdmaTransforms { encryption: false, signing: true },
            false,
        ),
        (RdmaTransforms::ALL, RdmaTransforms { encryption: true, signing: false }, true),
    ] {
        let (mut client, mut server) = (client_params(), server_params());
        (client.rdma_transforms, server.rdma_transforms, server.encrypted) = (offer, has, true);
        let (mut pair, tree, file) = Pair::open(client, server);
        assert_eq!(pair.client.uses_channel(tree, 5000), uses);
        let (data, bytes) = (steps(5000, 1), Bytes::from(steps(5000, 1)));
        pair.buffers.insert(BUFFER, data);
        let data = WriteData::Bytes(bytes, Some(BUFFER));
        let write = Operation::Write(Write { file_id: file, offset: 0, flags: WriteFlags::NONE, data });
        assert_eq!(pair.act(tree, &write), Got::Moved(5000));
        assert_eq!(pair.to_server.len(), usize::from(uses));
    }
}

#[test]
fn without_protection_the_channel_is_used_as_before_although_transforms_were_negotiated() {
    let (mut client, mut server) = (client_params(), server_params());
    (client.rdma_transforms, server.rdma_transforms) = (RdmaTransforms::ALL, RdmaTransforms::ALL);
    let (mut pair, tree, file) = Pair::open(client, server);
    pair.buffers.insert(BUFFER, steps(5000, 1));
    assert_eq!(pair.act(tree, &write(file, 0, 5000)), Got::Moved(5000));
    assert_eq!(pair.act(tree, &read(file, 0, 5000)), Got::Moved(5000));
    assert!(pair.to_server == [steps(5000, 1)] && pair.to_client == pair.to_server);
}
