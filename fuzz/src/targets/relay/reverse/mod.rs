//! A gateway the other way round, between a client and a server that say anything.

mod driver;

use arbitrary::{Arbitrary, Unstructured};
use smbd_smb2::relay::reverse::{Action, Arrived, Config, Event, Params, Reverse, ServerBytes};
use smbd_smb2::relay::{BufferId, Room, Side, Way};
use smbd_smb2::wire::{
    BufferDescriptorV1, Dialect, Header, NegotiateRequest, NegotiateResponse, NtStatus, ReadRequest,
    ReadResponse, SessionSetupRequest, SessionSetupResponse, Token, WriteRequest, write_element,
};

use self::driver::{Driver, Use};
use super::elements::{Element, message};
use super::pieces::Pieces;
use crate::replay::trace;

/// Room is kept, pieces make messages, the server has access only to what was filled for it and named to it, nothing of a buffer
/// goes to the client before that access has ended, and after the end nothing comes.
pub fn reverse(data: &[u8]) {
    let mut data = Unstructured::new(data);
    let Some(mut rig) = Rig::new(&mut data) else { return };
    while !data.is_empty() {
        let Ok(step) = Step::arbitrary(&mut data) else { return };
        trace(format_args!("{step:?}"));
        rig.play(&step);
    }
}

#[derive(Debug, Arbitrary)]
enum Step {
    /// A message of the client, of elements, with bytes that were changed.
    Request {
        elements: Vec<Element>,
        changes: [(u8, u8); 2],
    },
    /// A READ or WRITE without a channel, of so many bytes.
    Plain {
        id: u8,
        length: u16,
        is_read: bool,
    },
    /// A message of the server.
    Answer {
        elements: Vec<Element>,
        changes: [(u8, u8); 2],
        cut: u8,
    },
    /// The answer to a READ: so many bytes came by RDMA.
    Moved {
        id: u8,
        length: u16,
    },
    /// A dialect and a session.
    Session {
        dialect: u8,
    },
    /// Bytes of either side.
    Bytes {
        is_server: bool,
        bytes: Vec<u8>,
        remaining: u8,
    },
    Poll {
        client: u16,
        server: u16,
        times: u8,
    },
    /// Bytes of the client, put where they belong.
    Place {
        len: u8,
    },
    /// Something that was ordered, or bytes sent, come to an end.
    End {
        which: u8,
        is_success: bool,
    },
    /// An end that may be invented.
    Invented {
        kind: u8,
        buffer: u8,
        is_read: bool,
        len: u8,
    },
    Ended {
        is_client: bool,
    },
}

struct Rig {
    reverse: Reverse,
    client: Vec<u8>,
    pieces: Pieces,
    driver: Driver,
}

impl Rig {
    fn new(data: &mut Unstructured<'_>) -> Option<Self> {
        let [held, buffer, buffers, fragmented, most] = <[u8; 5]>::arbitrary(data).ok()?.map(u32::from);
        let (held_max, buffer_len) = (256 + held * 8, 1 + buffer * 4);
        let params = Params {
            held_max,
            buffer_len,
            budget: held_max + buffer_len * (1 + buffers % 8),
            threshold: 1 + fragmented % 16,
            max_read_write_size: most * 64,
            max_fragmented_send_size: 256 + fragmented * 16,
            max_fragmented_recv_size: 256 + fragmented * 16,
            remote_invalidation: buffers & 8 != 0,
        };
        let config = Config::new(&params).expect("possible");
        let driver = Driver::new(buffer_len, config.buffers());
        Some(Self { reverse: Reverse::new(&config), client: Vec::new(), pieces: Pieces::default(), driver })
    }

    fn play(&mut self, step: &Step) {
        match step {
            Step::Request { elements, changes } => self.request(&message(elements, *changes, false)),
            Step::Plain { id, length, is_read } => self.request(&plain(*id, *length, *is_read)),
            Step::Answer { elements, changes, cut } => {
                self.pieces.message(&message(elements, *changes, true), usize::from(*cut) + 1);
            }
            Step::Moved { id, length } => {
                let header = Header::request::<ReadRequest<'_>>((*id % 16).into());
                let body = ReadResponse { data_remaining: (*length).into(), ..ReadResponse::default() };
                let mut message = Vec::new();
                write_element(&mut message, &header.response(NtStatus::SUCCESS), &body).expect("short");
                self.pieces.message(&message, message.len());
            }
            Step::Session { dialect } => self.session(*dialect),
            Step::Bytes { is_server: false, bytes, .. } => self.client.extend_from_slice(bytes),
            Step::Bytes { bytes, remaining, .. } => self.pieces.begin(bytes, *remaining),
            Step::Poll { client, server, times } => {
                let room = Room { client: (*client).into(), server: (*server).into() };
                for _ in 0..*times {
                    if !self.poll(room) {
                        break;
                    }
                }
            }
            Step::Place { len } => self.place(u32::from(*len) + 1),
            Step::End { which, is_success } => self.end(usize::from(*which), *is_success),
            Step::Invented { kind, buffer, is_read, len } => self.invent(*kind, *buffer, *is_read, *len),
            Step::Ended { is_client } => {
                let side = if *is_client { Side::Client } else { Side::Server };
                self.reverse.handle(Event::Ended(side)).expect("always possible");
            }
        }
    }

