use std::io;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::task::Waker;

use smbd_core::error::{Aborted, CommandError, OpError, RdmaError};
use smbd_link::link::why;
use smbd_link::transport::Heap;

use super::*;
use crate::client::{Lost, Slots};
use crate::socket::{PacketBuffer, memory};
use crate::wire::{self, Age, Area, Limits, Packet, Rule};

const LIMITS: Limits = Limits {
    slot_len: 4096,
    slots_max: 2,
    sends_max: 2,
    send_bytes_max: 1000,
    receive_bytes_max: 1000,
    transfers_max: 2,
};
/// Longer than a slot.
const LEN: u32 = 5000;

type Packets = Arc<Mutex<VecDeque<Packet>>>;

/// A broker that takes everything, has said this, and closes its socket behind that if it is to.
struct Said {
    packets: Packets,
    is_gone: bool,
}

impl PacketSocket for Said {
    type Descriptor = OwnedFd;

    fn poll_receive(
        &mut self,
        _: &mut Context<'_>,
        packet: &mut PacketBuffer,
    ) -> Poll<io::Result<Vec<OwnedFd>>> {
        let Some(said) = self.packets.lock().unwrap().pop_front() else {
            let gone = || Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            return if self.is_gone { gone() } else { Poll::Pending };
        };
        packet.space()[..said.bytes().len()].copy_from_slice(said.bytes());
        packet.filled(said.bytes().len());
        Poll::Ready(Ok(Vec::new()))
    }

    fn poll_send(&mut self, _: &mut Context<'_>, _: &[u8], _: Option<&OwnedFd>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn heap(len: u32) -> Heap {
    Heap::allocate(len).unwrap()
}

type Tested = Carried<Said, Heap, u8>;

/// A connection with two slots, whose broker says each of these in a packet of its own.
fn carried(said: &[wire::Event<'_>], is_gone: bool) -> (Tested, Slots) {
    let packets = Packets::default();
    packets.lock().unwrap().extend(said.iter().map(packet));
    carried_from(packets, is_gone)
}

fn packet(event: &wire::Event<'_>) -> Packet {
    let mut packet = Packet::new();
    event.write(&mut packet);
    packet
}

fn carried_from(packets: Packets, is_gone: bool) -> (Tested, Slots) {
    let slots = Slots::new(&LIMITS);
    slots.add(wire::Memory { first: 0, count: 2, total: 2 }, memory(8192).unwrap());
    let newcomer = Newcomer {
        connection: 1,
        rule: Rule::Default,
        is_negotiated: false,
        max_send_size: 1000,
        max_read_write_size: 10_000,
        peer: "10.9.0.2:1".into(),
    };
    let socket = Said { packets, is_gone };
    (Carried::new(OwnedConnection::new(newcomer, socket, LIMITS, slots.clone())), slots)
}

fn order(carried: &mut Tested, name: u8, verb: RdmaVerb, memory: &Heap) {
    let len = memory.len();
    let remote = Arc::new([BufferDescriptorV1 { offset: 0, token: Token(7), length: len }]);
    carried.rdma(name, verb, memory.clone(), remote, 0, len);
}

const fn done(is_success: bool) -> wire::Event<'static> {
    wire::Event::RdmaDone { tag: 1, is_success }
}

const fn message(age: Age, bytes: &[u8]) -> wire::Event<'_> {
    wire::Event::Received { age, remaining: 0, bytes }
}

fn lost() -> wire::Event<'static> {
    wire::Event::Lost { why: "it left".into() }
}

fn bytes() -> Vec<u8> {
    (0..LEN).map(|at| at as u8).collect()
}

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// All events as texts: a name and what came of it.
fn told(carried: &mut Tested) -> Vec<(u8, String)> {
    let mut told = Vec::new();
    while let Poll::Ready(event) = carried.poll_event(&mut cx()) {
        told.push(match event {
            Event::RdmaDone { name, result } => {
                (name, result.map_or_else(|error| error.to_string(), |()| "done".into()))
            }
            Event::Ended(ending) => (0, why(&ending)),
            other => panic!("{other:?}"),
        });
    }
    told
}

fn refused() -> String {
    RdmaError::Command(CommandError::Closing).to_string()
}

#[test]
fn data_for_the_client_are_in_slots_when_its_transfer_is_ordered() {
    let (mut carried, slots) = carried(&[], false);
    // The next to take some gets the same ones.
    let areas = slots.take(LEN.into()).unwrap();
    slots.give(&areas);
    let memory = heap(LEN);
    memory.fill(0, &bytes()).unwrap();
    order(&mut carried, 1, RdmaVerb::Write, &memory);
    assert!(carried.poll_event(&mut cx()).is_pending());
    assert_eq!(slots.count(), (2, 0));
    let mut there = Vec::new();
    slots.read(&areas, &mut there).unwrap();
    assert!(there == bytes());
}

