//! Compounds, related and not (3.3.5.2.7).

use smbd_smb2::server::Reason;
use smbd_smb2::wire::{
    ChangeNotifyRequest, Channel, CloseRequest, Compound, CreateDisposition, CreateOptions, CreateRequest,
    EchoRequest, FileAttributes, FileId, Flags, Header, InfoType, LogoffRequest, NtStatus, QueryInfoRequest,
    QueryInfoResponse, ReadRequest, Request, SetInfoRequest, Text, Token, TreeConnectRequest, WriteRequest,
    info::class, pack,
};

use crate::rig::{Answer, Protect, RDMA, Rig, TCP, create, params};

fn ready() -> Rig {
    Rig::ready(params(), TCP)
}

/// One message of these requests, each related to the one before if `related` says so.
fn compound(rig: &mut Rig, requests: &[(Request<'_>, bool)]) -> Vec<Answer> {
    let mut bytes = Vec::new();
    let mut compound = Compound::new(&mut bytes);
    for (request, related) in requests {
        let header = Header { command: request.command(), ..rig.header::<EchoRequest>(0) };
        let header = if *related { header.related() } else { header };
        compound.add(&header, request).unwrap();
    }
    rig.send(bytes);
    rig.answers()
}

fn statuses(answers: &[Answer]) -> Vec<NtStatus> {
    answers.iter().map(Answer::status).collect()
}

fn query(file_id: FileId) -> Request<'static> {
    Request::QueryInfo(QueryInfoRequest {
        file_id,
        info_type: InfoType::FILE,
        info_class: class::FILE_ALL,
        output_buffer_length: 1000,
        ..QueryInfoRequest::default()
    })
}

fn close(file_id: FileId) -> Request<'static> {
    Request::Close(CloseRequest { file_id, ..CloseRequest::default() })
}

fn open(name: &str, disposition: CreateDisposition) -> Request<'_> {
    Request::Create(create(name, disposition, CreateOptions::NONE))
}

#[test]
fn related_requests_use_the_file_that_the_first_opened_and_are_answered_together() {
    for protect in [Protect::Nothing, Protect::Sign, Protect::Seal] {
        let mut rig = ready();
        rig.protect = protect;
        let any = FileId::RELATED;
        let answers = compound(
            &mut rig,
            &[
                (open("a", CreateDisposition::CREATE), false),
                (
                    Request::Write(WriteRequest { file_id: any, data: b"hello", ..WriteRequest::default() }),
                    true,
                ),
                (Request::Read(ReadRequest { file_id: any, length: 5, ..ReadRequest::default() }), true),
                (query(any), true),
                (close(any), true),
            ],
        );
        assert_eq!(statuses(&answers), [NtStatus::SUCCESS; 5]);
        assert!(answers.iter().all(|answer| answer.message == answers[0].message), "in one message");
        assert!(answers.iter().all(|answer| answer.header.session_id == rig.session_id));
        assert!(answers.iter().all(|answer| answer.header.tree_id() == Some(rig.tree_id)));
        let output = QueryInfoResponse::parse(&answers[3].bytes).unwrap().output;
        assert_eq!(output[48], 5, "EndOfFile");
        assert_eq!(rig.files.open_count(), 0);
    }
}

#[test]
fn what_follows_a_create_that_fails_fails_with_its_status() {
    let mut rig = ready();
    let any = FileId::RELATED;
    let answers = compound(
        &mut rig,
        &[(open("nothing", CreateDisposition::OPEN), false), (query(any), true), (close(any), true)],
    );
    assert_eq!(statuses(&answers), [NtStatus::OBJECT_NAME_NOT_FOUND; 3]);
}

#[test]
fn a_close_behind_a_query_that_fails_still_closes() {
    let mut rig = ready();
    let any = FileId::RELATED;
    let bad = Request::QueryInfo(QueryInfoRequest { info_type: InfoType(9), ..QueryInfoRequest::default() });
    let answers =
        compound(&mut rig, &[(open("a", CreateDisposition::CREATE), false), (bad, true), (close(any), true)]);
    assert_eq!(statuses(&answers), [NtStatus::SUCCESS, NtStatus::INVALID_PARAMETER, NtStatus::SUCCESS]);
    assert_eq!(rig.files.open_count(), 0);
}

#[test]
fn a_related_request_without_a_file_before_it_has_no_handle() {
    let mut rig = ready();
    let echo = Request::Echo(EchoRequest::default());
    let answers = compound(&mut rig, &[(echo, false), (close(FileId::RELATED), true)]);
    assert_eq!(statuses(&answers), [NtStatus::SUCCESS, NtStatus::INVALID_HANDLE]);
}

