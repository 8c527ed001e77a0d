//! Each rule alone.

use smbd_smb2::relay::*;
use smbd_smb2::wire::*;

use crate::rig::*;

const V1: Channel = Channel::RDMA_V1;
const INVALIDATE: Channel = Channel::RDMA_V1_INVALIDATE;

#[test]
fn a_read_loses_its_channel_and_nothing_else() {
    let info = descriptors(&[40, 60]);
    let with_channel = ReadRequest {
        flags: ReadFlags::READ_UNBUFFERED | ReadFlags::REQUEST_COMPRESSED,
        minimum_count: 3,
        remaining_bytes: 100,
        ..read_request(INVALIDATE, 100, &info)
    };
    let without = ReadRequest {
        flags: ReadFlags::READ_UNBUFFERED,
        minimum_count: 3,
        ..read_request(Channel::NONE, 100, &[])
    };
    for size in [1, 7, 64, 1000] {
        let mut rig = Rig::new();
        rig.client_in(&build(&read_header(3), &with_channel), size);
        assert_eq!(rig.messages(), [build(&read_header(3), &without)]);
    }
}

#[test]
fn data_of_a_read_are_written_before_the_answer_of_80_bytes() {
    for status in [NtStatus::SUCCESS, NtStatus::BUFFER_OVERFLOW] {
        let mut rig = Rig::new();
        rig.client(&read(3, INVALIDATE, &[2, 9]));
        rig.server(&data(3, status, b"payload"));
        assert_eq!(rig.order, ["write", "message"]);
        let (transfer, written) = &rig.writes[0];
        assert_eq!((transfer.offset, &written[..]), (0, &b"payload"[..]));
        assert_eq!(pack(&transfer.remote), descriptors(&[2, 9]));
        let (answer, token) = &rig.to_client[0];
        assert_eq!((answer.len(), *token), (80, Some(Token(70))));
        assert_eq!(Header::parse(answer).unwrap().status, status);
        let expected = ReadResponse { data_remaining: 7, ..ReadResponse::default() };
        assert_eq!(answer[64..], build(&Header::default(), &expected)[64..]);
    }
}

#[test]
fn data_of_a_write_follow_at_0x70_and_its_answer_passes() {
    let mut rig = Rig::new();
    rig.client(&write(3, INVALIDATE, &[5, 3]));
    assert_eq!((rig.reads[0].len, rig.reads[0].offset), (8, 0));
    rig.read(b"from rdm");
    let plain = WriteRequest { data: b"from rdm", ..write_request(Channel::NONE, 0, &[]) };
    assert_eq!(rig.messages(), [build(&write_header(3), &plain)]);
    let answer = build(&write_header(3).response(NtStatus::SUCCESS), &WriteResponse { count: 8 });
    rig.server(&answer);
    assert_eq!(rig.to_client, [(answer, Some(Token(70)))]);
}

#[test]
fn the_front_of_a_write_waits_for_its_data_and_what_is_before_it_does_not() {
    let mut rig = Rig::new();
    rig.client(&echo(2));
    rig.client(&write(3, V1, &[8]));
    assert_eq!(rig.messages(), [echo(2)]);
    rig.read(b"12345678");
    assert_eq!(rig.messages().len(), 2);
}

#[test]
fn a_final_answer_invalidates_whatever_it_says_and_an_interim_one_does_not() {
    for message in [read(3, INVALIDATE, &[8]), write(3, INVALIDATE, &[8]), read(3, INVALIDATE, &[])] {
        let mut rig = Rig::new();
        let wants = if message.len() == 113 { None } else { Some(Token(70)) };
        rig.client(&message);
        rig.server(&interim(3));
        rig.server(&failure(3, NtStatus::DISK_FULL));
        assert_eq!(rig.to_client, [(interim(3), None), (failure(3, NtStatus::DISK_FULL), wants)]);
    }
}

#[test]
fn no_answer_to_a_request_with_rdma_v1_invalidates() {
    let mut rig = Rig::new();
    rig.client(&read(3, V1, &[8]));
    rig.client(&write(4, V1, &[8]));
    rig.server(&data(3, NtStatus::SUCCESS, b"12345678"));
    rig.server(&failure(4, NtStatus::DISK_FULL));
    assert!(rig.to_client.iter().all(|(_, token)| token.is_none()));
}

