//! A connection of a session is lost, and what was asked for on it is not (3.3.5.2.10, 3.3.7.1).

use smbd_smb2::server::{Action, Misuse, Operation, Reason, Transport};
use smbd_smb2::wire::{
    BufferDescriptorV1, ChangeNotifyRequest, Channel, CloseRequest, CreateDisposition, CreateOptions, FileId,
    Flags, FlushRequest, Header, InfoType, LockElement, LockFlags, LockRequest, NtStatus, QueryInfoRequest,
    ReadRequest, ReadResponse, SetInfoRequest, Target, WriteRequest, info,
};

use crate::bound::several;
use crate::rig::{RDMA, Rig, TCP, create};

/// A session on two connections, with a file.
fn pair(transport: Transport) -> (Rig, Rig, FileId) {
    let mut first = Rig::ready(several(), transport);
    let file_id = first.file("a");
    let second = first.bound(transport);
    (first, second, file_id)
}

fn lose(rig: &mut Rig) {
    rig.connection.closed();
    rig.drive();
    assert_eq!(rig.closed, Some(Reason::Closed));
}

/// The header of a request with a ChannelSequence, and perhaps SMB2_FLAGS_REPLAY_OPERATION.
fn with(header: Header, sequence: u16, is_replay: bool) -> Header {
    let flags = header.flags.with(Flags::REPLAY_OPERATION, is_replay);
    Header { status: NtStatus(sequence.into()), flags, ..header }
}

