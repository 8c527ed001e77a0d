//! Messages of an engine in which some connections are busy and all others are idle.

use bytes::Bytes;
use smbd_core::{Endpoint, Instant, Params};
use smbd_link::engine::{Engine, Key};
use smbd_repository::instructions::Work;

use super::device::{Device, NOW, carry};
use super::measured;
use super::poller::Nothing;
use super::side::{Program, Side};

/// Those that are busy.
pub const CONNECTIONS: u32 = 100;

type Many = Engine<Program, Endpoint, Device, Nothing>;

/// A busy connection of the engine, and its peer.
struct Busy {
    key: Key,
    peer: Side<Endpoint>,
}

/// An engine of connections that have nothing to do; those that will be busy lie between the others.
fn engine(idle: u32) -> (Many, Vec<Busy>) {
    let params = Params { message_slots: 4, ..Params::example() };
    let mut engine = Engine::new(()).expect("an engine");
    let mut busy = Vec::new();
    for number in 0..CONNECTIONS + idle {
        let (peer, Side { machine, mut device, mut program }) = Side::small_pair(&params);
        program.answers = number % (1 + idle / CONNECTIONS) == 0;
        if program.answers {
            busy.push(Busy { key: engine.add(machine, device, program).expect("added"), peer });
        } else {
            device.forget_memory();
            engine.add(machine, device, program).expect("added");
        }
    }
    assert_eq!(busy.len(), usize::try_from(CONNECTIONS).expect("a number"));
    // All are driven, and their devices armed.
    for _ in 0..2 {
        engine.poll(Some(Instant::ORIGIN)).expect("a poller");
    }
    (engine, busy)
}

/// An engine, and the peers of those of its connections that are busy.
pub struct Exchange {
    engine: Many,
    busy: Vec<Busy>,
}

impl Exchange {
    /// With so many more connections that are idle.
    pub fn new(idle: u32) -> Self {
        let (engine, busy) = engine(idle);
        Self { engine, busy }
    }

    /// One message to each busy connection. Each is answered, and that is carried to the peer.
    pub fn turn(&mut self) {
        for Busy { key, peer } in &mut self.busy {
            peer.machine.send(NOW, Bytes::from_static(&[0; 64]), None).expect("room for a message");
            peer.turn();
            let (_, device, _) = self.engine.get_mut(*key).expect("a connection");
            carry(&mut peer.device, device);
        }
        measured::busy(&mut self.engine);
        for Busy { key, peer } in &mut self.busy {
            let (_, device, _) = self.engine.get_mut(*key).expect("a connection");
            carry(device, &mut peer.device);
            peer.turn();
        }
    }

    /// Answers that came.
    pub fn answers(&self) -> u64 {
        self.busy.iter().map(|busy| busy.peer.program.messages).sum()
    }
}

/// So many messages in all.
pub fn messages<const IDLE: u32>(count: u32) -> Work {
    let mut exchange = Exchange::new(IDLE);
    Box::new(move || {
        for _ in 0..count / CONNECTIONS {
            exchange.turn();
        }
        assert_eq!(exchange.answers(), u64::from(count), "all were answered");
        Box::new(exchange)
    })
}
