//! What is measured: operations of a client that is logged in by the server of its tests. What the server does is not counted.

mod measured;

use smbd_repository::instructions::{Operation as Scene, Work};
use smbd_smb2::client::{Arrived, BufferId, Operation, Output, Params, Read, Reply};
use smbd_smb2::wire::{BufferDescriptorV1, Channel, Token};
use smbd_testkit::client::server::Setup;
use smbd_testkit::client::world::{World, rdma};

pub const OPERATIONS: &[Scene] = &[
    Scene::new("client_read", "a READ of 1 MiB by RDMA, from the call to its result", |count| {
        play(count, 1 << 20)
    })
    .goal(2000),
    Scene::new("client_small", "a READ of 4 KiB in messages, from the call to its result", |count| {
        play(count, 4096)
    }),
];

fn play(count: u32, length: u64) -> Work {
    let params = Params { transport: rdma(), ..Params::default() };
    let (mut world, _, tree) = World::connected(Setup { max_size: 1 << 20, ..Setup::default() }, params);
    world.server.file = vec![7; 1 << 20];
    world.memory.buffers.insert(BufferId(1), vec![0; 1 << 20]);
    let operation = Operation::Read(Read { length, buffer: Some(BufferId(1)), ..Read::default() });
    // Whatever is allocated once is there, and the answer is known but for its MessageId.
    world.act(tree, &operation);
    let World { mut client, now, .. } = world;
    let mut answer = Vec::new();
    Box::new(move || {
        for _ in 0..count {
            measured::submit(&mut client, now, tree, &operation).expect("room");
            let mut nothing = Arrived::nothing();
            let mut registered = None;
            loop {
                match measured::poll(&mut client, now, &mut nothing) {
                    Output::Register { registration, len, .. } => {
                        let whole = [BufferDescriptorV1 { offset: 0, token: Token(9), length: len }];
                        measured::registered(&mut client, registration, &whole).expect("whole");
                        registered = Some(registration);
                    }
                    Output::Send { message: [head, _], .. } => {
                        answer = answer_to(head);
                    }
                    Output::Idle(_) => break,
                    other => panic!("{other:?}"),
                }
            }
            if registered.is_some() {
                measured::invalidated(&mut client, Token(9)).expect("valid");
            }
            let mut arrived = Arrived::new(&mut answer);
            let mut results = 0;
            loop {
                match measured::poll(&mut client, now, &mut arrived) {
                    Output::Deregister { registration, is_invalidated: true } => {
                        measured::deregistered(&mut client, now, registration).expect("valid");
                    }
                    Output::Done { result: Ok(Reply::Read(_)), .. } => results += 1,
                    Output::Data { .. } => {}
                    Output::Idle(_) => break,
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(results, 1);
        }
        Box::new((client, answer))
    })
}

/// The answer to a READ, with as many credits as it asks for.
fn answer_to(request: &[u8]) -> Vec<u8> {
    use smbd_smb2::wire::{Header, NtStatus, ReadRequest, ReadResponse, write_element};
    let header = Header::parse(request).expect("a header");
    let asked = ReadRequest::parse(request).expect("a READ");
    let data = vec![7; if asked.channel == Channel::NONE { asked.length as usize } else { 0 }];
    let data_remaining = asked.length - data.len() as u32;
    let body = ReadResponse { data: &data, data_remaining, ..ReadResponse::default() };
    let mut answer = Vec::new();
    write_element(&mut answer, &header.response(NtStatus::SUCCESS), &body).expect("room");
    answer
}
