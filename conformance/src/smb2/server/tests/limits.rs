//! Bounds on what a client can have, and what it cannot say.

use super::super::{BadMessage, FILES_MAX, FileError, OPENS_MAX, SESSIONS_MAX, STORED_MAX, TREES_MAX};
use super::*;

#[test]
fn credits_are_granted_as_asked_for_up_to_the_limit_and_never_run_out() {
    let mut client = Client::mounted_with(Options { credits_max: 100, ..options() }, Dialect::SMB_3_1_1);
    let mut ask = |charge, credits| {
        client.header.credit_charge = charge;
        client.header.credits = credits;
        client.ask(&EchoRequest {}).header.credits
    };
    // Four answers of 32 were asked for, and one credit was there.
    assert_eq!(ask(1, 50), 1);
    assert_eq!(ask(90, 0), 0);
    assert_eq!(ask(1, 0), 0);
    assert_eq!(ask(9, 0), 1);
    assert_eq!(ask(1, u16::MAX), 100);
    assert_eq!(ask(0, 5), 1);
}

#[test]
fn a_request_that_no_credit_is_there_for_ends_the_connection() {
    let mut client = Client::mounted_with(Options { credits_max: 10, ..options() }, Dialect::SMB_3_1_1);
    client.header.credit_charge = 11;
    let message = client.message(&EchoRequest {});
    assert_eq!(client.server.take(&message), Err(BadMessage::Credits { charge: 11, credits: 10 }));
}

#[test]
fn credits_of_a_read_come_with_its_answer() {
    let mut client = Client::mounted_with(Options { credits_max: 2, ..options() }, Dialect::SMB_3_1_1);
    let file_id = client.open("hello");
    let served = client.serve(&ReadRequest { length: 1, file_id, ..ReadRequest::default() });
    let [Served::Read(read)] = &served[..] else { panic!("{served:?}") };
    let _second = client.serve(&ReadRequest { length: 1, file_id, ..ReadRequest::default() });
    let third = client.message(&EchoRequest {});
    assert_eq!(client.server.take(&third), Err(BadMessage::Credits { charge: 1, credits: 0 }));
    let answer = client.server.answer_read(read, super::super::ReadAnswer::Inline(b"x"));
    assert_eq!(Header::parse(&answer).unwrap().credits, 2);
}

#[test]
fn sessions_trees_and_opens_are_limited() {
    let mut client = Client::mounted();
    for _ in 1..OPENS_MAX {
        client.open("hello");
    }
    client.open("hello");
    let one_more = client.create("new", CreateDisposition::CREATE, CreateOptions::NONE);
    assert_eq!(one_more, Err(NtStatus::INSUFFICIENT_RESOURCES));
    assert_eq!(client.server.files().len_of("new"), None);
    for _ in 1..TREES_MAX {
        assert_eq!(client.connect("\\\\s\\share").status(), NtStatus::SUCCESS);
    }
    assert_eq!(client.connect("\\\\s\\share").status(), NtStatus::INSUFFICIENT_RESOURCES);
    for _ in 1..SESSIONS_MAX {
        client.log_on();
    }
    client.header.session_id = SessionId::NONE;
    let setup = SessionSetupRequest { security_buffer: FIRST, ..SessionSetupRequest::default() };
    assert_eq!(client.ask(&setup).status(), NtStatus::INSUFFICIENT_RESOURCES);
}

#[test]
fn files_are_limited_in_number_and_in_what_is_written() {
    let mut files = Files::new();
    for number in 0..FILES_MAX {
        files.put(&number.to_string(), b"").unwrap();
    }
    assert_eq!(files.put("more", b""), Err(FileError::Full));
    assert_eq!(files.put_zeros("0", u64::MAX), Err(FileError::Full));
    assert_eq!(files.put("0", b"some"), Ok(()));
    let mut client = Client::mounted_with(Options { files, ..options() }, Dialect::SMB_3_1_1);
    let file_id = client.open("1");
    for (offset, status) in
        [(STORED_MAX, Err(NtStatus::DISK_FULL)), (u64::MAX, Err(NtStatus::DISK_FULL)), (0, Ok(1))]
    {
        let served = client.serve(&WriteRequest { offset, data: b"x", file_id, ..WriteRequest::default() });
        let [Served::Write(write)] = &served[..] else { panic!("{served:?}") };
        assert_eq!(client.server.serve_write(write, b"x"), status);
    }
}

#[test]
fn what_is_no_request_of_smb2_ends_the_connection() {
    let mut client = Client::mounted();
    let good = client.message(&EchoRequest {});
    let mut take = |message: &[u8]| client.server.take(message);
    assert!(matches!(take(b""), Err(BadMessage::Format(_))));
    assert!(matches!(take(&good[..63]), Err(BadMessage::Format(_))));
    assert_eq!(take(b"\x00SMB and more"), Err(BadMessage::Protocol(*b"\x00SMB")));
    let mut answer = good.clone();
    header::field::FLAGS.set(&mut answer, Flags::SERVER_TO_REDIR).unwrap();
    assert_eq!(take(&answer), Err(BadMessage::Response));
    let mut other = good.clone();
    header::field::COMMAND.set(&mut other, Command(0x99)).unwrap();
    assert_eq!(take(&other), Err(BadMessage::Command(Command(0x99))));
    let mut next = good.clone();
    header::field::NEXT_COMMAND.set(&mut next, 1000).unwrap();
    assert!(matches!(take(&next), Err(BadMessage::Format(_))));
    let max = (1 << 20) + 256;
    let long = [good.clone(), vec![0; max]].concat();
    assert_eq!(take(&long), Err(BadMessage::TooLong { len: long.len(), max }));
}

#[test]
fn a_body_that_is_none_is_answered() {
    let mut client = Client::mounted();
    let mut message = client.message(&EchoRequest {});
    message.truncate(66);
    let served = client.server.take(&message).unwrap();
    let [Served::Answer(answer)] = &served[..] else { panic!("{served:?}") };
    assert_eq!(Header::parse(answer).unwrap().status, NtStatus::INVALID_PARAMETER);
}

#[test]
fn commands_that_are_not_served_are_not_supported() {
    let mut client = Client::mounted();
    assert_eq!(client.ask(&ChangeNotifyRequest::default()).status(), NtStatus::NOT_SUPPORTED);
    assert_eq!(client.ask(&OplockBreakAcknowledgment::default()).status(), NtStatus::NOT_SUPPORTED);
}
