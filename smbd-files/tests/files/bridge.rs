//! The client's driver and the server's, with memory between them that each of both sees as its device would: bytes on their way by RDMA
//! are looked at, and may be changed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use smbd_files::serve::{Event, Link, Order};
use smbd_files::transport::{self, Lost, Part, Received, Registered};
use smbd_smb2::client::{self, Access, Rdma, RegistrationId};
use smbd_smb2::server::{OperationId, Transport};
use smbd_smb2::wire::{BufferDescriptorV1, Token};

use super::loopback::TestMemory;

/// What becomes of data on their way by RDMA, which way they go, and of which transfer.
pub type OnTheWay = Box<dyn FnMut(Access, usize, &mut Vec<u8>) + Send>;

/// Both ends of a connection.
#[derive(Default)]
pub struct Wire {
    to_client: VecDeque<Received>,
    to_server: VecDeque<BytesMut>,
    done: VecDeque<Event>,
    registered: VecDeque<Registered>,
    valid: BTreeMap<u32, (RegistrationId, Part<TestMemory>)>,
    next_token: u32,
    client: Option<Waker>,
    server: Option<Waker>,
    is_over: bool,
    pub on_the_way: Option<OnTheWay>,
    /// All that went by RDMA.
    pub moved: Vec<(Access, Vec<u8>)>,
    /// What each registration has opened to the server when it became valid: all of its memory. Kept if somebody wants it.
    pub opened: Option<Vec<Vec<u8>>>,
}

type Shared = Arc<Mutex<Wire>>;

fn lock(wire: &Shared) -> MutexGuard<'_, Wire> {
    wire.lock().unwrap()
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// The client's end and the server's.
pub fn bridge() -> (ClientEnd, ServerEnd, Shared) {
    let wire = Shared::default();
    (ClientEnd(Arc::clone(&wire)), ServerEnd(Arc::clone(&wire)), wire)
}

pub struct ClientEnd(Shared);

pub struct ServerEnd(Shared);

impl Drop for ServerEnd {
    fn drop(&mut self) {
        let mut wire = lock(&self.0);
        wire.is_over = true;
        wake(&mut wire.client);
    }
}

impl Wire {
    /// Moves data between memory of the client and `data`, which has as many bytes.
    fn transfer(&mut self, access: Access, buffers: &[BufferDescriptorV1], data: &mut Vec<u8>) {
        let is_write = access == Access::RemoteWrite;
        if is_write {
            self.change(access, data);
        }
        let mut at = 0;
        for buffer in buffers {
            let (_, part) = self.valid.get(&buffer.token.0).expect("a token that is valid");
            assert_eq!(part.access, access);
            let len = (data.len() - at).min(buffer.length as usize);
            let start = usize::try_from(buffer.offset).unwrap();
            let memory = part.memory.clone();
            let mut memory = memory.bytes();
            let (there, here) = (&mut memory[start..start + len], &mut data[at..at + len]);
            if is_write {
                there.copy_from_slice(here)
            } else {
                here.copy_from_slice(there)
            }
            at += len;
        }
        assert_eq!(at, data.len());
        if !is_write {
            self.change(access, data);
        }
    }

    fn change(&mut self, access: Access, data: &mut Vec<u8>) {
        let number = self.moved.iter().filter(|(other, _)| *other == access).count();
        if let Some(change) = &mut self.on_the_way {
            change(access, number, data);
        }
        self.moved.push((access, data.clone()));
    }

    fn end(&mut self, id: RegistrationId) {
        self.valid.retain(|_, (other, _)| *other != id);
        self.registered.push_back(Registered::Ended(id));
    }
}

impl transport::Transport for ClientEnd {
    type Memory = TestMemory;

