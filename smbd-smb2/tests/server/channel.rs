//! The channel: each rule of 3.3.5.12 and 3.3.5.13 that is about it.

use smbd_smb2::server::Reason;
use smbd_smb2::wire::{
    BufferDescriptorV1, Channel, Cipher, CloseRequest, Compound, Dialect, FileId, NtStatus, ReadRequest,
    ReadResponse, Token, WriteRequest, WriteResponse, pack, read, write,
};

use crate::rig::{Answer, Protect, RDMA, Rig, TCP, message, params};

const INVALIDATE: Channel = Channel::RDMA_V1_INVALIDATE;

fn ready() -> (Rig, FileId) {
    of_dialect(Dialect::SMB_3_1_1)
}

fn of_dialect(dialect: Dialect) -> (Rig, FileId) {
    let mut rig = Rig::new(params(), RDMA);
    rig.negotiate(&[dialect], &[]);
    rig.log_in("tester", "correct horse");
    rig.connect("data");
    let file = rig.file("a");
    (rig, file)
}

fn descriptor(token: u32, length: u32) -> BufferDescriptorV1 {
    BufferDescriptorV1 { offset: 0, token: Token(token), length }
}

fn read_of(file_id: FileId, length: u32, channel: Channel, info: &[u8]) -> ReadRequest<'_> {
    ReadRequest { file_id, length, channel, channel_info: info, ..ReadRequest::default() }
}

fn write_of(file_id: FileId, remaining_bytes: u32, channel: Channel, info: &[u8]) -> WriteRequest<'_> {
    WriteRequest { file_id, remaining_bytes, channel, channel_info: info, ..WriteRequest::default() }
}

/// A WRITE by the channel, of all that is in the buffers.
fn put(rig: &mut Rig, file: FileId, channel: Channel, buffers: &[BufferDescriptorV1]) -> Answer {
    let info = pack(buffers);
    let len = buffers.iter().map(|buffer| buffer.length).sum();
    let header = rig.header::<WriteRequest<'_>>(u64::from(len));
    rig.ask(&header, &write_of(file, len, channel, &info))
}

/// A READ by the channel, of as much as the buffers take.
fn fetch(rig: &mut Rig, file: FileId, channel: Channel, buffers: &[BufferDescriptorV1]) -> Answer {
    let info = pack(buffers);
    let len = buffers.iter().map(|buffer| buffer.length).sum();
    let header = rig.header::<ReadRequest<'_>>(u64::from(len));
    rig.ask(&header, &read_of(file, len, channel, &info))
}

#[test]
fn data_go_by_the_channel_both_ways_in_several_buffers_and_not_in_messages() {
    for (dialect, channel) in [
        (Dialect::SMB_3_0, Channel::RDMA_V1),
        (Dialect::SMB_3_0_2, INVALIDATE),
        (Dialect::SMB_3_1_1, Channel::RDMA_V1),
        (Dialect::SMB_3_1_1, INVALIDATE),
    ] {
        let (mut rig, file) = of_dialect(dialect);
        let data: Vec<u8> = (0..300_000_u32).map(|at| (at % 251) as u8).collect();
        let buffers = [rig.register(1, data[..100_000].to_vec()), rig.register(2, data[100_000..].to_vec())];
        let token = (channel == INVALIDATE).then_some(Token(1));
        let answer = put(&mut rig, file, channel, &buffers);
        assert_eq!((answer.status(), answer.invalidate), (NtStatus::SUCCESS, token));
        assert_eq!(WriteResponse::parse(&answer.bytes).unwrap(), WriteResponse { count: 300_000 });
        let buffers = [rig.register(3, vec![0; 250_000]), rig.register(4, vec![0; 100_000])];
        let token = (channel == INVALIDATE).then_some(Token(3));
        let answer = fetch(&mut rig, file, channel, &buffers);
        assert_eq!((answer.status(), answer.invalidate), (NtStatus::SUCCESS, token));
        let response = ReadResponse::parse(&answer.bytes).unwrap();
        assert_eq!((response.data_remaining, response.data, response.flags.0), (300_000, &b""[..], 0));
        let place = read::response::DATA_OFFSET.get(&answer.bytes).unwrap();
        assert_eq!((answer.bytes.len(), place), (80, 80));
        assert_eq!([&rig.memory[&3][..], &rig.memory[&4][..50_000]].concat(), data);
        assert_eq!(rig.memory[&4][50_000..], [0; 50_000], "nothing is written behind the data");
    }
}

