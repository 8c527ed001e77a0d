//! A relay whose both sides take everything at once, for tests of single rules.

use smbd_smb2::relay::*;
use smbd_smb2::wire::*;

pub const FILE: FileId = FileId { persistent: 5, volatile: 6 };

/// What a relay has wanted.
#[derive(Default)]
pub struct Rig {
    relay: Option<Relay>,
    /// The server's stream; data of WRITEs are the letters of their buffers' pieces.
    pub to_server: Vec<u8>,
    pub to_client: Vec<(Vec<u8>, Option<Token>)>,
    message: Vec<u8>,
    pub reads: Vec<Transfer>,
    pub writes: Vec<(Transfer, Vec<u8>)>,
    pub closed: Option<Reason>,
    stored: Vec<Vec<u8>>,
    /// Where the first bytes of a buffer are in the server's stream, since this was taken.
    data_at: Option<usize>,
    pub idle: Idle,
    /// In the order in which they came.
    pub order: Vec<&'static str>,
}

impl Rig {
    pub fn new() -> Self {
        Self::with(&Params::default())
    }

    pub fn with(params: &Params) -> Self {
        let config = Config::new(params).unwrap();
        let stored = vec![Vec::new(); config.buffers().into()];
        Self { relay: Some(Relay::new(&config)), stored, ..Self::default() }
    }

    pub fn relay(&mut self) -> &mut Relay {
        self.relay.as_mut().unwrap()
    }

    /// A message of the client, in pieces of this size.
    pub fn client_in(&mut self, message: &[u8], size: usize) {
        let mut left = message.len();
        for piece in message.chunks(size) {
            left -= piece.len();
            self.poll(ClientBytes { bytes: piece, remaining: left as u32 }, &[]);
        }
    }

    pub fn client(&mut self, message: &[u8]) {
        self.client_in(message, message.len());
    }

    /// A message of the server.
    pub fn server(&mut self, message: &[u8]) {
        self.stream(&framed(message));
    }

    pub fn stream(&mut self, bytes: &[u8]) {
        self.poll(ClientBytes::default(), bytes);
    }

    pub fn handle(&mut self, event: Event) {
        self.relay().handle(event).unwrap();
        self.poll(ClientBytes::default(), &[]);
    }

    /// Ends the first RDMA Read; its data are `data`.
    pub fn read(&mut self, data: &[u8]) {
        let transfer = self.reads.remove(0);
        assert_eq!(transfer.len as usize, data.len());
        self.data_at = None;
        self.handle(Event::RdmaDone { buffer: transfer.buffer, is_success: true });
        if let Some(at) = self.data_at {
            self.to_server[at..at + data.len()].copy_from_slice(data);
        }
    }

    pub fn poll_once(&mut self, client: ClientBytes<'_>) {
        self.poll(client, &[]);
    }

    fn on_write(&mut self, transfer: Transfer) {
        self.order.push("write");
        let data = std::mem::take(&mut self.stored[usize::from(transfer.buffer.index)]);
        self.writes.push((transfer, data));
    }

    fn poll(&mut self, client: ClientBytes<'_>, server: &[u8]) {
        let room = Room { client: 1 << 24, server: 1 << 24 };
        let mut arrived = Arrived { client, server };
        let mut relay = self.relay.take().unwrap();
        loop {
            let mut sent = None;
            match relay.poll(&mut arrived, room) {
                Action::ToServer(Source::Bytes(bytes)) => self.to_server.extend_from_slice(bytes),
                Action::ToServer(Source::Buffer { head, buffer, len, .. }) => {
                    self.to_server.extend_from_slice(head);
                    self.data_at.get_or_insert(self.to_server.len());
                    self.to_server.resize(self.to_server.len() + len as usize, 0);
                    sent = Some(Event::Sent { buffer, len });
                }
                Action::ToClient { write, bytes, remaining, invalidate } => {
                    if let Some(transfer) = write {
                        self.on_write(transfer);
                    }
                    self.message.extend_from_slice(bytes);
                    if remaining == 0 {
                        self.order.push("message");
                        self.to_client.push((std::mem::take(&mut self.message), invalidate));
                    }
                }
                Action::RdmaRead(transfer) => self.reads.push(transfer),
                Action::RdmaWrite(transfer) => self.on_write(transfer),
                Action::Store { buffer, offset, bytes } => {
                    let stored = &mut self.stored[usize::from(buffer.index)];
                    assert_eq!(stored.len(), offset as usize);
                    stored.extend_from_slice(bytes);
                }
                Action::Idle(idle) => {
                    self.idle = idle;
                    break;
                }
                Action::Close(reason) => self.closed = Some(reason),
            }
            if let Some(event) = sent {
                relay.handle(event).unwrap();
            }
        }
        assert!(self.closed.is_some() || arrived.client.bytes.is_empty() && arrived.server.is_empty());
        self.relay = Some(relay);
    }