#[test]
fn what_was_read_from_the_client_is_in_its_buffer_when_that_is_told_and_only_if_all_of_it_was_there() {
    for (is_success, result) in [(true, "done"), (false, "not all bytes were moved")] {
        let (mut carried, slots) = carried(&[done(is_success)], false);
        let areas = slots.take(LEN.into()).unwrap();
        slots.fill(&areas, &bytes()).unwrap();
        slots.give(&areas);
        let memory = heap(LEN);
        order(&mut carried, 1, RdmaVerb::Read, &memory);
        assert_eq!(told(&mut carried), [(1, result.to_owned())]);
        let mut there = Vec::new();
        memory.append_to(0, memory.len(), &mut there).unwrap();
        assert_eq!(there == bytes(), is_success);
        assert!(is_success || there.iter().all(|byte| *byte == 0), "what did not arrive is nobody's");
        assert_eq!(slots.count(), (2, 2));
    }
}

#[test]
fn an_order_waits_for_slots_that_another_transfer_has_and_goes_on_with_its_end() {
    let (mut carried, slots) = carried(&[], false);
    let memory = heap(LEN);
    order(&mut carried, 1, RdmaVerb::Read, &memory);
    order(&mut carried, 2, RdmaVerb::Write, &memory);
    carried.send(Bytes::from_static(b"behind them"), None);
    assert!(carried.poll_event(&mut cx()).is_pending(), "both slots are the first one's");
    assert_eq!((carried.waiting(), carried.waiting_bytes(), slots.count()), (2, 11, (2, 0)));
    slots.give(&[Area { slot: 0, len: 1 }, Area { slot: 1, len: 1 }]);
    assert!(carried.poll_event(&mut cx()).is_pending());
    assert_eq!((carried.waiting(), carried.waiting_bytes()), (0, 0));
}

#[test]
fn no_more_is_to_be_ordered_when_8_orders_or_1_mib_of_messages_wait() {
    for (len, count) in [(1, 8), (300 << 10, 4), (1 << 20, 1)] {
        let (mut carried, slots) = carried(&[], false);
        // Nothing gets past an order without slots.
        let areas = slots.take(8192).unwrap();
        order(&mut carried, 1, RdmaVerb::Read, &heap(1));
        for _ in 1..count {
            assert!(carried.poll_ready(&mut cx()).is_ready());
            carried.send(Bytes::from(vec![0; len]), None);
        }
        if count < 8 {
            assert!(carried.poll_ready(&mut cx()).is_ready());
            carried.send(Bytes::from(vec![0; len]), None);
        }
        assert!(carried.poll_ready(&mut cx()).is_pending(), "{count} of {len}");
        slots.give(&areas);
        // Too long for this client, so its connection ends.
        assert!(carried.poll_ready(&mut cx()).is_ready());
    }
}

#[test]
fn a_transfer_that_no_slots_will_ever_hold_ends_the_connection_and_says_so() {
    let (mut carried, _slots) = carried(&[lost()], false);
    order(&mut carried, 1, RdmaVerb::Read, &heap(8193));
    order(&mut carried, 2, RdmaVerb::Read, &heap(1));
    let fault = "8193 bytes do not fit the 2 slots of 4096 bytes that the broker gives";
    assert_eq!(told(&mut carried), [(1, refused()), (2, refused()), (0, fault.to_owned())]);
}

#[test]
fn each_transfer_has_one_result_before_the_end_whoever_ends_the_connection() {
    let aborted = || OpError::Aborted(Aborted).to_string();
    let not_moved = || CarriedError::NotMoved.to_string();
    for (said, ended, result) in
        [(&[lost()][..], "it left".to_owned(), not_moved()), (&[], Lost::Closed.to_string(), aborted())]
    {
        let (mut carried, slots) = carried(said, said.is_empty());
        for name in 1..=3 {
            order(&mut carried, name, RdmaVerb::Read, &heap(4096));
        }
        let told = told(&mut carried);
        // The third one had no slots.
        let mut results: Vec<_> = told[..3].to_vec();
        results.sort();
        assert_eq!(results, [(1, result.clone()), (2, result), (3, refused())]);
        assert_eq!(told[3..], [(0, ended.clone())]);
        assert_eq!(carried.closed().map(why), Some(ended));
        // The memory of a broker that is gone is not used again.
        assert_eq!(slots.count().1, if said.is_empty() { 0 } else { 2 });
        order(&mut carried, 4, RdmaVerb::Write, &heap(1));
        assert_eq!(self::told(&mut carried), [(4, refused())], "and the end is told once");
    }
}

