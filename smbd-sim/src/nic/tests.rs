use smbd_core::error::WorkError;
use smbd_core::{Access, BufferDescriptorV1, Head, RdmaVerb, RecvId, Token, WrId};

use super::*;
use crate::AccessFault;
use crate::memory::{Kind, Range};

/// Two devices and what lies between them, moved by hand.
struct Pair {
    a: Nic,
    b: Nic,
}

const ALL: [Personality; 2] = [Personality::Roce, Personality::Iwarp];

fn config(personality: Personality) -> NicConfig {
    NicConfig {
        personality,
        send_queue: 8,
        recv_queue: 4,
        send_cq: 8,
        recv_cq: 4,
        recv_slots: 4,
        recv_buffer_len: 64,
        read_depth: 2,
        rdma_len_max: 100,
        windows: true,
        send_with_invalidate: true,
        segment_len_max: u32::MAX,
        content: true,
        first_token: Token(0x100),
        loses_flushes: false,
        signal_from: u32::MAX,
    }
}

fn raw(kind: u64, index: u64) -> WrId {
    WrId::from_raw(kind << 56 | index).expect("a well-formed id")
}

fn recv(index: u64) -> RecvId {
    match raw(1, index) {
        WrId::Recv(id) => id,
        WrId::Send(_) | WrId::Rdma(_) | WrId::Reg(_) => unreachable!("kind 1 is a receive"),
    }
}

fn send(index: u64) -> WrId {
    raw(2, index)
}

fn rdma(index: u64) -> WrId {
    raw(3, index)
}

fn message(index: u64, head: &[u8], body: Option<Range>) -> SendWork {
    let body = body.map_or(Body::None, Body::InPlace);
    let operation = Operation::Send { head: Head::of(head), body, invalidate: None };
    SendWork { id: send(index), operation, signal: true }
}

fn invalidating(index: u64, token: Token) -> SendWork {
    let operation = Operation::Send { head: Head::of(b"h"), body: Body::None, invalidate: Some(token) };
    SendWork { id: send(index), operation, signal: true }
}

fn request(index: u64, verb: RdmaVerb, local: Range, remote: BufferDescriptorV1) -> SendWork {
    SendWork { id: rdma(index), operation: Operation::Rdma { verb, local, remote }, signal: true }
}

impl Pair {
    fn new(personality: Personality) -> Self {
        let [mut a, mut b] = [1, 2].map(|n| Nic::new(config(personality), DomainId(n)));
        a.establish(2);
        b.establish(2);
        Self { a, b }
    }

    fn post(&mut self, mut work: SendWork) -> Option<Packet> {
        self.a.post_send(&mut work).expect("the queue has room")
    }

    /// Carries a packet over, and what comes back.
    fn carry(&mut self, packet: Packet) -> &'static str {
        let response = self.b.receive(&packet, &mut self.a);
        self.a.take_back(packet);
        match response {
            Response::Reply(reply) => {
                let name = match reply {
                    Reply::Ack { .. } => "ack",
                    Reply::Nak { .. } => "nak",
                    Reply::ReadData { .. } => "data",
                    Reply::Terminate { .. } => "terminate",
                };
                self.a.reply(reply, &mut self.b);
                name
            }
            Response::Quiet => "quiet",
            Response::Lost => "lost",
            Response::Terminated(reply) => {
                self.a.reply(reply, &mut self.b);
                "terminate"
            }
        }
    }

    fn run(&mut self, work: SendWork) -> &'static str {
        match self.post(work) {
            Some(packet) => self.carry(packet),
            None => "nothing",
        }
    }

    fn sent(&mut self) -> Vec<(WrId, Result<(), WorkError>)> {
        while self.a.poll_send().is_some() {}
        self.a.reap();
        std::iter::from_fn(|| self.a.next_outcome()).map(|done| (done.id, done.result)).collect()
    }

    fn received(&mut self) -> Vec<(u16, Result<u32, WorkError>)> {
        let polled = std::iter::from_fn(|| self.b.poll_recv());
        polled.map(|done| (done.id.slot(), done.result.map(|m| m.len))).collect()
    }

    /// A buffer of `b`, open to `a`.
    fn open(&mut self, kind: Kind, access: Access, bytes: &[u8]) -> (Buffer, BufferDescriptorV1) {
        let buffer = self.b.buffers.alloc_with(bytes);
        let range = self.b.buffers.whole(buffer).expect("just allocated");
        let domain = self.b.domain();
        let opened = self.b.tokens.enable(&self.b.buffers, domain, kind, access, range).expect("live");
        (buffer, opened)
    }

    fn local(&mut self, bytes: &[u8]) -> Range {
        let buffer = self.a.buffers.alloc_with(bytes);
        self.a.buffers.whole(buffer).expect("just allocated")
    }
}

