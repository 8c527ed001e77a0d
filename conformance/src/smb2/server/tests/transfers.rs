//! READ and WRITE: handed out, and answered.

use super::super::{Read, ReadAnswer, Write, WriteAnswer};
use super::*;

const DESCRIPTORS: [BufferDescriptorV1; 2] = [
    BufferDescriptorV1 { offset: 0x7000, token: Token(5), length: 4096 },
    BufferDescriptorV1 { offset: 0x9000, token: Token(6), length: 4096 },
];

fn read(client: &mut Client, request: &ReadRequest<'_>) -> Read {
    match client.serve(request).pop() {
        Some(Served::Read(read)) => *read,
        other => panic!("{other:?}"),
    }
}

fn write(client: &mut Client, request: &WriteRequest<'_>) -> Write {
    match client.serve(request).pop() {
        Some(Served::Write(write)) => *write,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_read_is_handed_out_with_all_that_it_says() {
    let mut client = Client::mounted();
    let (file_id, info) = (client.open("hello"), pack(&DESCRIPTORS));
    let request = ReadRequest {
        length: 8192,
        offset: 3,
        file_id,
        minimum_count: 4,
        channel: Channel::RDMA_V1_INVALIDATE,
        remaining_bytes: 9,
        channel_info: &info,
        ..ReadRequest::default()
    };
    let Read { transfer, minimum } = read(&mut client, &request);
    assert_eq!((transfer.length, transfer.offset, minimum, transfer.remaining), (8192, 3, 4, 9));
    assert_eq!((transfer.file, transfer.name.as_deref()), (file_id, Some("hello")));
    assert_eq!(
        (&transfer.descriptors[..], transfer.channel),
        (&DESCRIPTORS[..], Channel::RDMA_V1_INVALIDATE)
    );
    assert_eq!((transfer.invalidates(), transfer.refusal()), (Some(Token(5)), None));
    assert_eq!(transfer.message_id, client.header.message_id.0);
}

#[test]
fn only_the_channel_that_says_so_has_a_token_invalidated() {
    let mut client = Client::mounted();
    let (file_id, info) = (client.open("hello"), pack(&DESCRIPTORS));
    let request = ReadRequest { length: 1, file_id, channel_info: &info, ..ReadRequest::default() };
    let with = |channel| ReadRequest { channel, ..request };
    assert_eq!(read(&mut client, &with(Channel::RDMA_V1)).transfer.invalidates(), None);
    assert_eq!(read(&mut client, &with(Channel::NONE)).transfer.invalidates(), None);
    assert_eq!(read(&mut client, &with(Channel::RDMA_V1_INVALIDATE)).transfer.invalidates(), Some(Token(5)));
    // Also for a request that is refused.
    let refused = ReadRequest { file_id: FileId::default(), ..with(Channel::RDMA_V1_INVALIDATE) };
    let Read { transfer, .. } = read(&mut client, &refused);
    assert_eq!((transfer.invalidates(), transfer.refusal()), (Some(Token(5)), Some(NtStatus::FILE_CLOSED)));
}

#[test]
fn a_read_gets_what_is_there_up_to_the_end_of_the_file() {
    let mut client = Client::mounted();
    let file_id = client.open("hello");
    let cases = [
        (0, 5, 0, Ok(&b"hello"[..])),
        (7, 100, 0, Ok(b"world")),
        (7, 100, 5, Ok(b"world")),
        (7, 100, 6, Err(NtStatus::END_OF_FILE)),
        (12, 1, 0, Err(NtStatus::END_OF_FILE)),
        (u64::MAX, 1, 0, Err(NtStatus::END_OF_FILE)),
        (0, 0, 0, Ok(b"")),
    ];
    for (offset, length, minimum_count, expected) in cases {
        let request = ReadRequest { offset, length, minimum_count, file_id, ..ReadRequest::default() };
        let read = read(&mut client, &request);
        assert_eq!(client.server.serve_read(&read), expected.map(<[u8]>::to_vec), "{offset} {length}");
    }
    let file_id = client.open("zeros");
    let request = ReadRequest { offset: (1 << 40) - 3, length: 5, file_id, ..ReadRequest::default() };
    let read = read(&mut client, &request);
    assert_eq!(client.server.serve_read(&read), Ok(vec![0; 3]));
}

#[test]
fn a_read_is_answered_in_the_way_that_the_caller_wants() {
    let mut client = Client::mounted();
    let file_id = client.open("hello");
    let read = read(&mut client, &ReadRequest { length: 5, file_id, ..ReadRequest::default() });
    let inline = client.server.answer_read(&read, ReadAnswer::Inline(b"other"));
    let response = ReadResponse::parse(&inline).unwrap();
    assert_eq!((response.data, response.data_remaining, inline.len()), (&b"other"[..], 0, 80 + 5));
    let written = client.server.answer_read(&read, ReadAnswer::Written(77));
    let response = ReadResponse::parse(&written).unwrap();
    // 3.3.5.12: DataOffset points behind the fixed part all the same.
    assert_eq!((response.data, response.data_remaining, written[66], written.len()), (&b""[..], 77, 80, 80));
    let failed = client.server.answer_read(&read, ReadAnswer::Failed(NtStatus::ACCESS_DENIED));
    assert_eq!(Header::parse(&failed).unwrap().status, NtStatus::ACCESS_DENIED);
    for answer in [inline, written, failed] {
        let header = Header::parse(&answer).unwrap();
        assert_eq!(
            (header.message_id.0, header.session_id),
            (read.transfer.message_id, client.header.session_id)
        );
    }
}

#[test]
fn what_is_written_is_read_back() {
    let mut client = Client::mounted();
    let file_id = client.create("new", CreateDisposition::CREATE, CreateOptions::NONE).unwrap();
    let write =
        write(&mut client, &WriteRequest { offset: 3, file_id, data: b"data", ..WriteRequest::default() });
    assert_eq!(
        (&write.data[..], write.transfer.length, write.transfer.channel),
        (&b"data"[..], 4, Channel::NONE)
    );
    let data = write.data.clone();
    assert_eq!(client.server.serve_write(&write, &data), Ok(4));
    let answer = client.server.answer_write(&write, WriteAnswer::Count(4));
    assert_eq!(WriteResponse::parse(&answer).unwrap().count, 4);
    let request = ReadRequest { length: 100, file_id, ..ReadRequest::default() };
    let read = read(&mut client, &request);
    assert_eq!(client.server.serve_read(&read), Ok(b"\0\0\0data".to_vec()));
}

#[test]
fn a_file_grows_also_if_the_caller_keeps_the_data() {
    let mut client = Client::mounted();
    let (file_id, info) = (client.open("hello"), pack(&DESCRIPTORS));
    let request = WriteRequest {
        offset: 10,
        file_id,
        channel: Channel::RDMA_V1,
        remaining_bytes: 8192,
        channel_info: &info,
        ..WriteRequest::default()
    };
    let write = write(&mut client, &request);
    assert_eq!(
        (write.transfer.length, write.transfer.length_field, write.transfer.refusal()),
        (8192, 0, None)
    );
    client.server.answer_write(&write, WriteAnswer::Count(8000));
    assert_eq!(client.server.files().len_of("hello"), Some(8010));
    assert_eq!(client.server.files().written("hello"), Some(&b"hello, world"[..]));
}

#[test]
fn a_request_that_may_not_be_served_says_so_and_is_not_served() {
    let mut client = Client::mounted();
    let (file_id, folder) = (client.open("hello"), client.open(""));
    let info = pack(&DESCRIPTORS);
    let good = ReadRequest { length: 5, file_id, channel_info: &info, ..ReadRequest::default() };
    let cases = [
        (ReadRequest { file_id: FileId { volatile: 99, ..file_id }, ..good }, NtStatus::FILE_CLOSED),
        (ReadRequest { file_id: folder, ..good }, NtStatus::INVALID_DEVICE_REQUEST),
        (ReadRequest { length: (1 << 20) + 1, ..good }, NtStatus::INVALID_PARAMETER),
        (ReadRequest { length: (1 << 16) + 1, ..good }, NtStatus::INVALID_PARAMETER),
        (ReadRequest { channel: Channel::RDMA_TRANSFORM, ..good }, NtStatus::INVALID_PARAMETER),
        (ReadRequest { channel: Channel(9), ..good }, NtStatus::INVALID_PARAMETER),
        (ReadRequest { channel: Channel::RDMA_V1, channel_info: &[], ..good }, NtStatus::INVALID_PARAMETER),
        (ReadRequest { channel: Channel::RDMA_V1, length: 0, ..good }, NtStatus::INVALID_PARAMETER),
    ];
    for (request, status) in cases {
        let read = read(&mut client, &request);
        assert_eq!(read.transfer.refusal(), Some(status), "{request:?}");
        assert_eq!(client.server.serve_read(&read), Err(status));
    }
    client.header.credit_charge = 2;
    let paid = read(&mut client, &ReadRequest { length: (1 << 16) + 1, ..good });
    assert_eq!(paid.transfer.refusal(), None);
}

#[test]
fn a_write_with_a_channel_has_neither_length_nor_data() {
    let mut client = Client::mounted();
    let (file_id, info) = (client.open("hello"), pack(&DESCRIPTORS));
    let channel = Channel::RDMA_V1;
    let request =
        WriteRequest { file_id, channel, remaining_bytes: 8, channel_info: &info, ..WriteRequest::default() };
    assert_eq!(write(&mut client, &request).transfer.refusal(), None);
    let nothing = WriteRequest { remaining_bytes: 0, ..request };
    assert_eq!(write(&mut client, &nothing).transfer.refusal(), Some(NtStatus::INVALID_PARAMETER));
    let both = WriteRequest { data: b"data", ..request };
    assert_eq!(write(&mut client, &both).transfer.refusal(), Some(NtStatus::INVALID_PARAMETER));
}

#[test]
fn a_channel_needs_its_dialect() {
    let cases = [
        (Dialect::SMB_2_1, [false, false]),
        (Dialect::SMB_3_0, [true, false]),
        (Dialect::SMB_3_0_2, [true, true]),
        (Dialect::SMB_3_1_1, [true, true]),
    ];
    for (dialect, taken) in cases {
        let mut client = Client::mounted_with(options(), dialect);
        let (file_id, info) = (client.open("hello"), pack(&DESCRIPTORS));
        let seen = [Channel::RDMA_V1, Channel::RDMA_V1_INVALIDATE].map(|channel| {
            let request =
                ReadRequest { length: 5, file_id, channel, channel_info: &info, ..ReadRequest::default() };
            read(&mut client, &request).transfer.refusal().is_none()
        });
        assert_eq!(seen, taken, "{dialect}");
    }
}

#[test]
fn rights_that_were_not_asked_for_are_not_there() {
    let mut client = Client::mounted();
    let mut open = |desired_access| {
        let request = CreateRequest {
            name: "hello".into(),
            create_disposition: CreateDisposition::OPEN,
            desired_access,
            ..CreateRequest::default()
        };
        let answer = client.ask(&request);
        let file_id = CreateResponse::parse(&answer.bytes).unwrap().file_id;
        let read = read(&mut client, &ReadRequest { length: 1, file_id, ..ReadRequest::default() });
        let write = write(&mut client, &WriteRequest { data: b"x", file_id, ..WriteRequest::default() });
        [read.transfer.refusal(), write.transfer.refusal()].map(|refusal| {
            assert!(refusal.is_none_or(|status| status == NtStatus::ACCESS_DENIED), "{refusal:?}");
            refusal.is_none()
        })
    };
    assert_eq!(open(AccessMask::READ_ATTRIBUTES), [false, false]);
    assert_eq!(open(AccessMask::READ_DATA), [true, false]);
    assert_eq!(open(AccessMask::APPEND_DATA), [false, true]);
    assert_eq!(open(AccessMask::GENERIC_READ), [true, false]);
    assert_eq!(open(AccessMask::GENERIC_WRITE), [false, true]);
    assert_eq!(open(AccessMask::GENERIC_ALL), [true, true]);
    assert_eq!(open(AccessMask::MAXIMUM_ALLOWED), [true, true]);
}

#[test]
fn descriptors_that_are_none_are_refused_at_once() {
    let mut client = Client::mounted();
    let file_id = client.open("hello");
    let channel = Channel::RDMA_V1;
    let request =
        ReadRequest { length: 1, file_id, channel, channel_info: &[0; 15], ..ReadRequest::default() };
    assert_eq!(client.ask(&request).status(), NtStatus::INVALID_PARAMETER);
}
