use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use smbd_core::backend::ReceiveMemory;
use smbd_core::endpoint::EndpointEvent;
use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest};
use smbd_core::{Action, Config, Endpoint, Head, Input, Instant, Limits, Params, RecvId, Role, SendId};

/// The peer has closed in order.
pub const PEER_CLOSED: Input<'_> = Input::Disconnected { reason: DisconnectReason::PeerClosed };

/// Receive buffers by slot.
#[derive(Debug, Default)]
pub struct Slab(BTreeMap<u16, Vec<u8>>);

impl ReceiveMemory for Slab {
    fn received(&self, id: RecvId) -> &[u8] {
        self.0.get(&id.slot()).map_or(&[], Vec::as_slice)
    }
}

/// An accepting endpoint, its device, and a peer that does what a test says.
pub struct Played {
    pub endpoint: Endpoint,
    pub slab: Slab,
    pub posted: VecDeque<RecvId>,
    /// Sends that the device has, with their payload.
    pub sends: VecDeque<(SendId, Vec<u8>)>,
    pub events: Vec<EndpointEvent>,
    pub now: Instant,
    /// Credits the peer has.
    pub credits: u32,
    /// Receives the peer has posted again and not granted.
    pub ungranted: u16,
}

pub fn params() -> Params {
    Params { keepalive: None, send_credit_timeout: None, ..Params::example() }
}

impl Played {
    pub fn established(params: Params, granted: u16) -> Self {
        let config = Config::try_from(params).unwrap();
        Self::established_with(Endpoint::new(Role::Acceptor, &config, Instant::ORIGIN), granted)
    }

    pub fn established_with(endpoint: Endpoint, granted: u16) -> Self {
        let now = Instant::ORIGIN;
        let (posted, sends) = (VecDeque::new(), VecDeque::new());
        let mut played = Self {
            endpoint,
            slab: Slab::default(),
            posted,
            sends,
            events: Vec::new(),
            now,
            credits: 0,
            ungranted: 0,
        };
        played.drain();
        let limits = Limits {
            read_depth: 1,
            send_queue: 64,
            rdma_len_max: 1 << 20,
            registration_requests: 0,
            send_with_invalidate: false,
            reads_in_order: false,
        };
        played.endpoint.handle(now, Input::Connected { limits }).unwrap();
        let request = NegotiateRequest {
            min_version: 0x0100,
            max_version: 0x0100,
            credits_requested: 10,
            preferred_send_size: 1024,
            max_receive_size: 1024,
            max_fragmented_size: 1 << 20,
        };
        let mut bytes = [0; 20];
        request.encode(&mut bytes).unwrap();
        played.receive(&bytes);
        // The response, whose first grant is at offset 8.
        let credits = |head: &[u8]| u16::from_le_bytes([head[8], head[9]]);
        played.credits =
            u32::from(credits(&played.sends.pop_front().map(|(id, head)| played.sent(id, head)).unwrap()));
        played.data(&[], 0, granted);
        assert!(matches!(played.events.pop(), Some(EndpointEvent::Established(_))));
        played
    }

    fn sent(&mut self, id: SendId, bytes: Vec<u8>) -> Vec<u8> {
        self.endpoint.handle(self.now, Input::Sent { id }).unwrap();
        self.drain();
        bytes
    }

    pub fn receive(&mut self, message: &[u8]) {
        let id = self.posted.pop_front().expect("receiver not ready");
        self.slab.0.insert(id.slot(), message.to_vec());
        let len = u32::try_from(message.len()).unwrap();
        self.endpoint
            .handle(self.now, Input::Received { id, head: Head::of(message), len, invalidated: None })
            .unwrap();
        self.drain();
    }

    /// The peer sends one Data Transfer message.
    pub fn data(&mut self, data: &[u8], remaining: usize, credits_granted: u16) {
        self.credits = self.credits.checked_sub(1).expect("the peer has no credit");
        let header = DataTransfer {
            credits_requested: 10,
            credits_granted: credits_granted + std::mem::take(&mut self.ungranted),
            flags: Flags::NONE,
            remaining_data_length: u32::try_from(remaining).unwrap(),
            data_offset: if data.is_empty() { 0 } else { 24 },
            data_length: u32::try_from(data.len()).unwrap(),
        };
        let mut message = vec![0; 24];
        let len = header.encode(&mut message).unwrap();
        message.truncate(len);
        message.extend_from_slice(data);
        self.receive(&message);
    }

    /// The peer sends a message in fragments of the given lengths, again and again.
    pub fn message(&mut self, message: &[u8], fragments: &[usize]) {
        let (mut rest, mut lengths) = (message, fragments.iter().cycle());
        while !rest.is_empty() {
            let (fragment, later) = rest.split_at((*lengths.next().unwrap()).min(rest.len()));
            self.data(fragment, later.len(), 0);
            self.complete_grants();
            rest = later;
        }
    }

    /// Completes sends that carry no data, as a prompt device does.
    pub fn complete_grants(&mut self) {
        while let Some(index) = self.sends.iter().position(|(_, bytes)| bytes.len() <= 24) {
            let (id, bytes) = self.sends.remove(index).unwrap();
            self.ungranted += 1;
            self.sent(id, bytes);
        }
    }

    /// Carries out the end: everything posted is flushed. Whether all is over then.
    pub fn finish(&mut self) -> bool {
        loop {
            match self.endpoint.poll_action(&self.slab).unwrap() {
                Action::Disconnect => {
                    let flushed = |id| Input::Failed { id, error: WorkError::Flushed };
                    for (id, _) in std::mem::take(&mut self.sends) {
                        self.endpoint.handle(self.now, flushed(id.into())).unwrap();
                    }
                    for id in std::mem::take(&mut self.posted) {
                        self.endpoint.handle(self.now, flushed(id.into())).unwrap();
                    }
                    // Refused where it was reported before; nothing changes then.
                    let _ = self
                        .endpoint
                        .handle(self.now, Input::Disconnected { reason: DisconnectReason::Local });
                }
                Action::Notify(event) => {
                    let drained = matches!(event, EndpointEvent::Drained);
                    self.events.push(event);
                    if drained {
                        return true;
                    }
                }
                Action::Wait(_) => return false,
                other => panic!("{other:?} at the end"),
            }
        }
    }

    pub fn drain(&mut self) {
        loop {
            match self.endpoint.poll_action(&self.slab).unwrap() {
                Action::Wait(_) => return,
                Action::PostRecv { id, .. } => self.posted.push_back(id),
                Action::PostSend { id, head, body, .. } => {
                    let mut bytes = head.as_bytes().to_vec();
                    if head.len() < 32 {
                        self.credits += u32::from(u16::from_le_bytes([bytes[2], bytes[3]]));
                    }
                    if let Some(body) = body {
                        bytes.extend_from_slice(self.endpoint.body(body).expect("bytes of a posted send"));
                    }
                    self.sends.push_back((id, bytes));
                }
                Action::Notify(event) => self.events.push(event),
                Action::Accept => {}
                other => panic!("{other:?} was not expected"),
            }
        }
    }
}

/// Bytes that differ from their neighbours.
pub fn pattern(len: usize, seed: usize) -> Bytes {
    (0..len).map(|n| u8::try_from((n * 7 + n / 251 + seed) % 256).unwrap()).collect()
}
