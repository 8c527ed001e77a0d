//! Transforms of RDMA data: how they are negotiated, when they are used, WRITEs, and what becomes of memory whatever happens.

use std::collections::BTreeSet;
use std::time::Duration;

use smbd_smb2::client::*;
use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::wire::*;

use crate::flows::{content, read, write};
use crate::server::{Change, Setup};
use crate::transforms::{both, encrypted, params, ready, signed};
use crate::world::{Got, World, fresh, initiator};

const BUFFER: BufferId = BufferId(1);
const ENCRYPTION: RdmaTransforms = RdmaTransforms { encryption: true, signing: false };
const SIGNING: RdmaTransforms = RdmaTransforms { encryption: false, signing: true };

/// What comes of an answer to NEGOTIATE.
fn negotiated(offer: RdmaTransforms, answer: Option<Vec<RdmaTransformId>>, change: Option<Change>) -> World {
    let setup = Setup { transforms: answer, ..Setup::default() };
    let mut world = World::new(setup, params(offer));
    world.server.before_signing = change;
    world.run();
    world
}

fn error(world: &World) -> NegotiateError {
    let Some(Reason::Negotiate(error)) = world.ended.clone() else { panic!("{:?}", world.ended) };
    error
}

#[test]
fn the_context_has_what_is_configured_and_is_left_out_without_it() {
    for offer in [RdmaTransforms::NONE, ENCRYPTION, SIGNING, RdmaTransforms::ALL] {
        let mut client = Client::new(Config::new(params(offer)).unwrap());
        let mut nothing = Arrived::nothing();
        let Output::Send { message, .. } = client.poll(smbd_core::Instant::ORIGIN, &mut nothing) else {
            panic!()
        };
        let request = NegotiateRequest::parse(message[0]).unwrap();
        let found = request.contexts.iter().find_map(|context| match context.unwrap() {
            NegotiateContext::RdmaTransform(ids) => Some(ids.iter().collect::<Vec<_>>()),
            _ => None,
        });
        assert_eq!(found.unwrap_or_default(), offer.ids());
        assert_eq!(request.contexts.count(), 3 + usize::from(!offer.is_empty()));
    }
}

#[test]
fn what_the_server_chooses_is_what_the_connection_has() {
    for (answer, expected) in [
        (None, RdmaTransforms::NONE),
        // RT-6
        (Some(vec![RdmaTransformId::NONE]), RdmaTransforms::NONE),
        (Some(vec![]), RdmaTransforms::NONE),
        (Some(vec![RdmaTransformId::SIGNING]), SIGNING),
        (Some(vec![RdmaTransformId::ENCRYPTION]), ENCRYPTION),
        (Some(vec![RdmaTransformId::SIGNING, RdmaTransformId::ENCRYPTION]), RdmaTransforms::ALL),
    ] {
        let world = negotiated(RdmaTransforms::ALL, answer, None);
        assert_eq!(world.client.negotiated().map(|negotiated| negotiated.rdma_transforms), Some(expected));
    }
    // Whoever has offered none does not look at them.
    let world = negotiated(RdmaTransforms::NONE, both(), None);
    assert_eq!(world.client.negotiated().unwrap().rdma_transforms, RdmaTransforms::NONE);
}

