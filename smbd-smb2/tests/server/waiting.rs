//! What waits: locks, changes, operations that take long; and CANCEL (3.3.4.2, 3.3.5.14, 3.3.5.16, 3.3.5.19).

use smbd_smb2::server::{Done, Misuse, Operation, OperationId};
use smbd_smb2::wire::{
    CancelRequest, ChangeNotifyRequest, CloseRequest, CreateDisposition, CreateOptions, FileId, Flags,
    FlushRequest, Header, LockElement, LockFlags, LockRequest, LogoffRequest, NtStatus,
    TreeDisconnectRequest,
};

use crate::rig::{Answer, Protect, Rig, TCP, opened, params};

fn ready() -> Rig {
    Rig::ready(params(), TCP)
}

/// An answer's status, and whether it is that of an asynchronous request.
fn told(answer: &Answer) -> (NtStatus, bool) {
    (answer.status(), answer.header.flags.contains(Flags::ASYNC_COMMAND))
}

fn notify(rig: &mut Rig, file_id: FileId) -> (Header, Vec<Answer>) {
    let header = rig.header::<ChangeNotifyRequest>(0);
    let request =
        ChangeNotifyRequest { file_id, output_buffer_length: 1000, ..ChangeNotifyRequest::default() };
    let answers = rig.ask_all(&header, &request);
    (header, answers)
}

fn lock(rig: &mut Rig, file_id: FileId, flags: LockFlags) -> (Header, Vec<Answer>) {
    let header = rig.header::<LockRequest<'_>>(0);
    let locks = [LockElement { offset: 0, length: 10, flags }];
    let answers =
        rig.ask_all(&header, &LockRequest { file_id, locks: (&locks).into(), ..LockRequest::default() });
    (header, answers)
}

#[test]
fn a_lock_waits_until_the_other_is_gone() {
    for closes in [false, true] {
        // There is room for more credits at any time.
        let mut params = params();
        params.credits_max = 8192;
        let mut rig = Rig::ready(params, TCP);
        let first = rig.file("a");
        let second = opened(&rig.create("a", CreateDisposition::OPEN, CreateOptions::NONE));
        lock(&mut rig, first, LockFlags::EXCLUSIVE_LOCK);
        let (header, answers) = lock(&mut rig, second, LockFlags::SHARED_LOCK);
        assert_eq!(answers.iter().map(told).collect::<Vec<_>>(), [(NtStatus::PENDING, true)]);
        let async_id = answers[0].header.async_id();
        let answers = if closes {
            let header = rig.header::<CloseRequest>(0);
            rig.ask_all(&header, &CloseRequest { file_id: first, ..CloseRequest::default() })
        } else {
            lock(&mut rig, first, LockFlags::UNLOCK).1
        };
        let ended = answers.iter().find(|answer| answer.header.message_id == header.message_id).unwrap();
        assert_eq!((told(ended), ended.header.async_id()), ((NtStatus::SUCCESS, true), async_id));
        assert_eq!((answers.len(), ended.header.credits), (2, 0), "credits were in the interim answer");
    }
}

#[test]
fn a_lock_that_waits_is_cancelled_by_its_async_id_or_its_message_id() {
    for by_async_id in [true, false] {
        let mut rig = ready();
        let first = rig.file("a");
        let second = opened(&rig.create("a", CreateDisposition::OPEN, CreateOptions::NONE));
        lock(&mut rig, first, LockFlags::EXCLUSIVE_LOCK);
        let (header, answers) = lock(&mut rig, second, LockFlags::EXCLUSIVE_LOCK);
        let async_id = answers[0].header.async_id().filter(|_| by_async_id);
        let cancel = rig.cancel_of(&header, async_id);
        let answers = rig.ask_all(&cancel, &CancelRequest::default());
        assert_eq!(answers.iter().map(told).collect::<Vec<_>>(), [(NtStatus::CANCELLED, true)]);
        assert_eq!(rig.cancelled.len(), 1);
        rig.silent(&cancel, &CancelRequest::default());
        assert!(rig.closed.is_none(), "a CANCEL has no MessageId of its own");
    }
}

#[test]
fn a_close_ends_the_locks_that_wait_for_it() {
    let mut rig = ready();
    let first = rig.file("a");
    let second = opened(&rig.create("a", CreateDisposition::OPEN, CreateOptions::NONE));
    lock(&mut rig, first, LockFlags::EXCLUSIVE_LOCK);
    lock(&mut rig, second, LockFlags::EXCLUSIVE_LOCK);
    let header = rig.header::<CloseRequest>(0);
    let answers = rig.ask_all(&header, &CloseRequest { file_id: second, ..CloseRequest::default() });
    let statuses: Vec<_> = answers.iter().map(Answer::status).collect();
    assert_eq!(statuses, [NtStatus::RANGE_NOT_LOCKED, NtStatus::SUCCESS]);
    assert_eq!(rig.files.open_count(), 1);
}