#[test]
fn a_message_arrives_whole_and_completes_on_both_sides() {
    for personality in ALL {
        let mut pair = Pair::new(personality);
        pair.b.post_recv(recv(3), 64).expect("room");
        let body = pair.local(b"0123456789").part(2, 5);
        pair.run(message(0, b"header", body));
        assert_eq!(pair.sent(), [(send(0), Ok(()))]);
        let done = pair.b.poll_recv().expect("one message");
        let arrived = done.result.expect("it arrived");
        assert_eq!(arrived.head.as_bytes(), b"header23456", "a short head is filled up from the body");
        assert_eq!((arrived.len, arrived.invalidated), (11, None));
        assert_eq!(&pair.b.received(done.id)[..11], b"header23456");
        assert!(pair.a.is_drained() && pair.b.is_drained());
    }
}

#[test]
fn on_roce_a_send_completes_with_the_acknowledgement_and_on_iwarp_when_handed_over() {
    for (personality, early) in [(Personality::Roce, vec![]), (Personality::Iwarp, vec![(send(0), Ok(()))])] {
        let mut pair = Pair::new(personality);
        pair.b.post_recv(recv(0), 64).expect("room");
        let packet = pair.post(message(0, b"h", None)).expect("a packet");
        assert_eq!(pair.sent(), early);
        pair.carry(packet);
        assert_eq!(early.len() + pair.sent().len(), 1);
    }
}

#[test]
fn roce_reads_the_memory_of_a_send_as_late_as_it_may() {
    let mut pair = Pair::new(Personality::Roce);
    pair.b.post_recv(recv(0), 64).expect("room");
    let body = pair.local(b"before");
    let packet = pair.post(message(0, b"", Some(body))).expect("a packet");
    pair.a.buffers.bytes_mut(body.buffer).copy_from_slice(b"after!");
    assert_eq!(pair.a.buffers.breaches.count(), 1, "written while the device uses it");
    pair.carry(packet);
    assert_eq!(&pair.b.received(recv(0))[..6], b"after!");
    pair.sent();
    assert!(!pair.a.buffers.in_use(body.buffer), "free once the completion was polled");
}

#[test]
fn what_is_on_the_wire_when_the_queue_pair_goes_down_arrives_as_it_was_then() {
    for personality in ALL {
        let mut pair = Pair::new(personality);
        pair.b.post_recv(recv(0), 64).expect("room");
        let (target, opened) = pair.open(Kind::Region, Access::Write, b"......");
        let [body, data] = [b"a body", b"abcdef"].map(|bytes| pair.local(bytes));
        let works = [request(0, RdmaVerb::Write, data, opened), message(1, b"", Some(body))];
        let mut packets = works.map(|work| pair.post(work).expect("a packet"));
        pair.a.flush();
        packets.iter_mut().for_each(|packet| pair.a.detach(packet));
        pair.sent();
        for local in [body, data] {
            pair.a.buffers.bytes_mut(local.buffer).fill(b'?');
            pair.a.buffers.free(local.buffer);
        }
        assert!(pair.a.buffers.breaches.is_empty(), "what was flushed is the program's again");
        let answers = packets.map(|packet| pair.carry(packet));
        assert!(!answers.contains(&"lost"), "{answers:?}");
        assert_eq!(pair.b.buffers.bytes(target), b"abcdef");
        assert_eq!(&pair.b.received(recv(0))[..6], b"a body");
    }
}

#[test]
fn without_a_receive_roce_tells_the_sender_and_iwarp_ends_the_stream() {
    let mut pair = Pair::new(Personality::Roce);
    assert_eq!(pair.run(message(0, b"h", None)), "nak");
    assert_eq!(pair.sent(), [(send(0), Err(WorkError::ReceiverNotReady))]);
    assert_eq!((pair.a.state(), pair.b.state()), (QpState::Error, QpState::Ready));

    let mut pair = Pair::new(Personality::Iwarp);
    assert_eq!(pair.run(message(0, b"h", None)), "terminate");
    assert_eq!(pair.sent(), [(send(0), Ok(()))], "the sender sees success");
    assert_eq!((pair.a.state(), pair.b.state()), (QpState::Error, QpState::Error));
    assert_eq!(pair.a.breaches.first(), [Breach::ReceiverNotReady]);
}

