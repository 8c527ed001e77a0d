//! Requests and answers of a client with a session.

use smbd_link::handles::Piece;
use smbd_smb2::wire::{
    Body, BufferDescriptorV1, Channel, Flags, Header, NtStatus, ReadRequest, ReadResponse,
    SessionSetupRequest, SessionSetupResponse, Token, WriteRequest, WriteResponse, pack, write_element,
};

use super::{Chunk, State};

/// Bytes of a full fragment of Linux.
const FRAGMENT: usize = 1340;

fn build(header: &Header, body: &impl Body) -> Vec<u8> {
    let mut message = Vec::new();
    write_element(&mut message, header, body).expect("a message");
    message
}

fn framed(message: &[u8], behind: usize) -> Vec<u8> {
    let len = u32::try_from(message.len() + behind).expect("a message of direct TCP");
    [&len.to_be_bytes(), message].concat()
}

fn descriptor(length: u32) -> Vec<u8> {
    pack(&[BufferDescriptorV1 { offset: 0x1000, token: Token(1), length }])
}

impl State {
    fn request(&mut self, message: Vec<u8>) {
        let mut rest = &message[..];
        while let Some((piece, behind)) = rest.split_at_checked(FRAGMENT.min(rest.len()).max(1)) {
            rest = behind;
            let remaining = u32::try_from(rest.len()).expect("a message");
            self.from_client.push_back(Piece { bytes: self.chunks.copy(&[piece]), remaining });
        }
    }

    fn answer(&mut self, header: &Header, body: &impl Body) {
        let message = framed(&build(&header.response(NtStatus::SUCCESS), body), 0);
        self.from_server.push_back(Chunk::Bytes(message));
    }

    /// A SESSION_SETUP that is answered.
    pub fn log_in(&mut self) {
        let header = Header::request::<SessionSetupRequest>(0);
        self.request(build(&header, &SessionSetupRequest::default()));
        self.answer(&header, &SessionSetupResponse::default());
    }

    /// A READ with a channel.
    pub fn read(&mut self, id: u64, length: u32) {
        let (header, info) = (Header::request::<ReadRequest>(id), descriptor(length));
        let channel = Channel::RDMA_V1_INVALIDATE;
        self.request(build(
            &header,
            &ReadRequest { length, channel, channel_info: &info, ..ReadRequest::default() },
        ));
    }

    /// Its answer.
    pub fn data(&mut self, id: u64, length: u32) {
        let (header, len) = (Header::request::<ReadRequest>(id), length as usize);
        let mut answer = build(
            &header.response(NtStatus::SUCCESS),
            &ReadResponse { data: &vec![0; len], ..ReadResponse::default() },
        );
        answer.truncate(answer.len() - len);
        self.from_server.push_back(Chunk::Bytes(framed(&answer, len)));
        self.from_server.push_back(Chunk::Data(len));
    }

    /// A WRITE with a channel.
    pub fn write(&mut self, id: u64, length: u32) {
        let (header, info) = (Header::request::<WriteRequest>(id), descriptor(length));
        let channel = Channel::RDMA_V1_INVALIDATE;
        let request =
            WriteRequest { remaining_bytes: length, channel, channel_info: &info, ..WriteRequest::default() };
        self.request(build(&header, &request));
    }

    /// A signed WRITE, which has its data in the message.
    pub fn signed_write(&mut self, id: u64, length: u32) {
        let header = Header::request::<WriteRequest>(id);
        let header = Header { flags: header.flags.with(Flags::SIGNED, true), ..header };
        let data = vec![0; length as usize];
        self.request(build(&header, &WriteRequest { data: &data, ..WriteRequest::default() }));
    }

    /// The answer to a WRITE.
    pub fn written(&mut self, id: u64, count: u32) {
        self.answer(&Header::request::<WriteRequest>(id), &WriteResponse { count });
    }
}