#[test]
fn changes_are_waited_for_until_they_are_cancelled() {
    for protect in [Protect::Nothing, Protect::Sign, Protect::Seal] {
        let mut rig = ready();
        rig.protect = protect;
        let directory = rig.directory("d");
        let (header, answers) = notify(&mut rig, directory);
        assert_eq!(answers.iter().map(told).collect::<Vec<_>>(), [(NtStatus::PENDING, true)]);
        assert!(!answers[0].header.flags.contains(Flags::SIGNED), "an interim answer is not signed");
        assert_eq!(answers[0].is_encrypted, protect == Protect::Seal);
        let cancel = rig.cancel_of(&header, answers[0].header.async_id());
        let answers = rig.ask_all(&cancel, &CancelRequest::default());
        assert_eq!(answers.iter().map(told).collect::<Vec<_>>(), [(NtStatus::CANCELLED, true)]);
        assert_eq!(answers[0].header.flags.contains(Flags::SIGNED), protect == Protect::Sign);
    }
}

#[test]
fn changes_that_are_waited_for_end_with_their_directory() {
    let mut rig = ready();
    let directory = rig.directory("d");
    let (first, _) = notify(&mut rig, directory);
    let header = rig.header::<CloseRequest>(0);
    let answers = rig.ask_all(&header, &CloseRequest { file_id: directory, ..CloseRequest::default() });
    let mut told: Vec<_> = answers.iter().map(|answer| (answer.header.message_id, answer.status())).collect();
    told.sort();
    assert_eq!(told, [(first.message_id, NtStatus::NOTIFY_CLEANUP), (header.message_id, NtStatus::SUCCESS)]);
    for ends_session in [false, true] {
        let mut rig = ready();
        let directory = rig.directory("d");
        notify(&mut rig, directory);
        rig.protect = Protect::Sign;
        let answers = if ends_session {
            let header = rig.header::<LogoffRequest>(0);
            rig.ask_all(&header, &LogoffRequest::default())
        } else {
            let header = rig.header::<TreeDisconnectRequest>(0);
            rig.ask_all(&header, &TreeDisconnectRequest::default())
        };
        // With the answer to LOGOFF the client forgets the session, and what was asked for in it.
        let statuses: Vec<_> = answers.iter().map(Answer::status).collect();
        assert_eq!(statuses, [NtStatus::NOTIFY_CLEANUP, NtStatus::SUCCESS], "LOGOFF: {ends_session}");
    }
}

#[test]
fn changes_of_a_file_are_refused() {
    let mut rig = ready();
    let file = rig.file("a");
    let (_, answers) = notify(&mut rig, file);
    assert_eq!(answers.iter().map(told).collect::<Vec<_>>(), [(NtStatus::INVALID_PARAMETER, false)]);
}

#[test]
fn requests_that_wait_have_a_limit() {
    let mut params = params();
    params.waiting_max = 2;
    let mut rig = Rig::ready(params, TCP);
    let directory = rig.directory("d");
    for expected in [NtStatus::PENDING, NtStatus::PENDING, NtStatus::INSUFFICIENT_RESOURCES] {
        assert_eq!(notify(&mut rig, directory).1[0].status(), expected);
    }
    let file = rig.file("a");
    let (_, answers) = lock(&mut rig, file, LockFlags::EXCLUSIVE_LOCK);
    assert_eq!(answers[0].status(), NtStatus::INSUFFICIENT_RESOURCES, "a lock that might wait");
    let (_, answers) = lock(&mut rig, file, LockFlags::EXCLUSIVE_LOCK | LockFlags::FAIL_IMMEDIATELY);
    assert_eq!(answers[0].status(), NtStatus::SUCCESS);
}

#[test]
fn operations_that_are_not_told_are_as_many_as_credits() {
    const CREDITS: usize = 128;
    let mut params = params();
    params.credits_max = 128;
    let mut rig = Rig::ready(params, TCP);
    let file_id = rig.file("a");
    rig.holds = true;
    // Behind the last credit the connection ends.
    for _ in 0..4 * CREDITS {
        let header = rig.header::<FlushRequest>(0);
        rig.silent(&header, &FlushRequest { file_id });
    }
    assert_eq!(rig.held.len(), CREDITS);
}