    /// The messages that the server has got.
    pub fn messages(&self) -> Vec<&[u8]> {
        let (mut rest, mut messages) = (&self.to_server[..], Vec::new());
        while let Some((len, behind)) = rest.split_first_chunk::<4>() {
            let (message, behind) = behind.split_at(u32::from_be_bytes(*len) as usize);
            messages.push(message);
            rest = behind;
        }
        messages
    }
}

/// A message with its length before it (direct TCP, 2.1).
pub fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes(), message].concat()
}

pub fn build(header: &Header, body: &impl Body) -> Vec<u8> {
    let mut message = Vec::new();
    write_element(&mut message, header, body).unwrap();
    message
}

/// An element, and what adds its body.
pub type Part<'a> = (Header, &'a dyn Fn(&mut Compound<'_>, &Header));

pub fn compound(parts: &[Part<'_>]) -> Vec<u8> {
    let mut message = Vec::new();
    let mut compound = Compound::new(&mut message);
    for (header, add) in parts {
        add(&mut compound, header);
    }
    message
}

pub fn descriptors(lengths: &[u32]) -> Vec<u8> {
    let of = |(index, length): (usize, &u32)| BufferDescriptorV1 {
        offset: 0x1000 * (index as u64 + 1),
        token: Token(70 + index as u32),
        length: *length,
    };
    pack(&lengths.iter().enumerate().map(of).collect::<Vec<_>>())
}

pub fn signed(header: Header) -> Header {
    Header { flags: header.flags.with(Flags::SIGNED, true), ..header }
}

pub fn read_header(id: u64) -> Header {
    Header { session_id: SessionId(9), ..Header::request::<ReadRequest>(id) }
}

pub fn write_header(id: u64) -> Header {
    Header { session_id: SessionId(9), ..Header::request::<WriteRequest>(id) }
}

pub fn read_request(channel: Channel, length: u32, info: &[u8]) -> ReadRequest<'_> {
    ReadRequest { length, offset: 77, file_id: FILE, channel, channel_info: info, ..ReadRequest::default() }
}

pub fn write_request(channel: Channel, length: u32, info: &[u8]) -> WriteRequest<'_> {
    WriteRequest {
        offset: 78,
        file_id: FILE,
        channel,
        remaining_bytes: length,
        channel_info: info,
        ..WriteRequest::default()
    }
}

/// A READ with a channel.
pub fn read(id: u64, channel: Channel, lengths: &[u32]) -> Vec<u8> {
    let length = lengths.iter().sum();
    build(&read_header(id), &read_request(channel, length, &descriptors(lengths)))
}

/// A WRITE with a channel.
pub fn write(id: u64, channel: Channel, lengths: &[u32]) -> Vec<u8> {
    let length = lengths.iter().sum();
    build(&write_header(id), &write_request(channel, length, &descriptors(lengths)))
}

/// The answer to a READ.
pub fn data(id: u64, status: NtStatus, data: &[u8]) -> Vec<u8> {
    build(&read_header(id).response(status), &ReadResponse { data, ..ReadResponse::default() })
}

/// The answer of a failure.
pub fn failure(id: u64, status: NtStatus) -> Vec<u8> {
    build(&read_header(id).response(status), &ErrorResponse::default())
}

/// The interim answer.
pub fn interim(id: u64) -> Vec<u8> {
    let header = read_header(id).response(NtStatus::PENDING);
    build(&Header { target: Target::Async { async_id: 4 }, ..header }, &ErrorResponse::default())
}

pub fn echo(id: u64) -> Vec<u8> {
    build(&Header::request::<EchoRequest>(id), &EchoRequest {})
}
