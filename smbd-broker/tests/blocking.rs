//! An owner that waits in calls, against a broker that does what the test says.

use std::thread;
use std::time::Duration;

use smbd_broker::blocking::{Broker, Connection};
use smbd_broker::client::{CallError, Event, Lost};
use smbd_broker::owner::SendError;
use smbd_broker::socket::{self, Deadline, Wanted};
use smbd_broker::wire::{Age, Call, Command, Event as Told, Reply};
use smbd_core::{BufferDescriptorV1, Token};
use smbd_testkit::script::{End, LIMITS, Owner, Place, newcomer};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(60));
const NOW: Option<Duration> = Some(Duration::ZERO);

/// An owner, and the broker's end of it.
fn attached(place: &Place) -> (Broker, Owner) {
    let path = place.path();
    let owner = thread::spawn(move || Broker::connect(&path, "test").unwrap());
    let broker = place.welcome();
    (owner.join().unwrap(), broker)
}

/// A connection of an owner, and the broker's end of it.
fn connected(owner: &mut Broker, broker: &mut Owner) -> (Connection, End) {
    let end = broker.connection(newcomer(7));
    (owner.next(PATIENCE).unwrap().unwrap(), end)
}

fn message(bytes: &[u8]) -> Told<'_> {
    Told::Received { remaining: 0, age: Age::New, bytes }
}

fn orders(end: &mut End) -> Vec<String> {
    let mut seen = Vec::new();
    end.orders(&mut |command| seen.push(format!("{command:?}")));
    seen
}

#[test]
fn nothing_is_returned_when_the_time_is_over_and_what_comes_later_is_not_lost() {
    let place = Place::listening();
    let (mut owner, mut broker) = attached(&place);
    assert!(owner.next(NOW).unwrap().is_none());
    let (mut connection, mut end) = connected(&mut owner, &mut broker);
    assert_eq!(connection.newcomer(), &newcomer(7));
    assert_eq!(connection.event(NOW, true).unwrap(), None);
    end.tell(&[message(b"one")]);
    assert!(Deadline::after(PATIENCE).wait(connection.as_socket(), Wanted::Readable).unwrap());
    // It is not wanted, and then it is.
    assert_eq!(connection.event(NOW, false).unwrap(), None);
    let bytes = b"one".to_vec();
    assert_eq!(connection.event(NOW, true).unwrap(), Some(Event::Message { age: Age::New, bytes }));
}

#[test]
fn what_was_taken_is_told_with_what_is_said_next_and_by_itself_when_it_is_much() {
    let place = Place::listening();
    let (mut owner, mut broker) = attached(&place);
    let (mut connection, mut end) = connected(&mut owner, &mut broker);
    end.tell(&[message(b"one"), message(b"two")]);
    for _ in 0..2 {
        connection.event(PATIENCE, true).unwrap().unwrap();
    }
    let remote = vec![BufferDescriptorV1 { offset: 0, token: Token(4), length: 1 }];
    let areas = owner.take(1).unwrap().unwrap();
    connection.rdma_write(areas, remote, 0).unwrap();
    connection.send(b"answer", None).unwrap();
    assert!(connection.flush(PATIENCE).unwrap());
    let mut kinds = orders(&mut end);
    for order in &mut kinds {
        order.truncate(8);
    }
    // All in one packet.
    assert_eq!(kinds, ["Taken { ", "Rdma { t", "Send { r"]);
    // A message counts 256 bytes, and a quarter of what may wait is much.
    let much = LIMITS.receive_bytes_max / 4 / 256;
    for _ in 0..much {
        end.tell(&[message(b"again")]);
        connection.event(PATIENCE, true).unwrap().unwrap();
    }
    assert_eq!(orders(&mut end), [format!("Taken {{ count: {much} }}")]);
}

#[test]
fn a_connection_that_comes_before_the_answer_of_a_call_is_the_next_one() {
    let place = Place::listening();
    let (mut owner, mut broker) = attached(&place);
    let telling = thread::spawn(move || {
        let (tag, call, _) = broker.call();
        assert_eq!(call, Call::Listen { is_on: true });
        let end = broker.connection(newcomer(9));
        broker.answer(tag, Reply::Done, None);
        (broker, end)
    });
    owner.listen(true).unwrap();
    assert_eq!(owner.next(NOW).unwrap().unwrap().newcomer().connection, 9);
    drop(telling.join().unwrap());
}

#[test]
fn a_call_without_an_answer_ends_when_its_time_is_over_and_its_late_answer_harms_no_other() {
    let place = Place::listening();
    let (mut owner, mut broker) = attached(&place);
    owner.set_timeout(NOW);
    let late = owner.listen(true).unwrap_err();
    assert!(
        matches!(&late, CallError::Socket(error) if error.kind() == std::io::ErrorKind::TimedOut),
        "{late}"
    );
    assert_eq!(broker.done(), Call::Listen { is_on: true });
    owner.set_timeout(PATIENCE);
    let telling = thread::spawn(move || (broker.done(), broker));
    owner.set_session_id(5, true).unwrap();
    let (call, broker) = telling.join().unwrap();
    assert_eq!(call, Call::SetSessionId { session_id: 5, is_held: true });
    drop(broker);
    assert!(matches!(owner.listen(false), Err(CallError::Gone | CallError::Socket(_))));
    assert!(matches!(owner.next(PATIENCE), Err(CallError::Gone)));
}