fn write(rig: &mut Rig, file_id: FileId, data: &[u8], sequence: u16, is_replay: bool) -> NtStatus {
    let header = with(rig.header::<WriteRequest<'_>>(0), sequence, is_replay);
    rig.ask(&header, &WriteRequest { file_id, data, ..WriteRequest::default() }).status()
}

fn content(rig: &mut Rig, file_id: FileId) -> Vec<u8> {
    let header = with(rig.header::<ReadRequest<'_>>(0), 1, false);
    let answer = rig.ask(&header, &ReadRequest { file_id, length: 100, ..ReadRequest::default() });
    ReadResponse::parse(&answer.bytes).unwrap().data.to_vec()
}

#[test]
fn files_and_tree_connects_survive_each_connection_but_the_last() {
    for loses_first in [true, false] {
        let (mut first, mut second, file_id) = pair(TCP);
        let (lost, left) = if loses_first { (&mut first, &mut second) } else { (&mut second, &mut first) };
        lose(lost);
        assert_eq!(write(left, file_id, b"x", 1, false), NtStatus::SUCCESS);
        assert_eq!(left.files.open_count(), 1);
        lose(left);
        assert_eq!(left.files.open_count(), 0);
        assert!(left.connection.has_ended() && left.connection.poll().is_none());
    }
}

#[test]
fn a_connection_is_bound_when_the_first_is_lost() {
    let (mut first, mut second, file_id) = pair(TCP);
    lose(&mut first);
    let mut third = second.another(TCP);
    third.negotiate(&[second.dialect], &[smbd_smb2::wire::Cipher::AES_128_GCM]);
    // Session.SigningKey is still that of the login.
    assert_eq!(third.bind(&mut first), NtStatus::SUCCESS);
    lose(&mut second);
    assert_eq!(write(&mut third, file_id, b"x", 1, false), NtStatus::SUCCESS);
}

#[test]
fn a_write_whose_connection_is_lost_is_done_and_answered_to_nobody() {
    let (mut first, mut second, file_id) = pair(TCP);
    first.holds = true;
    let header = first.header::<WriteRequest<'_>>(0);
    first.silent(&header, &WriteRequest { file_id, data: b"old", ..WriteRequest::default() });
    lose(&mut first);
    first.release();
    assert!(first.answers().is_empty() && second.answers().is_empty());
    assert_eq!(content(&mut second, file_id), b"old");
}

#[test]
fn a_replay_waits_until_nothing_of_the_lost_connection_is_under_way() {
    let (mut first, mut second, file_id) = pair(TCP);
    first.holds = true;
    let header = first.header::<WriteRequest<'_>>(0);
    first.silent(&header, &WriteRequest { file_id, data: b"old", ..WriteRequest::default() });
    lose(&mut first);
    // Open.OutstandingPreRequestCount is 1.
    for _ in 0..2 {
        assert_eq!(write(&mut second, file_id, b"old", 1, true), NtStatus(0xC000_0467));
    }
    // What is no replay does not wait.
    assert_eq!(write(&mut second, file_id, b"new", 1, false), NtStatus::SUCCESS);
    first.release();
    assert_eq!(write(&mut second, file_id, b"new", 1, true), NtStatus::SUCCESS);
    assert_eq!(content(&mut second, file_id), b"new");
}

#[test]
fn what_comes_late_from_a_connection_that_the_client_gave_up_changes_nothing() {
    let (mut first, mut second, file_id) = pair(TCP);
    assert_eq!(write(&mut second, file_id, b"new", 1, true), NtStatus::SUCCESS);
    for is_replay in [true, false] {
        assert_eq!(write(&mut first, file_id, b"old", 0, is_replay), NtStatus(0xC000_0467));
    }
    assert_eq!(content(&mut second, file_id), b"new");
}

#[test]
fn a_file_whose_create_is_answered_to_nobody_is_closed() {
    let (mut first, mut second, _) = pair(TCP);
    first.holds = true;
    let header = first.header::<smbd_smb2::wire::CreateRequest<'_>>(0);
    first.silent(&header, &create("b", CreateDisposition::CREATE, CreateOptions::NONE));
    lose(&mut first);
    first.release();
    assert_eq!(first.files.open_count(), 2);
    first.release();
    assert_eq!(first.files.open_count(), 1);
    second.file("c");
}

#[test]
fn a_close_of_a_lost_connection_closes_when_all_else_is_done() {
    let (mut first, second, file_id) = pair(TCP);
    first.holds = true;
    let header = first.header::<FlushRequest>(0);
    first.silent(&header, &FlushRequest { file_id });
    let header = first.header::<CloseRequest>(0);
    first.silent(&header, &CloseRequest { file_id, ..CloseRequest::default() });
    lose(&mut first);
    first.release();
    assert!(matches!(first.held[..], [(_, Operation::Close { .. })]));
    first.release();
    assert_eq!((second.files.open_count(), second.connection.poll()), (0, None));
}

#[test]
fn what_waits_on_a_lost_connection_is_cancelled_and_on_the_others_it_waits_on() {
    let (mut first, mut second, file_id) = pair(TCP);
    let other = second.create("a", CreateDisposition::OPEN, CreateOptions::NONE);
    let other = crate::rig::opened(&other);
    let flags = LockFlags::EXCLUSIVE_LOCK;
    let locks = [LockElement { offset: 0, length: 10, flags }];
    let lock = |file_id| LockRequest { file_id, locks: (&locks).into(), ..LockRequest::default() };
    assert_eq!(second.status(&lock(other)), NtStatus::SUCCESS);
    let header = first.header::<LockRequest<'_>>(0);
    assert_eq!(first.ask(&header, &lock(file_id)).status(), NtStatus::PENDING);
    let directory = second.directory("d");
    let notify = |file_id| ChangeNotifyRequest { file_id, output_buffer_length: 99, ..Default::default() };
    assert_eq!(first.status(&notify(directory)), NtStatus::PENDING);
    assert_eq!(second.status(&notify(directory)), NtStatus::PENDING);
    lose(&mut first);
    assert_eq!(first.cancelled.len(), 1);
    assert!(second.answers().is_empty());
    // The one that is left gets its answer with the end of the directory.
    let header = second.header::<CloseRequest>(0);
    let answers = second.ask_all(&header, &CloseRequest { file_id: directory, ..CloseRequest::default() });
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status()).collect();
    assert_eq!(statuses.len(), 2, "{statuses:?}");
    assert!(statuses.contains(&NtStatus::NOTIFY_CLEANUP));
}

#[test]
fn a_change_that_waits_on_one_connection_is_answered_there_when_another_closes_the_directory() {
    let (mut first, mut second, _) = pair(TCP);
    let file_id = first.directory("d");
    let notify = ChangeNotifyRequest { file_id, output_buffer_length: 99, ..Default::default() };
    assert_eq!(first.status(&notify), NtStatus::PENDING);
    assert_eq!(second.status(&CloseRequest { file_id, ..CloseRequest::default() }), NtStatus::SUCCESS);
    first.drive();
    let statuses: Vec<_> = first.answers().iter().map(|answer| answer.status()).collect();
    assert_eq!(statuses, [NtStatus::NOTIFY_CLEANUP]);
}

fn by_channel(file_id: FileId, info: &[u8], len: u32) -> WriteRequest<'_> {
    let channel = Channel::RDMA_V1;
    WriteRequest { file_id, remaining_bytes: len, channel, channel_info: info, ..WriteRequest::default() }
}

