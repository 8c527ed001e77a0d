//! Messages through the drive loop, over a backend that does next to nothing.

use std::any::Any;
use std::collections::VecDeque;
use std::hint::black_box;

use bytes::Bytes;
use smbd_core::backend::{
    Backend, BackendOp, BufferLookup, BufferSlice, Handler, Payload, Protocol, ReceiveMemory, drive,
};
use smbd_core::{Body, Config, Connection, Endpoint, Input, Instant, RecvId, Role};
use smbd_repository::instructions::Work;

use super::pair::{LIMITS, Message, NOW, Side};
use super::{PAYLOAD, measured, params};

/// Most fragments of one message here.
const FRAGMENTS_MAX: u32 = 128;

static BYTES: [u8; (PAYLOAD * FRAGMENTS_MAX) as usize] = [0; (PAYLOAD * FRAGMENTS_MAX) as usize];

/// Takes every send, and has sent it when it is asked.
pub struct Wire {
    posted: VecDeque<RecvId>,
    sent: Vec<Message>,
    reported: usize,
    inputs: VecDeque<Input<'static>>,
}

impl ReceiveMemory for Wire {
    fn received(&self, _: RecvId) -> &[u8] {
        &[]
    }
}

impl Backend for Wire {
    type Buffer = u64;

    fn now(&self) -> Instant {
        NOW
    }

    // A call, as that of a backend that does more.
    #[inline(never)]
    fn execute(&mut self, step: BackendOp<'_, u64>) {
        if let BackendOp::PostSend { id, head, body, .. } = step {
            let len = body.as_ref().map_or(0, Payload::len);
            black_box(body);
            let len = head.len() + u32::try_from(len).expect("a message");
            self.sent.push(Message { id, head: *head, len });
        } else if let BackendOp::PostRecv { id, .. } = step {
            self.posted.push_back(id);
        } else {
            black_box(step);
        }
    }

    fn ring_doorbell(&mut self) {}

    fn next_input(&mut self) -> Option<Input<'_>> {
        if let Some(message) = self.sent.get(self.reported) {
            self.reported += 1;
            return Some(Input::Sent { id: message.id });
        }
        self.inputs.pop_front()
    }
}

/// Has one buffer, and counts what it hears.
pub struct Program {
    buffer: u64,
    events: u64,
}

impl BufferLookup<u64> for Program {
    fn body(&self, body: Body) -> Option<Payload<'_, u64>> {
        Some(Payload::InPlace(BufferSlice { buffer: &self.buffer, offset: body.offset, len: body.len }))
    }
}

impl<C: Protocol> Handler<Wire, C> for Program {
    fn event(&mut self, _: &mut C, _: &mut Wire, event: C::Event) {
        self.events += 1;
        drop(event);
    }
}

/// `count` messages of one fragment, each sent and driven until there is nothing to do.
pub fn connection_messages(count: u32) -> Work {
    let mut driven = Driven::established(Connection::new);
    Box::new(move || {
        for _ in 0..count {
            measured::send(&mut driven.machine, NOW, 256);
            driven.run();
        }
        driven.finish(count)
    })
}

pub fn endpoint_messages(count: u32) -> Work {
    let mut driven = Driven::established(Endpoint::new);
    Box::new(move || {
        for _ in 0..count {
            measured::send_bytes(&mut driven.machine, NOW, Bytes::from_static(&BYTES[..256]));
            driven.run();
        }
        driven.finish(count)
    })
}

/// One message of `count` fragments.
pub fn connection_fragments(count: u32) -> Work {
    let mut driven = Driven::established(Connection::new);
    Box::new(move || {
        measured::send(&mut driven.machine, NOW, PAYLOAD * count);
        driven.run();
        driven.finish(1)
    })
}

pub fn endpoint_fragments(count: u32) -> Work {
    let mut driven = Driven::established(Endpoint::new);
    let message = Bytes::from_static(&BYTES[..(PAYLOAD * count) as usize]);
    Box::new(move || {
        measured::send_bytes(&mut driven.machine, NOW, message);
        driven.run();
        driven.finish(1)
    })
}

/// An initiator that is driven, and its peer.
struct Driven<C> {
    machine: C,
    wire: Wire,
    program: Program,
    peer: Side,
}

impl<C: Protocol + 'static> Driven<C> {
    /// Established, with all credits granted.
    fn established(machine: fn(Role, &Config, Instant) -> C) -> Self {
        let config = Config::try_from(params()).expect("valid parameters");
        let wire = Wire {
            posted: VecDeque::new(),
            sent: Vec::with_capacity(1024),
            reported: 0,
            inputs: VecDeque::from([Input::Connected { limits: LIMITS }]),
        };
        let mut driven = Self {
            machine: machine(Role::Initiator, &config, NOW),
            wire,
            program: Program { buffer: 0, events: 0 },
            peer: Side::new(Role::Acceptor, &params()),
        };
        driven.peer.drain(Connection::poll_action);
        driven.peer.connection.handle(NOW, Input::Connected { limits: LIMITS }).expect("connected");
        driven.exchange();
        assert!(driven.peer.connection.credits().outstanding() > 250, "(nearly) all credits are granted");
        driven
    }

    fn run(&mut self) {
        measured::drive(&mut self.machine, &mut self.wire, &mut self.program);
    }

    /// Everything, if the upper layer has heard of the connection and of so many messages.
    fn finish(self, messages: u32) -> Box<dyn Any> {
        assert_eq!(self.program.events, 1 + u64::from(messages), "all are sent");
        Box::new(self)
    }

    /// Until nothing is on the wire.
    fn exchange(&mut self) {
        loop {
            self.peer.drain(Connection::poll_action);
            for message in self.peer.sent.drain(..) {
                let id = self.wire.posted.pop_front().expect("a posted receive");
                let Message { head, len, .. } = message;
                self.wire.inputs.push_back(Input::Received { id, head, len, invalidated: None });
                let sent = Input::Sent { id: message.id };
                self.peer.connection.handle(NOW, sent).expect("a posted send");
            }
            drive(&mut self.machine, &mut self.wire, &mut self.program).expect("a sound backend");
            if self.wire.sent.is_empty() {
                return;
            }
            self.wire.reported = 0;
            for message in self.wire.sent.drain(..) {
                let arrival = self.peer.arrival(message);
                self.peer.connection.handle(NOW, arrival).expect("a posted receive");
            }
        }
    }
}
