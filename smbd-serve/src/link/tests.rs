//! A connection over a transport that does what a test says, in virtual time.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::error::CloseReason;
use smbd_core::{Access, RdmaVerb, Token};
use smbd_link::link::{Ending, Event as LinkEvent, Piece};
use smbd_link::time::TokioTime;
use smbd_link::transport::{Heap, Limits, Memory as _, RdmaLimits, Transport};
use smbd_smb2::server::OperationId;
use smbd_smb2::wire::BufferDescriptorV1;
use tokio::time::{Instant, advance, timeout};

use super::{Channel, Event, Link, Order, TRANSFERS_MAX};

/// How long a transfer may take, as the README says, and what its timer may be late.
const LIMIT: Duration = Duration::from_secs(30);
const SECOND: Duration = Duration::from_secs(1);

/// Transfers end when a test says so.
#[derive(Default)]
struct Script {
    under_way: Vec<(OperationId, RdmaVerb, Heap)>,
    events: VecDeque<LinkEvent<OperationId, Infallible>>,
    messages: VecDeque<Bytes>,
    ended: Option<Ending<Infallible>>,
    /// No order is taken.
    is_full: bool,
    waker: Option<Waker>,
}

impl Transport<OperationId> for Script {
    type Memory = Heap;
    type Error = Infallible;

