//! One end of a connection, the script of its device, and the checks behind each test.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_core::backend::{Backend, BackendOp, BufferSlice, Payload, kit};
use smbd_core::error::{ConnectReason, DisconnectReason, WorkError};
use smbd_core::{BufferDescriptorV1, Config, Head, Input, RdmaVerb, RecvId, SendId, Token, WrId};
use smbd_verbs::{Buffer, Clock, ListenOptions, Listener, VerbsConnection, Waitable};

use crate::sys::rdma_cm_event_type as kind;
use crate::world::{Call, Completed, Happened, Sent, world};

/// `ibv_wc_status` of a flush.
pub(crate) const FLUSHED: u32 = 5;
/// Another status: the peer refused the access.
pub(crate) const REMOTE_ACCESS: u32 = 10;

/// What a backend reports. Ids are slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Connected,
    ConnectFailed(ConnectReason),
    Disconnected(DisconnectReason),
    Received { slot: u16, len: u32, invalidated: Option<Token> },
    Sent(u16),
    RdmaDone(u16),
    Registered { tokens: Vec<Token>, bind_complete: bool },
    BindComplete(u16),
    Deregistered(u16),
    Failed(WrId, WorkError),
}

fn told(input: &Input<'_>) -> Told {
    match *input {
        Input::Connected { .. } => Told::Connected,
        Input::ConnectFailed { reason } => Told::ConnectFailed(reason),
        Input::Disconnected { reason } => Told::Disconnected(reason),
        Input::Received { id, len, invalidated, .. } => Told::Received { slot: id.slot(), len, invalidated },
        Input::Sent { id } => Told::Sent(id.slot()),
        Input::RdmaDone { id } => Told::RdmaDone(id.slot()),
        Input::Registered { segments, bind_complete, .. } => {
            Told::Registered { tokens: segments.iter().map(|one| one.token).collect(), bind_complete }
        }
        Input::BindComplete { id } => Told::BindComplete(id.slot()),
        Input::Deregistered { id } => Told::Deregistered(id.slot()),
        Input::Failed { id, error } => Told::Failed(id, error),
        Input::Timeout => panic!("no backend reports a timeout"),
    }
}

pub(crate) fn config() -> Config {
    kit::config().unwrap()
}

fn id(kind: u64, slot: u16) -> WrId {
    WrId::from_raw(kind << 56 | u64::from(slot)).unwrap()
}