#[test]
fn a_first_request_that_is_related_fails_and_all_that_are_related_to_it() {
    let mut rig = ready();
    let echo = Request::Echo(EchoRequest::default());
    let related = [(query(FileId::RELATED), true), (echo, true), (close(FileId::RELATED), true)];
    let answers = compound(&mut rig, &related);
    assert_eq!(statuses(&answers), [NtStatus::INVALID_PARAMETER; 3]);
}

#[test]
fn what_follows_a_request_whose_file_is_not_there_fails_with_its_status() {
    let mut rig = ready();
    let any = FileId::RELATED;
    let answers = compound(&mut rig, &[(query(any), false), (query(any), true), (close(any), true)]);
    assert_eq!(statuses(&answers), [NtStatus::FILE_CLOSED; 3]);
    let file = rig.file("a");
    let answers = compound(&mut rig, &[(close(file), false), (query(any), true), (close(any), true)]);
    let closed = NtStatus::FILE_CLOSED;
    assert_eq!(statuses(&answers), [NtStatus::SUCCESS, closed, closed]);
}

#[test]
fn what_follows_a_request_without_a_session_or_a_tree_connect_is_invalid() {
    let any = FileId::RELATED;
    let echo = Request::Echo(EchoRequest::default());
    let nowhere = Request::TreeConnect(TreeConnectRequest {
        path: Text::from(r"\\server\nowhere"),
        ..TreeConnectRequest::default()
    });
    let invalid = NtStatus::INVALID_PARAMETER;
    // A related request that needs no tree connect has the session.
    for (change, first, expected) in [
        (
            other_session as fn(&mut Rig),
            query(any),
            [NtStatus::USER_SESSION_DELETED, invalid, invalid, invalid],
        ),
        (other_tree, query(any), [NtStatus::NETWORK_NAME_DELETED, invalid, NtStatus::SUCCESS, invalid]),
        (|_| {}, nowhere, [NtStatus::BAD_NETWORK_NAME, invalid, NtStatus::SUCCESS, invalid]),
    ] {
        let mut rig = ready();
        rig.protect = Protect::Nothing;
        change(&mut rig);
        if matches!(first, Request::TreeConnect(_)) {
            rig.protect = Protect::Sign;
        }
        let requests = [(first, false), (close(any), true), (echo, true), (close(any), true)];
        assert_eq!(statuses(&compound(&mut rig, &requests)), expected, "{first:?}");
    }
}

fn other_session(rig: &mut Rig) {
    rig.session_id.0 ^= 1;
}

fn other_tree(rig: &mut Rig) {
    rig.tree_id.0 ^= 0x40;
}

