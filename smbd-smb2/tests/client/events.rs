//! Interim answers, cancelling, breaks, echo, time, expired sessions, credits, and the end.

use std::time::Duration;

use smbd_smb2::client::*;
use smbd_smb2::wire::*;

use crate::flows::{content, read, write};
use crate::server::{Answer, FILE, Setup};
use crate::tape::Tape;
use crate::world::{Got, World, fresh, initiator, rdma};

fn notify() -> Operation<'static> {
    Operation::ChangeNotify(ChangeNotifyRequest {
        output_buffer_length: 100,
        file_id: FILE,
        ..Default::default()
    })
}

fn cancelled() -> Got {
    Got::Failed(Failure::Status(NtStatus::CANCELLED))
}

#[test]
fn a_request_with_an_interim_answer_waits_and_is_cancelled_by_its_async_id() {
    for (require_signing, encrypt_session) in [(false, false), (true, false), (false, true)] {
        let setup = Setup { require_signing, encrypt_session, ..Setup::default() };
        let (mut world, _, tree) = World::connected(setup, Params::default());
        let id = world.submit(tree, &notify());
        world.run();
        assert_eq!(world.results.get(&id), None);
        assert_eq!(world.act(tree, &read(0, 0, None)), Got::Read(0), "others go on");
        world.client.cancel(world.now, id).unwrap();
        assert_eq!(world.wait(id), cancelled());
        assert!(world.server.log.contains(&"CANCEL true".to_owned()));
        assert!(world.client.cancel(world.now, id).is_err());
    }
}

#[test]
fn what_was_not_sent_is_cancelled_without_the_server() {
    let setup = Setup { credits: Some(0), ..Setup::default() };
    let (mut world, _, tree) = World::connected(setup, Params { credits: 1, ..Params::default() });
    let ids = [world.submit(tree, &read(0, 1, None)), world.submit(tree, &read(0, 1, None))];
    let Output::Send { .. } = world.client.poll(world.now, &mut Arrived::nothing()) else { panic!() };
    world.client.cancel(world.now, ids[1]).unwrap();
    let mut nothing = Arrived::nothing();
    let next = world.client.poll(world.now, &mut nothing);
    assert!(
        matches!(next, Output::Done { operation, result: Err(Failure::Cancelled), .. } if operation == ids[1])
    );
}

#[test]
fn breaks_are_told() {
    let (mut world, ..) = World::connected(Setup::default(), Params::default());
    let mut header = Header::request::<OplockBreak>(u64::MAX);
    header.message_id = MessageId::UNSOLICITED;
    let body = OplockBreak { oplock_level: OplockLevel::II, file_id: FILE };
    let lease = LeaseBreakNotification { new_epoch: 3, ..LeaseBreakNotification::default() };
    let answers =
        [world.server.finish(header, &body, false, false), world.server.finish(header, &lease, false, false)];
    answers.into_iter().for_each(|answer| world.deliver(answer));
    assert_eq!(
        world.said[1..],
        [format!("{:?}", Output::OplockBreak(body)), format!("{:?}", Output::LeaseBreak(lease)),]
    );
    let header = Header { command: Command::ECHO, ..header };
    let other = world.server.finish(header, &EchoResponse::default(), false, false);
    world.deliver(other);
    assert!(world.said.last().unwrap().contains("Unsolicited"), "{:?}", world.said);
}

#[test]
fn an_idle_connection_asks_by_echo_and_ends_if_nothing_comes() {
    let (mut world, ..) = World::connected(Setup::default(), Params::default());
    let minute = Duration::from_secs(60);
    assert_eq!(world.deadline(), Some(world.now + minute));
    world.pass(minute);
    assert!(world.server.log.last().unwrap().contains("ECHO"));
    assert_eq!(world.deadline(), Some(world.now + minute), "it was answered");
    world.server.deaf.push(Command::ECHO);
    world.pass(minute);
    world.pass(minute);
    assert_eq!(world.ended, Some(Reason::Silent(2 * minute)));
}

