//! What drives a relay: queues of pieces, buffers, an RDMA device. It is late, and cuts everything anywhere.

use std::collections::VecDeque;

use smbd_smb2::relay::*;
use smbd_testkit::relay::{Client, Server};
use smbd_testkit::{Breach, Chance, law};

use super::heap::Heap;

/// What goes to the server.
enum Out {
    Bytes(Vec<u8>),
    Buffer { buffer: BufferId, offset: u32, len: u32 },
}

/// What goes to the client, on one queue pair.
enum Send {
    Write(Transfer),
    Piece { bytes: Vec<u8>, remaining: u32, invalidate: Option<u32> },
}

/// What a relay wanted, with bytes of its own.
enum Done {
    /// The first is often empty.
    ToServer([Out; 2]),
    ToClient(Option<Transfer>, Send),
    Read(Transfer),
    Store {
        buffer: BufferId,
        offset: u32,
        bytes: Vec<u8>,
    },
    Idle(Idle),
    Close(Reason),
}

pub struct Driver {
    /// Messages of the client, in pieces.
    pieces: VecDeque<(Vec<u8>, u32)>,
    /// How much of the first was taken.
    taken: usize,
    to_server: VecDeque<Out>,
    sends: VecDeque<Send>,
    reads: Vec<Transfer>,
    /// RDMA operations whose end was not told.
    ends: Vec<BufferId>,
    buffers: [Vec<Vec<u8>>; 2],
    /// A message to the client, as far as it has come: its bytes, what remains, and the token.
    message: Option<(Vec<u8>, u32, Option<u32>)>,
    busy: [Vec<bool>; 2],
    /// Of the relay; it may have so much.
    pub heap: Heap,
    pub heap_max: u64,
    pub closed: Option<Reason>,
    is_loud: bool,
}

impl Driver {
    pub fn new(config: &Config, is_loud: bool) -> Self {
        let count = usize::from(config.buffers());
        let buffers = vec![vec![0; config.params().buffer_len as usize]; count];
        Self {
            pieces: VecDeque::new(),
            taken: 0,
            to_server: VecDeque::new(),
            sends: VecDeque::new(),
            reads: Vec::new(),
            ends: Vec::new(),
            buffers: [buffers.clone(), buffers],
            message: None,
            busy: [vec![false; count], vec![false; count]],
            heap: Heap::default(),
            heap_max: config.heap_max(),
            closed: None,
            is_loud,
        }
    }

