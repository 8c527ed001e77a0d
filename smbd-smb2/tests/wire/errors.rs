//! What is refused, and what is said about it.

use smbd_smb2::wire::*;

fn element(body: &impl Body, command: Command) -> Vec<u8> {
    let mut message = Vec::new();
    write_element(&mut message, &Header { command, ..Header::default() }, body).unwrap();
    message
}

fn read_with(offset: u16, length: u16) -> Vec<u8> {
    let mut message =
        element(&ReadRequest { channel: Channel::RDMA_V1, ..ReadRequest::default() }, Command::READ);
    read::request::READ_CHANNEL_INFO_OFFSET.set(&mut message, offset).unwrap();
    read::request::READ_CHANNEL_INFO_LENGTH.set(&mut message, length).unwrap();
    message
}

#[test]
fn a_part_outside_is_refused_with_its_field_its_value_the_limit_and_the_section() {
    let said = |message: &[u8]| ReadRequest::parse(message).unwrap_err().to_string();
    insta::assert_snapshot!(said(&read_with(111, 1)), @"READ Request: ReadChannelInfoOffset is 111, and the fixed part ends at 112 (2.2.19)");
    insta::assert_snapshot!(said(&read_with(112, 2)), @"READ Request: ReadChannelInfoLength says 2 bytes at 112, and there are 113 bytes (2.2.19)");
    insta::assert_snapshot!(said(&read_with(u16::MAX, u16::MAX)), @"READ Request: ReadChannelInfoLength says 65535 bytes at 65535, and there are 113 bytes (2.2.19)");
    insta::assert_snapshot!(said(&read_with(112, 1)[..111]), @"READ Request: ReadChannelInfoLength ends at 112, and there are 111 bytes (2.2.19)");
    assert!(ReadRequest::parse(&read_with(112, 1)).is_ok());
    // Where nothing is may be anywhere.
    assert!(ReadRequest::parse(&read_with(u16::MAX, 0)).is_ok());
}

#[test]
fn offsets_and_lengths_of_32_bits_do_not_wrap() {
    let mut message = element(&IoctlRequest { input: b"abc", ..IoctlRequest::default() }, Command::IOCTL);
    for (offset, count) in [(u32::MAX, 2), (120, u32::MAX), (u32::MAX, u32::MAX), (124, 0xFFFF_FFFC)] {
        ioctl::request::INPUT_OFFSET.set(&mut message, offset).unwrap();
        ioctl::request::INPUT_COUNT.set(&mut message, count).unwrap();
        let error = IoctlRequest::parse(&message).unwrap_err();
        assert!(matches!(error, WireError::Beyond { .. }), "{error}");
    }
}

#[test]
fn another_structure_size_is_refused() {
    let mut message = element(&EchoRequest {}, Command::ECHO);
    echo::request::STRUCTURE_SIZE.set(&mut message, 5).unwrap();
    insta::assert_snapshot!(EchoRequest::parse(&message).unwrap_err(), @"ECHO Request: StructureSize is 5, expected 4 (2.2.28)");
    header::field::STRUCTURE_SIZE.set(&mut message, 63).unwrap();
    insta::assert_snapshot!(Header::parse(&message).unwrap_err(), @"SMB2 header: StructureSize is 63, expected 64 (2.2.1)");
}

#[test]
fn half_a_buffer_descriptor_is_refused() {
    let mut message = element(
        &ReadRequest { channel: Channel::RDMA_V1, channel_info: &[0; 24], ..ReadRequest::default() },
        Command::READ,
    );
    let request = ReadRequest::parse(&message).unwrap();
    insta::assert_snapshot!(request.descriptors().unwrap_err(), @"READ Request: ReadChannelInfoLength is 24, which is not a multiple of 16 (2.2.19)");
    read::request::CHANNEL.set(&mut message, Channel::RDMA_TRANSFORM).unwrap();
    assert_eq!(ReadRequest::parse(&message).unwrap().descriptors(), Ok(List::EMPTY));
}

