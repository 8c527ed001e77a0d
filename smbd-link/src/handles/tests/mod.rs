//! Connections over reference backends in virtual time: nothing is lost or hangs, whoever is slow or gives up.

use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use std::vec;
use std::vec::Vec;

use ::tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use bytes::Bytes;

use super::{COMMANDS, Connection, Driver, Options, Sender, open};
use crate::tests::wire::{Executor, Net, WireEnd};
use crate::{Failure, Registration};
use smbd_core::backend::kit::{self, Peer, Situation};
use smbd_core::backend::{Backend, HostMemory};
use smbd_core::error::{CloseReason, CommandError, ConnectError, ConnectReason, RegisterError, SendError};
use smbd_core::{Access, BufferDescriptorV1, Config, Role};

type Conn = Connection<WireEnd>;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(500);

fn message(nth: usize, len: usize) -> Bytes {
    (0..len).map(|at| u8::try_from((at * 7 + nth * 13) % 251).unwrap()).collect()
}

/// A network, and an executor with both drivers on it.
struct Bench {
    config: Config,
    net: Rc<RefCell<Net>>,
    executor: Executor,
}

impl Bench {
    fn new(situation: Situation) -> Self {
        let config = kit::config().unwrap();
        let net = Net::new(situation, &config);
        let executor = Executor::new(&net);
        Self { config, net, executor }
    }

    /// One end, driven; `program` gets its connection.
    fn end<F: Future<Output = ()> + 'static>(
        &mut self,
        role: Role,
        options: Options,
        program: impl FnOnce(Result<Conn, Failure<std::convert::Infallible>>) -> F + 'static,
    ) {
        let end = if role == Role::Initiator { Peer::INITIATOR } else { Peer::ACCEPTOR };
        let (connecting, driver) = open(role, WireEnd::new(&self.net, end), &self.config, options);
        self.executor.spawn(async { drop(driver.await) });
        self.executor.spawn(async { program(connecting.await).await });
    }

    fn pair<C: Future<Output = ()> + 'static, S: Future<Output = ()> + 'static>(
        options: [Options; 2],
        client: impl FnOnce(Conn) -> C + 'static,
        server: impl FnOnce(Conn) -> S + 'static,
    ) -> Self {
        let mut bench = Self::new(Situation::Connects);
        let [of_client, of_server] = options;
        bench.end(Role::Initiator, of_client, |up| client(up.unwrap()));
        bench.end(Role::Acceptor, of_server, |up| server(up.unwrap()));
        bench
    }
}

const ANY: [Options; 2] = [Options { messages_max: 256, bytes_max: 4 << 20, in_pieces: false }; 2];

/// Returns everything until the end, which it says.
async fn echo(mut connection: Conn) -> CloseReason {
    loop {
        match connection.recv().await {
            Ok(message) => connection.send(message).await.unwrap(),
            Err(Failure::Closed(_)) => return connection.close(LONG).await.unwrap(),
            Err(failure) => panic!("{failure}"),
        }
    }
}

#[test]
fn messages_of_all_sizes_come_back_in_order_and_both_sides_say_how_it_ended() {
    let ends = Rc::new(Cell::new(0));
    let [client_done, server_done] = [Rc::clone(&ends), Rc::clone(&ends)];
    let mut bench = Bench::pair(
        ANY,
        |mut connection| async move {
            for (nth, len) in [1, 999, 1000, 1001, 5000, 131_072, 1].into_iter().enumerate() {
                connection.send(message(nth, len)).await.unwrap();
                assert_eq!(connection.recv().await.unwrap(), message(nth, len));
            }
            assert_eq!(connection.close(LONG).await, Ok(CloseReason::Local));
            client_done.set(client_done.get() + 1);
        },
        |connection| async move {
            assert_eq!(echo(connection).await, CloseReason::PeerClosed);
            server_done.set(server_done.get() + 1);
        },
    );
    assert_eq!(bench.executor.run(LONG), 0);
    assert_eq!(ends.get(), 2);
}