#[test]
fn a_message_too_long_for_its_receive_fails_as_on_real_devices() {
    let too_long = |pair: &mut Pair| {
        pair.b.post_recv(recv(0), 4).expect("room");
        pair.b.post_recv(recv(1), 64).expect("room");
        pair.run(message(0, b"12345", None));
        (pair.sent(), pair.received())
    };
    let flushed = vec![(0, Err(WorkError::LocalLength)), (1, Err(WorkError::Flushed))];
    let mut roce = Pair::new(Personality::Roce);
    let sender = vec![(send(0), Err(WorkError::RemoteOperation))];
    assert_eq!(too_long(&mut roce), (sender, flushed.clone()));
    let mut iwarp = Pair::new(Personality::Iwarp);
    assert_eq!(too_long(&mut iwarp), (vec![(send(0), Ok(()))], flushed));
    assert_eq!(iwarp.a.breaches.first(), [Breach::ReceiveTooSmall { len: 5, max: 4 }]);
}

#[test]
fn unsignalled_work_is_completed_by_what_follows_and_by_a_flush() {
    for personality in ALL {
        let mut pair = Pair::new(personality);
        for n in 0..3 {
            pair.b.post_recv(recv(n), 64).expect("room");
        }
        let quiet = |n| SendWork { signal: false, ..message(n, b"h", None) };
        pair.run(quiet(0));
        pair.run(quiet(1));
        assert_eq!(pair.sent(), []);
        assert_eq!(pair.a.sends_posted(), 2, "their places stay taken");
        pair.run(message(2, b"h", None));
        assert_eq!(pair.sent(), [(send(0), Ok(())), (send(1), Ok(())), (send(2), Ok(()))]);
        let packet = pair.post(quiet(3));
        assert!(packet.is_some());
        pair.a.flush();
        let lost = pair.sent();
        match personality {
            Personality::Roce => assert_eq!(lost, [(send(3), Err(WorkError::Flushed))]),
            // It was complete when handed over, and only its place in the queue was still taken.
            Personality::Iwarp => assert_eq!(lost, [(send(3), Ok(()))]),
        }
    }
}

#[test]
fn full_queues_refuse_and_are_recorded() {
    let mut pair = Pair::new(Personality::Roce);
    for n in 0..4 {
        pair.b.post_recv(recv(n % 4), 64).expect("room");
    }
    assert_eq!(pair.b.post_recv(recv(0), 64), Err(PostError(12)));
    assert_eq!(pair.b.breaches.first(), [Breach::ReceiveQueueOverflow { work: recv(0).into(), depth: 4 }]);
    for n in 0..8 {
        assert!(pair.post(message(n, b"h", None)).is_some());
    }
    assert_eq!(pair.a.post_send(&mut message(8, b"h", None)).err(), Some(PostError(12)));
    assert_eq!(pair.a.breaches.first(), [Breach::SendQueueOverflow { work: send(8), depth: 8 }]);
}

#[test]
fn a_completion_queue_too_small_for_a_flush_is_recorded() {
    let mut nic = Nic::new(NicConfig { recv_cq: 1, send_cq: 1, ..config(Personality::Roce) }, DomainId(1));
    nic.establish(1);
    for n in 0..2 {
        nic.post_recv(recv(n), 64).expect("room");
        assert!(nic.post_send(&mut message(n, b"h", None)).expect("room").is_some());
    }
    nic.flush();
    assert_eq!(nic.breaches.first(), [Breach::CompletionQueueOverrun { depth: 1 }; 2]);
}

#[test]
fn work_posted_before_the_connection_is_up_is_refused_and_after_its_end_flushed() {
    let mut nic = Nic::new(config(Personality::Roce), DomainId(1));
    assert_eq!(nic.post_send(&mut message(0, b"h", None)).err(), Some(PostError(22)));
    assert_eq!(nic.breaches.first(), [Breach::PostBeforeReady(send(0))]);
    nic.post_recv(recv(0), 64).expect("receives may be posted early");
    nic.flush();
    nic.post_recv(recv(1), 64).expect("flushed");
    assert!(nic.post_send(&mut message(1, b"h", None)).expect("flushed").is_none());
    let flushed = |id| RecvDone { id, result: Err(WorkError::Flushed) };
    assert_eq!([nic.poll_recv(), nic.poll_recv()], [0, 1].map(|n| Some(flushed(recv(n)))));
    assert_eq!(nic.poll_send(), Some(SendDone { id: send(1), result: Err(WorkError::Flushed) }));
    assert!(nic.is_drained());
}