    /// A message of the client, in pieces of SMB Direct.
    pub fn send(&mut self, message: &[u8], chance: &mut Chance) {
        let mut rest = message;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(chance.size(1, 400).min(rest.len()));
            rest = behind;
            self.pieces.push_back((piece.to_vec(), rest.len() as u32));
        }
    }

    pub fn has_pieces(&self) -> bool {
        !self.pieces.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        let is_sent = self.to_server.is_empty() && self.sends.is_empty() && self.message.is_none();
        self.pieces.is_empty() && is_sent && self.reads.is_empty() && self.ends.is_empty()
    }

    pub fn has_work(&self) -> bool {
        !self.to_server.is_empty()
            || !self.sends.is_empty()
            || !self.reads.is_empty()
            || !self.ends.is_empty()
    }

    /// Asks the relay once. Whether it did something.
    pub fn poll(
        &mut self,
        relay: &mut Relay,
        server: &mut Server,
        room: Room,
        cut: usize,
    ) -> Result<bool, Breach> {
        let client = match self.pieces.front() {
            Some((bytes, remaining)) => ClientBytes { bytes: &bytes[self.taken..], remaining: *remaining },
            None => ClientBytes::default(),
        };
        let offered_by_client = client.bytes.len();
        let offered = &server.out[..cut.min(server.out.len())];
        let mut arrived = Arrived { client, server: offered };
        let of_relay = &mut arrived;
        let done = match self.heap.count(move || relay.poll(of_relay, room)) {
            Action::ToServer(Source::Bytes(bytes)) => {
                law!("room", !bytes.is_empty() && bytes.len() <= room.server, "{} of {room:?}", bytes.len());
                Done::ToServer([Out::Bytes(Vec::new()), Out::Bytes(bytes.to_vec())])
            }
            Action::ToServer(Source::Buffer { head, buffer, offset, len }) => {
                let all = head.len() + len as usize;
                law!("room", len > 0 && all <= room.server, "{} and {len} of {room:?}", head.len());
                Done::ToServer([Out::Bytes(head.to_vec()), Out::Buffer { buffer, offset, len }])
            }
            Action::ToClient { write, bytes, remaining, invalidate } => {
                law!("room", !bytes.is_empty() && bytes.len() <= room.client, "{} of {room:?}", bytes.len());
                let invalidate = invalidate.map(|token| token.0);
                Done::ToClient(write, Send::Piece { bytes: bytes.to_vec(), remaining, invalidate })
            }
            Action::RdmaRead(transfer) => Done::Read(transfer),
            Action::RdmaWrite(transfer) => Done::ToClient(None, Send::Write(transfer)),
            Action::Store { buffer, offset, bytes } => Done::Store { buffer, offset, bytes: bytes.to_vec() },
            Action::Idle(idle) => Done::Idle(idle),
            Action::Close(reason) => Done::Close(reason),
        };
        law!("heap", self.heap.most <= self.heap_max, "{} bytes, not {}", self.heap.most, self.heap_max);
        let (left, remaining) = (arrived.client.bytes.len(), arrived.client.remaining);
        let stream = offered.len() - arrived.server.len();
        if let Some((bytes, before)) = self.pieces.front() {
            law!("arrivals", remaining == *before && left <= bytes.len() - self.taken, "{left} left");
            self.taken = bytes.len() - left;
            if left == 0 {
                self.pieces.pop_front();
                self.taken = 0;
            }
        }
        server.out.drain(..stream);
        let has_taken = stream > 0 || left < offered_by_client;
        Ok(self.carry_out(done, left > 0, !server.out.is_empty())? || has_taken)
    }

    /// Puts bytes of the server straight where they belong.
    pub fn place(&mut self, relay: &mut Relay, server: &mut Server, cut: usize) -> Result<(), Breach> {
        // Nothing that was offered may be left: a driver looks at its own buffer first.
        let Some(Placement { buffer, offset, len, .. }) = relay.placement() else { return Ok(()) };
        law!("buffers", buffer.way == Way::ToClient && !self.is_busy(buffer), "{buffer:?} is in use");
        let len = (len as usize).min(cut).min(server.out.len());
        let room = self.buffers[1][usize::from(buffer.index)].get_mut(offset as usize..);
        let room = room.and_then(|room| room.get_mut(..len));
        law!("buffers", room.is_some(), "{len} bytes at {offset} of {buffer:?}");
        room.unwrap().copy_from_slice(&server.out[..len]);
        server.out.drain(..len);
        let placed = Event::Placed { buffer, len: len as u32 };
        self.heap.count(|| relay.handle(placed)).map_err(|error| format!("buffers: {error}"))
    }

    fn carry_out(&mut self, done: Done, client_left: bool, server_left: bool) -> Result<bool, Breach> {
        match done {
            Done::ToServer(parts) => {
                for out in parts {
                    match &out {
                        Out::Bytes(bytes) if bytes.is_empty() => continue,
                        Out::Bytes(bytes) if self.is_loud => eprintln!("to server: {} bytes", bytes.len()),
                        Out::Buffer { buffer, offset, len } if self.is_loud => {
                            eprintln!("to server: {buffer:?} {offset}+{len}")
                        }
                        Out::Bytes(_) | Out::Buffer { .. } => {}
                    }
                    self.to_server.push_back(out);
                }
            }
            Done::ToClient(write, send) => {
                for send in write.map(Send::Write).into_iter().chain([send]) {
                    if let Send::Write(transfer) = &send {
                        self.begin(transfer, Way::ToClient)?;
                    } else if let Send::Piece { bytes, remaining, invalidate } = &send
                        && self.is_loud
                    {
                        eprintln!("to client: {} bytes, {remaining} remain, {invalidate:?}", bytes.len());
                    }
                    self.sends.push_back(send);
                }
            }
            Done::Read(transfer) => {
                self.begin(&transfer, Way::ToServer)?;
                self.reads.push(transfer);
            }
            Done::Store { buffer, offset, bytes } => {
                law!("buffers", buffer.way == Way::ToClient && !self.is_busy(buffer), "{buffer:?} is in use");
                let room = self.buffers[1][usize::from(buffer.index)].get_mut(offset as usize..);
                let room = room.and_then(|room| room.get_mut(..bytes.len()));
                law!("buffers", room.is_some(), "{} bytes at {offset} of {buffer:?}", bytes.len());
                room.unwrap().copy_from_slice(&bytes);
            }
            Done::Idle(idle) => {
                // What was not offered cannot be left.
                law!("idle", !idle.pause_client || client_left, "the client is paused for nothing");
                law!("idle", !idle.pause_server || server_left, "the server is paused for nothing");
                return Ok(false);
            }
            Done::Close(reason) => {
                if self.is_loud {
                    eprintln!("close: {reason}");
                }
                law!("ends", self.closed.is_none(), "closed twice");
                self.closed = Some(reason);
            }
        }
        Ok(true)
    }

    fn is_busy(&self, buffer: BufferId) -> bool {
        self.busy[buffer.way as usize][usize::from(buffer.index)]
    }

    /// An RDMA operation begins.
    fn begin(&mut self, transfer: &Transfer, way: Way) -> Result<(), Breach> {
        if self.is_loud {
            eprintln!("rdma: {transfer:?}");
        }
        let buffer = transfer.buffer;
        let buffers = &self.buffers[way as usize];
        law!("buffers", buffer.way == way && usize::from(buffer.index) < buffers.len(), "{buffer:?}");
        law!("buffers", transfer.len as usize <= buffers[0].len() && transfer.len > 0, "{transfer:?}");
        law!("buffers", !self.is_busy(buffer), "{buffer:?} is in use");
        self.busy[way as usize][usize::from(buffer.index)] = true;
        Ok(())
    }

    /// Lets some bytes reach the server.
    pub fn deliver(
        &mut self,
        relay: &mut Relay,
        server: &mut Server,
        client: &Client,
        chance: &mut Chance,
    ) -> Result<(), Breach> {
        let Some(out) = self.to_server.front_mut() else { return Ok(()) };
        let (bytes, is_over) = match out {
            Out::Bytes(bytes) => {
                let rest = bytes.split_off(chance.size(1, 3000).min(bytes.len()));
                let bytes = std::mem::replace(bytes, rest);
                (bytes, out_len(out) == 0)
            }
            Out::Buffer { buffer, offset, len } => {
                let part = (chance.size(1, 3000) as u32).min(*len);
                let memory = &self.buffers[0][usize::from(buffer.index)];
                let bytes = memory[*offset as usize..(*offset + part) as usize].to_vec();
                (*offset, *len) = (*offset + part, *len - part);
                let sent = Event::Sent { buffer: *buffer, len: part };
                self.heap.count(|| relay.handle(sent)).map_err(|error| format!("buffers: {error}"))?;
                (bytes, *len == 0)
            }
        };
        if is_over {
            self.to_server.pop_front();
        }
        server.receive(&bytes, client, chance)
    }

    /// Carries out the next work of the queue pair.
    pub fn transmit(&mut self, client: &mut Client, server: &Server) -> Result<(), Breach> {
        match self.sends.pop_front() {
            None => Ok(()),
            Some(Send::Write(transfer)) => {
                let buffer = &self.buffers[1][usize::from(transfer.buffer.index)];
                let bytes = buffer[..transfer.len as usize].to_vec();
                access(&transfer, client, |at, byte| *byte = bytes[at])?;
                self.ends.push(transfer.buffer);
                self.heap.count(|| drop(transfer));
                Ok(())
            }
            Some(Send::Piece { bytes, remaining, invalidate }) => {
                let (mut message, expected, token) = match self.message.take() {
                    Some(message) => message,
                    None => (Vec::new(), bytes.len() as u32 + remaining, invalidate),
                };
                law!(
                    "pieces",
                    bytes.len() as u32 + remaining == expected,
                    "{remaining} remain of {expected}"
                );
                law!("pieces", token == invalidate, "{invalidate:?} after {token:?}");
                message.extend_from_slice(&bytes);
                if remaining > 0 {
                    self.message = Some((message, remaining, token));
                    return Ok(());
                }
                client.receive(&message, token, server)
            }
        }
    }

    /// Carries out one RDMA Read, whichever.
    pub fn read(&mut self, client: &mut Client, chance: &mut Chance) -> Result<(), Breach> {
        if self.reads.is_empty() {
            return Ok(());
        }
        let transfer = self.reads.swap_remove(chance.below(self.reads.len()));
        let mut bytes = vec![0; transfer.len as usize];
        access(&transfer, client, |at, byte| bytes[at] = *byte)?;
        self.buffers[0][usize::from(transfer.buffer.index)][..bytes.len()].copy_from_slice(&bytes);
        self.ends.push(transfer.buffer);
        self.heap.count(|| drop(transfer));
        Ok(())
    }

    /// Tells the end of an RDMA operation.
    pub fn tell(&mut self, relay: &mut Relay, is_success: bool, chance: &mut Chance) -> Result<bool, Breach> {
        if self.ends.is_empty() {
            return Ok(false);
        }
        let buffer = self.ends.swap_remove(chance.below(self.ends.len()));
        self.busy[buffer.way as usize][usize::from(buffer.index)] = false;
        let done = Event::RdmaDone { buffer, is_success };
        self.heap.count(|| relay.handle(done)).map_err(|error| format!("buffers: {error}"))?;
        Ok(true)
    }
}

