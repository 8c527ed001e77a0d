//! Requests and answers.

use smbd_smb2::wire::{
    Body, BufferDescriptorV1, Channel, CloseRequest, CommandBody, Flags, Header, NtStatus, ReadRequest,
    ReadResponse, SessionId, Token, WriteRequest, WriteResponse, pack, write_element,
};

/// Bytes that a READ or WRITE with a channel moves.
const LEN: u32 = 64 << 10;

/// A request and its answer.
pub struct Exchange {
    pub request: Vec<u8>,
    /// The beginning of the server's message, with the header of direct TCP.
    pub answer: Vec<u8>,
    /// Bytes of data behind it.
    pub behind: u32,
    /// Bytes that leave the relay.
    pub passed: usize,
}

fn build(header: &Header, body: &impl Body) -> Vec<u8> {
    let mut message = Vec::new();
    write_element(&mut message, header, body).expect("a message");
    message
}

fn framed(message: &[u8]) -> Vec<u8> {
    let len = u32::try_from(message.len()).expect("a short message");
    [&len.to_be_bytes(), message].concat()
}

fn descriptors(count: u32) -> Vec<u8> {
    let rest = |index| if index + 1 == count { LEN - LEN / count * index } else { LEN / count };
    let of = |index| BufferDescriptorV1 { offset: 0x1000, token: Token(index), length: rest(index) };
    pack(&(0..count).map(of).collect::<Vec<_>>())
}

fn header<B: CommandBody>(id: u64) -> Header {
    Header { session_id: SessionId(9), ..Header::request::<B>(id) }
}

pub fn read(id: u64) -> Exchange {
    read_of(id, 1)
}

pub fn read_of(id: u64, count: u32) -> Exchange {
    let info = descriptors(count);
    let channel = Channel::RDMA_V1_INVALIDATE;
    let request = ReadRequest { length: LEN, channel, channel_info: &info, ..ReadRequest::default() };
    let header = header::<ReadRequest>(id);
    let data = vec![1; LEN as usize];
    let answer = ReadResponse { data: &data, ..ReadResponse::default() };
    let mut answer = framed(&build(&header.response(NtStatus::SUCCESS), &answer));
    let behind = answer.len() - super::TOGETHER;
    answer.truncate(super::TOGETHER);
    Exchange {
        request: build(&header, &request),
        answer,
        behind: u32::try_from(behind).expect("a READ"),
        // Header, a request without its channel, data and answer.
        passed: 4 + 113 + LEN as usize + 80,
    }
}

pub fn write(id: u64) -> Exchange {
    let info = descriptors(1);
    let channel = Channel::RDMA_V1_INVALIDATE;
    let request =
        WriteRequest { remaining_bytes: LEN, channel, channel_info: &info, ..WriteRequest::default() };
    let header = header::<WriteRequest>(id);
    let answer = framed(&build(&header.response(NtStatus::SUCCESS), &WriteResponse { count: LEN }));
    let passed = 4 + 112 + LEN as usize + answer.len() - 4;
    Exchange { request: build(&header, &request), answer, behind: 0, passed }
}

/// A message that is neither a READ nor a WRITE.
pub fn plain(id: u64) -> Exchange {
    pass(build(&header::<CloseRequest>(id), &CloseRequest::default()), id)
}

pub fn signed(id: u64) -> Exchange {
    let header = header::<WriteRequest>(id);
    let header = Header { flags: header.flags.with(Flags::SIGNED, true), ..header };
    pass(build(&header, &WriteRequest { data: &[1; 4096], ..WriteRequest::default() }), id)
}

fn pass(request: Vec<u8>, id: u64) -> Exchange {
    let answer = build(&header::<WriteRequest>(id).response(NtStatus::SUCCESS), &WriteResponse { count: 1 });
    let passed = 4 + request.len() + answer.len();
    Exchange { request, answer: framed(&answer), behind: 0, passed }
}