fn pack(buffer: BufferDescriptorV1) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    bytes[..8].copy_from_slice(&buffer.offset.to_le_bytes());
    bytes[8..12].copy_from_slice(&buffer.token.0.to_le_bytes());
    bytes[12..].copy_from_slice(&buffer.length.to_le_bytes());
    bytes
}

#[test]
fn a_write_whose_data_are_not_there_when_its_connection_is_lost_is_dropped_and_the_file_closes() {
    let (mut first, mut second, file_id) = pair(RDMA);
    first.holds_rdma = true;
    let info = pack(first.register(1, vec![7; 100]));
    let header = first.header::<WriteRequest<'_>>(0);
    first.silent(&header, &by_channel(file_id, &info, 100));
    let id = first.transfers[0];
    first.connection.closed();
    // The driver has not heard of it.
    assert_eq!(first.connection.rdma_done(first.now, id, true), Ok(()));
    first.drive();
    assert_eq!(first.connection.rdma_done(first.now, id, true), Err(Misuse::Unknown(id)));
    assert_eq!(write(&mut second, file_id, b"x", 1, true), NtStatus::SUCCESS, "nothing is under way");
    assert_eq!(second.status(&CloseRequest { file_id, ..CloseRequest::default() }), NtStatus::SUCCESS);
}

#[test]
fn a_transfer_that_fails_ends_its_connection_only() {
    let (mut first, mut second, file_id) = pair(RDMA);
    second.holds_rdma = true;
    let info = pack(second.register(1, vec![7; 100]));
    let header = second.header::<WriteRequest<'_>>(0);
    second.silent(&header, &by_channel(file_id, &info, 100));
    second.connection.rdma_done(second.now, second.transfers[0], false).unwrap();
    second.drive();
    assert_eq!(second.closed, Some(Reason::RdmaFailed));
    assert_eq!(write(&mut first, file_id, b"x", 1, true), NtStatus::SUCCESS);
}

#[test]
fn data_go_through_the_connection_on_which_they_were_asked_for() {
    let (mut first, mut second, file_id) = pair(RDMA);
    assert_eq!(write(&mut first, file_id, &[9; 100], 0, false), NtStatus::SUCCESS);
    let info = pack(second.register(5, vec![0; 100]));
    let channel = Channel::RDMA_V1;
    let request =
        ReadRequest { file_id, length: 100, channel, channel_info: &info, ..ReadRequest::default() };
    assert_eq!(second.status(&request), NtStatus::SUCCESS);
    assert_eq!(second.memory[&5], [9; 100]);
    assert!(!matches!(first.connection.poll(), Some(Action::RdmaWrite { .. })));
}

#[test]
fn a_file_that_is_renamed_for_a_lost_connection_has_the_new_name() {
    let (mut first, mut second, file_id) = pair(TCP);
    first.holds = true;
    let input = [&[0; 16][..], &4_u32.to_le_bytes(), b"n\0e\0"].concat();
    let rename = SetInfoRequest {
        info_type: InfoType::FILE,
        info_class: info::class::FILE_RENAME,
        file_id,
        input: &input,
        ..SetInfoRequest::default()
    };
    let header = first.header::<SetInfoRequest<'_>>(0);
    first.silent(&header, &rename);
    lose(&mut first);
    first.release();
    let query = QueryInfoRequest {
        info_type: InfoType::FILE,
        info_class: info::class::FILE_ALL,
        file_id,
        output_buffer_length: 1000,
        ..QueryInfoRequest::default()
    };
    let answer = second.request(&query);
    assert!(answer.bytes.ends_with(b"n\0e\0"), "{:02x?}", answer.bytes);
}

