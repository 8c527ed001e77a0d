//! Backends of many connections, and the wires between them, in virtual time.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::mem;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::backend::{
    Backend, BackendOp, Payload, Push, ReceiveMemory, Request, TransportReports, WorkQueues,
};
use smbd_core::error::DisconnectReason;
use smbd_core::{Budget, Head, Input, Instant, Limits, RecvId, SendId, WrId};
use smbd_link::Waitable;

const LIMITS: Limits = Limits {
    read_depth: 4,
    send_queue: u16::MAX,
    rdma_len_max: 1 << 20,
    registration_requests: 0,
    send_with_invalidate: true,
    reads_in_order: false,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Engine,
    Peer,
}

enum Packet {
    Connected,
    Message(Vec<u8>),
    Ended,
}

/// What is on its way to one end.
#[derive(Default)]
struct Way {
    packets: VecDeque<Packet>,
    /// Its backend is to be woken by the next packet.
    armed: bool,
}

/// All wires, with the time.
pub struct Wires {
    now: Cell<Instant>,
    /// To the engine's end and to the peer's.
    ways: RefCell<Vec<[Way; 2]>>,
    woken: RefCell<[Vec<usize>; 2]>,
}

impl Default for Wires {
    fn default() -> Self {
        Self { now: Cell::new(Instant::ORIGIN), ways: RefCell::default(), woken: RefCell::default() }
    }
}

impl Wires {
    pub fn now(&self) -> Instant {
        self.now.get()
    }

    pub fn pass(&self, time: Duration) {
        self.pass_to(self.now().saturating_add(time));
    }

    pub fn pass_to(&self, at: Instant) {
        self.now.set(self.now().max(at));
    }

    /// One more wire; its number.
    pub fn add(&self) -> usize {
        let mut ways = self.ways.borrow_mut();
        ways.push(Default::default());
        ways.len() - 1
    }

    /// Those at one side for which something has come since they were armed, each once.
    pub fn take_woken(&self, at: At) -> Vec<usize> {
        mem::take(&mut self.woken.borrow_mut()[at as usize])
    }

    fn send(&self, wire: usize, to: At, packet: Packet) {
        let way = &mut self.ways.borrow_mut()[wire][to as usize];
        way.packets.push_back(packet);
        if mem::take(&mut way.armed) {
            self.woken.borrow_mut()[to as usize].push(wire);
        }
    }

    fn take(&self, wire: usize, at: At) -> Option<Packet> {
        self.ways.borrow_mut()[wire][at as usize].packets.pop_front()
    }

    fn has_packets(&self, wire: usize, at: At) -> bool {
        !self.ways.borrow()[wire][at as usize].packets.is_empty()
    }
}

enum Chained {
    Recv(RecvId),
    Send { id: SendId, signal: bool, bytes: Vec<u8> },
}

/// One end of a wire.
pub struct End {
    wires: Rc<Wires>,
    wire: usize,
    at: At,
    queues: WorkQueues,
    link: TransportReports,
    chain: Vec<Chained>,
    done: VecDeque<WrId>,
    posted: VecDeque<RecvId>,
    held: Vec<Vec<u8>>,
    /// How often it was asked for anything: for an input, to arm, or whether it is ready.
    looks: u32,
}

impl End {
    pub fn new(wires: &Rc<Wires>, wire: usize, at: At, budget: &Budget) -> Self {
        Self {
            wires: Rc::clone(wires),
            wire,
            at,
            queues: WorkQueues::new(budget),
            link: TransportReports::default(),
            chain: Vec::new(),
            done: VecDeque::new(),
            posted: VecDeque::new(),
            held: vec![Vec::new(); budget.recv_slots as usize],
            looks: 0,
        }
    }

    pub const fn wire(&self) -> usize {
        self.wire
    }

    pub const fn looks(&self) -> u32 {
        self.looks
    }