#[test]
fn a_program_that_does_not_receive_holds_its_peer_back_and_loses_nothing() {
    const MESSAGES: usize = 400;
    let few = Options { messages_max: 4, bytes_max: usize::MAX, ..ANY[1] };
    let (sent, go) = (Rc::new(Cell::new(0)), ::tokio::sync::oneshot::channel::<()>());
    let (count, (let_go, may_go)) = (Rc::clone(&sent), go);
    let mut bench = Bench::pair(
        [Options::default(), few],
        |connection| async move {
            for nth in 0..MESSAGES {
                connection.send(message(nth, 100)).await.unwrap();
                count.set(nth + 1);
            }
            connection.close(LONG).await.unwrap();
        },
        |mut connection| async move {
            may_go.await.unwrap();
            for nth in 0..MESSAGES {
                assert_eq!(connection.recv().await.unwrap(), message(nth, 100));
            }
            assert_eq!(connection.recv().await, Err(Failure::Closed(CloseReason::PeerClosed)));
        },
    );
    let budget = bench.config.budget();
    // The server's queue and receive buffers, the client's own slots and commands.
    let most = 4 + budget.recv_slots + u32::from(bench.config.message_slots + bench.config.send_slots);
    let most = usize::try_from(most).unwrap() + COMMANDS;
    assert_eq!(bench.executor.run(SHORT), 4);
    assert!((4..=most).contains(&sent.get()), "{} of at most {most}", sent.get());
    let_go.send(()).unwrap();
    assert_eq!(bench.executor.run(LONG), 0);
    assert_eq!(sent.get(), MESSAGES);
}