#[test]
fn a_channel_that_the_dialect_does_not_have_is_refused() {
    for (dialect, channel) in [
        (Dialect::SMB_3_0, INVALIDATE),
        (Dialect::SMB_3_0, Channel::RDMA_TRANSFORM),
        (Dialect::SMB_3_0_2, Channel::RDMA_TRANSFORM),
        (Dialect::SMB_3_1_1, Channel::RDMA_TRANSFORM),
        (Dialect::SMB_3_1_1, Channel(9)),
    ] {
        let (mut rig, file) = of_dialect(dialect);
        let buffer = [rig.register(1, vec![0; 100])];
        for answer in [fetch(&mut rig, file, channel, &buffer), put(&mut rig, file, channel, &buffer)] {
            assert_eq!(
                (answer.status(), answer.invalidate),
                (NtStatus::INVALID_PARAMETER, None),
                "{dialect} {channel}"
            );
        }
    }
}

#[test]
fn over_tcp_there_is_no_channel() {
    let mut rig = Rig::ready(params(), TCP);
    let file = rig.file("a");
    let buffer = [descriptor(1, 100)];
    for answer in [fetch(&mut rig, file, INVALIDATE, &buffer), put(&mut rig, file, INVALIDATE, &buffer)] {
        assert_eq!((answer.status(), answer.invalidate), (NtStatus::INVALID_PARAMETER, None));
    }
}

#[test]
fn a_read_by_the_channel_without_a_length_or_info_is_refused() {
    let (mut rig, file) = ready();
    let info = pack(&[descriptor(5, 100)]);
    assert_eq!(rig.status(&read_of(file, 0, INVALIDATE, &info)), NtStatus::INVALID_PARAMETER, "Length");
    assert_eq!(
        rig.status(&read_of(file, 10, INVALIDATE, b"")),
        NtStatus::INVALID_PARAMETER,
        "ReadChannelInfoLength"
    );
    let header = rig.header::<ReadRequest<'_>>(0);
    let mut bytes = message(&header, &read_of(file, 10, INVALIDATE, &info));
    read::request::READ_CHANNEL_INFO_OFFSET.set(&mut bytes, 0).unwrap();
    rig.give(&mut bytes);
    assert_eq!(rig.answers()[0].status(), NtStatus::INVALID_PARAMETER, "ReadChannelInfoOffset");
}

#[test]
fn a_write_by_the_channel_with_data_or_without_remaining_bytes_or_info_is_refused() {
    let (mut rig, file) = ready();
    let info = pack(&[descriptor(5, 100)]);
    assert_eq!(
        rig.status(&write_of(file, 0, INVALIDATE, &info)),
        NtStatus::INVALID_PARAMETER,
        "RemainingBytes"
    );
    assert_eq!(
        rig.status(&write_of(file, 10, INVALIDATE, b"")),
        NtStatus::INVALID_PARAMETER,
        "WriteChannelInfoLength"
    );
    let with_data = WriteRequest { data: b"x", ..write_of(file, 10, INVALIDATE, &info) };
    assert_eq!(rig.status(&with_data), NtStatus::INVALID_PARAMETER, "Length");
    for (field, value) in
        [(&write::request::DATA_OFFSET, 112), (&write::request::WRITE_CHANNEL_INFO_OFFSET, 0)]
    {
        let header = rig.header::<WriteRequest<'_>>(0);
        let mut bytes = message(&header, &write_of(file, 10, INVALIDATE, &info));
        field.set(&mut bytes, value).unwrap();
        rig.give(&mut bytes);
        assert_eq!(rig.answers()[0].status(), NtStatus::INVALID_PARAMETER, "{}", field.place().name);
    }
}

