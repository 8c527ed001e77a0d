//! What a server is connected with: a device, or a stream.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smbd_files::transport::{self, Lost, Tcp, Transport as _};
use smbd_link::handles::{Connection, Operation, Receiver, Sender};
use smbd_sim::Side;
use smbd_sim::loops::LoopEnd;
use smbd_smb2::server::OperationId;
use smbd_smb2::wire::{BufferDescriptorV1, Token};

use crate::common::pipe::End;
use crate::memory::Memory;

type Boxed<T> = Pin<Box<dyn Future<Output = T>>>;

/// Something that the server wants to be done, in this order.
pub enum Order {
    Send(Vec<u8>, Option<Token>),
    /// Memory of the client is read.
    Read(OperationId, Vec<BufferDescriptorV1>, u32),
    /// These bytes are written to memory of the client.
    Write(OperationId, Vec<BufferDescriptorV1>, Vec<u8>),
}

/// A transfer that has ended; one that has read has its bytes. `None`: it has failed.
pub type Moved = (OperationId, Option<Vec<u8>>);

/// An end of a connection. The methods return at once, and wake the task of `cx` later.
pub trait ServerEnd {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<BytesMut, Lost>>;

    /// Takes an order always.
    fn order(&mut self, order: Order);

    /// Goes on with what was ordered; ready when everything has begun.
    fn poll_orders(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>>;

    fn poll_moved(&mut self, cx: &mut Context<'_>) -> Poll<Moved>;

    /// Ends the connection. Ready when it is over.
    fn poll_close(&mut self, within: Duration, cx: &mut Context<'_>) -> Poll<()>;
}

/// A client over a device.
pub struct OverRdma {
    sender: Sender<LoopEnd<Memory>>,
    receiver: Receiver<LoopEnd<Memory>>,
    orders: VecDeque<Order>,
    beginning: Option<Boxed<Result<Option<Running>, Lost>>>,
    running: BTreeMap<OperationId, Running>,
    closing: Option<Boxed<()>>,
}

struct Running {
    id: OperationId,
    operation: Operation<LoopEnd<Memory>>,
    memory: Memory,
    /// How many bytes are read.
    reads: Option<u32>,
}

impl OverRdma {
    pub fn new(connection: Connection<LoopEnd<Memory>>) -> Self {
        let (sender, receiver) = connection.split();
        Self {
            sender,
            receiver,
            orders: VecDeque::new(),
            beginning: None,
            running: BTreeMap::new(),
            closing: None,
        }
    }
}

async fn begin(sender: Sender<LoopEnd<Memory>>, order: Order) -> Result<Option<Running>, Lost> {
    let memory = |len: u32| Memory::of(Side::Acceptor, len).ok_or_else(|| Lost::because("no memory"));
    match order {
        Order::Send(message, invalidate) => {
            let message = Bytes::from(message);
            let sent = match invalidate {
                Some(token) => sender.send_invalidating(message, token).await,
                None => sender.send(message).await,
            };
            sent.map(|()| None).map_err(Lost::because)
        }
        Order::Read(id, buffers, len) => {
            let (memory, remote) = (memory(len)?, Arc::from(buffers));
            let operation = sender.start_rdma_read(&memory, &remote, 0, len).await.map_err(Lost::because)?;
            Ok(Some(Running { id, operation, memory, reads: Some(len) }))
        }
        Order::Write(id, buffers, bytes) => {
            let len = bytes.len() as u32;
            let (memory, remote) = (memory(len)?, Arc::from(buffers));
            transport::Memory::fill(&memory, 0, &bytes).map_err(Lost::because)?;
            let operation = sender.start_rdma_write(&memory, &remote, 0, len).await.map_err(Lost::because)?;
            Ok(Some(Running { id, operation, memory, reads: None }))
        }
    }
}

impl ServerEnd for OverRdma {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<BytesMut, Lost>> {
        let message = ready!(pin!(self.receiver.recv()).poll(cx)).map_err(Lost::because)?;
        Poll::Ready(Ok(BytesMut::from(message)))
    }

    fn order(&mut self, order: Order) {
        self.orders.push_back(order);
    }

    fn poll_orders(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        loop {
            if let Some(beginning) = &mut self.beginning {
                let begun = ready!(beginning.as_mut().poll(cx));
                self.beginning = None;
                if let Some(running) = begun? {
                    self.running.insert(running.id, running);
                }
            }
            let Some(order) = self.orders.pop_front() else { return Poll::Ready(Ok(())) };
            self.beginning = Some(Box::pin(begin(self.sender.clone(), order)));
        }
    }

    fn poll_moved(&mut self, cx: &mut Context<'_>) -> Poll<Moved> {
        let done =
            self.running.values_mut().find_map(|running| match Pin::new(&mut running.operation).poll(cx) {
                Poll::Ready(result) => Some((running.id, result.is_ok())),
                Poll::Pending => None,
            });
        let Some((id, is_success)) = done else { return Poll::Pending };
        let Some(Running { memory, reads, .. }) = self.running.remove(&id) else { return Poll::Pending };
        let bytes = memory.bytes(reads.unwrap_or(0) as usize);
        Poll::Ready((id, bytes.filter(|_| is_success)))
    }

    fn poll_close(&mut self, within: Duration, cx: &mut Context<'_>) -> Poll<()> {
        let sender = self.sender.clone();
        let closing = self.closing.get_or_insert_with(|| {
            Box::pin(async move {
                // How it ended makes no difference any more.
                let _ = sender.close(within).await;
            })
        });
        closing.as_mut().poll(cx)
    }
}

/// A client over a stream.
pub struct OverTcp(pub Tcp<End>);

impl ServerEnd for OverTcp {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<BytesMut, Lost>> {
        self.0.poll_receive(cx).map_ok(|received| received.message)
    }

    fn order(&mut self, order: Order) {
        if let Order::Send(message, _) = order {
            self.0.send([&message, &[]]);
        }
    }

    fn poll_orders(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        self.0.poll_ready(cx)
    }

    fn poll_moved(&mut self, _: &mut Context<'_>) -> Poll<Moved> {
        Poll::Pending
    }

    fn poll_close(&mut self, _: Duration, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll_close(cx)
    }
}