fn refused(message: &[u8]) -> (Rig, Vec<(Refusal, u64)>) {
    let mut rig = Rig::with(&Params { max_read_write_size: 1000, ..Params::default() });
    rig.client(message);
    let refusals = rig.relay().statistics().refusals.iter().filter(|(_, count)| *count > 0).collect();
    (rig, refusals)
}

#[test]
fn a_bad_request_is_forwarded_in_a_form_that_is_refused_and_its_token_is_invalidated() {
    let wraps = pack(&[BufferDescriptorV1 { offset: u64::MAX, token: Token(70), length: 2 }]);
    let info = descriptors(&[500, 700]);
    let cases = [
        (Refusal::UnknownChannel, Channel(3), 8, &info[..]),
        (Refusal::Empty, INVALIDATE, 0, &info),
        (Refusal::NoDescriptors, INVALIDATE, 8, &[]),
        (Refusal::RaggedDescriptors, INVALIDATE, 8, &info[..20]),
        (Refusal::DescriptorWraps, INVALIDATE, 2, &wraps),
        (Refusal::ShortDescriptors, INVALIDATE, 1201, &info),
        (Refusal::AboveMaxReadWriteSize, INVALIDATE, 1001, &info),
    ];
    for (reason, channel, length, info) in cases {
        let token = Some(Token(70)).filter(|_| channel == INVALIDATE && !info.is_empty());
        let (mut rig, refusals) = refused(&build(&read_header(3), &read_request(channel, length, info)));
        assert_eq!(refusals, [(reason, 1)]);
        let expected = read_request(Channel::NONE, u32::MAX, &[]);
        assert_eq!(rig.messages(), [build(&read_header(3), &expected)]);
        rig.server(&failure(3, NtStatus::INVALID_PARAMETER));
        assert_eq!(rig.to_client[0].1, token);

        let (rig, refusals) = refused(&build(&write_header(3), &write_request(channel, length, info)));
        assert_eq!((refusals, rig.reads.len()), (vec![(reason, 1)], 0));
        let message = rig.messages()[0];
        assert_eq!(write::request::DATA_OFFSET.get(message), Ok(0xFFFF));
        assert_eq!(write::request::LENGTH.get(message), Ok(1));
        assert_eq!(write::request::CHANNEL.get(message), Ok(Channel::NONE));
        assert_eq!(message.len(), 113);
    }
}

#[test]
fn a_write_whose_first_descriptor_has_no_bytes_is_refused_and_a_read_is_not() {
    assert_eq!(refused(&write(3, INVALIDATE, &[0, 8])).1, [(Refusal::EmptyDescriptor, 1)]);
    assert_eq!(refused(&write(3, INVALIDATE, &[8, 0])).1, []);
    assert_eq!(refused(&read(3, INVALIDATE, &[0, 8])).1, []);
}

#[test]
fn in_3_0_rdma_v1_invalidate_is_no_channel_and_invalidates_nothing() {
    let dialects = [(Dialect::SMB_3_0, false), (Dialect::SMB_3_0_2, true), (Dialect::SMB_3_1_1, true)];
    for (dialect, is_channel) in dialects {
        for size in [1, 65, 1000] {
            for request in [read(3, INVALIDATE, &[8]), write(3, INVALIDATE, &[8])] {
                let mut rig = Rig::new();
                let negotiate = Header::request::<NegotiateRequest>(0);
                rig.client(&build(&negotiate, &NegotiateRequest::default()));
                let answer = NegotiateResponse { dialect, ..NegotiateResponse::default() };
                let answer = framed(&build(&negotiate.response(NtStatus::SUCCESS), &answer));
                answer.chunks(size).for_each(|piece| rig.stream(piece));
                rig.client(&request);
                let refusals = rig.relay().statistics().refusals.iter().find(|(_, count)| *count > 0);
                let expected = (Refusal::UnknownChannel, 1);
                assert_eq!(refusals, Some(expected).filter(|_| !is_channel), "{dialect}");
                rig.server(&failure(3, NtStatus::INVALID_PARAMETER));
                let token = Some(Token(70)).filter(|_| is_channel);
                assert_eq!(rig.to_client.last().unwrap().1, token, "{dialect}");
                rig.client(&read(4, V1, &[8]));
                assert!(rig.relay().statistics().refusals.total() <= 1);
            }
        }
    }
}

