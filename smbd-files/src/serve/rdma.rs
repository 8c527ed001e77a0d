//! Clients over SMB Direct.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smbd_core::backend::OutOfMemory;
use smbd_core::error::{CloseReason, DisconnectReason};
use smbd_link::handles::Operation;
use smbd_smb2::server::{OperationId, Transport};
use smbd_verbs::Buffer;
use smbd_verbs::tokio::{AsyncEnd, Connection, Failure, Receiver, Sender};
use tokio::time::Instant;

use super::link::{Event, Link, Order};
use super::queue::Queue;
use super::stuck::{Watch, too_long};
use crate::transport::Lost;

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Transfers under way at one time. The configuration of the connection has to allow so many.
pub const TRANSFERS_MAX: u16 = 32;
/// Bytes that may wait to be sent before nothing more is received.
const WAITING_MAX: usize = 4 << 20;
/// How long messages may still take to leave when a connection is closed.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);
/// Idle buffers that are kept, and the shortest that is made, in bytes.
const IDLE_MAX: usize = 8;
const BUFFER_MIN: u32 = 64 << 10;

/// A client over SMB Direct.
pub struct RdmaLink {
    send_max: u32,
    sender: Sender,
    receiver: Receiver,
    /// Orders that wait for the connection.
    queue: Queue,
    /// The order that the connection is about to take.
    queueing: Option<Queueing>,
    transfers: Vec<Transfer>,
    watch: Watch,
    idle: Vec<Buffer>,
    closing: Option<Boxed<()>>,
}

struct Queueing {
    /// Bytes of memory of the order.
    held: usize,
    /// When it was ordered, if it is a transfer.
    began: Option<Instant>,
    queued: Boxed<Result<Queued, Lost>>,
}

enum Queued {
    Message,
    Transfer(Transfer),
}

struct Transfer {
    id: OperationId,
    buffer: Buffer,
    len: u32,
    is_fetch: bool,
    /// When it was ordered: time in which it waited for others counts.
    began: Instant,
    running: Operation<AsyncEnd>,
}

impl RdmaLink {
    /// Wraps an established connection, whose configuration allows [`Self::TRANSFERS_MAX`] RDMA operations.
    #[must_use]
    pub fn new(connection: Connection) -> Self {
        let send_max = connection.negotiated().max_fragmented_send_size;
        let (sender, receiver) = connection.split();
        Self {
            send_max,
            sender,
            receiver,
            queue: Queue::new(),
            queueing: None,
            transfers: Vec::new(),
            watch: Watch::default(),
            idle: Vec::new(),
            closing: None,
        }
    }

    /// Transfers under way at one time.
    pub const TRANSFERS_MAX: u16 = TRANSFERS_MAX;

    /// A buffer of so many bytes at least.
    fn buffer(&mut self, len: u32) -> Result<Buffer, Lost> {
        let fits = |buffer: &Buffer| buffer.len() >= len;
        match self.idle.iter().position(fits) {
            Some(at) => Ok(self.idle.swap_remove(at)),
            None => new_buffer(len, Buffer::new),
        }
    }

    /// Gives the connection what waits; ready when it has taken everything.
    fn poll_orders(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        loop {
            if let Some(queueing) = &mut self.queueing {
                let queued = ready!(queueing.queued.as_mut().poll(cx));
                self.queueing = None;
                match queued? {
                    Queued::Message => {}
                    Queued::Transfer(transfer) => self.transfers.push(transfer),
                }
            }
            let is_transfer = self.queue.first().is_some_and(Order::is_transfer);
            if is_transfer && self.transfers.len() >= usize::from(TRANSFERS_MAX) {
                return Poll::Pending;
            }
            let Some((began, order)) = self.queue.pop() else { return Poll::Ready(Ok(())) };
            let (held, is_transfer) = (order.held(), order.is_transfer());
            let queued = self.take(began, order);
            self.queueing = Some(Queueing { held, began: Some(began).filter(|_| is_transfer), queued });
        }
    }

    /// Has the connection take an order, which came at `began`.
    fn take(&mut self, began: Instant, order: Order) -> Boxed<Result<Queued, Lost>> {
        let sender = self.sender.clone();
        match order {
            Order::Send { message, invalidate } => {
                let (bytes, start) = message.into_parts();
                let message = Bytes::from(bytes);
                let message = message.slice(start.min(message.len())..);
                Box::pin(async move {
                    let sent = match invalidate {
                        Some(token) => sender.send_invalidating(message, token).await,
                        None => sender.send(message).await,
                    };
                    sent.map(|()| Queued::Message).map_err(why)
                })
            }
            Order::Fetch { id, buffers, len } => {
                let buffer = self.buffer(len);
                let remote = Arc::from(buffers);
                Box::pin(async move {
                    let buffer = buffer?;
                    let running = sender.start_rdma_read(&buffer, &remote, 0, len).await.map_err(why)?;
                    Ok(Queued::Transfer(Transfer { id, buffer, len, is_fetch: true, began, running }))
                })
            }
            Order::Deliver { id, data, buffers } => {
                let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
                let buffer = self.buffer(len).and_then(|buffer| {
                    buffer.fill(0, &data).map_err(Lost::because)?;
                    Ok(buffer)
                });
                let remote = Arc::from(buffers);
                Box::pin(async move {
                    let buffer = buffer?;
                    let running = sender.start_rdma_write(&buffer, &remote, 0, len).await.map_err(why)?;
                    Ok(Queued::Transfer(Transfer { id, buffer, len, is_fetch: false, began, running }))
                })
            }
        }
    }