#[test]
fn a_request_that_is_not_answered_in_time_fails_and_its_late_answer_brings_its_credits() {
    let params = Params { timeout: Duration::from_secs(5), ..Params::default() };
    let (mut world, _, tree) = World::connected(Setup::default(), params);
    let id = world.submit(tree, &read(0, 0, None));
    let mut nothing = Arrived::nothing();
    let Output::Send { message, .. } = world.client.poll(world.now, &mut nothing) else { panic!() };
    let message = message.concat();
    assert_eq!(world.deadline(), Some(world.now + Duration::from_secs(5)));
    world.pass(Duration::from_secs(5));
    assert_eq!(world.results[&id], Got::Failed(Failure::TimedOut));
    assert!(world.server.log.contains(&"CANCEL false".to_owned()));
    world.server.receive(&message, &mut world.memory);
    world.run();
    assert!(world.said.last().unwrap().contains("Late"), "{:?}", world.said);
    assert_eq!(world.act(tree, &read(0, 0, None)), Got::Read(0));
}

const TIMEOUT: Duration = Duration::from_secs(5);

/// A READ by RDMA is under way that the server does not answer.
fn with_a_read_that_is_not_answered() -> (World, OperationId) {
    let params = Params { timeout: TIMEOUT, transport: rdma(), ..Params::default() };
    let (mut world, _, tree) = World::connected(Setup::default(), params);
    world.memory.buffers.insert(BufferId(1), vec![0; 5000]);
    world.server.deaf.push(Command::READ);
    let id = world.submit(tree, &read(0, 5000, Some(BufferId(1))));
    world.run();
    assert!(world.memory.is_registered(BufferId(1)));
    (world, id)
}

#[test]
fn a_read_by_rdma_that_is_late_has_its_memory_back_before_it_fails() {
    let (mut world, id) = with_a_read_that_is_not_answered();
    world.pass(TIMEOUT);
    assert_eq!(world.results[&id], Got::Failed(Failure::TimedOut));
}

#[test]
fn a_late_answer_may_invalidate_memory_that_is_being_taken_back() {
    let (mut world, id) = with_a_read_that_is_not_answered();
    let token = *world.memory.valid.keys().next().unwrap();
    let late = world.now + TIMEOUT;
    let registration = loop {
        match world.client.poll(late, &mut Arrived::nothing()) {
            Output::Deregister { registration, .. } => break registration,
            Output::Idle(_) => panic!("the memory is not taken back"),
            _ => {}
        }
    };
    assert_eq!(world.client.invalidated(token), Ok(()));
    world.memory.deregister(registration);
    world.client.deregistered(late, registration).unwrap();
    assert_eq!(world.client.invalidated(token), Err(Refused::Unknown("the token")), "it is back");
    world.pass(TIMEOUT);
    assert_eq!(world.results[&id], Got::Failed(Failure::TimedOut));
}

#[test]
fn memory_that_cannot_be_registered_fails_its_operation() {
    let (mut world, _, tree) =
        World::connected(Setup::default(), Params { transport: rdma(), ..Params::default() });
    let id = world.client.submit(world.now, tree, &read(0, 5000, Some(BufferId(1)))).unwrap();
    let Output::Register { registration, len: 5000, access: Access::RemoteWrite, .. } =
        world.client.poll(world.now, &mut Arrived::nothing())
    else {
        panic!()
    };
    let short = [BufferDescriptorV1 { offset: 0, token: Token(1), length: 4999 }];
    let refused = Err(Refused::Descriptors { got: 4999, expected: 5000 });
    assert_eq!(world.client.registered(registration, &short), refused);
    world.client.not_registered(world.now, registration).unwrap();
    assert_eq!(world.wait(id), Got::Failed(Failure::Registration));
    assert!(world.client.deregistered(world.now, registration).is_err());
    assert!(world.client.invalidated(Token(1)).is_err());
}

#[test]
fn an_error_of_a_read_by_rdma_is_told_when_its_memory_is_back() {
    let (mut world, _, tree) =
        World::connected(Setup::default(), Params { transport: rdma(), ..Params::default() });
    world.memory.buffers.insert(BufferId(1), vec![0; 200_000]);
    world.server.fail.insert(Command::READ, vec![NtStatus::ACCESS_DENIED]);
    let got = world.act(tree, &read(0, 200_000, Some(BufferId(1))));
    assert_eq!(got, Got::Failed(Failure::Status(NtStatus::ACCESS_DENIED)));
}