#[test]
fn the_dialect_and_the_session_are_those_of_answers_that_were_successful() {
    for size in [1, 65, 1000] {
        let mut rig = Rig::new();
        let mut answered = |header: &Header, status, body: &[u8]| {
            let mut answer = build(&header.response(status), &SessionSetupResponse::default());
            answer.splice(64.., body.iter().copied());
            framed(&answer).chunks(size).for_each(|piece| rig.stream(piece));
            (rig.relay().dialect(), rig.relay().has_session())
        };
        let (negotiate, setup) =
            (Header::request::<NegotiateRequest>(0), Header::request::<SessionSetupRequest>(1));
        let chosen = NegotiateResponse { dialect: Dialect::SMB_3_0_2, ..NegotiateResponse::default() };
        let chosen = build(&Header::default(), &chosen).split_off(64);
        let done = build(&Header::default(), &SessionSetupResponse::default()).split_off(64);
        let dialect = Some(Dialect::SMB_3_0_2);
        assert_eq!(answered(&negotiate, NtStatus::ACCESS_DENIED, &chosen), (None, false));
        assert_eq!(answered(&negotiate, NtStatus::SUCCESS, &chosen), (dialect, false));
        assert_eq!(answered(&setup, NtStatus::MORE_PROCESSING_REQUIRED, &done), (dialect, false));
        assert_eq!(answered(&setup, NtStatus::SUCCESS, &done), (dialect, true));
    }
}

#[test]
fn a_write_with_data_beside_its_channel_is_refused() {
    let mut message = write(3, INVALIDATE, &[8]);
    write::request::LENGTH.set(&mut message, 1).unwrap();
    assert_eq!(refused(&message).1, [(Refusal::InlineData, 1)]);
    let mut message = write(3, INVALIDATE, &[8]);
    write::request::DATA_OFFSET.set(&mut message, 112).unwrap();
    assert_eq!(refused(&message).1, [(Refusal::InlineData, 1)]);
    let mut message = write(3, INVALIDATE, &[8]);
    write::request::WRITE_CHANNEL_INFO_OFFSET.set(&mut message, 111).unwrap();
    assert_eq!(refused(&message).1, [(Refusal::Malformed, 1)]);
}

#[test]
fn a_request_longer_than_what_is_kept_is_refused_and_the_next_one_is_not() {
    let params = Params { held_max: 256, ..Params::default() };
    let mut rig = Rig::with(&params);
    rig.client_in(&[read(3, INVALIDATE, &[8]), vec![0; 2000]].concat(), 50);
    rig.client(&read(4, INVALIDATE, &[8]));
    assert_eq!(read::request::LENGTH.get(rig.messages()[0]), Ok(u32::MAX));
    assert_eq!(read::request::LENGTH.get(rig.messages()[1]), Ok(8));
    rig.server(&failure(3, NtStatus::INVALID_PARAMETER));
    assert_eq!(rig.to_client[0].1, Some(Token(70)));
}

#[test]
fn beyond_the_table_a_request_is_refused_and_nothing_waits() {
    let mut rig = Rig::with(&Params { descriptors_max: 3, ..Params::default() });
    rig.client(&read(3, INVALIDATE, &[4, 4]));
    rig.client(&read(4, INVALIDATE, &[4, 4]));
    assert_eq!(read::request::LENGTH.get(rig.messages()[1]), Ok(u32::MAX));
    rig.server(&failure(3, NtStatus::END_OF_FILE));
    rig.client(&read(5, INVALIDATE, &[4, 4]));
    assert_eq!(read::request::LENGTH.get(rig.messages()[2]), Ok(8));
    let refusals: Vec<_> = rig.relay().statistics().refusals.iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(refusals, [(Refusal::TableFull, 1)]);
}