#[test]
fn a_lock_whose_answer_was_lost_is_not_locked_twice() {
    let (mut first, mut second, file_id) = pair(TCP);
    let exclusive = LockFlags::EXCLUSIVE_LOCK | LockFlags::FAIL_IMMEDIATELY;
    let ask = |rig: &mut Rig, lock_sequence, flags| {
        let locks = [LockElement { offset: 0, length: 10, flags }];
        rig.status(&LockRequest { file_id, lock_sequence, locks: (&locks).into() })
    };
    // LockSequenceIndex 3, LockSequenceNumber 5.
    assert_eq!(ask(&mut first, 0x35, exclusive), NtStatus::SUCCESS);
    assert_eq!(ask(&mut second, 0x35, exclusive), NtStatus::SUCCESS, "it has the lock");
    for another in [0x36, 0x25, 0x05, 0x415, 0] {
        assert_eq!(ask(&mut second, another, exclusive), NtStatus::LOCK_NOT_GRANTED, "{another:#x}");
    }
    // 0x36 has made the entry invalid.
    assert_eq!(ask(&mut second, 0x35, exclusive), NtStatus::LOCK_NOT_GRANTED);
    first.holds = true;
    let locks = [LockElement { offset: 0, length: 10, flags: LockFlags::UNLOCK }];
    let header = first.header::<LockRequest<'_>>(0);
    first.silent(&header, &LockRequest { file_id, lock_sequence: 0x47, locks: (&locks).into() });
    lose(&mut first);
    first.release();
    assert_eq!(ask(&mut second, 0x47, LockFlags::UNLOCK), NtStatus::SUCCESS, "it was unlocked for nobody");
    assert_eq!(ask(&mut second, 0x48, LockFlags::UNLOCK), NtStatus(0xC000_007E));
}

#[test]
fn without_channels_locks_have_no_numbers() {
    let mut rig = Rig::ready(crate::rig::params(), TCP);
    let file_id = rig.file("a");
    let flags = LockFlags::EXCLUSIVE_LOCK | LockFlags::FAIL_IMMEDIATELY;
    let locks = [LockElement { offset: 0, length: 10, flags }];
    let lock = LockRequest { file_id, lock_sequence: 0x35, locks: (&locks).into() };
    assert_eq!([(); 2].map(|()| rig.status(&lock)), [NtStatus::SUCCESS, NtStatus::LOCK_NOT_GRANTED]);
}

#[test]
fn a_cancel_reaches_no_request_of_another_connection() {
    let (mut first, mut second, _) = pair(TCP);
    let file_id = first.directory("d");
    let notify = ChangeNotifyRequest { file_id, output_buffer_length: 99, ..Default::default() };
    let answer = first.request(&notify);
    let cancel = second.cancel_of(&answer.header, answer.header.async_id());
    second.silent(&cancel, &smbd_smb2::wire::CancelRequest::default());
    first.drive();
    assert!(first.answers().is_empty());
    let cancel = first.cancel_of(&answer.header, answer.header.async_id());
    assert_eq!(first.ask(&cancel, &smbd_smb2::wire::CancelRequest::default()).status(), NtStatus::CANCELLED);
    assert!(matches!(answer.header.target, Target::Async { .. }));
}

#[test]
fn nothing_that_a_client_says_on_a_connection_ends_another() {
    let (mut first, mut second, file_id) = pair(TCP);
    second.give(&mut [0xFF; 80]);
    assert!(second.closed.is_some());
    assert_eq!(write(&mut first, file_id, b"x", 1, false), NtStatus::SUCCESS);
    second.give(&mut [0xFF; 80]);
    assert!(first.closed.is_none() && !first.connection.has_ended());
}

#[test]
fn a_connection_is_over_before_its_end_is_told_and_the_others_are_not() {
    let (mut first, second, _) = pair(TCP);
    assert!(!first.connection.is_over() && !second.connection.is_over());
    first.connection.closed();
    assert!(first.connection.is_over() && !second.connection.is_over());
    first.drive();
    assert!(first.closed.is_some() && first.connection.is_over());
}

#[test]
fn a_client_takes_no_connection_after_its_last_has_ended() {
    let mut first = Rig::ready(several(), TCP);
    first.connection.closed();
    assert!(first.connection.join(TCP, first.now).is_none());
    lose(&mut first);
    assert!(first.connection.join(TCP, first.now).is_none());
}
