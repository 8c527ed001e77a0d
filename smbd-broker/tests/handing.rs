//! A connection that goes from a process to another, against a broker that does what the test says.

use std::future::poll_fn;
use std::io;
use std::thread;

use smbd_broker::client::{Broker, Connection, Event, Incoming, connect, hand_over, take_over};
use smbd_broker::socket::{self, PacketSocket, UnixPackets};
use smbd_broker::wire::{Age, Call, Event as Told, Reply};
use smbd_testkit::script::{End, Owner, Place, newcomer};

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

/// An owner, and the broker's end of it.
async fn attached() -> (Broker, Incoming, Owner) {
    let place = Place::listening();
    let path = place.path();
    let broker = thread::spawn(move || place.welcome());
    let (owner, incoming) = connect(&path, "test").await.unwrap();
    (owner, incoming, broker.join().unwrap())
}

/// Both ends of what two processes have.
fn both() -> [UnixPackets; 2] {
    let (one, other) = socket::pair().unwrap();
    [one, other].map(|socket| UnixPackets::new(socket).unwrap())
}

fn message(bytes: &[u8]) -> Told<'_> {
    Told::Received { remaining: 0, age: Age::New, bytes }
}

async fn next(connection: &mut Connection) -> Vec<u8> {
    match poll_fn(|cx| connection.poll_event(cx, true)).await.unwrap() {
        Event::Message { age: Age::New, bytes } => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_first_message_comes_to_who_was_handed_the_connection_and_not_to_who_was_told_of_it_first() {
    run(async {
        let (_one, mut incoming, mut broker) = attached().await;
        let (parent, child) = (&mut both(), attached().await);
        let mut end = broker.connection(newcomer(7));
        end.tell(&[message(b"NEGOTIATE")]);
        let [to, from] = parent;
        hand_over(to, incoming.next().await.unwrap()).await.unwrap();
        let (socket, about) = take_over(from).await.unwrap();
        assert_eq!(about, newcomer(7));
        let (owner, _incoming, mut broker) = child;
        let telling = thread::spawn(move || {
            let (tag, call, descriptors) = broker.call();
            assert_eq!((call, descriptors.len()), (Call::Attach, 1));
            let (own, theirs) = socket::pair().unwrap();
            broker.answer(tag, Reply::Attached { connection: 7 }, Some(theirs));
            End::new(own).tell(&[message(b"SESSION_SETUP")]);
            // The old socket ends.
            drop(end);
            broker
        });
        let mut connection = owner.attach(socket, about).await.unwrap();
        assert_eq!(next(&mut connection).await, b"NEGOTIATE");
        assert_eq!(next(&mut connection).await, b"SESSION_SETUP");
        drop(telling.join().unwrap());
    });
}

#[test]
fn a_connection_of_which_something_was_taken_is_not_handed_over() {
    run(async {
        let (_owner, mut incoming, mut broker) = attached().await;
        let mut end = broker.connection(newcomer(7));
        end.tell(&[message(b"one"), message(b"two")]);
        let mut connection = incoming.next().await.unwrap();
        assert_eq!(next(&mut connection).await, b"one");
        let [mut to, _from] = both();
        let refused = hand_over(&mut to, connection).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        // It has ended.
        while end.orders(&mut |_| ()) {}
    });
}

#[test]
fn a_connection_ends_with_the_process_that_was_to_take_it() {
    run(async {
        let (_owner, mut incoming, mut broker) = attached().await;
        let mut end = broker.connection(newcomer(7));
        let [mut to, from] = both();
        hand_over(&mut to, incoming.next().await.unwrap()).await.unwrap();
        drop(from);
        assert!(!end.orders(&mut |command| panic!("{command:?}")));
        let mut end = broker.connection(newcomer(8));
        assert!(hand_over(&mut to, incoming.next().await.unwrap()).await.is_err());
        assert!(!end.orders(&mut |command| panic!("{command:?}")));
    });
}

#[test]
fn what_is_no_connection_is_not_taken_and_the_end_is_told() {
    run(async {
        let [mut to, mut from] = both();
        let mut good = smbd_broker::wire::Packet::new();
        smbd_broker::wire::Notice::New(newcomer(7)).write(&mut good);
        let mut other = smbd_broker::wire::Packet::new();
        smbd_broker::wire::Notice::Moved { connection: 7 }.write(&mut other);
        // Without a socket, another notice, and no packet at all.
        let memory = socket::memory(1).unwrap();
        for (bytes, descriptor) in
            [(good.bytes(), None), (other.bytes(), Some(&memory)), (b"no packet", None)]
        {
            poll_fn(|cx| to.poll_send(cx, bytes, descriptor)).await.unwrap();
            assert_eq!(take_over(&mut from).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        drop(to);
        assert_eq!(take_over(&mut from).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    });
}