#[test]
fn one_message_is_taken_ahead_and_those_of_the_past_come_before() {
    let past = [message(Age::PastRequest, b"asked"), message(Age::PastResponse, b"answered")];
    let [request, response] = past;
    let said = [request, response, message(Age::New, b"first"), message(Age::New, b"second")];
    let (mut carried, _slots) = carried(&said, false);
    assert!(carried.poll_event(&mut cx()).is_pending());
    assert_eq!((carried.has_messages(), carried.try_recv()), (false, None));
    assert_eq!(carried.try_past(), Some(Past::Request(Bytes::from_static(b"asked"))));
    assert_eq!(carried.try_past(), None, "the next one is with the broker");
    assert!(carried.poll_event(&mut cx()).is_pending());
    assert_eq!(carried.try_past(), Some(Past::Response(Bytes::from_static(b"answered"))));
    for bytes in [&b"first"[..], b"second"] {
        carried.keep(256, 0);
        assert!(carried.poll_event(&mut cx()).is_pending());
        assert!(!carried.has_messages(), "the owner keeps as many as it may");
        carried.keep(0, 0);
        assert!(carried.poll_event(&mut cx()).is_pending());
        assert!(carried.has_messages());
        assert_eq!(carried.try_past(), None);
        assert_eq!(carried.try_recv(), Some(Piece { bytes: bytes.into(), remaining: 0 }));
    }
}

#[test]
fn messages_that_came_before_the_end_are_still_there_behind_it() {
    let said = [message(Age::New, b"first"), message(Age::New, b"second"), lost()];
    let (mut carried, _slots) = carried(&said, false);
    assert_eq!(told(&mut carried), [(0, "it left".to_owned())]);
    assert_eq!(carried.try_recv().map(|piece| piece.bytes.freeze()), Some(Bytes::from_static(b"first")));
    assert_eq!(carried.try_recv().map(|piece| piece.bytes.freeze()), Some(Bytes::from_static(b"second")));
    assert_eq!(carried.try_recv(), None);
}

#[test]
fn one_that_is_closed_takes_no_more_orders_and_ends_behind_those_that_it_has() {
    let (mut carried, slots) = carried(&[done(true), message(Age::New, b"late"), lost()], false);
    order(&mut carried, 1, RdmaVerb::Write, &heap(LEN));
    carried.ignore_messages();
    carried.close(Duration::from_secs(1));
    order(&mut carried, 2, RdmaVerb::Write, &heap(LEN));
    carried.send(Bytes::from_static(b"late"), None);
    assert_eq!(carried.waiting(), 1);
    let ended = (0, "it left".to_owned());
    assert_eq!(told(&mut carried), [(2, refused()), (1, "done".to_owned()), ended]);
    assert_eq!((carried.try_recv(), slots.count()), (None, (2, 2)));
}

#[test]
fn nothing_is_registered_and_nothing_said_once_it_was_left() {
    let (mut carried, _slots) = carried(&[lost()], false);
    carried.register(1, heap(1), Access::Read);
    carried.deregister(1);
    let Poll::Ready(Event::Registered { name: 1, result }) = carried.poll_event(&mut cx()) else { panic!() };
    assert_eq!(result, Err(Failure::Backend(CarriedError::Register)));
    let Poll::Ready(Event::Deregistered { name: 1, result }) = carried.poll_event(&mut cx()) else {
        panic!()
    };
    assert_eq!(result, Err(RegisterError::NotRegistered.into()));
    Transport::leave(&mut carried);
    assert_eq!((told(&mut carried), carried.newcomer().max_send_size), (Vec::new(), 1000));
}

#[tokio::test]
async fn slots_of_transfers_are_free_again_when_they_end_after_it_was_dropped() {
    let packets = Packets::default();
    let (mut carried, slots) = carried_from(Arc::clone(&packets), false);
    order(&mut carried, 1, RdmaVerb::Read, &heap(LEN));
    assert!(carried.poll_event(&mut cx()).is_pending());
    drop(carried);
    assert_eq!(slots.count().1, 0);
    packets.lock().unwrap().extend([packet(&done(false)), packet(&lost())]);
    tokio::task::yield_now().await;
    assert_eq!(slots.count().1, 2);
}