#[test]
fn a_signed_read_or_write_with_a_channel_closes_and_the_server_sees_nothing_of_it() {
    let info = descriptors(&[8]);
    let read = build(&signed(read_header(3)), &read_request(V1, 8, &info));
    let write = build(&signed(write_header(3)), &write_request(INVALIDATE, 8, &info));
    for (message, command) in [(read, Command::READ), (write, Command::WRITE)] {
        let mut rig = Rig::new();
        rig.client(&message);
        assert_eq!(rig.closed, Some(Reason::SignedChannel { command, message_id: MessageId(3) }));
        assert!(rig.to_server.is_empty());
        assert!(rig.closed.unwrap().to_string().contains("do not require signing"));
    }
}

#[test]
fn what_is_signed_or_encrypted_or_older_passes_byte_for_byte() {
    let mut encrypted = Vec::new();
    Transform { encrypted: &[7; 200], ..Transform::default() }.write(&mut encrypted).unwrap();
    let mut smb1 = Vec::new();
    Smb1Negotiate::write(&mut smb1, &[b"SMB 2.002"]).unwrap();
    let plain = WriteRequest { data: &[3; 3000], ..write_request(Channel::NONE, 0, &[]) };
    let tree = TreeConnectRequest::default();
    for message in [
        build(&signed(write_header(3)), &plain),
        build(&write_header(3), &plain),
        build(&signed(Header::request::<TreeConnectRequest>(2)), &tree),
        encrypted,
        smb1,
        b"none of these".to_vec(),
        vec![0xFE, b'S', b'M', b'B', 0],
        build(&signed(read_header(3)), &read_request(Channel::NONE, 90_000_000, &[])),
    ] {
        for size in [1, 70, 5000] {
            let mut rig = Rig::new();
            rig.client_in(&message, size);
            assert_eq!(rig.messages(), [&message[..]]);
            rig.server(&message);
            assert_eq!(rig.to_client, [(message.clone(), None)]);
        }
    }
}

#[test]
fn a_compound_with_channels_is_rebuilt_and_its_answers_go_one_by_one() {
    let (info, mut rig) = (descriptors(&[5]), Rig::new());
    let write = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &write_request(V1, 5, &info)).unwrap();
    };
    let read = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &read_request(INVALIDATE, 5, &info)).unwrap();
    };
    let flush = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &FlushRequest { file_id: FileId::RELATED }).unwrap();
    };
    let flush_header = Header::request::<FlushRequest>(4).related();
    rig.client(&compound(&[
        (write_header(3), &write),
        (flush_header, &flush),
        (read_header(5).related(), &read),
    ]));
    rig.read(b"hello");

    let plain = WriteRequest { data: b"hello", ..write_request(Channel::NONE, 0, &[]) };
    let write = |compound: &mut Compound<'_>, header: &Header| compound.add(header, &plain).unwrap();
    let read = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &read_request(Channel::NONE, 5, &[])).unwrap();
    };
    let expected =
        compound(&[(write_header(3), &write), (flush_header, &flush), (read_header(5).related(), &read)]);
    assert_eq!(rig.messages(), [expected]);

    let count = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &WriteResponse { count: 5 }).unwrap();
    };
    let flushed =
        |compound: &mut Compound<'_>, header: &Header| compound.add(header, &FlushResponse {}).unwrap();
    let world = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &ReadResponse { data: b"world", ..ReadResponse::default() }).unwrap();
    };
    let answer = |header: &Header| header.response(NtStatus::SUCCESS);
    rig.server(&compound(&[
        (answer(&write_header(3)), &count),
        (answer(&flush_header), &flushed),
        (answer(&read_header(5).related()), &world),
    ]));
    let got: Vec<_> =
        rig.to_client.iter().map(|(message, token)| (Header::parse(message).unwrap(), *token)).collect();
    let of = |header: Header, token| {
        let header = answer(&header);
        (Header { flags: header.flags.with(Flags::RELATED_OPERATIONS, false), ..header }, token)
    };
    let last = of(read_header(5).related(), Some(Token(70)));
    assert_eq!(got, [of(write_header(3), None), of(flush_header, None), last]);
    assert_eq!(rig.writes[0].1, b"world");
    assert_eq!(rig.relay().statistics().split_answers, 3);
}

#[test]
fn answers_without_a_channel_stay_together() {
    let mut rig = Rig::new();
    rig.client(&read(9, INVALIDATE, &[8]));
    let add = |compound: &mut Compound<'_>, header: &Header| compound.add(header, &EchoResponse {}).unwrap();
    let header = |id| Header::request::<EchoRequest>(id).response(NtStatus::SUCCESS);
    let message = compound(&[(header(3), &add), (header(4), &add)]);
    rig.server(&message);
    assert_eq!(rig.to_client, [(message, None)]);
}