#[test]
fn slots_are_moved_and_come_back_with_their_result() {
    let place = Place::listening();
    let (mut owner, mut broker) = attached(&place);
    let (mut connection, mut end) = connected(&mut owner, &mut broker);
    let areas = owner.take(65_537).unwrap().unwrap();
    owner.slots().fill(&areas, &[7; 65_537]).unwrap();
    let remote = vec![BufferDescriptorV1 { offset: 3, token: Token(4), length: 70_000 }];
    let tag = connection.rdma_write(areas.clone(), remote.clone(), 1).unwrap();
    assert!(connection.flush(PATIENCE).unwrap());
    let mut seen = None;
    end.orders(&mut |command| {
        let Command::Rdma { tag, transfer } = command else { panic!("{command:?}") };
        seen = Some((tag, transfer));
    });
    let (told, transfer) = seen.unwrap();
    assert_eq!((told, &transfer.areas, &transfer.remote, transfer.offset), (tag, &areas, &remote, 1));
    let (file, at) = broker.place(areas[1].slot);
    let mut byte = [0; 2];
    std::os::unix::fs::FileExt::read_exact_at(&std::fs::File::from(file.try_clone().unwrap()), &mut byte, at)
        .unwrap();
    assert_eq!(byte, [7, 0]);
    let mut back = vec![1];
    owner.slots().read(&areas, &mut back).unwrap();
    assert!(back.len() == 65_538 && back[0] == 1 && back[1..].iter().all(|byte| *byte == 7));
    end.tell(&[Told::RdmaDone { tag, is_success: true }]);
    let done = connection.event(PATIENCE, true).unwrap();
    assert_eq!(done, Some(Event::Done { tag, areas, is_success: true }));
}

#[test]
fn more_slots_are_asked_for_when_they_are_too_few_and_none_are_taken_when_there_are_no_more() {
    let place = Place::listening();
    let (mut owner, mut broker) = attached(&place);
    let slot = 65_536;
    let telling = thread::spawn(move || {
        broker.gives_memory();
        broker.gives_memory();
        let (tag, _, _) = broker.call();
        let memory = smbd_broker::wire::Memory { first: 32, count: 0, total: 32 };
        broker.answer(tag, Reply::Memory(memory), None);
        broker
    });
    let all = owner.take(32 * slot).unwrap().unwrap();
    assert_eq!((all.len(), owner.slots().count()), (32, (32, 0)));
    assert_eq!(owner.take(1).unwrap(), None);
    owner.slots().give(&all);
    assert_eq!(owner.take(1).unwrap().map(|areas| areas.len()), Some(1));
    telling.join().unwrap();
}

#[test]
fn what_was_read_is_not_given_away_and_what_was_not_read_is_read_by_the_next_owner_first() {
    let place = Place::listening();
    let (mut one, mut broker) = attached(&place);
    let (mut connection, mut end) = connected(&mut one, &mut broker);
    connection.send(b"answer", None).unwrap();
    end.tell(&[message(b"first"), message(b"second")]);
    let first = connection.event(PATIENCE, true).unwrap();
    assert_eq!(first, Some(Event::Message { age: Age::New, bytes: b"first".to_vec() }));
    let mut connection = *connection.give_away().expect_err("the second was read");
    connection.event(NOW, true).unwrap().unwrap();
    end.tell(&[Told::Sent { count: 1 }, message(b"third")]);
    let (socket, about) = connection.give_away().map_err(|_| "it is idle").unwrap();

    let (mut other, mut broker) = attached(&place);
    let telling = thread::spawn(move || {
        let (tag, call, descriptors) = broker.call();
        assert_eq!((call, descriptors.len()), (Call::Attach, 1));
        let (own, theirs) = socket::pair().unwrap();
        broker.answer(tag, Reply::Attached { connection: 7 }, Some(theirs));
        let mut own = End::new(own);
        own.tell(&[message(b"fourth")]);
        // The old socket ends.
        drop(end);
        (broker, own)
    });
    let mut connection = other.attach(socket, about).unwrap();
    assert!(!connection.is_idle());
    for expected in ["third", "fourth"] {
        let event = connection.event(PATIENCE, true).unwrap();
        assert_eq!(event, Some(Event::Message { age: Age::New, bytes: expected.into() }));
    }
    let (_broker, mut own) = telling.join().unwrap();
    connection.disconnect(5);
    assert!(connection.flush(PATIENCE).unwrap());
    // Only what came with the new socket is told to be taken.
    assert_eq!(orders(&mut own), ["Taken { count: 1 }", "Disconnect { within: 5 }"]);
    drop(connection);
    assert!(!own.orders(&mut |command| panic!("{command:?}")));
}

#[test]
fn no_more_is_sent_than_may_wait_and_the_end_is_told_with_its_reason() {
    let place = Place::listening();
    let (mut owner, mut broker) = attached(&place);
    let (mut connection, mut end) = connected(&mut owner, &mut broker);
    for _ in 0..4 {
        connection.send(b"message", Some(Token(3))).unwrap();
    }
    assert_eq!(connection.send(b"message", None), Err(SendError::Full));
    assert!(connection.flush(PATIENCE).unwrap());
    end.tell(&[Told::Sent { count: 4 }, Told::Lost { why: "over".into() }]);
    assert_eq!(connection.event(PATIENCE, true).unwrap(), Some(Event::Sent));
    assert!(matches!(connection.event(PATIENCE, true), Err(Lost::Ended(why)) if why == "over"));
    let (mut connection, end) = connected(&mut owner, &mut broker);
    drop(end);
    assert!(matches!(connection.event(PATIENCE, true), Err(Lost::Closed)));
    drop(owner);
    assert!(broker.is_gone());
}