#[test]
fn a_write_without_a_channel_has_its_data_near_and_whole() {
    let (mut rig, file) = ready();
    let mut try_offset = |at: u16, padding: usize| {
        let header = rig.header::<WriteRequest<'_>>(0);
        let plain = WriteRequest { file_id: file, data: b"data", ..WriteRequest::default() };
        let mut bytes = message(&header, &plain);
        bytes.resize(bytes.len() + padding, 0);
        write::request::DATA_OFFSET.set(&mut bytes, at).unwrap();
        rig.give(&mut bytes);
        rig.answers()[0].status()
    };
    assert_eq!(try_offset(0x100, 0x100), NtStatus::SUCCESS);
    assert_eq!(try_offset(0x101, 0x101), NtStatus::INVALID_PARAMETER, "DataOffset above 0x100");
    assert_eq!(try_offset(0x71, 0), NtStatus::INVALID_PARAMETER, "data beyond the end");
}

#[test]
fn more_than_the_limits_of_the_connection_is_refused() {
    let mut small = params();
    (small.max_read_size, small.max_write_size, small.descriptors_max) = (65536, 65536, 2);
    let mut rig = Rig::ready(small, RDMA);
    let file = rig.file("a");
    let large = [descriptor(1, 65537)];
    assert_eq!(
        fetch(&mut rig, file, INVALIDATE, &large).status(),
        NtStatus::INVALID_PARAMETER,
        "MaxReadSize"
    );
    assert_eq!(put(&mut rig, file, INVALIDATE, &large).status(), NtStatus::INVALID_PARAMETER, "MaxWriteSize");
    let many = [descriptor(1, 10), descriptor(2, 10), descriptor(3, 10)];
    assert_eq!(fetch(&mut rig, file, INVALIDATE, &many).status(), NtStatus::INVALID_PARAMETER);
    assert_eq!(put(&mut rig, file, INVALIDATE, &many).status(), NtStatus::INVALID_PARAMETER);
}

#[test]
fn buffers_that_are_too_small_or_cut_are_refused() {
    let (mut rig, file) = ready();
    let (info, cut) = (pack(&[descriptor(5, 99)]), [0; 15]);
    for info in [&info[..], &cut] {
        assert_eq!(rig.status(&read_of(file, 100, INVALIDATE, info)), NtStatus::INVALID_PARAMETER);
        assert_eq!(rig.status(&write_of(file, 100, INVALIDATE, info)), NtStatus::INVALID_PARAMETER);
    }
}

#[test]
fn a_write_whose_first_buffer_is_empty_is_refused_and_a_read_is_not() {
    let (mut rig, file) = ready();
    let data = rig.register(1, b"data".to_vec());
    assert_eq!(put(&mut rig, file, Channel::RDMA_V1, &[data]).status(), NtStatus::SUCCESS);
    let empty = rig.register(2, Vec::new());
    let with_empty = [empty, data];
    assert_eq!(put(&mut rig, file, Channel::RDMA_V1, &with_empty).status(), NtStatus::INVALID_PARAMETER);
    assert_eq!(put(&mut rig, file, Channel::RDMA_V1, &[data, empty]).status(), NtStatus::SUCCESS);
    assert_eq!(fetch(&mut rig, file, Channel::RDMA_V1, &with_empty).status(), NtStatus::SUCCESS);
}

#[test]
fn as_many_buffers_as_a_request_has_room_for_are_used() {
    let (mut rig, file) = ready();
    let data: Vec<u8> = (0..4095_u32).map(|at| (at % 251) as u8).collect();
    let whole = rig.register(1, data.clone());
    let bytes: Vec<_> = (0..4095).map(|offset| BufferDescriptorV1 { offset, length: 1, ..whole }).collect();
    assert_eq!(put(&mut rig, file, Channel::RDMA_V1, &bytes).status(), NtStatus::SUCCESS);
    let into = rig.register(2, vec![0; 4095]);
    assert_eq!(fetch(&mut rig, file, Channel::RDMA_V1, &[into]).status(), NtStatus::SUCCESS);
    assert_eq!(rig.memory[&2], data);
}

#[test]
fn the_credit_charge_of_a_transfer_has_to_cover_it() {
    let (mut rig, file) = ready();
    let info = pack(&[rig.register(5, vec![1; 65537])]);
    assert_eq!(rig.status(&read_of(file, 65537, INVALIDATE, &info)), NtStatus::INVALID_PARAMETER);
    assert_eq!(rig.status(&write_of(file, 65537, INVALIDATE, &info)), NtStatus::INVALID_PARAMETER);
    assert_eq!(rig.status(&write_of(file, 65536, INVALIDATE, &info)), NtStatus::SUCCESS);
}