#[test]
fn requests_of_an_expired_session_wait_until_it_is_authenticated_again_and_go_again() {
    for transport in [rdma(), Params::default().transport] {
        for require_signing in [false, true] {
            let setup = Setup { require_signing, ..Setup::default() };
            let (mut world, session, tree) =
                World::connected(setup, Params { transport, ..Params::default() });
            world.server.file = content(300_000);
            world.memory.buffers.insert(BufferId(1), vec![0; 300_000]);
            world.server.fail.insert(Command::READ, vec![NtStatus::NETWORK_SESSION_EXPIRED; 2]);
            let id = world.submit(tree, &read(0, 300_000, Some(BufferId(1))));
            world.run();
            assert_eq!(world.results.get(&id), None);
            assert_eq!(world.said[1..], [format!("{:?}", Output::SessionExpired(session))]);
            let again =
                world.client.reauthenticate(world.now, session, initiator("secret"), fresh()).unwrap();
            assert_eq!(world.wait(again), Got::Other(format!("{:?}", Reply::Reauthenticated(session))));
            assert_eq!(world.results[&id], Got::Read(300_000));
            let came = world.data.get(&id).unwrap_or(&world.memory.buffers[&BufferId(1)]);
            assert!(*came == world.server.file);
        }
    }
}

#[test]
fn an_expired_session_that_cannot_be_authenticated_again_ends_with_its_operations() {
    let (mut world, session, tree) = World::connected(Setup::default(), Params::default());
    world.server.fail.insert(Command::READ, vec![NtStatus::NETWORK_SESSION_EXPIRED]);
    let id = world.submit(tree, &read(0, 10, None));
    world.run();
    let again = world.client.reauthenticate(world.now, session, initiator("wrong"), fresh()).unwrap();
    assert_eq!(world.wait(again), Got::Failed(Failure::Status(NtStatus::LOGON_FAILURE)));
    assert_eq!(world.results[&id], Got::Failed(Failure::SessionEnded));
    assert_eq!(world.said.last(), Some(&format!("{:?}", Output::SessionEnded(session))));
}

#[test]
fn nobody_waits_for_ever_for_an_expired_session() {
    let (mut world, _, tree) = World::connected(Setup::default(), Params::default());
    world.server.fail.insert(Command::READ, vec![NtStatus::NETWORK_SESSION_EXPIRED]);
    let id = world.submit(tree, &read(0, 10, None));
    world.run();
    world.pass(Duration::from_secs(60));
    assert_eq!(world.results[&id], Got::Failed(Failure::Status(NtStatus::NETWORK_SESSION_EXPIRED)));
}

#[test]
fn a_server_that_grants_too_few_credits_is_asked_once_more_and_then_the_operation_fails() {
    let setup = Setup { credits: Some(1), max_size: 1 << 20, ..Setup::default() };
    let (mut world, _, tree) = World::connected(setup, Params::default());
    let query = QueryInfoRequest { output_buffer_length: 200_000, ..QueryInfoRequest::default() };
    let got = world.act(tree, &Operation::QueryInfo(query));
    assert_eq!(got, Got::Failed(Failure::Credits { needed: 4, available: 1 }));
    assert!(world.server.log.last().unwrap().contains("ECHO charge 1 asks 256"), "{:?}", world.server.log);
    // Transfers are cut as the credits allow.
    assert_eq!(world.act(tree, &write(&content(100_000), None)), Got::Written(100_000));
}

#[test]
fn a_server_that_takes_the_last_credit_ends_the_connection() {
    let (mut world, _, tree) = World::connected(Setup::default(), Params { credits: 1, ..Params::default() });
    world.server.before_signing = Some(Box::new(|bytes| {
        header::field::CREDITS.set(bytes, 0).unwrap();
    }));
    assert_eq!(world.act(tree, &read(0, 0, None)), Got::Read(0));
    let id = world.submit(tree, &read(0, 0, None));
    assert_eq!(world.wait(id), Got::Failed(Failure::Closed));
    assert_eq!(world.ended, Some(Reason::NoCredits));
}