#[test]
fn a_signed_element_beside_a_channel_closes_in_both_directions() {
    let info = descriptors(&[8]);
    let read = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &read_request(V1, 8, &info)).unwrap();
    };
    let flush = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &FlushRequest { file_id: FILE }).unwrap();
    };
    let mut rig = Rig::new();
    let other = signed(Header::request::<FlushRequest>(4));
    rig.client(&compound(&[(read_header(3), &read), (other, &flush)]));
    assert_eq!(rig.closed, Some(Reason::SignedInCompound { message_id: MessageId(4) }));

    let mut rig = Rig::new();
    rig.client(&build(&read_header(3), &read_request(V1, 8, &info)));
    let flushed =
        |compound: &mut Compound<'_>, header: &Header| compound.add(header, &FlushResponse {}).unwrap();
    let failed = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &ErrorResponse::default()).unwrap();
    };
    let answer = read_header(3).response(NtStatus::END_OF_FILE);
    rig.server(&compound(&[(signed(other.response(NtStatus::SUCCESS)), &flushed), (answer, &failed)]));
    assert_eq!(rig.closed, Some(Reason::SignedInCompound { message_id: MessageId(4) }));
}

#[test]
fn a_channel_that_comes_late_in_a_long_compound_closes() {
    let (info, params) = (descriptors(&[8]), Params { held_max: 256, ..Params::default() });
    let long = WriteRequest { data: &[1; 500], ..write_request(Channel::NONE, 0, &[]) };
    let write = |compound: &mut Compound<'_>, header: &Header| compound.add(header, &long).unwrap();
    let read = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &read_request(V1, 8, &info)).unwrap();
    };
    let message = compound(&[(write_header(3), &write), (read_header(4), &read)]);
    let mut rig = Rig::with(&params);
    rig.client(&message);
    assert_eq!(rig.closed, Some(Reason::CompoundTooLong { len: message.len() as u32, max: 256 }));

    let mut rig = Rig::with(&params);
    rig.client(&build(&read_header(4), &read_request(V1, 8, &info)));
    let large = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &ReadResponse { data: &[1; 500], ..ReadResponse::default() }).unwrap();
    };
    let answer = |id| read_header(id).response(NtStatus::SUCCESS);
    rig.server(&compound(&[(answer(3), &large), (answer(4), &large)]));
    assert!(matches!(rig.closed, Some(Reason::CompoundTooLong { .. })));
}

#[test]
fn a_read_that_the_client_cannot_receive_is_lowered_unless_it_is_signed() {
    let mut rig = Rig::new();
    let request = ReadRequest { minimum_count: 200_000, ..read_request(Channel::NONE, 300_000, &[]) };
    rig.client(&build(&read_header(3), &request));
    rig.client(&build(&signed(read_header(4)), &request));
    let most = 131_072 - 80;
    let lowered = ReadRequest { minimum_count: most, length: most, ..request };
    assert_eq!(rig.messages()[0], build(&read_header(3), &lowered));
    assert_eq!(rig.messages()[1], build(&signed(read_header(4)), &request));
    assert_eq!(rig.relay().statistics().lowered_reads, 1);
    rig.server(&data(3, NtStatus::SUCCESS, &vec![1; most as usize]));
    assert_eq!(rig.to_client.len(), 1);
    rig.server(&data(4, NtStatus::SUCCESS, &vec![1; most as usize + 1]));
    assert_eq!(rig.closed, Some(Reason::AnswerTooLarge { len: 131_073, max: 131_072 }));
    assert!(rig.closed.unwrap().to_string().contains("rsize"));
}