#[test]
fn rdma_moves_exactly_the_bytes_asked_for() {
    for personality in ALL {
        let mut pair = Pair::new(personality);
        let (source, opened) = pair.open(Kind::Window, Access::Read, b"the peer's bytes");
        let local = pair.local(&[0; 8]);
        let piece = BufferDescriptorV1 { offset: opened.offset + 4, length: 4, ..opened };
        let into = local.part(2, 4).expect("inside");
        assert_eq!(pair.run(request(0, RdmaVerb::Read, into, piece)), "data");
        assert_eq!(pair.a.buffers.bytes(local.buffer), b"\0\0peer\0\0");
        assert_eq!(pair.sent(), [(rdma(0), Ok(()))]);
        assert_eq!(pair.a.tokens.live(DomainId(1)).count(), 0, "the sink's token is gone");

        let (target, opened) = pair.open(Kind::Region, Access::Write, &[b'.'; 6]);
        let piece = BufferDescriptorV1 { offset: opened.offset + 1, length: 3, ..opened };
        let local = pair.local(b"abc");
        pair.run(request(1, RdmaVerb::Write, local, piece));
        assert_eq!(pair.b.buffers.bytes(target), b".abc..");
        assert_eq!(pair.sent(), [(rdma(1), Ok(()))]);
        assert_eq!(pair.b.buffers.bytes(source), b"the peer's bytes");
        assert!(pair.a.breaches.is_empty() && pair.b.breaches.is_empty());
    }
}

#[test]
fn an_access_without_right_ends_the_connection_and_touches_nothing() {
    for personality in ALL {
        let mut pair = Pair::new(personality);
        pair.b.post_recv(recv(0), 64).expect("room");
        let (target, opened) = pair.open(Kind::Window, Access::Read, b"untouched");
        let local = pair.local(b"overwrite");
        pair.run(request(0, RdmaVerb::Write, local, opened));
        assert_eq!(pair.b.buffers.bytes(target), b"untouched");
        let expected = match personality {
            Personality::Roce => Err(WorkError::RemoteAccess),
            Personality::Iwarp => Ok(()),
        };
        assert_eq!(pair.sent(), [(rdma(0), expected)]);
        assert_eq!(pair.received(), [(0, Err(WorkError::Flushed))]);
        let fault = AccessFault::NoRight(RdmaVerb::Write);
        let (offset, token, len) = (opened.offset, opened.token, opened.length);
        assert_eq!(pair.a.breaches.first(), [Breach::Access { token, offset, len, fault }]);
    }
}

#[test]
fn a_refused_read_tells_the_requester_on_both_kinds_of_network() {
    for personality in ALL {
        let mut pair = Pair::new(personality);
        let local = pair.local(&[0; 4]);
        let nowhere = BufferDescriptorV1 { offset: 0, token: Token(0x100), length: 4 };
        pair.run(request(0, RdmaVerb::Read, local, nowhere));
        assert_eq!(pair.sent(), [(rdma(0), Err(WorkError::RemoteAccess))]);
    }
}

#[test]
fn work_completes_in_posting_order_behind_an_unanswered_read() {
    for personality in ALL {
        let mut pair = Pair::new(personality);
        pair.b.post_recv(recv(0), 64).expect("room");
        let (_, opened) = pair.open(Kind::Region, Access::Read, b"data");
        let local = pair.local(&[0; 4]);
        let read = pair.post(request(0, RdmaVerb::Read, local, opened)).expect("a packet");
        let after = pair.post(message(1, b"h", None)).expect("a packet");
        let answer = pair.b.receive(&read, &mut pair.a);
        pair.carry(after);
        assert_eq!(pair.sent(), [], "the read has no answer yet");
        let Response::Reply(reply) = answer else { panic!("a read is answered") };
        pair.a.reply(reply, &mut pair.b);
        assert_eq!(pair.sent(), [(rdma(0), Ok(())), (send(1), Ok(()))]);
    }
}

#[test]
fn requests_beyond_what_the_device_can_do_are_recorded() {
    let mut pair = Pair::new(Personality::Roce);
    let (_, opened) = pair.open(Kind::Region, Access::Read, &[0; 10]);
    let local = pair.local(&[0; 10]);
    for n in 0..2 {
        assert!(pair.post(request(n, RdmaVerb::Read, local, opened)).is_some());
    }
    assert!(pair.post(request(2, RdmaVerb::Read, local, opened)).is_none());
    assert_eq!(pair.a.breaches.first(), [Breach::ReadDepth { work: rdma(2), depth: 2 }]);

    let mut pair = Pair::new(Personality::Roce);
    let (_, opened) = pair.open(Kind::Region, Access::ReadWrite, &[0; 101]);
    let local = pair.local(&[0; 101]);
    assert!(pair.post(request(0, RdmaVerb::Write, local, opened)).is_none());
    assert_eq!(pair.a.breaches.first(), [Breach::RdmaLength { work: rdma(0), len: 101, max: 100 }]);

    let mut pair = Pair::new(Personality::Roce);
    let short = pair.local(&[0; 3]);
    let piece = BufferDescriptorV1 { offset: 0, token: Token(0), length: 4 };
    assert!(pair.post(request(0, RdmaVerb::Write, short, piece)).is_none());
    assert_eq!(pair.sent(), [(rdma(0), Err(WorkError::LocalProtection))]);
}

