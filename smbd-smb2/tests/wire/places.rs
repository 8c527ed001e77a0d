//! Where things are, and how they are rewritten in place.

use smbd_smb2::wire::*;

fn element(header: &Header, body: &impl Body) -> Vec<u8> {
    let mut message = Vec::new();
    write_element(&mut message, header, body).unwrap();
    message
}

fn descriptor(length: u32) -> BufferDescriptorV1 {
    BufferDescriptorV1 { offset: 0x7000, token: Token(9), length }
}

#[test]
fn a_read_loses_its_channel_and_nothing_else_when_four_fields_are_cleared() {
    let info = pack(&[descriptor(4096), descriptor(8192)]);
    let request = ReadRequest {
        length: 12288,
        offset: 1 << 40,
        file_id: FileId { persistent: 1, volatile: 2 },
        channel: Channel::RDMA_V1_INVALIDATE,
        remaining_bytes: 12288,
        channel_info: &info,
        ..ReadRequest::default()
    };
    let mut message = element(&Header::request::<ReadRequest>(3), &request);
    assert_eq!(message.len(), 112 + 32);
    assert_eq!(ReadRequest::parse(&message).unwrap().descriptors().unwrap().iter().count(), 2);
    read::request::CHANNEL.set(&mut message, Channel::NONE).unwrap();
    read::request::REMAINING_BYTES.set(&mut message, 0).unwrap();
    read::request::READ_CHANNEL_INFO_OFFSET.set(&mut message, 0).unwrap();
    read::request::READ_CHANNEL_INFO_LENGTH.set(&mut message, 0).unwrap();
    message.truncate(113);
    let plain = ReadRequest { channel: Channel::NONE, remaining_bytes: 0, channel_info: &[], ..request };
    assert_eq!(ReadRequest::parse(&message), Ok(plain));
}

#[test]
fn the_data_of_a_write_begins_behind_the_fixed_part_and_with_a_channel_nowhere() {
    let without = WriteRequest::default();
    let with_data = WriteRequest { data: b"abc", ..without };
    let info = pack(&[descriptor(70000)]);
    let with_channel =
        WriteRequest { channel: Channel::RDMA_V1, remaining_bytes: 70000, channel_info: &info, ..without };
    let header = Header::request::<WriteRequest>(1);
    for (request, place, len) in [(without, 0x70, 0), (with_data, 0x70, 3), (with_channel, 0, 0)] {
        let message = element(&header, &request);
        assert_eq!(write::request::DATA_OFFSET.get(&message), Ok(place));
        assert_eq!(write::request::LENGTH.get(&message), Ok(len));
    }
    let message = element(&header, &with_channel);
    assert_eq!(write::request::WRITE_CHANNEL_INFO_OFFSET.get(&message), Ok(112));
    assert_eq!(&message[112..128], info);
}

#[test]
fn a_request_with_an_odd_structure_size_has_a_byte_behind_its_fixed_part() {
    for (message, fixed_len) in [
        (element(&Header::request::<ReadRequest>(1), &ReadRequest::default()), read::request::LAYOUT.end()),
        (element(&Header::default(), &CreateRequest::default()), create::request::LAYOUT.end()),
        (element(&Header::default(), &ErrorResponse::default()), error_response::field::LAYOUT.end()),
    ] {
        assert_eq!(message.len(), fixed_len + 1);
    }
    // The answer to a READ that went by RDMA ends with its fixed part.
    let answer = ReadResponse { data_remaining: 5, ..ReadResponse::default() };
    let message = element(&Header::default(), &answer);
    assert_eq!((message.len(), read::response::DATA_OFFSET.get(&message)), (80, Ok(80)));
}

#[test]
fn a_field_that_is_not_there_is_neither_read_nor_written() {
    let mut bytes = [7; 111];
    let place = read::request::READ_CHANNEL_INFO_LENGTH.place();
    let error = WireError::Truncated { field: place, got: 111 };
    assert_eq!(read::request::READ_CHANNEL_INFO_LENGTH.get(&bytes), Err(error));
    assert_eq!(read::request::READ_CHANNEL_INFO_LENGTH.set(&mut bytes, 0), Err(error));
    assert_eq!(bytes, [7; 111]);
}

#[test]
fn an_answer_keeps_what_names_its_request() {
    let request = Header { credits: 4, session_id: SessionId(5), ..Header::request::<ReadRequest>(3) };
    let answer = Header {
        flags: request.flags.with(Flags::SIGNED, true),
        signature: [9; 16],
        next_command: 8,
        ..request
    }
    .response(NtStatus::END_OF_FILE);
    assert!(answer.is_response() && !answer.flags.contains(Flags::SIGNED));
    assert_eq!((answer.message_id, answer.session_id, answer.credits), (MessageId(3), SessionId(5), 4));
    assert_eq!((answer.status, answer.next_command, answer.signature), (NtStatus::END_OF_FILE, 0, [0; 16]));
}

#[test]
fn the_target_decides_about_the_flag_of_asynchronous_commands() {
    let header = Header { flags: Flags::ASYNC_COMMAND, ..Header::request::<EchoRequest>(1) };
    assert_eq!(Header::parse(&element(&header, &EchoRequest {})).unwrap().flags, Flags::NONE);
    let header = Header { target: Target::Async { async_id: 77 }, ..header };
    let read = Header::parse(&element(&header, &EchoRequest {})).unwrap();
    assert_eq!((read.async_id(), read.tree_id()), (Some(77), None));
    let cut = element(&Header { flags: Flags::NONE, ..header }, &EchoRequest {});
    assert_eq!(Header::parse(&cut).unwrap().async_id(), Some(77));
}

#[test]
fn the_channel_sequence_and_the_priority_are_parts_of_other_fields() {
    let header = Header { status: NtStatus(0xAAAA_0102), flags: Flags(0x0000_0058), ..Header::default() };
    assert_eq!((header.channel_sequence(), header.priority()), (0x0102, 5));
}

#[test]
fn a_related_element_has_the_session_the_tree_and_the_file_of_the_one_before() {
    let header = Header { session_id: SessionId(1), ..Header::request::<CloseRequest>(4) }.related();
    let message = element(&header, &CloseRequest { file_id: FileId::RELATED, ..CloseRequest::default() });
    assert!(message[36..48].iter().all(|byte| *byte == 0xFF));
    assert!(message[72..88].iter().all(|byte| *byte == 0xFF));
    assert!(Header::parse(&message).unwrap().is_related());
}
