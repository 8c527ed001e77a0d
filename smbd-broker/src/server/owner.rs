//! The socket of an owner.

use std::future::poll_fn;
use std::task::{Context, Poll};

use super::hub::{Hub, OwnerOrder};
use super::system::{DescriptorOf, System};
use crate::broker::OwnerId;
use crate::socket::{PacketBuffer, PacketSocket};
use crate::wire::Packet;

/// Packets that are taken before others have their turn.
const TURN: usize = 32;

/// Attends to an owner until it is gone. Returns at once, with `false`, if there are too many owners.
pub async fn attend<S: System>(hub: Hub<S>, socket: S::Socket) -> bool {
    attend_as(hub, socket, |_| ()).await
}

/// The same, and says first which owner it is.
pub async fn attend_as<S: System>(hub: Hub<S>, socket: S::Socket, joined: impl FnOnce(OwnerId)) -> bool {
    let Some(id) = hub.owner_joined() else { return false };
    joined(id);
    let mut task = Task { hub, id, socket, outgoing: None, packet: PacketBuffer::new() };
    poll_fn(|cx| task.poll(cx)).await;
    task.hub.tell(|broker| broker.owner_left(id));
    task.hub.forget_owner(id);
    true
}

struct Task<S: System> {
    hub: Hub<S>,
    id: OwnerId,
    socket: S::Socket,
    /// What is being sent. The rest waits in the hub, which counts it.
    outgoing: Option<(Packet, Option<DescriptorOf<S>>)>,
    /// The last packet that has come. Its memory is used again.
    packet: PacketBuffer,
}

impl<S: System> Task<S> {
    /// Ready when the socket is to be closed.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..TURN {
            let is_waiting = match &self.outgoing {
                None => false,
                Some((packet, descriptor)) => {
                    match self.socket.poll_send(cx, packet.bytes(), descriptor.as_ref()) {
                        Poll::Ready(Ok(())) => {
                            self.outgoing = None;
                            false
                        }
                        Poll::Ready(Err(_)) => return Poll::Ready(()),
                        Poll::Pending => true,
                    }
                }
            };
            match self.hub.next_of_owner(self.id, !is_waiting, cx) {
                Some(OwnerOrder::Send(packet, descriptor)) => {
                    self.outgoing = Some((packet, descriptor));
                    continue;
                }
                Some(OwnerOrder::Close) => return Poll::Ready(()),
                None => {}
            }
            // Whoever does not read is not listened to.
            if is_waiting {
                return Poll::Pending;
            }
            match self.socket.poll_receive(cx, &mut self.packet) {
                Poll::Ready(Ok(descriptors)) => {
                    let sockets = self.hub.connections_of(&descriptors);
                    let (id, packet) = (self.id, self.packet.bytes());
                    self.hub.tell(|broker| broker.owner_packet(id, packet, &sockets));
                }
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