#[test]
fn a_message_longer_than_all_that_may_wait_still_passes() {
    let least = Options { messages_max: 0, bytes_max: 0, ..ANY[0] };
    let mut bench = Bench::pair(
        [least; 2],
        |mut connection| async move {
            for nth in 0..5 {
                connection.send(message(nth, 100_000)).await.unwrap();
            }
            for nth in 0..5 {
                assert_eq!(connection.recv().await.unwrap(), message(nth, 100_000));
            }
            connection.close(LONG).await.unwrap();
        },
        |connection| async move { _ = echo(connection).await },
    );
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn fragments_of_a_long_message_arrive_as_pieces_and_no_more_of_them_waits_than_may() {
    let few = Options { bytes_max: 4000, in_pieces: true, ..ANY[1] };
    let sent = Rc::new(Cell::new(false));
    let (seen, (let_go, may_go)) = (Rc::clone(&sent), ::tokio::sync::oneshot::channel::<()>());
    let mut bench = Bench::pair(
        [Options::default(), few],
        |connection| async move {
            connection.send(message(1, 100_000)).await.unwrap();
            connection.flush().await.unwrap();
            sent.set(true);
            connection.send(message(2, 10)).await.unwrap();
            connection.send(message(3, 5000)).await.unwrap();
            connection.close(LONG).await.unwrap();
        },
        |connection| async move {
            let (_sender, mut receiver) = connection.split();
            may_go.await.unwrap();
            let (mut got, mut left) = (Vec::new(), 100_000);
            while left > 0 {
                let piece = receiver.recv_piece().await.unwrap();
                left -= piece.bytes.len();
                assert_eq!(usize::try_from(piece.remaining).unwrap(), left);
                got.extend_from_slice(&piece.bytes);
            }
            assert_eq!(got, message(1, 100_000));
            // Whole messages are there too, also in the middle of one.
            assert_eq!(receiver.recv().await.unwrap(), message(2, 10));
            let begun = receiver.recv_piece().await.unwrap();
            assert_eq!(receiver.recv().await.unwrap(), message(3, 5000).slice(begun.bytes.len()..));
        },
    );
    bench.executor.run(SHORT);
    assert!(!seen.get(), "somebody has all of it");
    let_go.send(()).unwrap();
    assert_eq!(bench.executor.run(LONG), 0);
}

/// Polls a future once and gives it up.
fn give_up<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = Box::pin(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// Lets the others have a turn.
async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        cx.waker().wake_by_ref();
        if std::mem::replace(&mut yielded, true) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[test]
fn a_send_that_is_given_up_was_not_queued_and_one_that_returned_arrives() {
    let queued = Rc::new(RefCell::new(Vec::new()));
    let (noted, expected) = (Rc::clone(&queued), queued);
    let mut bench = Bench::pair(
        ANY,
        |connection| async move {
            for nth in 0..200 {
                // No driver has a turn in between, so there is room for some only.
                if let Some(result) = give_up(connection.send(message(nth, 50))) {
                    result.unwrap();
                    noted.borrow_mut().push(message(nth, 50));
                }
            }
            connection.flush().await.unwrap();
            connection.close(LONG).await.unwrap();
        },
        |mut connection| async move {
            let mut received = Vec::new();
            while let Ok(message) = connection.recv().await {
                received.push(message);
            }
            assert_eq!(received, *expected.borrow());
            assert_eq!(received.len(), COMMANDS);
        },
    );
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn a_receive_that_is_given_up_takes_no_message_with_it() {
    let mut bench = Bench::pair(
        ANY,
        |connection| async move {
            for nth in 0..50 {
                connection.send(message(nth, 3000)).await.unwrap();
            }
            connection.close(LONG).await.unwrap();
        },
        |mut connection| async move {
            for nth in 0..50 {
                let got = match give_up(connection.recv()) {
                    Some(result) => result,
                    None => connection.recv().await,
                };
                assert_eq!(got.unwrap(), message(nth, 3000));
            }
        },
    );
    assert_eq!(bench.executor.run(LONG), 0);
}

/// A buffer of the initiator, from another handle of its host.
fn buffer(net: &Rc<RefCell<Net>>, bytes: &[u8]) -> <WireEnd as Backend>::Buffer {
    let mut end = WireEnd::new(net, Peer::INITIATOR);
    let buffer = end.allocate(u32::try_from(bytes.len()).unwrap()).unwrap();
    end.fill(&buffer, 0, bytes).unwrap();
    buffer
}

/// Registers `len` bytes of 5, says where they are, and that they are there. Waits for what the peer says to that.
async fn offer(
    connection: &mut Conn,
    net: &Rc<RefCell<Net>>,
    len: usize,
    tell: &UnboundedSender<Vec<BufferDescriptorV1>>,
) -> (<WireEnd as Backend>::Buffer, Registration) {
    let shared = buffer(net, &vec![5; len]);
    let registration = connection.register(&shared, Access::ReadWrite).await.unwrap();
    tell.send(registration.descriptors.clone()).unwrap();
    connection.send(Bytes::from_static(b"there it is")).await.unwrap();
    connection.recv().await.unwrap();
    (shared, registration)
}

/// Where the memory is that the peer has offered.
async fn offered(
    connection: &mut Conn,
    mut told: UnboundedReceiver<Vec<BufferDescriptorV1>>,
) -> Arc<[BufferDescriptorV1]> {
    connection.recv().await.unwrap();
    told.recv().await.unwrap().into()
}

#[test]
fn memory_is_read_and_written_while_it_is_registered_and_not_after() {
    let mut bench = Bench::new(Situation::Connects);
    let (net, of_server) = (Rc::clone(&bench.net), Rc::clone(&bench.net));
    let (tell, told) = unbounded_channel();
    bench.end(Role::Initiator, ANY[0], |up| async move {
        let mut connection = up.unwrap();
        let (shared, registration) = offer(&mut connection, &net, 1000, &tell).await;
        connection.deregister(&registration).await.unwrap();
        let again = connection.deregister(&registration).await;
        assert_eq!(again, Err(Failure::Register(RegisterError::NotRegistered)));
        assert_eq!(shared[..700].iter().map(Cell::get).collect::<Vec<_>>(), vec![9; 700]);
        assert_eq!(shared[700].get(), 5);
        connection.send(Bytes::from_static(b"no longer")).await.unwrap();
        connection.sender().ended().await.unwrap();
    });
    bench.end(Role::Acceptor, ANY[1], |up| async move {
        let mut connection = up.unwrap();
        let remote = offered(&mut connection, told).await;
        let (own, source) = (buffer(&of_server, &[0; 1000]), buffer(&of_server, &[9; 700]));
        connection.rdma_read(&own, &remote, 0, 1000).await.unwrap();
        assert!(own.iter().all(|byte| byte.get() == 5));
        connection.rdma_write(&source, &remote, 0, 700).await.unwrap();
        assert!(matches!(connection.rdma_read(&own, &remote, 900, 101).await, Err(Failure::Rdma(_))));
        connection.send(Bytes::from_static(b"done")).await.unwrap();
        connection.recv().await.unwrap();
        assert!(connection.rdma_read(&own, &remote, 0, 1000).await.is_err(), "the access has ended");
    });
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn a_message_that_is_queued_behind_a_started_write_finds_its_data_there() {
    let mut bench = Bench::new(Situation::Connects);
    let (net, of_server) = (Rc::clone(&bench.net), Rc::clone(&bench.net));
    let (tell, told) = unbounded_channel();
    bench.end(Role::Initiator, ANY[0], |up| async move {
        let mut connection = up.unwrap();
        let (shared, _) = offer(&mut connection, &net, 4000, &tell).await;
        assert!(shared.iter().all(|byte| byte.get() == 9), "the message was faster");
        connection.close(LONG).await.unwrap();
    });
    bench.end(Role::Acceptor, ANY[1], |up| async move {
        let mut connection = up.unwrap();
        let remote = offered(&mut connection, told).await;
        let source = buffer(&of_server, &[9; 4000]);
        let sender = connection.sender();
        let outside = sender.start_rdma_read(&source, &remote, 4000, 1).await.unwrap();
        let writing = sender.start_rdma_write(&source, &remote, 0, 4000).await.unwrap();
        connection.send(Bytes::from_static(b"it is there")).await.unwrap();
        assert!(matches!(outside.await, Err(Failure::Rdma(_))));
        assert_eq!(writing.await, Ok(()));
        sender.ended().await.unwrap();
        let late = sender.start_rdma_write(&source, &remote, 0, 4000).await;
        assert!(matches!(late, Err(Failure::Closed(_))));
    });
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn a_registration_that_nobody_waits_for_any_more_is_given_back() {
    let mut bench = Bench::new(Situation::Connects);
    let (net, slots) = (Rc::clone(&bench.net), bench.config.registrations);
    bench.end(Role::Initiator, ANY[0], move |up| async move {
        let connection = up.unwrap();
        let shared = buffer(&net, &[0; 100]);
        for _ in 0..5 * slots {
            assert!(give_up(connection.register(&shared, Access::Read)).is_none());
            // The driver has its turns meanwhile.
            connection.sender().probe().await.unwrap();
        }
        let mut live = Vec::new();
        for _ in 0..slots {
            live.push(connection.register(&shared, Access::Read).await.unwrap());
        }
        let full = connection.register(&shared, Access::Read).await;
        assert!(matches!(full, Err(Failure::Register(RegisterError::Command(CommandError::NoRoom { .. })))));
        connection.close(LONG).await.unwrap();
    });
    bench.end(Role::Acceptor, ANY[1], |up| async move { _ = echo(up.unwrap()).await });
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn what_can_never_be_sent_is_refused_and_the_connection_goes_on() {
    let mut bench = Bench::pair(
        ANY,
        |mut connection| async move {
            assert_eq!(connection.send(Bytes::new()).await, Err(Failure::Send(SendError::Empty)));
            let max = connection.negotiated().max_fragmented_send_size;
            let len = max + 1;
            let long = Bytes::from(vec![0; usize::try_from(len).unwrap()]);
            assert_eq!(connection.send(long).await, Err(SendError::TooLong { len, max }.into()));
            connection.send(message(1, 10)).await.unwrap();
            assert_eq!(connection.recv().await.unwrap(), message(1, 10));
        },
        |connection| async move { _ = echo(connection).await },
    );
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn a_flush_of_messages_that_were_not_sent_fails() {
    let mut bench = Bench::pair(
        ANY,
        |mut connection| async move {
            assert_eq!(connection.recv().await.unwrap(), message(0, 10));
            connection.send(message(1, 100_000)).await.unwrap();
            assert_eq!(connection.flush().await, Err(Failure::Closed(CloseReason::PeerClosed)));
        },
        |connection| async move {
            connection.send(message(0, 10)).await.unwrap();
            connection.flush().await.unwrap();
        },
    );
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn the_last_handle_that_is_dropped_ends_the_connection_and_not_one_before() {
    let mut bench = Bench::pair(
        ANY,
        |connection| async move {
            let (sender, mut receiver) = connection.split();
            let other = sender.clone();
            drop(sender);
            other.send(message(0, 10)).await.unwrap();
            drop(other);
            assert_eq!(receiver.recv().await.unwrap(), message(0, 10));
        },
        |connection| async move { assert_eq!(echo(connection).await, CloseReason::PeerClosed) },
    );
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn everything_sent_before_a_close_arrives_although_the_peer_takes_little_at_a_time() {
    let one = Options { messages_max: 1, bytes_max: 1, ..ANY[1] };
    let mut bench = Bench::pair(
        [Options::default(), one],
        |connection| async move {
            for nth in 0..100 {
                connection.send(message(nth, 1 + nth * 50)).await.unwrap();
            }
            assert_eq!(connection.close(LONG).await, Ok(CloseReason::Local));
        },
        |mut connection| async move {
            for nth in 0..100 {
                assert_eq!(connection.recv().await.unwrap(), message(nth, 1 + nth * 50));
            }
            assert_eq!(connection.recv().await, Err(Failure::Closed(CloseReason::PeerClosed)));
        },
    );
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn a_close_waits_no_longer_than_it_may_for_a_peer_that_takes_nothing() {
    let one = Options { messages_max: 1, bytes_max: 1, ..ANY[1] };
    let closed = Rc::new(Cell::new(false));
    let done = Rc::clone(&closed);
    let mut bench = Bench::pair(
        [Options::default(), one],
        |connection| async move {
            let (sender, _receiver) = connection.split();
            // Until there is no room although the driver had its turns.
            let (mut refused, long) = (0, message(1, 100_000));
            while refused < 100 {
                match give_up(sender.send(long.clone())) {
                    Some(result) => (refused, _) = (0, result.unwrap()),
                    None => refused += 1,
                }
                yield_now().await;
            }
            assert_eq!(sender.close(Duration::from_millis(100)).await, Ok(CloseReason::Local));
            let over = Err(Failure::Closed(CloseReason::Local));
            assert_eq!(sender.send(message(1, 1)).await, over);
            assert_eq!(sender.flush().await, over);
            done.set(true);
        },
        // It holds on to its connection until that has ended, and receives nothing.
        |connection| async move { drop(connection.sender().ended().await) },
    );
    assert_eq!(bench.executor.run(SHORT), 0);
    assert!(closed.get());
}

#[test]
fn who_cannot_connect_is_told_why() {
    let mut bench = Bench::new(Situation::Refused);
    bench.end(Role::Initiator, ANY[0], |up| async move {
        let refused = ConnectError::Connect(ConnectReason::Refused);
        assert_eq!(up.map(drop), Err(Failure::Connect(refused)));
    });
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn a_connection_that_nobody_waits_for_is_given_up() {
    let mut bench = Bench::new(Situation::Silent);
    let (connecting, driver) =
        open(Role::Initiator, WireEnd::new(&bench.net, Peer::INITIATOR), &bench.config, ANY[0]);
    let given_up = Rc::new(Cell::new(false));
    let seen = Rc::clone(&given_up);
    bench.executor.spawn(async move {
        assert_eq!(driver.await.result, Err(Failure::Connect(ConnectError::Local)));
        seen.set(true);
    });
    bench.executor.run(Duration::from_millis(5));
    assert!(!given_up.get());
    drop(connecting);
    assert_eq!(bench.executor.run(LONG), 0);
}

#[test]
fn a_driver_that_is_dropped_leaves_nobody_waiting() {
    let mut bench = Bench::new(Situation::Connects);
    let (connecting, mut driver) =
        open(Role::Initiator, WireEnd::new(&bench.net, Peer::INITIATOR), &bench.config, ANY[0]);
    bench.end(Role::Acceptor, ANY[1], |up| async move { _ = echo(up.unwrap()).await });
    let (stop, stopped) = ::tokio::sync::oneshot::channel::<()>();
    bench.executor.spawn(async move {
        let mut stopped = stopped;
        std::future::poll_fn(|cx| {
            let _ = std::pin::Pin::new(&mut driver).poll(cx);
            std::pin::Pin::new(&mut stopped).poll(cx).map(drop)
        })
        .await;
        drop::<Driver<_>>(driver);
    });
    bench.executor.spawn(async move {
        let mut connection = connecting.await.unwrap();
        let sender: Sender<_> = connection.sender().clone();
        stop.send(()).unwrap();
        assert_eq!(connection.recv().await, Err(Failure::NoDriver));
        assert_eq!(sender.send(message(1, 1)).await, Err(Failure::NoDriver));
        assert_eq!(sender.flush().await, Err(Failure::NoDriver));
        assert_eq!(connection.close(LONG).await, Err(Failure::NoDriver));
    });
    bench.executor.run(SHORT);
    // The reference backend says nothing of an end that is dropped, so only the acceptor is left.
    assert_eq!(bench.executor.run(SHORT), 2);
}
