//! Two links with each other, over reference backends in virtual time.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::BytesMut;
use smbd_core::backend::HostMemory;
use smbd_core::backend::kit::{self, Peer, Situation};
use smbd_core::error::CloseReason;
use smbd_core::{Access, BufferDescriptorV1, Config, Endpoint, RdmaVerb, Role, Token};

use super::{Event, Link, Options};
use crate::tests::wire::{Executor, Net, WireEnd};

type Linked = Link<WireEnd, u32>;
type Told = Event<u32, Infallible>;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(500);

struct Bench {
    config: Config,
    net: Rc<RefCell<Net>>,
    executor: Executor,
}

impl Bench {
    fn new() -> Self {
        let config = kit::config().unwrap();
        let net = Net::new(Situation::Connects, &config);
        Self { config, executor: Executor::new(&net), net }
    }

    fn end<F: Future<Output = ()> + 'static>(
        &mut self,
        role: Role,
        options: Options,
        program: impl FnOnce(Linked) -> F,
    ) {
        let peer = if role == Role::Initiator { Peer::INITIATOR } else { Peer::ACCEPTOR };
        let end = WireEnd::new(&self.net, peer);
        let machine = Endpoint::new(role, &self.config, smbd_core::backend::Backend::now(&end));
        self.executor.spawn(program(Link::new(machine, end, options)));
    }

    /// A server that counts the messages it gets, and ends with its client.
    fn counts(&mut self, options: Options) -> Rc<RefCell<Vec<BytesMut>>> {
        let got = Rc::new(RefCell::new(Vec::new()));
        let of_server = Rc::clone(&got);
        self.end(Role::Acceptor, options, |mut link| async move {
            while let Some(piece) = poll_fn(|cx| link.poll_recv(cx)).await {
                of_server.borrow_mut().push(piece.bytes);
            }
            while !matches!(next(&mut link).await, Event::Ended(_)) {}
        });
        got
    }
}

async fn next(link: &mut Linked) -> Told {
    poll_fn(|cx| link.poll_event(cx)).await
}

async fn established(mut link: Linked) -> Linked {
    poll_fn(|cx| link.poll_established(cx)).await.unwrap();
    link
}

/// Memory of nobody.
fn nowhere() -> Arc<[BufferDescriptorV1]> {
    Arc::from([BufferDescriptorV1 { offset: 0, token: Token(77), length: 1 << 16 }])
}

