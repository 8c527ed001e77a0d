use std::fs::File;
use std::io;
use std::task::Waker;

use smbd_core::{BufferDescriptorV1, Token};

use super::*;
use crate::owner::TransferError;
use crate::wire::{self, Direction, Memory, Rule};

const LIMITS: Limits = Limits {
    slot_len: 4096,
    slots_max: 4,
    sends_max: 2,
    send_bytes_max: 100,
    receive_bytes_max: 100,
    transfers_max: 2,
};

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
        let bytes = said.bytes();
        packet.space()[..bytes.len()].copy_from_slice(bytes);
        packet.filled(bytes.len());
        Poll::Ready(Ok(Vec::new()))
    }

    fn poll_send(&mut self, _: &mut Context<'_>, _: &[u8], _: Option<&OwnedFd>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A connection with four slots whose broker says this in one packet.
fn connection(said: &[wire::Event<'_>]) -> OwnedConnection<Said> {
    let mut packet = Packet::new();
    for event in said {
        event.write(&mut packet);
    }
    let slots = Slots::new(&LIMITS);
    slots.add(Memory { first: 0, count: 4, total: 4 }, File::open("/dev/null").unwrap().into());
    let newcomer = Newcomer {
        connection: 1,
        rule: Rule::Default,
        is_negotiated: false,
        max_send_size: 1000,
        max_read_write_size: 10_000,
        peer: "10.9.0.2:1".into(),
    };
    OwnedConnection::new(newcomer, Said([packet].into()), LIMITS, slots)
}

fn start(connection: &mut OwnedConnection<Said>) -> Result<u64, TransferError> {
    let areas = connection.slots().take(4097).unwrap();
    let remote = vec![BufferDescriptorV1 { offset: 0, token: Token(1), length: 4097 }];
    connection.start_or_give(Transfer { direction: Direction::Read, offset: 0, remote, areas })
}

fn free(connection: &OwnedConnection<Said>) -> usize {
    connection.slots().count().1
}

#[test]
fn slots_of_transfers_that_end_while_it_is_closed_are_free_again() {
    let done = wire::Event::RdmaDone { tag: 1, is_success: true };
    let mut connection = connection(&[done, wire::Event::Lost { why: "closed".into() }]);
    // The second one is not answered: it ends with the connection.
    assert_eq!((start(&mut connection), start(&mut connection), free(&connection)), (Ok(1), Ok(2), 0));
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(connection.poll_close(&mut cx, 1000), Poll::Ready(()));
    assert_eq!(free(&connection), 4);
    // It has ended, and nothing more comes.
    assert_eq!(connection.poll_close(&mut cx, 1000), Poll::Ready(()));
}

#[test]
fn slots_of_a_transfer_that_comes_too_late_are_free_again() {
    let done = wire::Event::RdmaDone { tag: 1, is_success: true };
    let mut connection = connection(&[done, wire::Event::Lost { why: "closed".into() }]);
    start(&mut connection).unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    let Poll::Ready(Ok(Event::Done { areas, .. })) = connection.poll_event(&mut cx, true) else {
        panic!("no result")
    };
    connection.slots().give(&areas);
    // The end is there, and nobody has heard of it yet.
    assert_eq!((start(&mut connection), free(&connection)), (Err(TransferError::Lost), 4));
}

#[cfg(feature = "tokio")]
#[tokio::test]
async fn slots_of_transfers_are_free_again_when_they_end_after_it_was_left() {
    let mut left = connection(&[]);
    assert_eq!((start(&mut left), free(&left)), (Ok(1), 2));
    let slots = left.slots().clone();
    let mut packet = Packet::new();
    wire::Event::RdmaDone { tag: 1, is_success: false }.write(&mut packet);
    wire::Event::Lost { why: "left".into() }.write(&mut packet);
    left.socket = Said([packet].into());
    left.leave();
    assert_eq!(slots.count().1, 2, "not yet");
    tokio::task::yield_now().await;
    assert_eq!(slots.count().1, 4);
}
