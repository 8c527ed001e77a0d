use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::Waker;

use smbd_broker::client::Slots;
use smbd_broker::socket::{PacketBuffer, memory};
use smbd_broker::wire::{self, Limits, Packet, Rule};
use smbd_smb2::relay::Way;
use smbd_smb2::wire::{BufferDescriptorV1, Token};

use super::*;

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

/// A broker that takes everything, and has said this.
struct Said(VecDeque<Packet>);

impl PacketSocket for Said {
    type Descriptor = OwnedFd;

    fn poll_receive(
        &mut self,
        _: &mut Context<'_>,
        packet: &mut PacketBuffer,
    ) -> Poll<io::Result<Vec<OwnedFd>>> {
        let Some(said) = self.0.pop_front() else { return Poll::Pending };
        packet.space()[..said.bytes().len()].copy_from_slice(said.bytes());
        packet.filled(said.bytes().len());
        Poll::Ready(Ok(Vec::new()))
    }

    fn poll_send(&mut self, _: &mut Context<'_>, _: &[u8], _: Option<&OwnedFd>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A client with two slots, whose broker says each of these in a packet of its own.
fn client(said: &[wire::Event<'_>]) -> (Brokered<Said>, Slots) {
    let packets = said.iter().map(|event| {
        let mut packet = Packet::new();
        event.write(&mut packet);
        packet
    });
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
    let said = Said(packets.collect());
    (Brokered::new(OwnedConnection::new(newcomer, said, LIMITS, slots.clone())), slots)
}

const fn done(is_success: bool) -> wire::Event<'static> {
    wire::Event::RdmaDone { tag: 1, is_success }
}

fn operation(way: Way, memory: &Buffer) -> Operation<Buffer> {
    let remote: Arc<[_]> = Arc::new([BufferDescriptorV1 { offset: 0, token: Token(7), length: LEN }]);
    let buffer = BufferId { way, index: 0 };
    Operation { buffer, memory: memory.clone(), remote, offset: 0, len: LEN }
}

fn bytes() -> Vec<u8> {
    (0..LEN).map(|at| at as u8).collect()
}

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[test]
fn data_for_the_client_are_in_slots_when_its_transfer_is_ordered() {
    let (mut client, slots) = client(&[]);
    // The next to take some gets the same ones.
    let areas = slots.take(LEN.into()).unwrap();
    slots.give(&areas);
    let memory = Buffer::new(LEN).unwrap();
    memory.fill(0, &bytes()).unwrap();
    client.order(Order::Write(operation(Way::ToClient, &memory)));
    assert!(client.poll_ready(&mut cx()).is_ready());
    assert_eq!(slots.count(), (2, 0));
    let mut there = Vec::new();
    slots.read(&areas, &mut there).unwrap();
    assert!(there == bytes());
}

#[test]
fn what_was_read_from_the_client_is_in_its_buffer_when_that_is_told_and_only_if_all_of_it_was_there() {
    for is_success in [true, false] {
        let (mut client, slots) = client(&[done(is_success)]);
        let areas = slots.take(LEN.into()).unwrap();
        slots.fill(&areas, &bytes()).unwrap();
        slots.give(&areas);
        let memory = Buffer::new(LEN).unwrap();
        client.order(Order::Read(operation(Way::ToServer, &memory)));
        let result = client.poll_done(&mut cx());
        assert_eq!(result, Poll::Ready((BufferId { way: Way::ToServer, index: 0 }, is_success)));
        let mut there = Vec::new();
        memory.append_to(0, LEN, &mut there).unwrap();
        assert_eq!(there == bytes(), is_success);
        assert!(is_success || there.iter().all(|byte| *byte == 0), "what did not arrive is nobody's");
        assert_eq!(slots.count(), (2, 2));
    }
}

#[test]
fn an_order_waits_for_slots_that_another_transfer_has_and_goes_on_with_its_end() {
    let (mut client, slots) = client(&[]);
    let memory = Buffer::new(LEN).unwrap();
    client.order(Order::Read(operation(Way::ToServer, &memory)));
    assert!(client.poll_ready(&mut cx()).is_ready());
    client.order(Order::Write(operation(Way::ToClient, &memory)));
    assert!(client.poll_ready(&mut cx()).is_pending(), "both slots are the first one's");
    assert_eq!(slots.count(), (2, 0));
    slots.give(&[Area { slot: 0, len: 1 }, Area { slot: 1, len: 1 }]);
    assert!(client.poll_ready(&mut cx()).is_ready());
}

#[test]
fn a_transfer_that_no_slots_will_ever_hold_ends_the_connection_and_says_so() {
    let (mut client, _slots) = client(&[]);
    let memory = Buffer::new(8193).unwrap();
    let operation = Operation { len: 8193, ..operation(Way::ToServer, &memory) };
    client.order(Order::Read(operation));
    let why = "8193 bytes do not fit the 2 slots of 4096 bytes that the broker gives";
    assert_eq!(client.poll_ended(&mut cx()), Poll::Ready(why.to_owned()));
}