#[test]
fn every_final_answer_invalidates_also_a_failure() {
    let (mut rig, file) = ready();
    let buffer = [rig.register(5, vec![0; 100])];
    let answer = fetch(&mut rig, file, INVALIDATE, &buffer);
    assert_eq!((answer.status(), answer.invalidate), (NtStatus::END_OF_FILE, Some(Token(5))));
    let closed = FileId { persistent: 99, volatile: 99 };
    for answer in [fetch(&mut rig, closed, INVALIDATE, &buffer), put(&mut rig, closed, INVALIDATE, &buffer)] {
        assert_eq!((answer.status(), answer.invalidate), (NtStatus::FILE_CLOSED, Some(Token(5))));
    }
    rig.session_id = smbd_smb2::wire::SessionId(4);
    let answer = fetch(&mut rig, file, INVALIDATE, &buffer);
    assert_eq!((answer.status(), answer.invalidate), (NtStatus::USER_SESSION_DELETED, Some(Token(5))));
    let plain = rig.request(&CloseRequest { file_id: file, ..CloseRequest::default() });
    assert_eq!(plain.invalidate, None);
}

#[test]
fn an_interim_answer_invalidates_nothing() {
    let (mut rig, file) = ready();
    let info = pack(&[rig.register(5, vec![0; 100])]);
    rig.holds = true;
    let header = rig.header::<ReadRequest<'_>>(0);
    rig.silent(&header, &read_of(file, 100, INVALIDATE, &info));
    let id = rig.held[0].0;
    rig.connection.prolong(rig.now, id).unwrap();
    rig.drive();
    let interim = rig.answers();
    assert_eq!((interim.len(), interim[0].status(), interim[0].invalidate), (1, NtStatus::PENDING, None));
    rig.release();
    let last = rig.answers();
    assert_eq!(
        (last.len(), last[0].status(), last[0].invalidate),
        (1, NtStatus::END_OF_FILE, Some(Token(5)))
    );
}

#[test]
fn the_data_of_a_read_are_on_their_way_before_its_answer() {
    let (mut rig, file) = ready();
    let buffer = [rig.register(1, vec![7; 100])];
    put(&mut rig, file, INVALIDATE, &buffer);
    rig.holds_rdma = true;
    let answer = fetch(&mut rig, file, INVALIDATE, &buffer);
    assert_eq!(answer.status(), NtStatus::SUCCESS, "no completion is waited for");
    assert_eq!(rig.transfers.len(), 1);
    rig.connection.rdma_done(rig.now, rig.transfers[0], true).unwrap();
    assert!(rig.connection.rdma_done(rig.now, rig.transfers[0], true).is_err(), "only once");
}

#[test]
fn the_data_of_a_write_are_there_before_the_file_is_touched_and_its_close_waits() {
    let (mut rig, file) = ready();
    let info = pack(&[rig.register(1, vec![7; 100])]);
    rig.holds_rdma = true;
    let header = rig.header::<WriteRequest<'_>>(0);
    rig.silent(&header, &write_of(file, 100, INVALIDATE, &info));
    let close = rig.header::<CloseRequest>(0);
    rig.silent(&close, &CloseRequest { file_id: file, ..CloseRequest::default() });
    assert_eq!(rig.files.open_count(), 1);
    rig.connection.rdma_done(rig.now, rig.transfers[0], true).unwrap();
    rig.drive();
    let answers = rig.answers();
    let order: Vec<_> = answers.iter().map(|answer| (answer.header.message_id, answer.status())).collect();
    assert_eq!(order, [(header.message_id, NtStatus::SUCCESS), (close.message_id, NtStatus::SUCCESS)]);
    assert_eq!(rig.files.open_count(), 0);
}

#[test]
fn a_transfer_that_fails_ends_the_connection_and_closes_its_files() {
    for is_write in [true, false] {
        let (mut rig, file) = ready();
        let buffer = [rig.register(1, vec![7; 100])];
        put(&mut rig, file, INVALIDATE, &buffer);
        rig.holds_rdma = true;
        let info = pack(&buffer);
        if is_write {
            let header = rig.header::<WriteRequest<'_>>(0);
            rig.silent(&header, &write_of(file, 100, INVALIDATE, &info));
        } else {
            fetch(&mut rig, file, INVALIDATE, &buffer);
        }
        rig.connection.rdma_done(rig.now, rig.transfers[0], false).unwrap();
        rig.drive();
        assert_eq!((rig.closed, rig.files.open_count()), (Some(Reason::RdmaFailed), 0));
    }
}

