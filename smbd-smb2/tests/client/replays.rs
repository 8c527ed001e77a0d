//! What a connection that is lost leaves to the others of its session (3.2.4.1, 3.2.7.1).

use smbd_smb2::client::*;
use smbd_smb2::wire::*;

use crate::binding::{bound, params, setup};
use crate::flows::{content, read, write};
use crate::server::{FILE, Setup};
use crate::world::{Got, World, rdma};

/// The headers of what the client sends next that is not encrypted.
fn headers(world: &mut World) -> Vec<Header> {
    let mut headers = Vec::new();
    loop {
        match world.client.poll(world.now, &mut Arrived::nothing()) {
            Output::Send { message, .. } => {
                headers.push(Header::parse(message[0]).unwrap());
                world.server.receive(&message.concat(), &mut world.memory);
            }
            Output::Idle(_) => return headers,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn requests_have_the_sessions_channel_sequence_also_those_that_waited() {
    let setup = Setup { require_signing: true, ..setup() };
    let ([mut world, _], [session, _], [tree, _]) = bound(setup, params());
    world.submit(tree, &read(0, 10, None));
    assert_eq!(headers(&mut world)[0].channel_sequence(), 0);
    world.run();
    world.submit(tree, &write(&content(200_000), None));
    world.submit(tree, &Operation::Flush(FlushRequest { file_id: FILE }));
    world.client.set_channel_sequence(session, 0xFFFE).unwrap();
    let sent = headers(&mut world);
    assert!(sent.len() > 2 && sent.iter().all(|it| it.channel_sequence() == 0xFFFE), "{sent:?}");
    world.run();
    world.submit(tree, &read(0, 10, None));
    assert_eq!(headers(&mut world)[0].channel_sequence(), 0xFFFE);
    // The small server verifies all signatures.
    world.run();
    assert_eq!(world.ended, None);
}

#[test]
fn a_server_without_multichannel_is_told_no_channel_sequence() {
    let (mut world, session, tree) = World::connected(Setup { multi_channel: false, ..setup() }, params());
    let refused = BindError::NoMultiChannel(Capabilities::LARGE_MTU);
    assert_eq!(world.client.set_channel_sequence(session, 1), Err(refused.into()));
    let refused = world.client.replay(world.now, tree, &write(b"data", None));
    assert_eq!(refused, Err(NotReplayable::Server(Capabilities::LARGE_MTU).into()));
    assert!(world.client.replay(world.now, tree, &read(0, 1, None)).is_ok());
}

#[test]
fn all_pieces_of_a_replayed_write_say_so_and_those_of_a_read_do_not() {
    let rdma = Params { transport: rdma(), ..params() };
    for params in [params(), rdma] {
        let ([_, mut world], _, [_, tree]) = bound(setup(), params);
        world.memory.buffers.insert(BufferId(1), content(300_000));
        let is_replay = |header: &Header| header.flags.contains(Flags::REPLAY_OPERATION);
        let id = world.client.replay(world.now, tree, &write(&content(300_000), Some(BufferId(1)))).unwrap();
        world.uses.insert(id, BufferId(1));
        assert_eq!(world.wait(id), Got::Written(300_000));
        assert!(world.server.file == content(300_000));
        let seen = world.server.headers.iter().filter(|header| header.command == Command::WRITE);
        let flags: Vec<_> = seen.map(is_replay).collect();
        assert!(flags.len() > 2 && flags.iter().all(|is_replay| *is_replay), "{flags:?}");
        world.client.replay(world.now, tree, &read(0, 10, None)).unwrap();
        world
            .client
            .replay(
                world.now,
                tree,
                &Operation::SetInfo(SetInfoRequest { input: &[0; 8], ..Default::default() }),
            )
            .unwrap();
        world.submit(tree, &write(&content(10), None));
        let sent = headers(&mut world);
        let said: Vec<_> = sent.iter().map(|header| (header.command, is_replay(header))).collect();
        assert_eq!(said, [(Command::READ, false), (Command::SET_INFO, true), (Command::WRITE, false)]);
    }
}

#[test]
fn what_was_not_sent_when_a_connection_ends_is_told_apart() {
    let setup = Setup { credits: Some(1), ..setup() };
    let (mut world, session, tree) = World::connected(setup, params());
    world.server.deaf.extend([Command::FLUSH, Command::CLOSE]);
    let flush = world.submit(tree, &Operation::Flush(FlushRequest { file_id: FILE }));
    world.run();
    let close = world.submit(tree, &Operation::Close(CloseRequest { file_id: FILE, ..Default::default() }));
    let connect = world.client.connect(world.now, session, "share").unwrap();
    world.run();
    world.close();
    world.run();
    let results = [flush, close, connect].map(|id| world.results[&id].clone());
    assert_eq!(results, [Failure::Closed, Failure::Unsent, Failure::Unsent].map(Got::Failed));
}

#[test]
fn only_what_is_the_same_when_it_is_carried_out_twice_is_submitted_again() {
    use Replay::{Again, Marked};
    let set = |info_class| SetInfoRequest { info_type: InfoType::FILE, info_class, ..Default::default() };
    let ioctl = |control_code| Operation::Ioctl(IoctlRequest { control_code, ..Default::default() });
    let list = |flags| Operation::QueryDirectory(QueryDirectoryRequest { flags, ..Default::default() });
    let durable = [CreateContext { name: CreateContext::DURABLE_HANDLE_REQUEST_V2, data: &[0; 32] }];
    let contexts = Records::from(&durable[..]);
    let cases = [
        (read(0, 1, None), Ok(Again)),
        (write(b"x", None), Ok(Marked)),
        (Operation::Flush(FlushRequest::default()), Ok(Again)),
        (Operation::Close(CloseRequest::default()), Ok(Again)),
        (Operation::QueryInfo(QueryInfoRequest::default()), Ok(Again)),
        (Operation::SetInfo(set(info::class::FILE_END_OF_FILE)), Ok(Marked)),
        (Operation::SetInfo(set(info::class::FILE_RENAME)), Err(NotReplayable::SetInfo { class: 10 })),
        (Operation::SetInfo(set(info::class::FILE_LINK)), Err(NotReplayable::SetInfo { class: 11 })),
        (ioctl(ControlCode::QUERY_NETWORK_INTERFACE_INFO), Ok(Again)),
        (ioctl(ControlCode(0x1440F2)), Err(NotReplayable::Ioctl(ControlCode(0x1440F2)))),
        (list(QueryDirectoryFlags::RESTART_SCANS), Ok(Again)),
        (list(QueryDirectoryFlags::NONE), Err(NotReplayable::QueryDirectory)),
        (Operation::Create(CreateRequest::default()), Err(NotReplayable::Create)),
        (Operation::Create(CreateRequest { contexts, ..Default::default() }), Ok(Marked)),
        (Operation::Lock(LockRequest::default()), Err(NotReplayable::Command("LOCK"))),
        (
            Operation::ChangeNotify(ChangeNotifyRequest::default()),
            Err(NotReplayable::Command("CHANGE_NOTIFY")),
        ),
    ];
    let ([_, mut world], _, [_, tree]) = bound(setup(), params());
    for (operation, expected) in cases {
        assert_eq!(operation.replay(), expected, "{operation:?}");
        if let Err(why) = expected {
            assert_eq!(world.client.replay(world.now, tree, &operation), Err(why.into()));
        }
    }
}