#[test]
fn nothing_overtakes_a_write_whose_data_have_not_come() {
    let mut rig = Rig::new();
    rig.client(&write(3, V1, &[8]));
    rig.client(&build(&Header::request::<CancelRequest>(3), &CancelRequest {}));
    rig.client(&write(5, V1, &[4]));
    assert_eq!(rig.reads.len(), 2, "the next WRITE's data are read meanwhile");
    let begun = rig.to_server.len();
    rig.reads.swap(0, 1);
    rig.read(b"next");
    assert_eq!(rig.to_server.len(), begun);
    rig.read(b"12345678");
    let commands =
        rig.messages().iter().map(|message| Header::parse(message).unwrap().command).collect::<Vec<_>>();
    assert_eq!(commands, [Command::WRITE, Command::CANCEL, Command::WRITE]);
}

#[test]
fn a_message_id_that_comes_twice_or_is_none_closes() {
    let mut rig = Rig::new();
    rig.client(&read(3, V1, &[8]));
    rig.client(&read(3, V1, &[8]));
    assert_eq!(rig.closed, Some(Reason::MessageIdReused { message_id: MessageId(3) }));
    let mut rig = Rig::new();
    rig.client(&read(u64::MAX, V1, &[8]));
    assert_eq!(rig.closed, Some(Reason::MessageIdReused { message_id: MessageId::UNSOLICITED }));
    let mut rig = Rig::with(&Params { requests_max: 1, ..Params::default() });
    rig.client(&read(3, V1, &[8]));
    rig.client(&read(4, V1, &[8]));
    assert_eq!(rig.closed, Some(Reason::TooManyRequests { max: 1 }));
}

#[test]
fn an_answer_that_cannot_be_rewritten_closes() {
    let close = |answer: &[u8]| {
        let mut rig = Rig::new();
        rig.client(&read(3, V1, &[8]));
        rig.server(answer);
        assert!(rig.writes.is_empty());
        rig.closed.unwrap()
    };
    let header = read_header(3).response(NtStatus::SUCCESS);
    let answer = ReadResponse { data: b"12345678", ..ReadResponse::default() };
    assert_eq!(close(&build(&signed(header), &answer)), Reason::SignedAnswer { message_id: MessageId(3) });
    let expected = Reason::TooMuchData { message_id: MessageId(3), len: 9, asked: 8 };
    assert_eq!(close(&data(3, NtStatus::SUCCESS, b"123456789")), expected);
    let mut inside = build(&header, &answer);
    read::response::DATA_OFFSET.set(&mut inside, 79).unwrap();
    assert!(matches!(close(&inside), Reason::BrokenAnswer(WireError::Inside { .. })));
    assert!(matches!(close(&build(&header, &answer)[..87]), Reason::BrokenAnswer(WireError::Beyond { .. })));
    assert!(matches!(
        close(&build(&header, &answer)[..70]),
        Reason::BrokenAnswer(WireError::Truncated { .. })
    ));
    assert!(matches!(close(&failure(3, NtStatus::SUCCESS)), Reason::BrokenAnswer(WireError::Value { .. })));
}

#[test]
fn bytes_that_are_no_messages_of_direct_tcp_close() {
    for header in [0x8500_0001_u32, 0x8100_0000, 0x0100_0000, 0] {
        let mut rig = Rig::new();
        rig.stream(&header.to_be_bytes());
        assert_eq!(rig.closed, Some(Reason::Framing { header }));
    }
    let mut rig = Rig::new();
    rig.poll_once(ClientBytes { bytes: &[1], remaining: 0x00FF_FFFF });
    assert_eq!(rig.closed, Some(Reason::RequestTooLarge { len: 0x0100_0000, max: 0x00FF_FFFF }));
}

#[test]
fn keep_alives_of_the_server_are_dropped_wherever_the_stream_is_cut() {
    let answer = failure(9, NtStatus::ACCESS_DENIED);
    let mut stream = [&KEEP_ALIVE[..], &KEEP_ALIVE, &framed(&answer), &KEEP_ALIVE].concat();
    stream.extend_from_slice(&framed(&answer));
    for cut in 0..stream.len() {
        let mut rig = Rig::new();
        let (front, rest) = stream.split_at(cut);
        rig.stream(front);
        rig.stream(rest);
        let expected = vec![(answer.clone(), None), (answer.clone(), None)];
        assert_eq!((rig.closed, rig.to_client), (None, expected), "cut at {cut}");
    }
}