    fn limits(&self) -> client::Transport {
        let rdma = Rdma { threshold: 4096, max_read_write: 1 << 20, invalidates: true };
        client::Transport { max_send: 1 << 20, max_receive: (1 << 20) + 4096, rdma: Some(rdma) }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, Lost>> {
        let mut wire = lock(&self.0);
        wire.client = Some(cx.waker().clone());
        match wire.to_client.pop_front() {
            Some(received) => Poll::Ready(Ok(received)),
            None if wire.is_over => Poll::Ready(Err(Lost::because("the server has left"))),
            None => Poll::Pending,
        }
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn send(&mut self, message: [&[u8]; 2]) {
        let mut wire = lock(&self.0);
        wire.to_server.push_back(BytesMut::from(&*message.concat()));
        wake(&mut wire.server);
    }

    fn register(&mut self, id: RegistrationId, part: Part<TestMemory>) {
        let mut wire = lock(&self.0);
        wire.next_token += 1;
        let token = Token(wire.next_token);
        // Two descriptors: memory is not always in one piece.
        let (offset, first) = (u64::from(part.offset), part.len / 3);
        let both = [(offset, first), (offset + u64::from(first), part.len - first)];
        let descriptors =
            both.into_iter().map(|(offset, length)| BufferDescriptorV1 { offset, token, length });
        wire.registered.push_back(Registered::Valid(id, descriptors.collect()));
        if let Some(opened) = &mut wire.opened {
            opened.push(part.memory.bytes().clone());
        }
        wire.valid.insert(token.0, (id, part));
    }

    fn deregister(&mut self, id: RegistrationId) {
        lock(&self.0).end(id);
    }

    fn poll_registered(&mut self, _: &mut Context<'_>) -> Poll<Registered> {
        // Whatever comes is the answer to something that the driver has just asked for.
        lock(&self.0).registered.pop_front().map_or(Poll::Pending, Poll::Ready)
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<()> {
        let mut wire = lock(&self.0);
        wire.valid.clear();
        wire.is_over = true;
        wake(&mut wire.server);
        Poll::Ready(())
    }
}

impl ServerEnd {
    fn done(wire: &mut Wire, id: OperationId, event: impl FnOnce(OperationId) -> Event) {
        wire.done.push_back(event(id));
    }
}

impl Link for ServerEnd {
    fn transport(&self) -> Transport {
        Transport::Rdma { send_max: (1 << 20) + 4096 }
    }

    fn order(&mut self, order: Order) {
        let mut wire = lock(&self.0);
        match order {
            Order::Send { message, invalidate } => {
                let invalidated: Vec<Token> = invalidate.into_iter().collect();
                for token in &invalidated {
                    wire.valid.remove(&token.0).expect("a token that is valid");
                }
                let message = BytesMut::from(message.bytes());
                wire.to_client.push_back(Received { invalidated, message });
                wake(&mut wire.client);
            }
            Order::Fetch { id, buffers, len } => {
                let mut data = vec![0; len as usize];
                wire.transfer(Access::RemoteRead, &buffers, &mut data);
                Self::done(&mut wire, id, |id| Event::Fetched(id, Some(data)));
            }
            Order::Deliver { id, mut data, buffers } => {
                wire.transfer(Access::RemoteWrite, &buffers, &mut data);
                Self::done(&mut wire, id, |id| Event::Delivered(id, true));
            }
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, wants_messages: bool) -> Poll<Result<Event, Lost>> {
        let mut wire = lock(&self.0);
        wire.server = Some(cx.waker().clone());
        if let Some(done) = wire.done.pop_front() {
            return Poll::Ready(Ok(done));
        }
        match wire.to_server.pop_front() {
            Some(message) if wants_messages => Poll::Ready(Ok(Event::Message(message))),
            Some(message) => {
                wire.to_server.push_front(message);
                Poll::Pending
            }
            None if wire.is_over => Poll::Ready(Err(Lost::because("the client has left"))),
            None => Poll::Pending,
        }
    }

    fn poll_idle(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<()> {
        let mut wire = lock(&self.0);
        wire.is_over = true;
        wake(&mut wire.client);
        Poll::Ready(())
    }
}