impl std::fmt::Display for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (pieces, to_server, sends) = (self.pieces.len(), self.to_server.len(), self.sends.len());
        let (reads, ends, message) = (self.reads.len(), self.ends.len(), self.message.is_some());
        write!(
            f,
            "{pieces} pieces, {to_server} to the server, {sends} sends, {reads} reads, {ends} ends, {message}"
        )
    }
}

fn out_len(out: &Out) -> usize {
    match out {
        Out::Bytes(bytes) => bytes.len(),
        Out::Buffer { len, .. } => *len as usize,
    }
}

/// Goes through the client's memory of a transfer.
fn access(
    transfer: &Transfer,
    client: &mut Client,
    mut each: impl FnMut(usize, &mut u8),
) -> Result<(), Breach> {
    let (mut skip, mut at) = (transfer.offset as usize, 0);
    for descriptor in transfer.remote.iter() {
        let len = (descriptor.length as usize).saturating_sub(skip).min(transfer.len as usize - at);
        let from = skip;
        skip = skip.saturating_sub(descriptor.length as usize);
        if len == 0 {
            continue;
        }
        let Some(region) = client.regions.get_mut(&descriptor.token.0) else {
            return Err(format!("memory: {} is not registered: {transfer:?}", descriptor.token));
        };
        law!("memory", region.address == descriptor.offset, "{descriptor:?}");
        let Some(bytes) = region.bytes.get_mut(from..from + len) else {
            return Err(format!("memory: {descriptor:?} is too long"));
        };
        for byte in bytes {
            each(at, byte);
            at += 1;
        }
    }
    law!("memory", at == transfer.len as usize, "{at} bytes of {transfer:?}");
    Ok(())
}