pub(crate) fn recv(slot: u16) -> RecvId {
    match id(1, slot) {
        WrId::Recv(id) => id,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn send(slot: u16) -> SendId {
    match id(2, slot) {
        WrId::Send(id) => id,
        other => panic!("{other:?}"),
    }
}

/// A later use of a slot.
pub(crate) fn later_send(slot: u16) -> SendId {
    match WrId::from_raw(WrId::from(send(slot)).to_raw() | 1 << 16).unwrap() {
        WrId::Send(id) => id,
        other => panic!("{other:?}"),
    }
}

/// An end under test. The libraries' rules are checked when it is dropped.
pub(crate) struct End {
    pub(crate) backend: VerbsConnection,
}

impl End {
    /// An initiator that was not told to connect.
    pub(crate) fn new() -> Self {
        let to = SocketAddr::from(([10, 9, 9, 1], 445));
        Self { backend: VerbsConnection::connect(to, None, &config(), Clock::start()).unwrap() }
    }

    /// An initiator whose request is with the peer. `receives` are posted.
    pub(crate) fn connecting(receives: u16) -> Self {
        let mut end = Self::new();
        (0..receives).for_each(|slot| end.post_recv(slot));
        end.backend.execute(BackendOp::Connect);
        for kind in [kind::RDMA_CM_EVENT_ADDR_RESOLVED, kind::RDMA_CM_EVENT_ROUTE_RESOLVED] {
            happens(kind, 0);
            assert_eq!(end.told(), []);
        }
        end
    }

    /// An initiator that is connected.
    pub(crate) fn connected(receives: u16) -> Self {
        let mut end = Self::connecting(receives);
        happens(kind::RDMA_CM_EVENT_ESTABLISHED, 0);
        assert_eq!(end.told(), [Told::Connected]);
        calls();
        end
    }

    /// An acceptor that was not told to accept.
    pub(crate) fn requested() -> Self {
        let mut listener =
            Listener::bind(SocketAddr::from(([0, 0, 0, 0], 445)), ListenOptions::default()).unwrap();
        let channel = world(|world| world.ids[&world.newest_id]);
        crate::calls::create_id(channel);
        happens(kind::RDMA_CM_EVENT_CONNECT_REQUEST, 0);
        let incoming = listener.poll().unwrap().unwrap();
        Self { backend: incoming.accept(&config(), Clock::start()).unwrap() }
    }

    /// All that there is to report, also behind file descriptors; the device is asked for an event before.
    pub(crate) fn told(&mut self) -> Vec<Told> {
        let mut all = self.told_now();
        while self.backend.arm().unwrap() {
            let more = self.told_now();
            if more.is_empty() {
                break;
            }
            all.extend(more);
        }
        all.extend(self.told_now());
        all
    }

    /// All that there is to report without asking for an event.
    pub(crate) fn told_now(&mut self) -> Vec<Told> {
        // File descriptors are looked at once in so many calls.
        let mut all = Vec::new();
        let mut quiet = 0;
        while quiet < 40 {
            match self.backend.next_input() {
                Some(input) => all.push(told(&input)),
                None => quiet += 1,
            }
        }
        all
    }

    pub(crate) fn post_recv(&mut self, slot: u16) {
        self.backend.execute(BackendOp::PostRecv { id: recv(slot), len: 64 });
    }

    pub(crate) fn send(&mut self, slot: u16, bytes: &[u8], signal: bool) {
        self.send_with(send(slot), bytes, None, signal);
    }

    pub(crate) fn send_later(&mut self, slot: u16, bytes: &[u8]) {
        self.send_with(later_send(slot), bytes, None, true);
    }

    pub(crate) fn send_buffer(&mut self, slot: u16, buffer: &Buffer, signal: bool) {
        let body = Payload::InPlace(BufferSlice { buffer, offset: 0, len: buffer.len() });
        self.send_with(send(slot), b"head", Some(body), signal);
    }

    fn send_with(&mut self, id: SendId, head: &[u8], body: Option<Payload<'_, Buffer>>, signal: bool) {
        let head = Head::of(head);
        self.backend.execute(BackendOp::PostSend {
            id,
            head: &head,
            body,
            invalidate: None,
            signal,
            solicit: false,
        });
    }

    pub(crate) fn rdma(&mut self, slot: u16, verb: RdmaVerb, buffer: &Buffer, signal: bool) {
        let WrId::Rdma(id) = id(3, slot) else { panic!() };
        let local = BufferSlice { buffer, offset: 0, len: buffer.len() };
        let remote = BufferDescriptorV1 { offset: 0x1000, token: Token(7), length: buffer.len() };
        self.backend.execute(BackendOp::PostRdma { id, verb, local, remote, signal });
    }

    pub(crate) fn ring(&mut self) {
        self.backend.ring_doorbell();
    }

    pub(crate) fn disconnect(&mut self) {
        self.backend.execute(BackendOp::Disconnect);
    }
}

pub(crate) fn reg(slot: u16) -> smbd_core::RegId {
    match id(4, slot) {
        WrId::Reg(id) => id,
        other => panic!("{other:?}"),
    }
}

/// An event of the connection manager about the newest id.
pub(crate) fn happens(kind: u32, status: i32) {
    world(|world| {
        let id = world.newest_id;
        let channel = world.ids[&id];
        world.channels.get_mut(&channel).unwrap().push(Happened {
            kind,
            status,
            private_data: Vec::new(),
            id,
        });
    });
}

/// The calls since the last question.
pub(crate) fn calls() -> Vec<Call> {
    world(|world| std::mem::take(&mut world.calls))
}

/// The requests of the send queue among the calls since the last question, in order.
pub(crate) fn sends() -> Vec<Sent> {
    let of = |call| if let Call::PostSend(sends) = call { sends } else { Vec::new() };
    calls().into_iter().flat_map(of).collect()
}

/// The device completes a request of the send queue; those before it, of which it says nothing, are over as well.
pub(crate) fn completes(ticket: u64, status: u32) {
    world(|world| {
        if let Some(at) = world.sends.iter().position(|sent| sent.ticket == ticket) {
            world.sends.drain(..=at);
        }
        world.complete(Completed { ticket, status, ..Completed::default() });
    });
}

/// A message comes.
pub(crate) fn message(bytes: &[u8]) {
    crate::calls::receive(bytes, bytes.len() as u32, Completed::default());
}

/// The device returns all that it has with a flush, also what is unsignalled.
pub(crate) fn flush() {
    world(|world| {
        let receives: Vec<_> = world.receives.drain(..).map(|posted| posted.ticket).collect();
        let sends: Vec<_> = world.sends.drain(..).map(|sent| sent.ticket).collect();
        for ticket in receives.into_iter().chain(sends) {
            world.complete(Completed { ticket, status: FLUSHED, ..Completed::default() });
        }
    });
}

/// Drops an end, and checks that nothing is left of it and that no call was forbidden.
pub(crate) fn nothing_is_left_of(end: End) {
    drop(end);
    world(|world| {
        assert_eq!(world.wrong, [""; 0]);
        assert!(world.objects.is_empty(), "{:?}", world.objects);
        assert_eq!(world.async_events.taken, 0, "events of the device are acknowledged");
    });
}

/// Waits until the end's file descriptor is readable, for an instant: whether it is.
pub(crate) fn is_woken(end: &End) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut fds = [PollFd::new(&end.backend, PollFlags::IN)];
    let now: Timespec = Timespec::try_from(Duration::ZERO).unwrap();
    poll(&mut fds, Some(&now)).unwrap() > 0
}