    fn request(&mut self, message: &[u8]) {
        self.client.extend_from_slice(&(message.len() as u32).to_be_bytes());
        self.client.extend_from_slice(message);
    }

    fn session(&mut self, dialect: u8) {
        let dialects = [Dialect::SMB_2_1, Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];
        let dialect = dialects[usize::from(dialect) % dialects.len()];
        let (mut negotiated, mut established) = (Vec::new(), Vec::new());
        let header = Header::request::<NegotiateRequest<'_>>(0).response(NtStatus::SUCCESS);
        let body = NegotiateResponse { dialect, ..NegotiateResponse::default() };
        write_element(&mut negotiated, &header, &body).expect("short");
        let header = Header::request::<SessionSetupRequest<'_>>(1).response(NtStatus::SUCCESS);
        write_element(&mut established, &header, &SessionSetupResponse::default()).expect("short");
        self.pieces.message(&negotiated, negotiated.len());
        self.pieces.message(&established, established.len());
    }

    fn place(&mut self, len: u32) {
        let Some(place) = self.reverse.placement() else { return };
        assert!(!self.driver.is_closed && place.buffer.way == Way::ToServer);
        let len = len.min(place.len).min(self.client.len() as u32);
        if len > 0 {
            self.driver.write(place.buffer, place.offset, len);
            self.client.drain(..len as usize);
            self.reverse.handle(Event::Placed { buffer: place.buffer, len }).expect("it was asked for");
        }
    }

    /// Ends what was ordered, one of it.
    fn end(&mut self, which: usize, is_success: bool) {
        let driver = &mut self.driver;
        let due = driver.due();
        if let Some(&id) = due.get(which % (due.len() + 1)) {
            let event = if is_success { driver.finish(id) } else { Event::Failed { buffer: id } };
            self.reverse.handle(event).expect("it was ordered");
        } else if !driver.sent.is_empty() {
            let (buffer, len) = driver.sent.remove(which % driver.sent.len());
            driver.buffer(buffer).unsent -= len;
            self.reverse.handle(Event::Sent { buffer, len }).expect("it was given");
        }
    }

    fn invent(&mut self, kind: u8, index: u8, is_read: bool, len: u8) {
        let way = if is_read { Way::ToServer } else { Way::ToClient };
        let buffer = BufferId { way, index: index.into() };
        let is_now = |wanted| {
            let buffer = self.driver.buffers[way as usize].get(usize::from(index));
            buffer.is_some_and(|buffer| buffer.usage == wanted)
        };
        let descriptor = BufferDescriptorV1 { offset: 0, token: Token(0), length: self.driver.buffer_len };
        let (event, is_known) = match kind % 4 {
            0 => (Event::Registered { buffer, descriptor }, is_now(Use::Registering)),
            1 => (Event::Deregistered { buffer }, is_now(Use::Deregistering)),
            2 => (Event::Failed { buffer }, self.driver.is_due(buffer)),
            _ => {
                let is_sent = self.driver.sent.iter().any(|(sent, _)| *sent == buffer);
                (Event::Sent { buffer, len: u32::from(len) + 1 }, is_sent)
            }
        };
        if !is_known && self.reverse.handle(event).is_ok() {
            // Nothing is checked after the end.
            let action = self.reverse.poll(&mut Arrived::default(), Room::default());
            assert!(self.driver.is_closed || matches!(action, Action::Close(_)), "{event:?}: {action:?}");
            self.driver.is_closed = true;
        }
    }

    /// Whether something was done.
    fn poll(&mut self, room: Room) -> bool {
        let (bytes, remaining) = self.pieces.front();
        let came = bytes.len();
        let offered = self.client.len();
        let mut arrived = Arrived { client: &self.client, server: ServerBytes { bytes, remaining } };
        let action = self.reverse.poll(&mut arrived, room);
        trace(format_args!("{action:?}"));
        let is_idle = self.driver.carry_out(action, &arrived, room);
        let (left, piece) = (arrived.client.len(), arrived.server.bytes.len());
        self.client.drain(..offered - left);
        self.pieces.leave(piece);
        !is_idle || left < offered || piece < came
    }
}

fn plain(id: u8, length: u16, is_read: bool) -> Vec<u8> {
    let (id, mut message) = (u64::from(id % 16), Vec::new());
    let written = if is_read {
        let body = ReadRequest { length: length.into(), ..ReadRequest::default() };
        write_element(&mut message, &Header::request::<ReadRequest<'_>>(id), &body)
    } else {
        let data = vec![3; length.into()];
        let body = WriteRequest { data: &data, ..WriteRequest::default() };
        write_element(&mut message, &Header::request::<WriteRequest<'_>>(id), &body)
    };
    written.expect("short");
    message
}
