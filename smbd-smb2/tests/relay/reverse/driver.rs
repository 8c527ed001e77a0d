//! What drives it: a stream of the client, pieces of the server's messages, a device. It is late, and cuts everything anywhere.

use std::collections::VecDeque;

use smbd_smb2::relay::reverse::{Action, Arrived, Event, Reverse, ServerBytes};
use smbd_smb2::relay::{BufferId, Idle, Placement, Reason, Room, Source, Way};

use super::device::Device;
use smbd_testkit::relay::reverse::{Client, Server};
use smbd_testkit::{Breach, Chance, law};

/// What goes to the client.
enum Out {
    Bytes(Vec<u8>),
    Buffer { buffer: BufferId, offset: u32, len: u32 },
}

pub struct Driver {
    pub device: Device,
    /// Messages of the server, in pieces.
    pieces: VecDeque<(Vec<u8>, u32)>,
    /// How much of the first was taken.
    taken: usize,
    to_client: VecDeque<Out>,
    to_server: VecDeque<(Vec<u8>, u32)>,
    /// A message to the server, as far as it has come, and what remains.
    message: Option<(Vec<u8>, u32)>,
    pub closed: Option<Reason>,
    is_loud: bool,
}

impl Driver {
    pub fn new(device: Device, is_loud: bool) -> Self {
        Self {
            device,
            pieces: VecDeque::new(),
            taken: 0,
            to_client: VecDeque::new(),
            to_server: VecDeque::new(),
            message: None,
            closed: None,
            is_loud,
        }
    }

    pub fn is_empty(&self) -> bool {
        !self.has_work() && self.pieces.is_empty() && self.message.is_none() && self.device.is_quiet()
    }

    pub fn has_work(&self) -> bool {
        !self.to_server.is_empty() || !self.to_client.is_empty() || self.device.has_work()
    }