    /// A transfer that is over.
    fn poll_transfers(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        let over = self.transfers.iter_mut().enumerate().find_map(|(at, transfer)| {
            match Pin::new(&mut transfer.running).poll(cx) {
                Poll::Ready(result) => Some((at, result.is_ok())),
                Poll::Pending => None,
            }
        });
        let Some((at, is_success)) = over else { return Poll::Pending };
        let Transfer { id, buffer, len, is_fetch, .. } = self.transfers.swap_remove(at);
        let event = if is_fetch {
            let mut data = Vec::new();
            let is_there = is_success && buffer.append_to(0, len, &mut data).is_ok();
            Event::Fetched(id, is_there.then_some(data))
        } else {
            Event::Delivered(id, is_success)
        };
        if self.idle.len() < IDLE_MAX {
            self.idle.push(buffer);
        }
        Poll::Ready(event)
    }
}

/// A buffer that a device can use, of so many bytes at least.
fn new_buffer<B>(len: u32, make: impl FnOnce(u32) -> Result<B, OutOfMemory>) -> Result<B, Lost> {
    let room = len.max(BUFFER_MIN).checked_next_power_of_two().unwrap_or(len);
    make(room).map_err(|error| Lost::because(format_args!("a transfer by RDMA: {error}")))
}

/// The end of a connection in the words of who looks after the server.
fn why(failure: Failure) -> Lost {
    match failure {
        Failure::Closed(CloseReason::PeerClosed) => Lost::because("the client has left"),
        Failure::Closed(CloseReason::Lost { reason: DisconnectReason::Unknown }) => {
            Lost::because("the client has left, or its connection was lost: this device does not tell")
        }
        other => Lost::because(other),
    }
}

impl Link for RdmaLink {
    fn transport(&self) -> Transport {
        Transport::Rdma { send_max: self.send_max }
    }

    fn order(&mut self, order: Order) {
        self.queue.push(order);
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Result<Event, Lost>> {
        if let Poll::Ready(Err(lost)) = self.poll_orders(cx) {
            return Poll::Ready(Err(lost));
        }
        if let Poll::Ready(event) = self.poll_transfers(cx) {
            return Poll::Ready(Ok(event));
        }
        let waiting = self.queueing.as_ref().and_then(|queueing| queueing.began);
        let under_way = self.transfers.iter().map(|transfer| transfer.began);
        let oldest = under_way.chain(waiting).chain(self.queue.oldest_transfer()).min();
        if self.watch.poll(oldest, cx).is_ready() {
            return Poll::Ready(Err(too_long()));
        }
        let queueing = self.queueing.as_ref().map_or(0, |queueing| queueing.held);
        if !wants_messages || self.queue.held().saturating_add(queueing) > WAITING_MAX {
            return Poll::Pending;
        }
        // The task stays registered when this future is dropped, and nothing is lost with it.
        let message = ready!(pin!(self.receiver.recv()).poll(cx)).map_err(why)?;
        Poll::Ready(Ok(Event::Message(BytesMut::from(message))))
    }

    fn is_transferring(&self) -> bool {
        !self.transfers.is_empty() || self.queueing.is_some() || self.queue.oldest_transfer().is_some()
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // What comes of transfers is told to nobody any more, but the messages behind them have to leave.
        while self.poll_transfers(cx).is_ready() {}
        self.poll_orders(cx).map(|_| ())
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let sender = self.sender.clone();
        let closing = self.closing.get_or_insert_with(|| {
            Box::pin(async move {
                // How it ends makes no difference any more.
                let _ = sender.close(CLOSE_WITHIN).await;
            })
        });
        closing.as_mut().poll(cx)
    }
}

impl fmt::Debug for RdmaLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RdmaLink").field("send_max", &self.send_max).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_for_which_there_is_no_memory_ends_its_connection_with_that_reason() {
        let made = |len| if len == 128 << 10 { Err(OutOfMemory { len }) } else { Ok(len) };
        assert_eq!(new_buffer(1, made).unwrap(), 64 << 10);
        let said = new_buffer((64 << 10) + 1, made).unwrap_err().to_string();
        assert_eq!(said, format!("a transfer by RDMA: {}", OutOfMemory { len: 128 << 10 }));
        assert!(said.contains("memory"), "{said}");
    }
}