#[test]
fn transforms_that_were_not_offered_more_of_them_or_a_short_context_end_the_connection() {
    let context = ContextType::RDMA_TRANSFORM;
    for (offer, answer, value) in [
        (ENCRYPTION, vec![RdmaTransformId::SIGNING], 2),
        (SIGNING, vec![RdmaTransformId::ENCRYPTION], 1),
        (RdmaTransforms::ALL, vec![RdmaTransformId::ENCRYPTION, RdmaTransformId::NONE], 0),
        (RdmaTransforms::ALL, vec![RdmaTransformId(3)], 3),
    ] {
        let world = negotiated(offer, Some(answer), None);
        assert_eq!(error(&world), NegotiateError::NotOffered { context, value });
    }
    let world = negotiated(ENCRYPTION, Some(vec![RdmaTransformId::ENCRYPTION; 2]), None);
    assert_eq!(error(&world), NegotiateError::TooMany { context, count: 2, max: 1 });
    // The last context says that it has less than its fixed part.
    let change = |bytes: &mut Vec<u8>| {
        let at = bytes.len() - 12 - 8;
        negotiate_context::field::DATA_LENGTH.set(&mut bytes[at..], 7).unwrap();
    };
    let world = negotiated(RdmaTransforms::ALL, both(), Some(Box::new(change)));
    assert!(matches!(error(&world), NegotiateError::Wire(WireError::Truncated { .. })));
    let twice = |bytes: &mut Vec<u8>| {
        let last = bytes[bytes.len() - 20..].to_vec();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes.extend_from_slice(&last);
        negotiate::response::NEGOTIATE_CONTEXT_COUNT.set(bytes, 5).unwrap();
    };
    let world = negotiated(RdmaTransforms::ALL, both(), Some(Box::new(twice)));
    assert_eq!(error(&world), NegotiateError::Contexts { context, count: 2 });
}

#[test]
fn protected_data_go_by_rdma_if_and_only_if_the_transform_that_goes_with_them_was_negotiated() {
    let plain = Setup::default();
    let sealed = Setup { encrypt_session: true, ..Setup::default() };
    let share = Setup { encrypt_share: true, ..Setup::default() };
    let signs = Setup { require_signing: true, ..Setup::default() };
    let all = [RdmaTransforms::NONE, ENCRYPTION, SIGNING, RdmaTransforms::ALL];
    for (setup, uses) in [
        (plain, [true; 4]),
        (sealed, [false, true, false, true]),
        (share, [false, true, false, true]),
        (signs, [false, false, true, true]),
    ] {
        for (ids, expected) in all.into_iter().zip(uses) {
            let setup = Setup { transforms: Some(ids.ids().to_vec()), ..setup.clone() };
            let (mut world, tree) = ready(setup);
            assert_eq!(world.client.uses_channel(tree, 5000), expected);
            assert_eq!(world.act(tree, &write(&content(5000), Some(BUFFER))), Got::Written(5000));
            assert_eq!(world.act(tree, &read(0, 5000, Some(BUFFER))), Got::Read(5000));
            let [.., written, fetched] = &world.server.log[..] else { panic!() };
            let is_covered = expected && !world.protected.is_empty();
            // 3.3.5.12 takes no RDMA_TRANSFORM of a READ.
            assert_eq!(fetched.contains("channel RDMA_V1_INVALIDATE"), expected, "{fetched}");
            assert_eq!(written.contains("channel RDMA_TRANSFORM"), is_covered, "{written}");
            assert_eq!(written.contains("channel none"), !expected, "{written}");
            assert_eq!(world.invalidations, if expected { 2 } else { 0 });
        }
    }
}

fn all_setups() -> impl Iterator<Item = Setup> {
    let ciphers = [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM];
    let signings = [SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC];
    let sealed = ciphers.map(|cipher| Setup { cipher: Some(cipher), ..encrypted() });
    let share = Setup { encrypt_share: true, transforms: both(), ..Setup::default() };
    sealed.into_iter().chain([share]).chain(signings.map(|signing| Setup { signing, ..signed() }))
}

#[test]
fn a_file_comes_back_as_it_was_written_with_every_algorithm_in_place_or_not_in_one_piece_or_many() {
    for setup in all_setups() {
        for (has_own_place, segment) in [(false, u32::MAX), (true, 50_000)] {
            let (mut world, tree) = ready(setup.clone());
            (world.has_own_place, world.segment) = (has_own_place, segment);
            let data = content(300_000);
            world.memory.buffers.insert(BUFFER, data.clone());
            assert_eq!(world.act(tree, &write(&[], None)), Got::Written(0));
            assert_eq!(world.act(tree, &write(&data, Some(BUFFER))), Got::Written(300_000));
            assert!(world.server.file == data);
            let is_signed = setup.require_signing;
            let is_plain = world.memory.buffers[&BUFFER] == data;
            assert_eq!(is_plain, has_own_place || is_signed, "what is encrypted in place is not what it was");
            // 128 KiB each.
            assert_eq!((world.protected.len(), world.server.nonces.len()), (3, 3));
            let nonces: BTreeSet<_> = world.server.nonces.iter().filter(|nonce| !nonce.is_empty()).collect();
            assert!(nonces.is_empty() || nonces.len() == 3);
            world.memory.buffers.insert(BUFFER, vec![0xee; 300_000]);
            assert_eq!(world.act(tree, &read(0, 300_000, Some(BUFFER))), Got::Read(300_000));
            assert!(world.memory.buffers[&BUFFER] == data);
        }
    }
}

