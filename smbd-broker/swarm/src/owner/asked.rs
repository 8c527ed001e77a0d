//! What an owner asks of a broker, and the answers.

use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll};

use smbd_broker::owner::Calls;
use smbd_broker::socket::PacketSocket;
use smbd_broker::wire::{Call, Negotiation, Packet, Parameters, VERSION};
use smbd_core::Params;
use smbd_smb2::wire::Guid;

use crate::ledger::Key;
use crate::plan::OwnerPlan;
use crate::socket::{End, Passed};

/// What an answer is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Hello,
    Hold(Key),
    GiveUp(Key),
    Memory,
    Parameters,
    /// The connection.
    Attach(usize),
}

/// The socket of an owner.
#[derive(Debug)]
pub struct Asking {
    pub socket: End,
    pub calls: Calls,
    pub waiting: BTreeMap<u64, Asked>,
    outgoing: VecDeque<(Packet, Option<Passed>)>,
}

impl Asking {
    pub fn new(socket: End) -> Self {
        Self { socket, calls: Calls::new(), waiting: BTreeMap::new(), outgoing: VecDeque::new() }
    }

    pub fn ask(&mut self, asked: Asked, call: Call, passed: Option<Passed>) -> u64 {
        let (tag, packet) = self.calls.call(call);
        self.waiting.insert(tag, asked);
        self.outgoing.push_back((packet, passed));
        tag
    }

    pub fn hello(&mut self, name: String) {
        self.ask(Asked::Hello, Call::Hello { version: VERSION, name }, None);
    }

    /// To hold something, or to give it up.
    pub fn hold(&mut self, key: Key, is_held: bool) {
        let call = match key {
            Key::Session(session_id) => Call::SetSessionId { session_id, is_held },
            Key::Client(guid) => Call::SetClientGuid { client_guid: Guid([guid; 16]), is_held },
            Key::Rest => Call::Listen { is_on: is_held },
        };
        self.ask(if is_held { Asked::Hold(key) } else { Asked::GiveUp(key) }, call, None);
    }

    /// Sends what waits; `change` may make another packet of each. Whether something was sent.
    pub fn flush(&mut self, cx: &mut Context<'_>, mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        let mut any = false;
        while let Some((packet, passed)) = self.outgoing.front() {
            let changed = change(packet.bytes());
            let bytes = changed.as_deref().unwrap_or_else(|| packet.bytes());
            match self.socket.poll_send(cx, bytes, passed.as_ref()) {
                Poll::Ready(Ok(())) => {}
                // That it is closed shows when it is read.
                Poll::Ready(Err(_)) => {
                    self.outgoing.clear();
                    break;
                }
                Poll::Pending => break,
            }
            self.outgoing.pop_front();
            any = true;
        }
        any
    }

    pub fn is_flushed(&self) -> bool {
        self.outgoing.is_empty()
    }
}

/// How connections are configured: less than the broker's own.
pub fn parameters(own: &OwnerPlan, most: &Params, divisor: u32) -> Parameters {
    let negotiation = own.lets_answer.then(|| Negotiation {
        server_guid: Guid([0x5E; 16]),
        security_mode: 1,
        dialect_max: 0x0311,
        capabilities: 0,
        max_transact_size: 65_536,
        max_read_size: 65_536,
        max_write_size: 65_536,
        ciphers: vec![1, 2],
        signing: Vec::new(),
        transforms: Vec::new(),
        blob: b"blob".to_vec(),
    });
    Parameters {
        receive_credit_max: (most.receive_credit_max / divisor as u16).max(4),
        send_credit_target: (most.send_credit_target / divisor as u16).max(2),
        max_send_size: (most.max_send_size / divisor).max(128),
        max_receive_size: (most.max_receive_size / divisor).max(128),
        max_fragmented_size: most.max_fragmented_recv_size,
        max_read_write_size: most.max_read_write_size,
        keepalive_interval: 120_000,
        negotiation,
    }
}