#[test]
fn the_end_of_a_side_or_of_an_operation_closes_once() {
    let buffer = BufferId { way: Way::ToServer, index: 0 };
    for (event, reason) in [
        (Event::Ended(Side::Client), Reason::ClientEnded),
        (Event::Ended(Side::Server), Reason::ServerEnded),
        (Event::RdmaDone { buffer, is_success: false }, Reason::RdmaFailed),
    ] {
        let mut rig = Rig::new();
        rig.client(&write(3, V1, &[8]));
        rig.handle(event);
        assert_eq!(rig.closed.take(), Some(reason));
        rig.handle(event);
        rig.poll_once(ClientBytes::default());
        assert_eq!(rig.closed, None);
    }
}

#[test]
fn what_cannot_have_happened_is_refused_and_changes_nothing() {
    let (read, write) =
        (BufferId { way: Way::ToServer, index: 0 }, BufferId { way: Way::ToClient, index: 0 });
    let mut rig = Rig::new();
    rig.client(&write_of_8());
    for event in [
        Event::Sent { buffer: read, len: 1 },
        Event::Sent { buffer: write, len: 1 },
        Event::RdmaDone { buffer: write, is_success: true },
        Event::RdmaDone { buffer: BufferId { way: Way::ToServer, index: 999 }, is_success: true },
    ] {
        let error = rig.relay().handle(event).unwrap_err();
        assert!(error.to_string().contains("not due"), "{error}");
    }
    rig.read(b"12345678");
    assert_eq!(rig.messages().len(), 1);
}

fn write_of_8() -> Vec<u8> {
    write(3, V1, &[8])
}

#[test]
fn parameters_that_cannot_work_are_refused() {
    let default = Params::default();
    let config = Config::new(&default).unwrap();
    assert_eq!((config.buffers(), config.params()), (6, &default));
    for params in [
        Params { budget: 600 << 10, ..default },
        Params { held_max: 255, ..default },
        Params { buffer_len: 0, ..default },
        Params { max_fragmented_size: 255, ..default },
        Params { descriptors_max: 0, ..default },
        Params { requests_max: 0, ..default },
    ] {
        assert!(matches!(Config::new(&params), Err(ConfigError::TooSmall { .. })), "{params:?}");
    }
    let error = Config::new(&Params { max_read_write_size: 16 << 20, ..default }).unwrap_err();
    assert_eq!(error.to_string(), "max_read_write_size is 16777216, and can be 16773119 at most");
}

#[test]
fn statistics_say_what_has_passed_and_which_way() {
    let mut rig = Rig::new();
    rig.client(&read(3, INVALIDATE, &[8]));
    rig.client(&write(4, V1, &[16]));
    rig.read(&[0; 16]);
    rig.client(&echo(5));
    rig.client(&build(
        &Header { session_id: SessionId(8), ..signed(read_header(6)) },
        &read_request(Channel::NONE, 5, &[]),
    ));
    let mut encrypted = Vec::new();
    Transform { session_id: SessionId(7), ..Transform::default() }.write(&mut encrypted).unwrap();
    rig.client(&encrypted);
    rig.server(&data(3, NtStatus::SUCCESS, b"1234567"));
    let statistics = rig.relay().statistics();
    let bytes = statistics.bytes;
    assert_eq!((bytes.rdma_read, bytes.rdma_write, bytes.to_client), (16, 7, 80));
    let of = |command| statistics.requests.of(command);
    assert_eq!((of(Command::READ), of(Command::WRITE), of(Command::ECHO)), (2, 1, 1));
    let sessions = &statistics.sessions;
    assert_eq!((sessions.rdma, sessions.signed, sessions.encrypted), (1, 1, 1));
    assert_eq!((statistics.encrypted_messages, statistics.signed_elements), (1, 1));
    assert_eq!((statistics.refusals.total(), statistics.requests.other()), (0, 0));
}