    fn send(&self, packet: Packet) {
        let to = if self.at == At::Engine { At::Peer } else { At::Engine };
        self.wires.send(self.wire, to, packet);
    }

    fn post(&mut self, request: Request, chained: Chained) {
        let mut push = self.queues.push(request);
        if let Push::RingDoorbell(_) = push {
            self.ring_doorbell();
            push = self.queues.push(request);
        }
        if push == Push::Chain {
            self.chain.push(chained);
        }
    }
}

impl ReceiveMemory for End {
    fn received(&self, id: RecvId) -> &[u8] {
        self.held.get(usize::from(id.slot())).map_or(&[], Vec::as_slice)
    }
}

impl Backend for End {
    type Buffer = ();

    fn now(&self) -> Instant {
        self.wires.now()
    }

    fn execute(&mut self, step: BackendOp<'_, ()>) {
        match step {
            BackendOp::PostRecv { id, .. } => self.post(Request::Recv(id), Chained::Recv(id)),
            BackendOp::PostSend { id, head, body, signal, .. } => {
                let mut bytes = head.as_bytes().to_vec();
                if let Some(Payload::Copy(body)) = body {
                    bytes.extend_from_slice(body);
                }
                self.post(Request::Send { id, signal }, Chained::Send { id, signal, bytes });
            }
            BackendOp::Connect => self.ring_doorbell(),
            BackendOp::Accept => {
                self.ring_doorbell();
                self.link.connected(LIMITS);
                self.send(Packet::Connected);
            }
            BackendOp::Disconnect => {
                self.ring_doorbell();
                self.queues.flush();
                self.link.disconnected(DisconnectReason::Local);
                self.send(Packet::Ended);
            }
            BackendOp::PostRdma { .. } | BackendOp::Register { .. } | BackendOp::Deregister { .. } => {
                unreachable!("nobody asks for it")
            }
        }
    }

    fn ring_doorbell(&mut self) {
        for chained in mem::take(&mut self.chain) {
            match chained {
                Chained::Recv(id) => self.posted.push_back(id),
                Chained::Send { id, signal, bytes } => {
                    self.send(Packet::Message(bytes));
                    self.done.extend(signal.then_some(WrId::from(id)));
                }
            }
        }
        self.queues.doorbell_rung();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        self.looks += 1;
        loop {
            if let Some(input) = self.link.poll_connected().or_else(|| self.queues.poll()) {
                return Some(input);
            }
            if let Some(id) = self.done.pop_front() {
                self.queues.complete(id, Ok(())).unwrap();
                continue;
            }
            match self.wires.take(self.wire, self.at) {
                Some(Packet::Connected) => self.link.connected(LIMITS),
                // What comes behind the own end is lost.
                Some(Packet::Message(_)) if self.link.is_over() => {}
                Some(Packet::Message(bytes)) => {
                    let id = self.posted.pop_front().expect("a credit is a receive that is posted");
                    self.queues.received(id).unwrap();
                    let (head, len) = (Head::of(&bytes), u32::try_from(bytes.len()).unwrap());
                    self.held[usize::from(id.slot())] = bytes;
                    return Some(Input::Received { id, head, len, invalidated: None });
                }
                Some(Packet::Ended) => {
                    self.queues.flush();
                    self.link.disconnected(DisconnectReason::PeerClosed);
                }
                None => return self.link.poll_end(),
            }
        }
    }
}

impl Waitable for End {
    type Error = Infallible;

    fn arm(&mut self) -> Result<bool, Infallible> {
        let is_ready = self.is_ready();
        self.wires.ways.borrow_mut()[self.wire][self.at as usize].armed = !is_ready;
        Ok(is_ready)
    }

    fn is_ready(&mut self) -> bool {
        self.looks += 1;
        !self.done.is_empty() || self.wires.has_packets(self.wire, self.at)
    }

    fn busy_poll_micros_max(&self) -> u64 {
        50
    }
}