#[test]
fn a_next_command_that_is_odd_or_inside_or_outside_ends_the_elements() {
    let mut message = Vec::new();
    let mut compound = Compound::new(&mut message);
    for id in 0..3 {
        compound.add(&Header::request::<EchoRequest>(id), &EchoRequest {}).unwrap();
    }
    assert_eq!(
        Elements::new(&message).map(|element| element.unwrap().offset).collect::<Vec<_>>(),
        [0, 72, 144]
    );
    let mut said = Vec::new();
    for next in [8, 63, 73, 76, 216, 0xFFFF_FFF8] {
        header::field::NEXT_COMMAND.set(&mut message[72..], next).unwrap();
        let items: Vec<_> = Elements::new(&message).collect();
        assert_eq!(items.len(), 2);
        said.push(items[1].unwrap_err().to_string());
    }
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn an_element_shorter_than_a_header_is_refused() {
    let mut message = Vec::new();
    let mut compound = Compound::new(&mut message);
    compound.add(&Header::request::<EchoRequest>(0), &EchoRequest {}).unwrap();
    compound.add(&Header::request::<EchoRequest>(1), &EchoRequest {}).unwrap();
    let items: Vec<_> = Elements::new(&message[..72 + 63]).collect();
    assert_eq!(items.len(), 2);
    insta::assert_snapshot!(items[1].unwrap_err(), @"SMB2 header: Signature ends at 64, and there are 63 bytes (2.2.1)");
}

#[test]
fn contexts_end_with_the_first_that_is_broken() {
    let contexts = [NegotiateContext::Encryption(List::from(&[Cipher::AES_128_GCM])); 2];
    let request = NegotiateRequest {
        dialects: List::from(&[Dialect::SMB_3_1_1]),
        contexts: Records::from(&contexts),
        ..NegotiateRequest::default()
    };
    let message = element(&request, Command::NEGOTIATE);
    // The second context has one more cipher than there is room for.
    let second = message.len() - 4;
    let mut broken = message.clone();
    broken[second] = 2;
    let items: Vec<_> = NegotiateRequest::parse(&broken).unwrap().contexts.iter().collect();
    assert_eq!(items[0], Ok(contexts[0]));
    insta::assert_snapshot!(items[1].unwrap_err(), @"SMB2_ENCRYPTION_CAPABILITIES: CipherCount says 4 bytes at 2, and there are 4 bytes (2.2.3.1.2)");
    // More contexts than there are.
    let mut many = message;
    negotiate::request::NEGOTIATE_CONTEXT_COUNT.set(&mut many, u16::MAX).unwrap();
    let items: Vec<_> = NegotiateRequest::parse(&many).unwrap().contexts.iter().collect();
    assert_eq!(items.len(), 3);
    insta::assert_snapshot!(items[2].unwrap_err(), @"NEGOTIATE_CONTEXT: ContextType ends at 2, and there are 0 bytes (2.2.3.1)");
}

#[test]
fn a_create_context_that_points_back_or_at_itself_is_refused() {
    let contexts = [CreateContext { name: b"MxAc", data: &[] }; 2];
    let request = CreateRequest { contexts: Records::from(&contexts), ..CreateRequest::default() };
    let mut message = element(&request, Command::CREATE);
    let first = 120;
    for next in [1, 8, 15, 17, 0xFFFF_FFF8] {
        create_context::field::NEXT.set(&mut message[first..], next).unwrap();
        let items: Vec<_> = CreateRequest::parse(&message).unwrap().contexts.iter().collect();
        assert!(items.len() == 1 && items[0].is_err(), "{next}: {items:?}");
    }
}

#[test]
fn what_does_not_fit_into_its_field_is_not_written() {
    let long = vec![0; 70_000];
    let request = SessionSetupRequest { security_buffer: &long, ..SessionSetupRequest::default() };
    let mut out = vec![1, 2, 3];
    let error = write_element(&mut out, &Header::default(), &request).unwrap_err();
    insta::assert_snapshot!(error, @"SESSION_SETUP Request: SecurityBufferLength would be 70000, and can be 65535 at most (2.2.5)");
    assert_eq!(out, [1, 2, 3]);
    let mut compound = Compound::new(&mut out);
    compound.add(&Header::default(), &request).unwrap_err();
    assert_eq!(out, [1, 2, 3]);
}

#[test]
fn other_messages_are_told_apart() {
    for (bytes, is_other) in [
        (&b"\xfdSMB"[..], false),
        (b"\xfcSMB", false),
        (b"\xffSMB\x72", true),
        (b"\xfbSMB", true),
        (b"", true),
    ] {
        let told = Message::parse(bytes);
        assert_eq!(matches!(told, Ok(Message::Other(_))), is_other, "{told:?}");
    }
    let Ok(Message::Smb2(mut elements)) = Message::parse(b"\xfeSMB") else { panic!("not told") };
    assert!(elements.next().unwrap().is_err() && elements.next().is_none());
}

#[test]
fn a_failure_is_told_from_an_answer_whose_structure_size_is_the_same() {
    let body = element(&SessionSetupResponse::default(), Command::SESSION_SETUP);
    for (command, status, is_error) in [
        (Command::SESSION_SETUP, NtStatus::MORE_PROCESSING_REQUIRED, false),
        (Command::SESSION_SETUP, NtStatus::LOGON_FAILURE, true),
        (Command::QUERY_INFO, NtStatus::BUFFER_OVERFLOW, false),
        (Command::QUERY_INFO, NtStatus::INFO_LENGTH_MISMATCH, true),
        (Command::QUERY_DIRECTORY, NtStatus::NO_MORE_FILES, true),
        (Command::CHANGE_NOTIFY, NtStatus::NOTIFY_ENUM_DIR, false),
        (Command::CHANGE_NOTIFY, NtStatus::PENDING, true),
        (Command::QUERY_INFO, NtStatus::SUCCESS, false),
    ] {
        let mut message = body.clone();
        header::field::COMMAND.set(&mut message, command).unwrap();
        header::field::STATUS.set(&mut message, status).unwrap();
        // ByteCount of a failure lies where offset and length of the others are.
        message[68..72].fill(0);
        let response = Response::parse(&message).unwrap();
        assert_eq!(matches!(response, Response::Error(_)), is_error, "{command} {status}");
    }
}

#[test]
fn a_notification_whose_structure_size_is_that_of_a_failure_is_none() {
    let notification =
        ServerToClientNotification { notification: b"x", ..ServerToClientNotification::default() };
    let mut message = element(&notification, Command::SERVER_TO_CLIENT_NOTIFICATION);
    header::field::STATUS.set(&mut message, NtStatus::ACCESS_DENIED).unwrap();
    assert_eq!(notification::field::STRUCTURE_SIZE.get(&message), Ok(ErrorResponse::STRUCTURE_SIZE));
    assert_eq!(Response::parse(&message), Ok(Response::Notification(notification)));
}

#[test]
fn a_next_command_that_points_at_the_end_is_refused_there() {
    let mut message = element(&EchoRequest {}, Command::ECHO);
    message.resize(72, 0);
    header::field::NEXT_COMMAND.set(&mut message, 72).unwrap();
    let items: Vec<_> = Elements::new(&message).collect();
    assert!(matches!(items[..], [Err(WireError::Beyond { offset: 72, got: 72, .. })]), "{items:?}");
}

#[test]
fn negotiate_contexts_begin_behind_the_dialects_at_a_multiple_of_8_inside_the_message() {
    let contexts = [NegotiateContext::Transport(TransportFlags::NONE)];
    let dialects = [Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];
    let request = NegotiateRequest {
        dialects: List::from(&dialects),
        contexts: Records::from(&contexts),
        ..Default::default()
    };
    let mut message = element(&request, Command::NEGOTIATE);
    let mut said = |offset: u32| {
        negotiate::request::NEGOTIATE_CONTEXT_OFFSET.set(&mut message, offset).unwrap();
        NegotiateRequest::parse(&message).unwrap_err().to_string()
    };
    insta::assert_snapshot!(said(104), @"NEGOTIATE Request: NegotiateContextOffset is 104, and the fixed part ends at 106 (2.2.3)");
    insta::assert_snapshot!(said(108), @"NEGOTIATE Request: NegotiateContextOffset is 108, which is not a multiple of 8 (2.2.3)");
    insta::assert_snapshot!(said(0xFFFF_FFF8), @"NEGOTIATE Request: NegotiateContextOffset says 0 bytes at 4294967288, and there are 124 bytes (2.2.3)");
}

#[test]
fn what_3_1_1_has_contexts_in_is_a_time_in_other_dialects() {
    let request =
        NegotiateRequest { dialects: List::from(&[Dialect::SMB_3_0]), ..NegotiateRequest::default() };
    let mut message = element(&request, Command::NEGOTIATE);
    negotiate::request::NEGOTIATE_CONTEXT_OFFSET.set(&mut message, u32::MAX).unwrap();
    negotiate::request::NEGOTIATE_CONTEXT_COUNT.set(&mut message, u16::MAX).unwrap();
    assert_eq!(NegotiateRequest::parse(&message), Ok(request));
    let response = NegotiateResponse { dialect: Dialect::SMB_3_0_2, ..NegotiateResponse::default() };
    let mut message = element(&response, Command::NEGOTIATE);
    negotiate::response::NEGOTIATE_CONTEXT_OFFSET.set(&mut message, u32::MAX).unwrap();
    negotiate::response::NEGOTIATE_CONTEXT_COUNT.set(&mut message, u16::MAX).unwrap();
    assert_eq!(NegotiateResponse::parse(&message), Ok(response));
}
