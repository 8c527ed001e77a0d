//! The sockets of a connection: the one of its owner, and those of former owners that have not got all.

use std::io;
use std::task::{Context, Poll};

use tokio::task::coop::has_budget_remaining;

use crate::socket::{Outbox, PacketBuffer, PacketSocket};
use crate::wire::Packet;

/// The sockets of a connection.
pub(super) struct Lines<K> {
    current: Option<Line<K>>,
    closing: Vec<Line<K>>,
    /// The last packet that has come. Its memory is used again.
    packet: PacketBuffer,
}

struct Line<K> {
    socket: K,
    /// The owner has closed its end, and gets nothing any more. What it has written is still read.
    is_closed: bool,
    outgoing: Outbox,
}

/// What came of reading.
pub(super) enum Read<'a> {
    /// A packet.
    Packet(&'a [u8]),
    /// The owner has closed its end.
    Closed,
    /// Nothing now.
    Nothing,
    /// The runtime lets others have their turn (tokio's cooperative budget): whether there is anything shows when the task is polled
    /// again, which is at once.
    Later,
}

impl<K: PacketSocket> Lines<K> {
    pub(super) const fn new() -> Self {
        Self { current: None, closing: Vec::new(), packet: PacketBuffer::new() }
    }

    /// A new owner.
    pub(super) fn open(&mut self, socket: K) {
        self.close();
        self.current = Some(Line { socket, is_closed: false, outgoing: Outbox::new() });
    }

    /// What was said to the owner is still sent.
    pub(super) fn close(&mut self) {
        self.closing.extend(self.current.take());
    }

    pub(super) fn send(&mut self, packet: Packet) {
        if let Some(line) = self.current.as_mut().filter(|line| !line.is_closed) {
            line.outgoing.push(packet);
        }
    }

    /// Whether the owner has got all that was said.
    pub(super) fn is_flushed(&self) -> bool {
        self.current.as_ref().is_none_or(|line| line.outgoing.is_empty())
    }

    /// Goes on sending.
    pub(super) fn poll_send(&mut self, cx: &mut Context<'_>) {
        self.closing.retain_mut(|line| line.poll_send(cx).is_pending());
        if let Some(line) = &mut self.current
            && let Poll::Ready(Err(_)) = line.poll_send(cx)
        {
            line.is_closed = true;
            line.outgoing.clear();
        }
    }

    /// Ready when nothing is left to be sent to anybody.
    pub(super) fn poll_flushed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.close();
        self.poll_send(cx);
        if self.closing.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// What the owner has written.
    pub(super) fn read(&mut self, cx: &mut Context<'_>) -> Read<'_> {
        let Some(line) = &mut self.current else { return Read::Nothing };
        // File descriptors mean nothing here, and are closed.
        match line.socket.poll_receive(cx, &mut self.packet) {
            Poll::Ready(Ok(_)) => Read::Packet(self.packet.bytes()),
            Poll::Ready(Err(_)) => {
                self.current = None;
                Read::Closed
            }
            Poll::Pending if has_budget_remaining() => Read::Nothing,
            Poll::Pending => Read::Later,
        }
    }
}

impl<K: PacketSocket> Line<K> {
    /// Ready when all is sent, or the other end is closed.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(packet) = self.outgoing.next() {
            match self.socket.poll_send(cx, packet.bytes(), None) {
                Poll::Ready(Ok(())) => self.outgoing.sent(),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::socket::{UnixPackets, pair};
    use crate::wire::{Age, Event};

    /// More than the 128 that tokio lets a task take in a turn, and fewer than a socket holds.
    const PACKETS: usize = 200;

    #[tokio::test]
    async fn a_socket_has_nothing_only_when_all_that_was_written_was_read() {
        let (own, theirs) = pair().unwrap();
        let (own, mut theirs) = (UnixPackets::new(own).unwrap(), UnixPackets::new(theirs).unwrap());
        let mut packet = Packet::new();
        Event::Received { age: Age::New, remaining: 0, bytes: b"some" }.write(&mut packet);
        for _ in 0..PACKETS {
            poll_fn(|cx| theirs.poll_send(cx, packet.bytes(), None)).await.unwrap();
        }
        let mut lines = Lines::new();
        lines.open(own);
        let mut read = 0;
        let all = poll_fn(|cx| {
            loop {
                match lines.read(cx) {
                    Read::Packet(_) => read += 1,
                    Read::Closed => panic!("it is open"),
                    Read::Nothing => return Poll::Ready(read),
                    Read::Later => return Poll::Pending,
                }
            }
        });
        assert_eq!(all.await, PACKETS);
    }
}
