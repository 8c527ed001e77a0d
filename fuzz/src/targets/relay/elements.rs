//! Messages of elements, each drawn in a few bytes.

use arbitrary::Arbitrary;
use smbd_smb2::wire::{
    BufferDescriptorV1, Channel, Command, Compound, EchoRequest, ErrorResponse, Flags, Header, NtStatus,
    ReadRequest, ReadResponse, Target, Token, WireError, WriteRequest, WriteResponse, pack,
};

#[derive(Debug, Arbitrary)]
pub(super) struct Element {
    pub(super) kind: u8,
    pub(super) id: u8,
    pub(super) flags: u8,
    pub(super) channel: u8,
    pub(super) length: u16,
    pub(super) lengths: Vec<u16>,
}

/// A message with some of its bytes changed.
pub(super) fn message(elements: &[Element], changes: [(u8, u8); 2], is_answer: bool) -> Vec<u8> {
    let mut message = Vec::new();
    let mut compound = Compound::new(&mut message);
    for element in elements.iter().take(5) {
        let _ = if is_answer { answer(&mut compound, element) } else { request(&mut compound, element) };
    }
    if message.is_empty() {
        return vec![0xFE; 70];
    }
    for (at, value) in changes {
        let len = message.len();
        if value != 0 {
            message[usize::from(at) * 3 % len] ^= value;
        }
    }
    message
}

fn header(element: &Element, command: Command) -> Header {
    let mut header = Header::request::<EchoRequest>(u64::from(element.id % 16));
    header.command = command;
    header.flags = Flags::NONE.with(Flags::SIGNED, element.flags & 7 == 7);
    header
}

fn request(compound: &mut Compound<'_>, element: &Element) -> Result<(), WireError> {
    let of = |(index, length): (usize, &u16)| BufferDescriptorV1 {
        offset: if *length == 0xFFFF { u64::MAX } else { 0x1000 * index as u64 },
        token: Token(index as u32),
        length: u32::from(*length),
    };
    let info = pack(&element.lengths.iter().take(40).enumerate().map(of).collect::<Vec<_>>());
    let (channel, length) = (Channel(u32::from(element.channel % 4)), u32::from(element.length));
    match element.kind % 4 {
        0 => compound.add(&header(element, Command::ECHO), &EchoRequest {}),
        1 => {
            let read = ReadRequest { length, channel, channel_info: &info, ..ReadRequest::default() };
            compound.add(&header(element, Command::READ), &read)
        }
        2 => {
            let write = WriteRequest {
                remaining_bytes: length,
                channel,
                channel_info: &info,
                ..WriteRequest::default()
            };
            compound.add(&header(element, Command::WRITE), &write)
        }
        _ => {
            let write = WriteRequest { data: &vec![3; (length % 3000) as usize], ..WriteRequest::default() };
            compound.add(&header(element, Command::WRITE), &write)
        }
    }
}

fn answer(compound: &mut Compound<'_>, element: &Element) -> Result<(), WireError> {
    let command = if element.kind & 8 == 0 { Command::READ } else { Command::WRITE };
    let mut header = header(element, command).response(NtStatus::SUCCESS);
    header.flags = header.flags.with(Flags::SIGNED, element.flags & 7 == 7);
    match element.kind % 4 {
        0 => {
            let data = vec![5; usize::from(element.length) % 5000];
            compound.add(&header, &ReadResponse { data: &data, ..ReadResponse::default() })
        }
        1 => compound.add(&header, &WriteResponse { count: 9 }),
        2 => {
            (header.status, header.target) = (NtStatus::PENDING, Target::Async { async_id: 7 });
            compound.add(&header, &ErrorResponse::default())
        }
        _ => {
            header.status = NtStatus::END_OF_FILE;
            compound.add(&header, &ErrorResponse::default())
        }
    }
}
