//! One side: a machine, its device and its upper layer.

use std::hint::black_box;

use bytes::Bytes;
use smbd_core::backend::{BufferLookup, Handler, Payload, drive};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::{Body, Config, Connection, Endpoint, Event, OpId, Params, RegId, Role};

use super::device::{Device, NOW, carry};

/// Of a message that goes there and back.
const SMALL: usize = 64;
static BYTES: [u8; SMALL] = [0; SMALL];

/// An upper layer that has one buffer, gives back what it receives, and counts.
#[derive(Clone, Default)]
pub struct Program {
    buffer: u64,
    /// Each message is answered by one.
    pub answers: bool,
    pub established: u64,
    pub messages: u64,
    pub sent: u64,
    /// Results of RDMA operations and of registrations.
    pub results: u64,
}

impl BufferLookup<u64> for Program {
    fn body(&self, _: Body) -> Option<Payload<'_, u64>> {
        None
    }

    fn operation(&self, _: OpId) -> Option<&u64> {
        Some(&self.buffer)
    }

    fn registration(&self, _: RegId) -> Option<&u64> {
        Some(&self.buffer)
    }
}

impl Handler<Device, Endpoint> for Program {
    fn event(&mut self, machine: &mut Endpoint, device: &mut Device, event: EndpointEvent) {
        match event {
            EndpointEvent::Message(message) => {
                self.messages += 1;
                black_box(message.bytes(device)).expect("a message");
                if let Message::Borrowed(fragment) = message {
                    machine.release(NOW, fragment).expect("own fragment");
                }
                if self.answers {
                    machine.send(NOW, Bytes::from_static(&BYTES), None).expect("room for a message");
                }
            }
            EndpointEvent::Sent { result, .. } => {
                result.expect("sent");
                self.sent += 1;
            }
            EndpointEvent::RdmaDone { result, .. } => {
                result.expect("done");
                self.results += 1;
            }
            EndpointEvent::Registered { result, .. } | EndpointEvent::Deregistered { result, .. } => {
                result.expect("done");
                self.results += 1;
            }
            EndpointEvent::Established(_) => self.established += 1,
            _ => {}
        }
    }
}

impl Handler<Device, Connection> for Program {
    fn event(&mut self, _: &mut Connection, _: &mut Device, event: Event) {
        self.established += u64::from(matches!(event, Event::Established(_)));
    }
}

/// A side that is driven.
#[derive(Clone)]
pub struct Side<M> {
    pub machine: M,
    pub device: Device,
    pub program: Program,
}

impl Side<Endpoint> {
    /// Two sides, established, with all credits granted.
    pub fn pair(params: &Params) -> (Self, Self) {
        let (initiator, acceptor) = Self::small_pair(params);
        for side in [&initiator, &acceptor] {
            assert!(side.machine.connection().credits().send() > 250, "(nearly) all credits are granted");
        }
        (initiator, acceptor)
    }

    /// Two sides, established, of any parameters.
    pub fn small_pair(params: &Params) -> (Self, Self) {
        let config = Config::try_from(params.clone()).expect("valid parameters");
        let side = |role| Self {
            machine: Endpoint::new(role, &config, NOW),
            device: Device::new(&config.budget()),
            program: Program::default(),
        };
        let (mut initiator, mut acceptor) = (side(Role::Initiator), side(Role::Acceptor));
        settle(&mut initiator, &mut acceptor);
        for side in [&initiator, &acceptor] {
            assert_eq!(side.program.established, 1);
        }
        (initiator, acceptor)
    }

    pub fn turn(&mut self) {
        drive(&mut self.machine, &mut self.device, &mut self.program).expect("a sound backend");
    }
}

impl Side<Connection> {
    /// One side, established, that has nothing to do.
    pub fn idle(params: &Params) -> Self {
        let config = Config::try_from(params.clone()).expect("valid parameters");
        let device = Device::new(&config.budget());
        let machine = Connection::new(Role::Initiator, &config, NOW);
        let mut side = Self { machine, device, program: Program::default() };
        let mut peer = Side {
            machine: Endpoint::new(Role::Acceptor, &config, NOW),
            device: Device::new(&config.budget()),
            program: Program::default(),
        };
        loop {
            peer.turn();
            drive(&mut side.machine, &mut side.device, &mut side.program).expect("a sound backend");
            let went = carry(&mut side.device, &mut peer.device);
            if !carry(&mut peer.device, &mut side.device) && !went {
                assert_eq!(side.program.established, 1);
                side.device.forget_memory();
                return side;
            }
        }
    }
}

/// Until both have nothing to do.
pub fn settle(one: &mut Side<Endpoint>, other: &mut Side<Endpoint>) {
    loop {
        other.turn();
        one.turn();
        let went = carry(&mut one.device, &mut other.device);
        if !carry(&mut other.device, &mut one.device) && !went {
            return;
        }
    }
}