#[test]
fn every_operation_and_registration_has_one_result_however_many_wait_when_the_connection_ends() {
    const OPERATIONS: u32 = 200;
    let mut bench = Bench::new();
    bench.counts(Options::default());
    let net = Rc::clone(&bench.net);
    bench.end(Role::Initiator, Options::default(), |link| async move {
        let mut link = established(link).await;
        let mut end = WireEnd::new(&net, Peer::INITIATOR);
        let buffer = end.allocate(64).unwrap();
        for name in 0..OPERATIONS {
            link.rdma(name, RdmaVerb::Write, buffer.clone(), nowhere(), 0, 64);
        }
        link.register(OPERATIONS, buffer.clone(), Access::Read);
        link.abort();
        link.rdma(OPERATIONS + 1, RdmaVerb::Write, buffer, nowhere(), 0, 64);
        let (mut done, mut registered) = (Vec::new(), 0);
        loop {
            match next(&mut link).await {
                Event::RdmaDone { name, result } => {
                    assert!(result.is_err(), "{name}");
                    done.push(name);
                }
                Event::Registered { name: OPERATIONS, result } => {
                    assert!(result.is_err());
                    registered += 1;
                }
                Event::Ended(_) => break,
                other => panic!("{other:?}"),
            }
        }
        done.sort_unstable();
        assert_eq!(done, (0..OPERATIONS).chain([OPERATIONS + 1]).collect::<Vec<_>>());
        assert_eq!(registered, 1);
        let more = poll_fn(|cx| Poll::Ready(link.poll_event(cx))).await;
        assert!(more.is_pending(), "{more:?} behind the end");
    });
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn data_written_ahead_of_a_message_are_there_when_it_arrives_and_need_no_completion_of_their_own() {
    const LEN: u32 = 64;
    let mut bench = Bench::new();
    let (tell, told) = ::tokio::sync::oneshot::channel();
    let net = Rc::clone(&bench.net);
    bench.end(Role::Acceptor, Options::default(), |link| async move {
        let mut link = established(link).await;
        let mut end = WireEnd::new(&net, Peer::ACCEPTOR);
        let buffer = end.allocate(LEN).unwrap();
        link.register(0, buffer.clone(), Access::Write);
        let Event::Registered { result: Ok(descriptors), .. } = next(&mut link).await else { panic!() };
        tell.send(descriptors).unwrap();
        assert!(poll_fn(|cx| link.poll_recv(cx)).await.is_some());
        let mut there = [0; LEN as usize];
        end.read(&buffer, 0, &mut there).unwrap();
        assert_eq!(there, [7; LEN as usize]);
        while !matches!(next(&mut link).await, Event::Ended(_)) {}
    });
    let net = Rc::clone(&bench.net);
    bench.end(Role::Initiator, Options::default(), |link| async move {
        let mut link = established(link).await;
        let mut end = WireEnd::new(&net, Peer::INITIATOR);
        let buffer = end.allocate(LEN).unwrap();
        end.fill(&buffer, 0, &[7; LEN as usize]).unwrap();
        link.write_ahead(5, buffer, told.await.unwrap(), 0, LEN);
        link.send(vec![1].into(), None);
        let done = next(&mut link).await;
        assert!(matches!(done, Event::RdmaDone { name: 5, result: Ok(()) }), "{done:?}");
        link.close(LONG);
        while !matches!(next(&mut link).await, Event::Ended(_)) {}
    });
    assert_eq!(bench.executor.run(LONG), 0);
    assert_eq!(bench.net.borrow().signalled, 0);
}

#[test]
fn what_was_ordered_before_a_close_arrives_in_its_order_and_nothing_that_was_ordered_behind_it() {
    let mut bench = Bench::new();
    let got = bench.counts(Options { messages_max: 1, ..Options::default() });
    bench.end(Role::Initiator, Options::default(), |link| async move {
        let mut link = established(link).await;
        for nth in 1..100_u8 {
            link.send(vec![nth; 3000].into(), None);
        }
        link.close(LONG);
        link.send(vec![100; 1].into(), None);
        let ended = loop {
            if let Event::Ended(ending) = next(&mut link).await {
                break ending;
            }
        };
        assert_eq!(ended, Ok(CloseReason::Local));
        assert_eq!(link.messages(), (99, 99));
    });
    assert_eq!(bench.executor.run(LONG), 0);
    let firsts: Vec<_> = got.borrow().iter().map(|bytes| (bytes[0], bytes.len())).collect();
    assert_eq!(firsts, (1..100).map(|nth| (nth, 3000)).collect::<Vec<_>>());
}

#[test]
fn messages_that_the_owner_keeps_count_against_the_limits() {
    let mut bench = Bench::new();
    let seen = Rc::new(RefCell::new(0));
    let of_server = Rc::clone(&seen);
    let (let_go, mut may_go) = ::tokio::sync::oneshot::channel::<()>();
    bench.end(Role::Acceptor, Options { messages_max: 4, ..Options::default() }, |link| async move {
        let mut link = established(link).await;
        link.keep(4, 0);
        poll_fn(|cx| {
            while link.poll_recv(cx).is_ready() {
                *of_server.borrow_mut() += 1;
            }
            std::pin::Pin::new(&mut may_go).poll(cx).map(drop)
        })
        .await;
        link.keep(0, 0);
        while poll_fn(|cx| link.poll_recv(cx)).await.is_some() {
            *of_server.borrow_mut() += 1;
        }
    });
    bench.end(Role::Initiator, Options::default(), |link| async move {
        let mut link = established(link).await;
        for _ in 0..50 {
            link.send(vec![7; 10].into(), None);
        }
        link.close(LONG);
        while !matches!(next(&mut link).await, Event::Ended(_)) {}
    });
    assert_eq!(bench.executor.run(SHORT), 2);
    // The first message is there before anybody can say that there is no room for it.
    assert!(*seen.borrow() <= 1, "{}", seen.borrow());
    let_go.send(()).unwrap();
    assert_eq!(bench.executor.run(LONG), 0);
    assert_eq!(*seen.borrow(), 50);
}

#[test]
fn whoever_asks_for_room_waits_while_much_waits_for_the_peer() {
    let mut bench = Bench::new();
    let got = bench.counts(Options::default());
    bench.end(Role::Initiator, Options::default(), |mut link| async move {
        let is_ready = |polled: Poll<()>| polled.is_ready();
        let mut given = 0;
        // It is not established: nothing can leave.
        while is_ready(poll_fn(|cx| Poll::Ready(link.poll_ready(cx))).await) {
            link.send(vec![1; 10].into(), None);
            given += 1;
        }
        assert_eq!(given, super::ORDERS_MAX);
        poll_fn(|cx| link.poll_ready(cx)).await;
        assert!(link.waiting() < given);
        link.close(LONG);
        while !matches!(next(&mut link).await, Event::Ended(_)) {}
    });
    assert_eq!(bench.executor.run(LONG), 0);
    assert_eq!(got.borrow().len(), super::ORDERS_MAX);
}

#[test]
fn what_is_left_of_a_connection_that_closes_ends_at_once() {
    let mut bench = Bench::new();
    // Nothing is taken, so nothing is flushed.
    bench.end(Role::Acceptor, Options { messages_max: 1, ..Options::default() }, |link| async move {
        let mut link = established(link).await;
        link.keep(1, 0);
        while !matches!(next(&mut link).await, Event::Ended(_)) {}
    });
    bench.end(Role::Initiator, Options::default(), |link| async move {
        let mut link = established(link).await;
        // The peer pauses at the first, and has no credits for all of the second.
        link.send(vec![7; 1].into(), None);
        link.send(vec![7; 100_000].into(), None);
        link.close(LONG);
        let polled = poll_fn(|cx| Poll::Ready(link.poll_event(cx))).await;
        assert!(polled.is_pending(), "{polled:?}");
        drop(link.into_rest().await);
    });
    assert_eq!(bench.executor.run(SHORT), 0);
}