    /// Asks once. Whether something was done.
    pub fn poll(
        &mut self,
        reverse: &mut Reverse,
        client: &mut Client,
        room: Room,
        cut: usize,
    ) -> Result<bool, Breach> {
        let offered = client.out.len().min(cut);
        let server = match self.pieces.front() {
            Some((bytes, remaining)) => ServerBytes { bytes: &bytes[self.taken..], remaining: *remaining },
            None => ServerBytes::default(),
        };
        let (before, remaining_before) = (server.bytes.len(), server.remaining);
        let mut arrived = Arrived { client: &client.out[..offered], server };
        let is_loud = self.is_loud;
        let tell = |what: std::fmt::Arguments<'_>| {
            if is_loud {
                eprintln!("{what}");
            }
        };
        let mut is_over = None;
        match reverse.poll(&mut arrived, room) {
            Action::ToServer { bytes, remaining } => {
                law!("room", !bytes.is_empty() && bytes.len() <= room.server, "{} of {room:?}", bytes.len());
                tell(format_args!("to server: {} bytes, {remaining} remain", bytes.len()));
                self.to_server.push_back((bytes.to_vec(), remaining));
            }
            Action::ToClient(Source::Bytes(bytes)) => {
                law!("room", !bytes.is_empty() && bytes.len() <= room.client, "{} of {room:?}", bytes.len());
                tell(format_args!("to client: {} bytes", bytes.len()));
                self.to_client.push_back(Out::Bytes(bytes.to_vec()));
            }
            Action::ToClient(Source::Buffer { head, buffer, offset, len }) => {
                let all = head.len() + len as usize;
                law!("room", len > 0 && all <= room.client, "{} and {len} of {room:?}", head.len());
                tell(format_args!("to client: {} bytes, {buffer:?} {offset}+{len}", head.len()));
                self.to_client.extend((!head.is_empty()).then(|| Out::Bytes(head.to_vec())));
                self.device.leave(buffer, offset, len)?;
                self.to_client.push_back(Out::Buffer { buffer, offset, len });
            }
            Action::Store { buffer, offset, bytes } => {
                law!("buffers", buffer.way == Way::ToServer, "{buffer:?}");
                self.device.own(buffer, offset, bytes.len())?.copy_from_slice(bytes);
            }
            Action::Zero { buffer, offset, len } => {
                law!("buffers", len > 0, "no zeros");
                self.device.own(buffer, offset, len as usize)?.fill(0);
            }
            Action::Register { buffer, access } => {
                tell(format_args!("register: {buffer:?} {access:?}"));
                self.device.register(buffer, access)?;
            }
            Action::Deregister { buffer } => {
                tell(format_args!("deregister: {buffer:?}"));
                self.device.deregister(buffer)?;
            }
            Action::Idle(idle) => is_over = Some(idle),
            Action::Close(reason) => {
                tell(format_args!("close: {reason}"));
                law!("ends", self.closed.is_none(), "closed twice");
                self.closed = Some(reason);
            }
        }
        let stream = offered - arrived.client.len();
        let (left, remaining) = (arrived.server.bytes.len(), arrived.server.remaining);
        law!("arrivals", remaining == remaining_before && left <= before, "{left} left");
        client.out.drain(..stream);
        self.taken += before - left;
        if left == 0 && before > 0 {
            self.pieces.pop_front();
            self.taken = 0;
        }
        if let Some(Idle { pause_client, pause_server }) = is_over {
            law!("idle", !pause_client || !client.out.is_empty(), "the client is paused for nothing");
            law!("idle", !pause_server || left > 0, "the server is paused for nothing");
        }
        Ok(is_over.is_none() || stream > 0 || left < before)
    }

    /// Puts bytes of the client straight where they belong.
    pub fn place(&mut self, reverse: &mut Reverse, client: &mut Client, cut: usize) -> Result<(), Breach> {
        let Some(Placement { buffer, offset, len, .. }) = reverse.placement() else { return Ok(()) };
        law!("buffers", buffer.way == Way::ToServer, "{buffer:?}");
        let len = (len as usize).min(cut).min(client.out.len());
        self.device.own(buffer, offset, len)?.copy_from_slice(&client.out[..len]);
        client.out.drain(..len);
        let placed = Event::Placed { buffer, len: len as u32 };
        reverse.handle(placed).map_err(|error| format!("buffers: {error}"))
    }

    /// Lets a piece reach the server.
    pub fn deliver(&mut self, server: &mut Server, client: &Client) -> Result<(), Breach> {
        let Some((bytes, remaining)) = self.to_server.pop_front() else { return Ok(()) };
        let len = bytes.len() as u32;
        let (mut message, expected) = self.message.take().unwrap_or((Vec::new(), len + remaining));
        law!("pieces", len + remaining == expected, "{remaining} remain of {expected}");
        message.extend_from_slice(&bytes);
        if remaining > 0 {
            self.message = Some((message, remaining));
            return Ok(());
        }
        server.receive(&message, client, &self.device)
    }

    /// Lets some bytes reach the client.
    pub fn transmit(
        &mut self,
        reverse: &mut Reverse,
        client: &mut Client,
        server: &Server,
        chance: &mut Chance,
    ) -> Result<(), Breach> {
        let most = chance.size(1, 3000);
        let Some(out) = self.to_client.front_mut() else { return Ok(()) };
        let (bytes, is_over) = match out {
            Out::Bytes(bytes) => {
                let part: Vec<u8> = bytes.drain(..most.min(bytes.len())).collect();
                (part, bytes.is_empty())
            }
            Out::Buffer { buffer, offset, len } => {
                let part = (most as u32).min(*len);
                let bytes = self.device.left(*buffer, *offset, part);
                let sent = Event::Sent { buffer: *buffer, len: part };
                reverse.handle(sent).map_err(|error| format!("buffers: {error}"))?;
                (*offset, *len) = (*offset + part, *len - part);
                (bytes, *len == 0)
            }
        };
        if is_over {
            self.to_client.pop_front();
        }
        client.receive(&bytes, server, &self.device)
    }

    /// The server's next message arrives, and invalidates what it says.
    pub fn arrive(&mut self, server: &mut Server, chance: &mut Chance) -> Result<(), Breach> {
        let Some((message, invalidate)) = server.out.pop_front() else { return Ok(()) };
        if let Some(token) = invalidate {
            self.device.invalidate(token)?;
        }
        let mut rest = &message[..];
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(chance.size(1, 400).min(rest.len()));
            rest = behind;
            self.pieces.push_back((piece.to_vec(), rest.len() as u32));
        }
        Ok(())
    }

    /// Ends something that the device does.
    pub fn tell(&mut self, reverse: &mut Reverse, chance: &mut Chance) -> Result<(), Breach> {
        let event = if chance.one_in(2) {
            let done = self.device.finish_register(chance);
            done.map(|(buffer, descriptor)| Event::Registered { buffer, descriptor })
        } else {
            self.device.finish_deregister(chance).map(|buffer| Event::Deregistered { buffer })
        };
        match event {
            Some(event) => reverse.handle(event).map_err(|error| format!("buffers: {error}")),
            None => Ok(()),
        }
    }
}

impl std::fmt::Display for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (pieces, to_server, to_client) = (self.pieces.len(), self.to_server.len(), self.to_client.len());
        let (is_quiet, message) = (self.device.is_quiet(), self.message.is_some());
        write!(
            f,
            "{pieces} pieces, {to_server} to the server, {to_client} to the client, {message}, {is_quiet}"
        )
    }
}