#[test]
fn after_the_end_every_operation_has_its_result_and_calls_are_refused() {
    let (mut world, session, tree) =
        World::connected(Setup::default(), Params { transport: rdma(), ..Params::default() });
    world.memory.buffers.insert(BufferId(1), vec![0; 300_000]);
    world.server.deaf.push(Command::READ);
    let ids = [
        world.submit(tree, &read(0, 300_000, Some(BufferId(1)))),
        world.submit(tree, &read(0, 10, None)),
        world.client.connect(world.now, session, "share").unwrap(),
        world.submit(tree, &notify()),
    ];
    world.run();
    world.close();
    world.run();
    let results = [0, 1, 3].map(|at| world.results[&ids[at]].clone());
    assert_eq!(results, [const { Got::Failed(Failure::Closed) }; 3]);
    assert_eq!(world.client.end(), Some(&Reason::TransportEnded));
    assert_eq!(world.client.submit(world.now, tree, &read(0, 1, None)), Err(Refused::Closed));
    assert_eq!(world.deadline(), None);
}

#[test]
fn a_result_of_memory_that_the_server_may_still_use_waits_until_the_transport_has_ended() {
    let (mut world, _, tree) =
        World::connected(Setup::default(), Params { transport: rdma(), ..Params::default() });
    world.memory.buffers.insert(BufferId(1), vec![0; 5000]);
    world.server.deaf.push(Command::READ);
    let id = world.submit(tree, &read(0, 5000, Some(BufferId(1))));
    world.run();
    let mut broken = *b"none";
    let mut arrived = Arrived::new(&mut broken);
    assert!(matches!(world.client.poll(world.now, &mut arrived), Output::Close(Reason::ProtocolId { .. })));
    assert_eq!(world.client.poll(world.now, &mut arrived), Output::Idle(None));
    world.client.closed();
    let next = world.client.poll(world.now, &mut arrived);
    assert!(matches!(next, Output::Done { operation, result: Err(Failure::Closed), .. } if operation == id));
}

#[test]
fn tables_are_bounded() {
    let params = Params { operations: 3, requests: 2, sessions: 1, trees: 1, ..Params::default() };
    let (mut world, session, tree) = World::connected(Setup::default(), params);
    let login = world.client.login(world.now, initiator("secret"), fresh(), SessionId::NONE);
    assert_eq!(login, Err(Refused::Full("sessions")));
    assert_eq!(world.client.connect(world.now, session, "share"), Err(Refused::Full("tree connects")));
    let notifies = [world.submit(tree, &notify()), world.submit(tree, &notify())];
    assert_eq!(world.client.submit(world.now, tree, &notify()), Err(Refused::Full("requests")));
    world.run();
    for id in notifies {
        world.client.cancel(world.now, id).unwrap();
        assert_eq!(world.wait(id), cancelled());
    }
    world.server.tape = Tape::new(vec![3, 0, 1]);
    assert_eq!(world.act(tree, &write(&content(500_000), None)), Got::Written(500_000));
}

#[test]
fn a_single_message_goes_as_it_is_and_its_answer_comes_as_it_is() {
    let (mut world, session, tree) = World::connected(Setup::default(), Params::default());
    let message = SingleMessage { command: Command::ECHO, payload: 1, body: &[4, 0, 0, 0] };
    let first = world.client.message(world.now, Some(session), message).unwrap();
    let Got::Message(answer) = world.wait(first) else { panic!() };
    assert_eq!(EchoResponse::parse(&answer), Ok(EchoResponse::default()));
    let flush = SingleMessage { command: Command::FLUSH, payload: 1, body: &[24; 24] };
    let _ = Answer { bytes: Vec::new(), invalidate: None };
    let id = world
        .client
        .submit(world.now, tree, &Operation::Message(SingleMessage { body: &FLUSH, ..flush }))
        .unwrap();
    assert!(matches!(world.wait(id), Got::Message(_)));
}