#[test]
fn requests_that_are_not_related_are_answered_each_in_its_own_message() {
    let mut rig = ready();
    let file = rig.file("a");
    let mut answers =
        compound(&mut rig, &[(query(file), false), (query(FileId::default()), false), (close(file), false)]);
    assert_eq!(
        answers.iter().map(|answer| answer.message - answers[0].message).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    // The second waits for nobody.
    answers.sort_by_key(|answer| answer.header.message_id);
    assert_eq!(statuses(&answers), [NtStatus::SUCCESS, NtStatus::FILE_CLOSED, NtStatus::SUCCESS]);
}

#[test]
fn a_request_that_is_not_related_begins_another_chain() {
    let mut rig = ready();
    let any = FileId::RELATED;
    let answers = compound(
        &mut rig,
        &[
            (open("a", CreateDisposition::CREATE), false),
            (close(any), true),
            (open("b", CreateDisposition::CREATE), false),
            (close(any), true),
        ],
    );
    assert_eq!(statuses(&answers), [NtStatus::SUCCESS; 4]);
    assert_eq!(
        answers.iter().map(|answer| answer.message - answers[0].message).collect::<Vec<_>>(),
        [0, 0, 1, 1]
    );
}

#[test]
fn a_compound_that_waits_is_carried_out_in_its_order() {
    let mut rig = ready();
    rig.holds = true;
    let any = FileId::RELATED;
    let requests = [(open("a", CreateDisposition::CREATE), false), (query(any), true), (close(any), true)];
    assert_eq!(compound(&mut rig, &requests).len(), 0);
    for left in [1, 1, 1] {
        assert_eq!((rig.held.len(), rig.answers().len()), (left, 0));
        rig.release();
    }
    assert_eq!(statuses(&rig.answers()), [NtStatus::SUCCESS; 3]);
}

#[test]
fn an_answer_that_invalidates_ends_its_message() {
    let mut rig = Rig::ready(params(), RDMA);
    let file = rig.file("a");
    let infos = [1, 2].map(|token| pack(&[rig.register(token, vec![7; 10])]));
    let write = |info| {
        let channel = Channel::RDMA_V1_INVALIDATE;
        Request::Write(WriteRequest {
            file_id: file,
            remaining_bytes: 10,
            channel,
            channel_info: info,
            ..WriteRequest::default()
        })
    };
    let answers =
        compound(&mut rig, &[(write(&infos[0]), false), (write(&infos[1]), true), (close(file), true)]);
    assert_eq!(statuses(&answers), [NtStatus::SUCCESS; 3]);
    let tokens: Vec<_> = answers.iter().map(|answer| answer.invalidate).collect();
    assert_eq!(tokens, [Some(Token(1)), Some(Token(2)), None]);
}

#[test]
fn a_compound_has_a_limit_and_its_elements_are_aligned() {
    let mut params = params();
    params.compound_max = 3;
    let mut rig = Rig::ready(params.clone(), TCP);
    let echo = (Request::Echo(EchoRequest::default()), false);
    assert_eq!(compound(&mut rig, &[echo; 3]).len(), 3);
    assert_eq!(compound(&mut rig, &[echo; 4]).len(), 0);
    assert_eq!(rig.closed, Some(Reason::CompoundTooLong { max: 3 }));
    let mut rig = Rig::ready(params, TCP);
    let mut bytes = Vec::new();
    let mut two = Compound::new(&mut bytes);
    for _ in 0..2 {
        two.add(&rig.header::<EchoRequest>(0), &EchoRequest::default()).unwrap();
    }
    bytes.insert(68, 0);
    smbd_smb2::wire::header::field::NEXT_COMMAND.set(&mut bytes, 73).unwrap();
    rig.give(&mut bytes);
    assert!(matches!(rig.closed, Some(Reason::Malformed(_))));
}

#[test]
fn a_logon_in_a_compound_is_refused() {
    let mut rig = ready();
    let setup = Request::SessionSetup(smbd_smb2::wire::SessionSetupRequest::default());
    let answers = compound(&mut rig, &[(setup, false), (Request::Echo(EchoRequest::default()), false)]);
    assert_eq!(statuses(&answers), [NtStatus::INVALID_PARAMETER, NtStatus::SUCCESS]);
}

#[test]
fn what_follows_a_logoff_has_no_session() {
    let mut rig = ready();
    let file = rig.file("a");
    let answers =
        compound(&mut rig, &[(Request::Logoff(LogoffRequest::default()), false), (close(file), true)]);
    assert_eq!(statuses(&answers), [NtStatus::SUCCESS, NtStatus::USER_SESSION_DELETED]);
}

#[test]
fn a_request_that_waits_for_ever_is_the_last_of_its_compound_or_fails() {
    let mut rig = ready();
    let directory = rig.directory("d");
    let notify =
        Request::ChangeNotify(ChangeNotifyRequest { file_id: directory, ..ChangeNotifyRequest::default() });
    let answers = compound(&mut rig, &[(notify, false), (close(directory), true)]);
    assert_eq!(statuses(&answers), [NtStatus::INTERNAL_ERROR, NtStatus::SUCCESS]);
    let directory = rig.directory("e");
    let notify =
        Request::ChangeNotify(ChangeNotifyRequest { file_id: directory, ..ChangeNotifyRequest::default() });
    let answers = compound(&mut rig, &[(query(directory), false), (notify, true)]);
    assert_eq!(statuses(&answers), [NtStatus::SUCCESS, NtStatus::PENDING]);
    assert!(answers[1].header.flags.contains(Flags::ASYNC_COMMAND));
    assert_ne!(answers[0].message, answers[1].message);
}

#[test]
fn the_stat_of_linux_and_its_unlink_are_compounds() {
    let mut rig = ready();
    let file = rig.file("a");
    let any = FileId::RELATED;
    let delete = Request::SetInfo(SetInfoRequest {
        file_id: any,
        info_type: InfoType::FILE,
        info_class: class::FILE_DISPOSITION,
        input: &[1],
        ..SetInfoRequest::default()
    });
    let answers = compound(&mut rig, &[(close(file), false)]);
    assert_eq!(statuses(&answers), [NtStatus::SUCCESS]);
    let open = Request::Create(CreateRequest {
        file_attributes: FileAttributes::NORMAL,
        ..create("a", CreateDisposition::OPEN, CreateOptions::OPEN_REPARSE_POINT)
    });
    let answers = compound(&mut rig, &[(open, false), (delete, true), (close(any), true)]);
    assert_eq!(statuses(&answers), [NtStatus::SUCCESS; 3]);
    let gone = rig.create("a", CreateDisposition::OPEN, CreateOptions::NONE);
    assert_eq!(gone.status(), NtStatus::OBJECT_NAME_NOT_FOUND);
}
