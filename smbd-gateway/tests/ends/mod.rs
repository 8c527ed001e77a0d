//! Ends of a gateway that are always ready, for what a gateway itself does. Data of READs and WRITEs are only counted: they are the
//! work of the kernel and of devices.

mod messages;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_core::endpoint::Chunks;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};
use smbd_gateway::{Part, Stream};
use smbd_link::link::{Ending, Event, Piece};
use smbd_link::transport::{Limits, Memory, Transport};
use smbd_smb2::relay::BufferId;

thread_local! {
    /// Bytes that were copied between memory of a device and other memory of this thread.
    static COPIED: Cell<u64> = const { Cell::new(0) };
}

/// Bytes copied since the last call.
pub fn copied() -> u64 {
    COPIED.take()
}

/// Memory without bytes.
#[derive(Clone, Debug)]
pub struct Block;

impl Memory for Block {
    fn allocate(_: u32) -> Result<Self, OutOfMemory> {
        Ok(Self)
    }

    fn fill(&self, _: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        COPIED.set(COPIED.get() + bytes.len() as u64);
        Ok(())
    }

    fn read(&self, _: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        COPIED.set(COPIED.get() + out.len() as u64);
        Ok(())
    }
}

/// What the server sends.
pub enum Chunk {
    Bytes(Vec<u8>),
    /// So many bytes of data.
    Data(usize),
}

/// What both ends have, and have got.
#[derive(Default)]
pub struct State {
    pub from_client: VecDeque<Piece>,
    /// Memory of those pieces, as a link has it.
    chunks: Chunks,
    pub from_server: VecDeque<Chunk>,
    /// Messages that the client has got.
    pub messages: u32,
    /// Bytes that went by RDMA.
    pub moved: u64,
    /// Bytes that the server has got.
    pub sent: u64,
    /// Calls that moved bytes to or from the server.
    pub calls: u32,
    done: VecDeque<BufferId>,
    /// Of the bytes that went by RDMA, those that the device has begun with: orders are carried out when results are asked for.
    begun: u64,
    /// Data that came from the server.
    data: u64,
    /// The most data that were here, and not with the device, when more were received.
    pub waited: u64,
}

/// Either end.
#[derive(Clone, Default)]
pub struct End(pub Rc<RefCell<State>>);

impl Transport<BufferId> for End {
    type Memory = Block;
    type Error = Infallible;

    fn limits(&self) -> Limits {
        Limits { max_send: u32::MAX, max_receive: u32::MAX, rdma: None }
    }

    fn poll_event(&mut self, _: &mut Context<'_>) -> Poll<Event<BufferId, Infallible>> {
        let mut state = self.0.borrow_mut();
        state.begun = state.moved;
        let name = state.done.pop_front();
        name.map_or(Poll::Pending, |name| Poll::Ready(Event::RdmaDone { name, result: Ok(()) }))
    }

    fn try_recv(&mut self) -> Option<Piece> {
        self.0.borrow_mut().from_client.pop_front()
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn send(&mut self, _: Bytes, _: Option<Token>) {
        self.0.borrow_mut().messages += 1;
    }

    fn rdma(
        &mut self,
        name: BufferId,
        _: RdmaVerb,
        _: Block,
        _: Arc<[BufferDescriptorV1]>,
        _: u64,
        len: u32,
    ) {
        let mut state = self.0.borrow_mut();
        state.moved += u64::from(len);
        state.done.push_back(name);
    }

    fn register(&mut self, _: BufferId, _: Block, _: Access) {}

    fn deregister(&mut self, _: BufferId) {}

    fn waiting(&self) -> usize {
        0
    }

    fn waiting_bytes(&self) -> usize {
        0
    }

    fn unsent(&self) -> u64 {
        0
    }

    fn keep(&mut self, _: usize, _: usize) {}

    fn has_messages(&self) -> bool {
        !self.0.borrow().from_client.is_empty()
    }

    fn ignore_messages(&mut self) {}

    fn closed(&self) -> Option<&Ending<Infallible>> {
        None
    }

    fn close(&mut self, _: Duration) {}

    fn drop_orders(&mut self) {}
}

impl State {
    /// Takes bytes of what the server sends: up to `len` of them without a look, then up to what `into` holds.
    fn receive(&mut self, mut len: usize, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let (mut got, mut at) = (0, 0);
        self.waited = self.waited.max(self.data.saturating_sub(self.begun));
        while let Some(chunk) = self.from_server.front_mut() {
            let room = if len > 0 { len } else { into.len() - at };
            let size = match chunk {
                Chunk::Bytes(bytes) => bytes.len(),
                Chunk::Data(size) => *size,
            };
            let part = size.min(room);
            if let Chunk::Data(_) = chunk {
                self.data += part as u64;
            }
            if let Chunk::Bytes(bytes) = chunk
                && len == 0
            {
                into[at..at + part].copy_from_slice(&bytes[..part]);
            }
            if len > 0 {
                len -= part
            } else {
                at += part
            }
            got += part;
            match chunk {
                _ if part == size => _ = self.from_server.pop_front(),
                Chunk::Bytes(bytes) => drop(bytes.drain(..part)),
                Chunk::Data(size) => *size -= part,
            }
            if part == 0 || len == 0 && at == into.len() {
                break;
            }
        }
        self.calls += u32::from(got > 0);
        if got > 0 { Poll::Ready(Ok(got)) } else { Poll::Pending }
    }

    fn send(&mut self, len: usize) -> Poll<io::Result<usize>> {
        self.sent += len as u64;
        self.calls += 1;
        Poll::Ready(Ok(len))
    }
}

impl Stream<Block> for End {
    fn poll_read(&mut self, _: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().receive(0, into)
    }

    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().send(bytes.len())
    }

    fn poll_read_into(
        &mut self,
        _: &mut Context<'_>,
        part: Part<'_, Block>,
        behind: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().receive(part.len as usize, behind)
    }

    fn poll_write_from(
        &mut self,
        _: &mut Context<'_>,
        front: &[u8],
        part: Part<'_, Block>,
    ) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().send(front.len() + part.len as usize)
    }
}