const FLUSH: [u8; 24] = [24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[test]
fn a_transfer_goes_on_in_a_full_table_while_an_echo_has_its_place() {
    let params = Params { requests: 1, echo_after: Duration::from_secs(30), ..Params::default() };
    let (mut world, _, tree) = World::connected(Setup::default(), params);
    world.server.deaf.push(Command::ECHO);
    let data = content(400_000);
    let id = world.submit(tree, &write(&data, None));
    let mut nothing = Arrived::nothing();
    let Output::Send { message, .. } = world.client.poll(world.now, &mut nothing) else { panic!() };
    world.server.receive(&message.concat(), &mut world.memory);
    let answers = std::mem::take(&mut world.server.out);
    world.pass(Duration::from_secs(30));
    assert!(world.server.log.last().unwrap().contains("ECHO"));
    answers.into_iter().for_each(|answer| world.deliver(answer));
    assert_eq!(world.wait(id), Got::Written(400_000));
}

#[test]
fn a_request_whose_session_ends_while_it_waits_for_credits_is_not_sent() {
    let setup = Setup { credits: Some(0), ..Setup::default() };
    let params = Params { credits: 1, transport: rdma(), ..Params::default() };
    let (mut world, session, tree) = World::connected(setup, params);
    world.memory.buffers.insert(BufferId(1), vec![0; 5000]);
    let logoff = world.client.logoff(world.now, session).unwrap();
    let id = world.submit(tree, &read(0, 5000, Some(BufferId(1))));
    assert_eq!(world.wait(logoff), Got::Other("LoggedOff".into()));
    assert_eq!(world.results[&id], Got::Failed(Failure::SessionEnded));
    assert!(!world.server.log.iter().any(|line| line.contains("READ")), "{:#?}", world.server.log);
}

#[test]
fn credits_of_an_interim_answer_are_not_asked_for_again_and_not_counted_twice() {
    let (mut world, _, tree) = World::connected(Setup::default(), Params { credits: 4, ..Params::default() });
    world.server.deaf.push(Command::READ);
    let id = world.submit(tree, &notify());
    world.run();
    world.submit(tree, &read(0, 1, None));
    world.run();
    world.client.cancel(world.now, id).unwrap();
    assert_eq!(world.wait(id), cancelled());
    // Two are there, and the READ has asked for one: one is missing.
    world.submit(tree, &Operation::Flush(FlushRequest { file_id: FILE }));
    world.run();
    assert!(
        world.server.log.last().unwrap().contains("FLUSH charge 1 asks 1"),
        "{:?}",
        world.server.log.last()
    );
}

#[test]
fn a_session_can_expire_again() {
    let (mut world, session, tree) = World::connected(Setup::default(), Params::default());
    for time in 1..3 {
        world.server.fail.insert(Command::READ, vec![NtStatus::NETWORK_SESSION_EXPIRED]);
        let id = world.submit(tree, &read(0, 0, None));
        world.run();
        let told = world.said.iter().filter(|said| said.starts_with("SessionExpired")).count();
        assert_eq!(told, time);
        let again = world.client.reauthenticate(world.now, session, initiator("secret"), fresh()).unwrap();
        world.wait(again);
        assert_eq!(world.results[&id], Got::Read(0));
    }
}

#[test]
fn a_request_is_cancelled_by_one_message_however_often_it_is_asked_for() {
    let timeout = Some(Duration::from_secs(9));
    let (mut world, _, tree) =
        World::connected(Setup::default(), Params { pending_timeout: timeout, ..Params::default() });
    world.server.deaf.push(Command::CHANGE_NOTIFY);
    let id = world.submit(tree, &notify());
    world.run();
    for _ in 0..2 {
        world.client.cancel(world.now, id).unwrap();
        world.run();
    }
    world.pass(Duration::from_secs(60));
    assert_eq!(world.results[&id], Got::Failed(Failure::TimedOut));
    let cancels = world.server.log.iter().filter(|line| line.starts_with("CANCEL"));
    assert_eq!(cancels.count(), 1, "AES-GMAC would sign two messages with one nonce");
}