#[test]
fn a_token_of_another_connection_opens_nothing() {
    let mut pair = Pair::new(Personality::Roce);
    let buffer = pair.b.buffers.alloc_with(b"secret");
    let range = pair.b.buffers.whole(buffer).expect("live");
    let theirs = pair.b.tokens.enable(&pair.b.buffers, DomainId(9), Kind::Region, Access::Read, range);
    let local = pair.local(&[0; 6]);
    pair.run(request(0, RdmaVerb::Read, local, theirs.expect("live")));
    assert_eq!(pair.a.buffers.bytes(local.buffer), [0; 6]);
    assert!(matches!(pair.a.breaches.first(), [Breach::Access { fault: AccessFault::ForeignDomain, .. }]));
}

#[test]
fn a_message_can_invalidate_a_window_once() {
    for personality in ALL {
        let mut pair = Pair::new(personality);
        for n in 0..2 {
            pair.b.post_recv(recv(n), 64).expect("room");
        }
        let (_, opened) = pair.open(Kind::Window, Access::Read, b"x");
        pair.run(invalidating(0, opened.token));
        let first = pair.b.poll_recv().and_then(|done| done.result.ok()).expect("it arrived");
        assert_eq!(first.invalidated, Some(opened.token));
        assert!(!pair.b.tokens.is_live(opened.token));
        pair.run(invalidating(1, opened.token));
        assert_eq!(pair.received(), [(1, Err(WorkError::RemoteInvalidRequest))]);
        assert_eq!(pair.b.state(), QpState::Error);
        assert_eq!(pair.sent(), [(send(0), Ok(())), (send(1), Ok(()))], "the sender learns nothing");
        assert_eq!(pair.a.breaches.first(), [Breach::DoubleInvalidation(opened.token)]);
    }
}

#[test]
fn invalidating_what_is_no_window_kills_the_queue_pair() {
    let mut pair = Pair::new(Personality::Roce);
    pair.b.post_recv(recv(0), 64).expect("room");
    let (_, opened) = pair.open(Kind::Region, Access::Read, b"x");
    pair.run(invalidating(0, opened.token));
    assert_eq!(pair.received(), [(0, Err(WorkError::RemoteInvalidRequest))]);
    assert!(pair.b.tokens.is_live(opened.token), "the registration itself stays");
    assert_eq!(pair.a.breaches.first(), [Breach::InvalidatedNoWindow(opened.token)]);
}

#[test]
fn local_invalidation_ends_a_window_and_a_second_one_breaks_the_queue_pair() {
    let mut pair = Pair::new(Personality::Iwarp);
    let buffer = pair.a.buffers.alloc(4);
    let range = pair.a.buffers.whole(buffer).expect("live");
    let domain = pair.a.domain();
    let opened = pair.a.tokens.enable(&pair.a.buffers, domain, Kind::Window, Access::Read, range);
    let token = opened.expect("live").token;
    let invalidate = || SendWork { id: raw(4, 0), operation: Operation::Invalidate(token), signal: true };
    assert_eq!(pair.run(invalidate()), "nothing");
    assert_eq!(pair.sent(), [(raw(4, 0), Ok(()))]);
    pair.run(invalidate());
    assert_eq!(pair.sent(), [(raw(4, 0), Err(WorkError::LocalOperation))]);
    assert_eq!(pair.a.breaches.first(), [Breach::DoubleInvalidation(token)]);
    assert_eq!(pair.a.state(), QpState::Error);
}

#[test]
fn a_peer_that_is_gone_is_noticed_by_who_waits_for_it() {
    let mut pair = Pair::new(Personality::Roce);
    pair.b.flush();
    assert_eq!(pair.run(message(0, b"h", None)), "lost");
    assert_eq!(pair.sent(), []);
    pair.a.give_up(0);
    assert_eq!(pair.sent(), [(send(0), Err(WorkError::RetryExceeded))]);
}