#[test]
fn an_operation_that_takes_long_is_told_once() {
    let mut rig = ready();
    let file_id = rig.file("a");
    rig.holds = true;
    let header = rig.header::<FlushRequest>(0);
    rig.silent(&header, &FlushRequest { file_id });
    let id = rig.held[0].0;
    for _ in 0..2 {
        rig.connection.prolong(rig.now, id).unwrap();
    }
    rig.drive();
    let interim = rig.answers();
    assert_eq!(interim.iter().map(told).collect::<Vec<_>>(), [(NtStatus::PENDING, true)]);
    let cancel = rig.cancel_of(&header, interim[0].header.async_id());
    rig.silent(&cancel, &CancelRequest::default());
    assert_eq!(rig.cancelled, [id], "and what comes of it is the driver's");
    rig.release();
    assert_eq!(rig.answers().iter().map(told).collect::<Vec<_>>(), [(NtStatus::SUCCESS, true)]);
}

#[test]
fn operations_end_in_any_order_and_a_close_waits_for_all() {
    let mut rig = ready();
    let file_id = rig.file("a");
    rig.holds = true;
    let headers = [(); 3].map(|()| {
        let header = rig.header::<FlushRequest>(0);
        rig.silent(&header, &FlushRequest { file_id });
        header
    });
    let close = rig.header::<CloseRequest>(0);
    rig.silent(&close, &CloseRequest { file_id, ..CloseRequest::default() });
    assert_eq!(rig.held.len(), 3, "no CLOSE yet");
    rig.held.reverse();
    for _ in 0..3 {
        rig.release();
    }
    let order: Vec<_> = rig.answers().iter().map(|answer| answer.header.message_id).collect();
    assert_eq!(order, [headers[2].message_id, headers[1].message_id, headers[0].message_id]);
    rig.release();
    assert_eq!(rig.answers()[0].header.message_id, close.message_id);
}

#[test]
fn a_file_that_opens_after_its_session_has_ended_is_closed_again() {
    let mut rig = ready();
    rig.holds = true;
    rig.protect = Protect::Sign;
    let header = rig.header::<smbd_smb2::wire::CreateRequest<'_>>(0);
    rig.silent(&header, &crate::rig::create("a", CreateDisposition::CREATE, CreateOptions::NONE));
    let answer = rig.request(&LogoffRequest::default());
    assert_eq!(answer.status(), NtStatus::SUCCESS);
    rig.release();
    let answers = rig.answers();
    assert_eq!(answers.iter().map(Answer::status).collect::<Vec<_>>(), [NtStatus::USER_SESSION_DELETED]);
    assert!(answers[0].header.flags.contains(Flags::SIGNED), "the keys are kept for it");
    rig.release();
    assert_eq!((rig.files.open_count(), rig.answers().len()), (0, 0));
}

#[test]
fn a_completion_of_nothing_is_a_misuse_and_changes_nothing() {
    let mut rig = ready();
    let id = OperationId(12345);
    assert_eq!(rig.connection.completed(rig.now, id, Ok(Done::Nothing)), Err(Misuse::Unknown(id)));
    assert_eq!(rig.connection.rdma_done(rig.now, id, false), Err(Misuse::Unknown(id)));
    assert_eq!(rig.connection.prolong(rig.now, id), Err(Misuse::Unknown(id)));
    rig.file("a");
}

#[test]
fn nobody_else_cancels_what_a_session_waits_for() {
    let mut rig = ready();
    let directory = rig.directory("d");
    let (header, answers) = notify(&mut rig, directory);
    let cancel = rig.cancel_of(&header, answers[0].header.async_id());
    let other = Header { session_id: smbd_smb2::wire::SessionId(3), ..cancel };
    rig.silent(&other, &CancelRequest::default());
    rig.protect = Protect::Sign;
    let mut bytes = crate::rig::message(&cancel, &CancelRequest::default());
    rig.keys.as_ref().unwrap().signer.sign_in_place(&mut bytes).unwrap();
    bytes[50] ^= 1;
    rig.give(&mut bytes);
    assert!(rig.answers().is_empty(), "a wrong signature");
    assert_eq!(rig.ask_all(&cancel, &CancelRequest::default()).len(), 1);
}

#[test]
fn a_file_that_is_closed_for_nobody_may_take_long() {
    let mut rig = ready();
    rig.file("a");
    rig.holds = true;
    assert_eq!(rig.status(&TreeDisconnectRequest::default()), NtStatus::SUCCESS);
    let [(id, Operation::Close { .. })] = rig.held[..] else { panic!("{:?}", rig.held) };
    rig.connection.prolong(rig.now, id).unwrap();
    rig.release();
    assert_eq!(rig.files.open_count(), 0);
    assert_eq!(rig.answers().len(), 0);
}