#[test]
fn a_request_is_outstanding_until_its_final_answer_unless_none_is_due() {
    let mut rig = Rig::new();
    let outstanding = |rig: &mut Rig| rig.relay().statistics().outstanding();
    let info = descriptors(&[8]);
    let read = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &read_request(INVALIDATE, 8, &info)).unwrap();
    };
    let echo = |compound: &mut Compound<'_>, header: &Header| {
        compound.add(header, &EchoRequest {}).unwrap();
    };
    rig.client(&compound(&[(read_header(3), &read), (Header::request::<EchoRequest>(4), &echo)]));
    rig.client(&write(5, V1, &[16]));
    assert_eq!(outstanding(&mut rig), 3);
    rig.read(&[0; 16]);
    rig.client(&build(&Header::request::<CancelRequest>(5), &CancelRequest {}));
    rig.client(&build(&Header::request::<ChangeNotifyRequest>(6), &ChangeNotifyRequest::default()));
    rig.server(&interim(3));
    assert_eq!(outstanding(&mut rig), 3);
    rig.server(&data(3, NtStatus::SUCCESS, b"1234567"));
    rig.server(&failure(5, NtStatus::CANCELLED));
    assert_eq!(outstanding(&mut rig), 1);
    let notify = Header::request::<ChangeNotifyRequest>(6);
    rig.server(&build(&notify.response(NtStatus::CANCELLED), &ErrorResponse::default()));
    let unsolicited = Header { message_id: MessageId::UNSOLICITED, ..Header::request::<EchoRequest>(0) };
    rig.server(&build(&unsolicited.response(NtStatus::SUCCESS), &EchoRequest {}));
    assert_eq!(outstanding(&mut rig), 1);
    rig.server(&build(&Header::request::<EchoRequest>(4).response(NtStatus::SUCCESS), &EchoRequest {}));
    assert_eq!(outstanding(&mut rig), 0);
}

#[test]
fn a_compound_with_a_channel_whose_elements_cannot_be_told_apart_closes_and_another_passes() {
    let (info, mut broken) = (descriptors(&[8]), Vec::new());
    let mut compound = Compound::new(&mut broken);
    compound.add(&read_header(3), &read_request(V1, 8, &info)).unwrap();
    compound.add(&Header::request::<EchoRequest>(4), &EchoRequest {}).unwrap();
    let second = Elements::new(&broken).nth(1).unwrap().unwrap().offset;
    broken[second] = 0;
    let mut rig = Rig::new();
    rig.client(&broken);
    assert!(matches!(rig.closed, Some(Reason::BrokenCompound(WireError::Value { .. }))));

    read::request::CHANNEL.set(&mut broken, Channel::NONE).unwrap();
    let mut rig = Rig::new();
    rig.client(&broken);
    assert_eq!(rig.messages(), [&broken[..]]);
}

#[test]
fn data_can_be_put_straight_into_their_buffer_and_nowhere_else() {
    let mut rig = Rig::with(&Params { buffer_len: 5, ..Params::default() });
    assert_eq!(rig.relay().placement(), None);
    rig.client(&read(3, INVALIDATE, &[8]));
    let answer = data(3, NtStatus::SUCCESS, b"12345678");
    let framed = [&(answer.len() as u32).to_be_bytes(), &answer[..]].concat();
    rig.stream(&framed[..83]);
    assert_eq!(rig.relay().placement(), None, "the answer's fixed part is not complete");
    rig.stream(&framed[83..84]);
    let buffer = BufferId { way: Way::ToClient, index: 0 };
    assert_eq!(rig.relay().placement(), Some(Placement { buffer, offset: 0, len: 5, is_last: false }));
    for (buffer, len) in
        [(buffer, 6), (BufferId { index: 1, ..buffer }, 1), (BufferId { way: Way::ToServer, ..buffer }, 1)]
    {
        assert!(rig.relay().handle(Event::Placed { buffer, len }).is_err());
    }
    rig.handle(Event::Placed { buffer, len: 3 });
    assert_eq!(rig.relay().placement(), Some(Placement { buffer, offset: 3, len: 2, is_last: false }));
    rig.handle(Event::Placed { buffer, len: 2 });
    assert_eq!((rig.writes.len(), rig.writes[0].0.len), (1, 5), "the buffer is full");
    let next = BufferId { index: 1, ..buffer };
    assert_eq!(rig.relay().placement(), Some(Placement { buffer: next, offset: 0, len: 3, is_last: true }));
    rig.handle(Event::Placed { buffer: next, len: 3 });
    assert_eq!((rig.writes[1].0.len, rig.writes[1].0.offset), (3, 5));
    assert_eq!((rig.to_client.len(), rig.to_client[0].1), (1, Some(Token(70))));
    assert_eq!(rig.relay().placement(), None);
}