#[test]
fn what_was_encrypted_once_is_sent_again_as_it_is() {
    for setup in [encrypted(), signed()] {
        for has_own_place in [false, true] {
            let (mut world, session, tree) = World::connected(setup.clone(), params(RdmaTransforms::ALL));
            world.has_own_place = has_own_place;
            let data = content(5000);
            world.memory.buffers.insert(BUFFER, data.clone());
            world.server.fail.insert(Command::WRITE, vec![NtStatus::NETWORK_SESSION_EXPIRED]);
            let id = world.submit(tree, &write(&data, Some(BUFFER)));
            world.run();
            assert_eq!(world.results.get(&id), None);
            let again =
                world.client.reauthenticate(world.now, session, initiator("secret"), fresh()).unwrap();
            world.wait(again);
            assert_eq!(world.results[&id], Got::Written(5000));
            assert_eq!(world.protected.len(), 1, "once");
            assert!(world.server.file == data);
        }
    }
}

#[test]
fn a_read_of_an_expired_session_is_looked_at_each_time() {
    let (mut world, session, tree) = World::connected(encrypted(), params(RdmaTransforms::ALL));
    world.server.file = content(10_000);
    world.memory.buffers.insert(BUFFER, vec![0xee; 6000]);
    world.server.fail.insert(Command::READ, vec![NtStatus::NETWORK_SESSION_EXPIRED]);
    let id = world.submit(tree, &read(0, 5000, Some(BUFFER)));
    world.run();
    assert_eq!(world.results.get(&id), None);
    assert!(world.memory.buffers[&BUFFER][..5000] == [0; 5000]);
    let again = world.client.reauthenticate(world.now, session, initiator("secret"), fresh()).unwrap();
    world.wait(again);
    assert_eq!((&world.results[&id], world.checked.len()), (&Got::Read(5000), 2));
    assert!(world.memory.buffers[&BUFFER][..5000] == world.server.file[..5000]);
}

#[test]
fn memory_of_a_read_that_is_given_up_is_zeros_before_its_result() {
    let times_out = |world: &mut World, _| world.pass(Duration::from_secs(60));
    let is_cancelled = |world: &mut World, id| {
        world.client.cancel(world.now, id).unwrap();
        world.pass(Duration::from_secs(60));
    };
    let is_over = |world: &mut World, _| {
        world.close();
        world.run();
    };
    let ends: [fn(&mut World, OperationId); 3] = [times_out, is_cancelled, is_over];
    for end in ends {
        let (mut world, tree) = ready(encrypted());
        world.server.deaf.push(Command::READ);
        let id = world.submit(tree, &read(0, 5000, Some(BUFFER)));
        world.run();
        assert_eq!(world.memory.valid.len(), 1);
        // The server writes, and says nothing.
        world.memory.buffers.get_mut(&BUFFER).unwrap()[..100].fill(1);
        end(&mut world, id);
        assert!(matches!(world.results[&id], Got::Failed(_)), "{:?}", world.results);
        assert_eq!(world.checked.len(), 1);
        let buffer = &world.memory.buffers[&BUFFER];
        assert!(buffer[..5000] == [0; 5000] && buffer[5000..] == [0xee; 1000]);
    }
}