#[test]
fn the_channel_works_in_sessions_that_sign_or_encrypt() {
    for protect in [Protect::Sign, Protect::Seal] {
        let mut rig = Rig::new(params(), RDMA);
        rig.negotiate(&[Dialect::SMB_3_1_1], &[Cipher::AES_128_CCM]);
        rig.log_in("tester", "correct horse");
        rig.protect = protect;
        rig.connect("data");
        let file = rig.file("a");
        let buffer = [rig.register(1, vec![7; 100])];
        assert_eq!(put(&mut rig, file, INVALIDATE, &buffer).status(), NtStatus::SUCCESS);
        let buffer = [rig.register(2, vec![0; 100])];
        assert_eq!(fetch(&mut rig, file, INVALIDATE, &buffer).invalidate, Some(Token(2)));
        assert_eq!(rig.memory[&2], [7; 100]);
    }
}

#[test]
fn a_plain_read_whose_answer_the_client_could_not_receive_is_answered_with_less() {
    let mut rig = Rig::ready(params(), smbd_smb2::server::Transport::Rdma { send_max: 131_072 });
    let file = rig.file("a");
    let header = rig.header::<WriteRequest<'_>>(1 << 20);
    rig.ask(&header, &WriteRequest { file_id: file, data: &vec![1; 1 << 20], ..WriteRequest::default() });
    let header = rig.header::<ReadRequest<'_>>(1 << 20);
    let read = ReadRequest { minimum_count: 1 << 20, ..read_of(file, 1 << 20, Channel::NONE, b"") };
    let answer = rig.ask(&header, &read);
    assert_eq!(answer.status(), NtStatus::SUCCESS);
    assert_eq!(ReadResponse::parse(&answer.bytes).unwrap().data.len(), 131_072 - 256);
}

/// Bytes of the file of a session over RDMA, and of what its client receives.
const MESSAGE_MAX: u32 = 1 << 20;

fn with_a_long_file() -> (Rig, FileId) {
    let mut rig = Rig::ready(params(), RDMA);
    let file = rig.file("long");
    let data = vec![1; MESSAGE_MAX as usize];
    let header = rig.header::<WriteRequest<'_>>(MESSAGE_MAX.into());
    rig.ask(&header, &WriteRequest { file_id: file, data: &data, ..WriteRequest::default() });
    (rig, file)
}

#[test]
fn a_read_without_a_channel_brings_as_much_as_a_client_can_receive_with_256_bytes_around_it() {
    for protect in [Protect::Sign, Protect::Seal] {
        let (mut rig, file) = with_a_long_file();
        rig.protect = protect;
        let len = MESSAGE_MAX - 256;
        let header = rig.header::<ReadRequest<'_>>(len.into());
        let answer = rig.ask(&header, &read_of(file, len, Channel::NONE, b""));
        assert_eq!(ReadResponse::parse(&answer.bytes).unwrap().data.len(), len as usize);
        assert!(rig.sent.iter().all(|(message, _)| message.len() <= MESSAGE_MAX as usize));
    }
}

#[test]
fn answers_that_are_too_long_for_one_message_go_in_more() {
    for len in [(MESSAGE_MAX - 256) / 2, MESSAGE_MAX / 2, MESSAGE_MAX - 256] {
        let (mut rig, file) = with_a_long_file();
        rig.protect = Protect::Seal;
        let mut bytes = Vec::new();
        let mut compound = Compound::new(&mut bytes);
        for is_related in [false, true, true] {
            let header = rig.header::<ReadRequest<'_>>(len.into());
            let header = if is_related { header.related() } else { header };
            compound.add(&header, &read_of(file, len, Channel::NONE, b"")).unwrap();
        }
        rig.send(bytes);
        let answers = rig.answers();
        let lengths: Vec<_> =
            answers.iter().map(|answer| ReadResponse::parse(&answer.bytes).unwrap().data.len()).collect();
        assert_eq!(lengths, [len as usize; 3]);
        let longest = rig.sent.iter().map(|(message, _)| message.len()).max();
        assert!(longest.is_some_and(|longest| longest <= MESSAGE_MAX as usize), "{longest:?}");
    }
}
