//! What goes together in one action, and what becomes of it when a side takes less.

use smbd_smb2::relay::*;
use smbd_smb2::wire::*;

use crate::rig::*;

const V1: Channel = Channel::RDMA_V1;

fn room(client: usize, server: usize) -> Room {
    Room { client, server }
}

/// A relay that has ordered the data of a WRITE of 1000 bytes, which have come.
fn with_a_write() -> Relay {
    let mut relay = Relay::new(&Config::new(&Params::default()).unwrap());
    let message = write(3, V1, &[1000]);
    let client = ClientBytes { bytes: &message, remaining: 0 };
    let mut arrived = Arrived { client, server: &[] };
    let Action::RdmaRead(Transfer { buffer, .. }) = relay.poll(&mut arrived, room(0, 0)) else { panic!() };
    assert!(arrived.client.bytes.is_empty());
    relay.handle(Event::RdmaDone { buffer, is_success: true }).unwrap();
    relay
}

#[test]
fn the_front_of_a_write_and_its_data_are_one_action() {
    let mut relay = with_a_write();
    match relay.poll(&mut Arrived::default(), room(0, 4 + 112 + 1000)) {
        Action::ToServer(source @ Source::Buffer { head, offset: 0, len: 1000, .. }) => {
            assert_eq!(head[..4], (112_u32 + 1000).to_be_bytes());
            assert_eq!((head.len(), source.len(), source.is_empty()), (116, 1116, false));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(relay.poll(&mut Arrived::default(), room(0, 1000)), Action::Idle(_)));
}

#[test]
fn a_server_that_takes_little_gets_the_front_of_a_write_alone_and_its_data_in_pieces() {
    let mut relay = with_a_write();
    let mut got = Vec::new();
    for (taken, next) in [(0, 50), (50, 66), (116, 100), (216, 2000)] {
        match relay.poll(&mut Arrived::default(), room(0, next)) {
            Action::ToServer(Source::Bytes(bytes)) => {
                assert!(taken < 116);
                got.push(bytes.len());
            }
            Action::ToServer(Source::Buffer { head: [], offset, len, .. }) => {
                assert_eq!(offset, taken - 116);
                got.push(len as usize);
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(got, [50, 66, 100, 900]);

    // For its front alone the data are not cut.
    let mut relay = with_a_write();
    match relay.poll(&mut Arrived::default(), room(0, 116 + 999)) {
        Action::ToServer(Source::Bytes(front)) => assert_eq!(front.len(), 116),
        other => panic!("{other:?}"),
    }
}

/// A relay that has put the data of a READ, 1000 bytes, into a buffer.
fn with_a_read() -> Relay {
    let mut relay = Relay::new(&Config::new(&Params::default()).unwrap());
    let message = read(3, V1, &[1000]);
    let client = ClientBytes { bytes: &message, remaining: 0 };
    let wide = room(1 << 20, 1 << 20);
    assert!(matches!(relay.poll(&mut Arrived { client, server: &[] }, wide), Action::ToServer(_)));
    let answer = framed(&data(3, NtStatus::SUCCESS, &[1; 1000]));
    let mut arrived = Arrived { server: &answer, ..Arrived::default() };
    assert!(matches!(relay.poll(&mut arrived, wide), Action::Store { bytes: [1, ..], .. }));
    assert!(arrived.server.is_empty());
    relay
}

#[test]
fn the_last_data_of_a_read_and_its_answer_are_one_action() {
    let mut relay = with_a_read();
    match relay.poll(&mut Arrived::default(), room(80, 0)) {
        Action::ToClient {
            write: Some(Transfer { len: 1000, offset: 0, .. }), bytes, remaining: 0, ..
        } => {
            assert_eq!(bytes.len(), 80);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(relay.poll(&mut Arrived::default(), room(80, 0)), Action::Idle(_)));
}

#[test]
fn a_client_that_takes_little_gets_the_data_of_a_read_alone_and_its_answer_in_pieces() {
    let mut relay = with_a_read();
    let write = relay.poll(&mut Arrived::default(), room(79, 0));
    assert!(matches!(write, Action::RdmaWrite(Transfer { len: 1000, offset: 0, .. })), "{write:?}");
    for (next, left) in [(30, 50), (49, 1), (80, 0)] {
        match relay.poll(&mut Arrived::default(), room(next, 0)) {
            Action::ToClient { write: None, remaining, .. } => assert_eq!(remaining, left),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_hundred_requests_under_way_have_descriptors_of_their_own() {
    let mut relay = Relay::new(&Config::new(&Params::default()).unwrap());
    let wide = room(1 << 20, 1 << 20);
    for turn in 0..3 {
        let ids = turn * 100..turn * 100 + 100;
        for id in ids.clone() {
            let info: Vec<_> = (0..=id % 3)
                .map(|at| BufferDescriptorV1 { offset: id, token: Token(at as u32), length: 1000 })
                .collect();
            let info = pack(&info);
            let message = build(&read_header(id), &read_request(V1, 1000, &info));
            let client = ClientBytes { bytes: &message, remaining: 0 };
            let action = relay.poll(&mut Arrived { client, server: &[] }, wide);
            assert!(matches!(action, Action::ToServer(_)), "{action:?}");
        }
        // Every second one is answered later.
        for id in ids.clone().step_by(2).chain(ids.skip(1).step_by(2)) {
            let answer = framed(&data(id, NtStatus::SUCCESS, &[1; 1000]));
            let mut arrived = Arrived { server: &answer, ..Arrived::default() };
            assert!(matches!(relay.poll(&mut arrived, wide), Action::Store { .. }));
            let action = relay.poll(&mut arrived, wide);
            let Action::ToClient { write: Some(Transfer { buffer, remote, .. }), .. } = action else {
                panic!("{action:?}")
            };
            let got: Vec<_> = remote.iter().map(|part| (part.offset, u64::from(part.token.0))).collect();
            assert_eq!(got, (0..=id % 3).map(|at| (id, at)).collect::<Vec<_>>());
            relay.handle(Event::RdmaDone { buffer, is_success: true }).unwrap();
        }
    }
}