#[test]
fn a_piece_that_fails_shows_nothing_of_itself_and_ends_the_transfer() {
    let (mut world, tree) = ready(encrypted());
    world.server.file = content(300_000);
    world.memory.buffers.insert(BUFFER, vec![0xee; 300_000]);
    let mut left = 2;
    world.server.before_rdma = Some(Box::new(move |data| {
        left -= 1;
        if left == 0 {
            data[100] ^= 1;
        }
    }));
    let got = world.act(tree, &read(0, 300_000, Some(BUFFER)));
    assert!(matches!(got, Got::Failed(Failure::Transform(TransformError::Security(_)))), "{got:?}");
    assert!(world.memory.buffers[&BUFFER][131_072..262_144] == [0; 131_072]);
}

/// A WRITE or READ up to the first word about its data.
fn part(world: &mut World) -> Option<(bool, DataPart)> {
    match world.client.poll(world.now, &mut Arrived::nothing()) {
        Output::Sign(part) => Some((false, part)),
        Output::Encrypt(part) => Some((true, part)),
        _ => None,
    }
}

#[test]
fn data_are_given_whole_once_and_for_the_transform_that_was_asked_for() {
    let unknown = Err(Refused::Unknown("the registration"));
    let data = content(5000);
    for setup in [encrypted(), signed()] {
        let (mut world, tree) = ready(setup.clone());
        world.memory.buffers.insert(BUFFER, data.clone());
        world.submit(tree, &write(&data, Some(BUFFER)));
        let (encrypts, DataPart { registration: id, len, offset, buffer }) = part(&mut world).unwrap();
        assert_eq!((encrypts, len, offset, buffer), (setup.encrypt_session, 5000, 0, BUFFER));
        let (now, client, mut copy) = (world.now, &mut world.client, data.clone());
        let short = Err(Refused::Length { got: 4999, expected: 5000 });
        if encrypts {
            assert_eq!(client.sign(now, id, &[&data]), unknown);
            assert_eq!(client.encrypt(now, id, &mut [&mut copy[..4999]]), short);
            assert_eq!(client.encrypt_into(now, id, &[&data[1..]], &mut [0; 5000]), short);
            assert_eq!(client.encrypt_into(now, id, &[&data], &mut [0; 4999]), short);
            assert!(copy == data, "nothing was changed");
            assert_eq!(client.encrypt(now, id, &mut [&mut copy]), Ok(()));
        } else {
            assert_eq!(client.encrypt(now, id, &mut [&mut copy]), unknown);
            assert_eq!(client.encrypt_into(now, id, &[&data], &mut [0; 5000]), unknown);
            assert_eq!(client.sign(now, id, &[&data[1..]]), short);
            assert_eq!(client.sign(now, id, &[&data]), Ok(()));
        }
        assert_eq!(client.encrypt(now, id, &mut [&mut copy]), unknown);
        assert_eq!(client.sign(now, id, &[&data]), unknown);
        assert_eq!(client.check(now, id, &mut [&mut copy]), unknown, "it is not memory of a READ");
    }
}

#[test]
fn memory_is_looked_at_only_when_it_is_back() {
    let (mut world, tree) = ready(encrypted());
    world.server.deaf.push(Command::READ);
    world.submit(tree, &read(0, 5000, Some(BUFFER)));
    world.run();
    let id = world.memory.valid.values().next().unwrap().id;
    let refused = world.client.check(world.now, id, &mut [&mut [1; 5000]]);
    assert_eq!(refused, Err(Refused::Unknown("the registration")));
}

#[test]
fn a_write_that_waits_for_its_data_can_be_given_up() {
    let (mut world, tree) = ready(encrypted());
    let id = world.submit(tree, &write(&content(5000), Some(BUFFER)));
    let (_, given) = part(&mut world).unwrap();
    world.client.cancel(world.now, id).unwrap();
    assert_eq!(world.wait(id), Got::Failed(Failure::Cancelled));
    let late = world.client.encrypt(world.now, given.registration, &mut [&mut [1; 5000]]);
    assert_eq!(late, Err(Refused::Unknown("the registration")));
    assert!(world.memory.valid.is_empty());
}