    fn limits(&self) -> Limits {
        let rdma = RdmaLimits { max_read_write: 1 << 20, remote_invalidation: false };
        Limits { max_send: 1 << 20, max_receive: 1 << 20, rdma: Some(rdma) }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<LinkEvent<OperationId, Infallible>> {
        self.waker = Some(cx.waker().clone());
        self.events.pop_front().map_or(Poll::Pending, Poll::Ready)
    }

    fn try_recv(&mut self) -> Option<Piece> {
        let bytes = self.messages.pop_front()?;
        Some(Piece { bytes: bytes.into(), remaining: 0 })
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.waker = Some(cx.waker().clone());
        if self.is_full { Poll::Pending } else { Poll::Ready(()) }
    }

    fn send(&mut self, _: Bytes, _: Option<Token>) {}

    fn rdma(
        &mut self,
        name: OperationId,
        verb: RdmaVerb,
        memory: Heap,
        _: Arc<[BufferDescriptorV1]>,
        _: u64,
        _: u32,
    ) {
        self.under_way.push((name, verb, memory));
    }

    fn register(&mut self, _: OperationId, _: Heap, _: Access) {
        panic!("a server registers nothing");
    }

    fn deregister(&mut self, _: OperationId) {}

    fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    fn ignore_messages(&mut self) {
        self.messages.clear();
    }

    fn closed(&self) -> Option<&Ending<Infallible>> {
        self.ended.as_ref()
    }

    fn close(&mut self, _: Duration) {
        self.ended = Some(Ok(CloseReason::Local));
    }
}

fn fetch(link: &mut Channel<Script, TokioTime>, id: u64, len: u32) {
    let buffers = vec![BufferDescriptorV1 { offset: 0, token: Token(1), length: len }];
    link.order(Order::Fetch { id: OperationId(id), buffers: buffers.into(), len });
}

async fn event(link: &mut Channel<Script, TokioTime>) -> Result<Event, String> {
    poll_fn(|cx| link.poll_event(cx, true)).await
}

/// Nothing happens.
async fn is_silent(link: &mut Channel<Script, TokioTime>) -> bool {
    poll_fn(|cx| Poll::Ready(link.poll_event(cx, true).is_pending())).await
}

#[tokio::test(start_paused = true)]
async fn a_transfer_that_does_not_end_ends_its_connection_and_those_that_do_end_do_not() {
    let mut link = Channel::new(Script::default(), TokioTime::start());
    for id in 1..4 {
        fetch(&mut link, id, 100);
        assert!(timeout(LIMIT - SECOND, event(&mut link)).await.is_err());
        let (name, _, memory) = link.script().under_way.pop().unwrap();
        memory.fill(0, b"read").unwrap();
        link.script().events.push_back(LinkEvent::RdmaDone { name, result: Ok(()) });
        let event = event(&mut link).await.unwrap();
        let Event::Fetched { data: Some(data), len: 100, .. } = event else {
            panic!("it was read: {event:?}")
        };
        let mut bytes = [0; 4];
        data.read(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"read");
    }
    // Without any, time is of no account.
    advance(10 * LIMIT).await;
    assert!(is_silent(&mut link).await);
    let began = Instant::now();
    fetch(&mut link, 9, 100);
    let said = timeout(2 * LIMIT, event(&mut link)).await.unwrap().unwrap_err();
    assert_eq!(said, "a transfer by RDMA took more than 30 s");
    assert!((LIMIT..LIMIT + SECOND).contains(&began.elapsed()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn time_in_which_a_transfer_waits_for_the_transport_counts() {
    let mut link = Channel::new(Script { is_full: true, ..Script::default() }, TokioTime::start());
    let began = Instant::now();
    fetch(&mut link, 1, 10);
    assert!(timeout(LIMIT / 2, event(&mut link)).await.is_err());
    assert!(link.is_transferring() && link.script().under_way.is_empty());
    link.script().is_full = false;
    let said = timeout(LIMIT, event(&mut link)).await.unwrap().unwrap_err();
    assert_eq!((said.as_str(), link.script().under_way.len()), ("a transfer by RDMA took more than 30 s", 1));
    assert!((LIMIT..LIMIT + SECOND).contains(&began.elapsed()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn so_many_transfers_are_under_way_and_a_message_behind_them_waits() {
    let mut link = Channel::new(Script::default(), TokioTime::start());
    let most = u64::from(TRANSFERS_MAX);
    (0..most + 2).for_each(|id| fetch(&mut link, id, 10));
    assert!(is_silent(&mut link).await);
    assert_eq!(link.script().under_way.len(), usize::from(TRANSFERS_MAX));
    let idle = |link: &mut Channel<Script, TokioTime>, cx: &mut Context<'_>| link.poll_idle(cx).is_ready();
    assert!(!poll_fn(|cx| Poll::Ready(idle(&mut link, cx))).await);
    let (name, ..) = link.script().under_way.remove(0);
    link.script().events.push_back(LinkEvent::RdmaDone { name, result: Ok(()) });
    advance(SECOND).await;
    assert!(matches!(event(&mut link).await, Ok(Event::Fetched { id: OperationId(0), data: Some(_), .. })));
    assert!(is_silent(&mut link).await);
    assert_eq!(link.script().under_way.len(), usize::from(TRANSFERS_MAX));
}

#[tokio::test(start_paused = true)]
async fn messages_that_came_before_the_end_are_taken_first_if_they_are_wanted() {
    let mut link = Channel::new(Script::default(), TokioTime::start());
    link.script().messages.extend([Bytes::from_static(b"one"), Bytes::from_static(b"two")]);
    link.script().ended = Some(Ok(CloseReason::PeerClosed));
    let Ok(Event::Message(first)) = event(&mut link).await else { panic!("a message") };
    assert_eq!(&first[..], b"one");
    let unwanted = poll_fn(|cx| link.poll_event(cx, false)).await;
    assert_eq!(unwanted.unwrap_err(), "the client has left");
}

#[tokio::test(start_paused = true)]
async fn what_is_read_to_memory_of_the_connection_is_delivered_without_a_copy_and_other_memory_with_one() {
    let mut link = Channel::new(Script::default(), TokioTime::start());
    let own = link.memory(100).unwrap();
    own.fill(0, b"own").unwrap();
    let foreign: super::Data = Arc::new(Heap::allocate(3).unwrap());
    foreign.fill(0, b"far").unwrap();
    for (id, data) in [(1, &own), (2, &foreign)] {
        link.order(Order::Deliver {
            id: OperationId(id),
            data: Arc::clone(data),
            len: 3,
            buffers: [].into(),
        });
    }
    assert!(is_silent(&mut link).await);
    let bytes = |memory: &Heap| {
        let mut bytes = [0; 3];
        memory.read(0, &mut bytes).unwrap();
        bytes
    };
    let under_way: Vec<_> = link.script().under_way.drain(..).map(|(_, _, memory)| memory).collect();
    assert_eq!([bytes(&under_way[0]), bytes(&under_way[1])], [*b"own", *b"far"]);
    // The same memory, and another one.
    own.fill(0, b"new").unwrap();
    foreign.fill(0, b"off").unwrap();
    assert_eq!([bytes(&under_way[0]), bytes(&under_way[1])], [*b"new", *b"far"]);
}
