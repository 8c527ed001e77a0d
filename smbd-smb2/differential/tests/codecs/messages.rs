//! One of each message, with values that all dialects define.

use smbd_smb2::wire::*;

use crate::contexts;
use crate::values::{FILE, KEY};

fn element(header: Header, body: &impl Body) -> Vec<u8> {
    let mut out = Vec::new();
    write_element(&mut out, &header, body).expect("room");
    out
}

fn header(command: Command, is_response: bool, status: NtStatus) -> Header {
    Header {
        credit_charge: 1,
        status,
        command,
        credits: 33,
        flags: Flags::NONE.with(Flags::SERVER_TO_REDIR, is_response),
        message_id: MessageId(7),
        target: Target::Sync { process_id: 0, tree_id: TreeId(5) },
        session_id: SessionId(0x1122_3344_5566),
        ..Header::default()
    }
}

/// Gives each message a name.
pub fn each(mut f: impl FnMut(&str, (Command, bool), &[u8])) {
    let mut request = |name: &str, request: Request<'_>| {
        let command = request.command();
        f(name, (command, false), &element(header(command, false, NtStatus::SUCCESS), &request));
    };
    connection(&mut request);
    files(&mut request);
    information(&mut request);
    contexts::requests(&mut request);
    let mut response = |name: &str, command: Command, status: NtStatus, body: Response<'_>| {
        f(name, (command, true), &element(header(command, true, status), &body));
    };
    answers(&mut response);
    answers_about_files(&mut response);
    contexts::responses(&mut response);
}

fn contexts() -> [NegotiateContext<'static>; 4] {
    [
        NegotiateContext::PreauthIntegrity {
            hash_algorithms: List::from(&[HashAlgorithm::SHA_512]),
            salt: &[0x5A; 32],
        },
        NegotiateContext::Encryption(List::from(&[Cipher::AES_128_GCM, Cipher::AES_128_CCM])),
        NegotiateContext::Signing(List::from(&[SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC])),
        NegotiateContext::Netname(Text::from_wire(b"s\0r\0v\0x\0")),
    ]
}

fn connection(f: &mut impl FnMut(&str, Request<'_>)) {
    let plain = NegotiateRequest {
        security_mode: SecurityMode::SIGNING_ENABLED,
        capabilities: Capabilities::DFS | Capabilities::LARGE_MTU,
        client_guid: KEY,
        dialects: List::from(&[Dialect::SMB_2_0_2, Dialect::SMB_2_1, Dialect::SMB_3_0_2]),
        contexts: Records::EMPTY,
    };
    f("negotiate request", Request::Negotiate(plain));
    let contexts = contexts();
    f(
        "negotiate request 3.1.1",
        Request::Negotiate(NegotiateRequest {
            dialects: List::from(&[Dialect::SMB_3_0_2, Dialect::SMB_3_1_1]),
            contexts: Records::from(&contexts),
            ..plain
        }),
    );
    f(
        "session_setup request",
        Request::SessionSetup(SessionSetupRequest {
            security_mode: SessionSecurityMode::SIGNING_ENABLED,
            capabilities: Capabilities::DFS,
            previous_session_id: SessionId(0x77),
            security_buffer: b"a token of some bytes",
            ..SessionSetupRequest::default()
        }),
    );
    f("logoff request", Request::Logoff(LogoffRequest {}));
    let path = Text::from("\\\\server\\share");
    f("tree_connect request", Request::TreeConnect(TreeConnectRequest { path, ..Default::default() }));
    f("tree_disconnect request", Request::TreeDisconnect(TreeDisconnectRequest {}));
    f("echo request", Request::Echo(EchoRequest {}));
    f("cancel request", Request::Cancel(CancelRequest {}));
}

fn files(f: &mut impl FnMut(&str, Request<'_>)) {
    let create = CreateRequest {
        oplock_level: OplockLevel::BATCH,
        impersonation_level: ImpersonationLevel::IMPERSONATION,
        desired_access: AccessMask::READ_DATA | AccessMask::SYNCHRONIZE,
        file_attributes: FileAttributes::NORMAL,
        share_access: ShareAccess::READ | ShareAccess::DELETE,
        create_disposition: CreateDisposition::OPEN_IF,
        create_options: CreateOptions::NON_DIRECTORY_FILE,
        name: Text::from("dir\\file"),
        contexts: Records::EMPTY,
    };
    f("create request", Request::Create(create));
    let maximal = CreateContext { name: CreateContext::QUERY_MAXIMAL_ACCESS, data: &[] };
    let disk_id = CreateContext { name: CreateContext::QUERY_ON_DISK_ID, data: &[] };
    let two = [maximal, disk_id];
    f(
        "create request with contexts",
        Request::Create(CreateRequest { contexts: Records::from(&two), ..create }),
    );
    f("close request", Request::Close(CloseRequest { flags: CloseFlags::POSTQUERY_ATTRIB, file_id: FILE }));
    f("flush request", Request::Flush(FlushRequest { file_id: FILE }));
    let read = ReadRequest {
        padding: 0x50,
        length: 65536,
        offset: 1 << 33,
        file_id: FILE,
        minimum_count: 5,
        ..ReadRequest::default()
    };
    f("read request", Request::Read(read));
    let info = pack(&[BufferDescriptorV1 { offset: 0x7000, token: Token(3), length: 65536 }]);
    let (channel, remaining_bytes, channel_info) = (Channel::RDMA_V1_INVALIDATE, 65536, &info[..]);
    f("read request by RDMA", Request::Read(ReadRequest { channel, remaining_bytes, channel_info, ..read }));
    let write =
        WriteRequest { offset: 1 << 33, file_id: FILE, data: b"some data", ..WriteRequest::default() };
    f("write request", Request::Write(WriteRequest { flags: WriteFlags::WRITE_THROUGH, ..write }));
    f(
        "write request by RDMA",
        Request::Write(WriteRequest { data: &[], channel, remaining_bytes, channel_info, ..write }),
    );
    let locks = [
        LockElement { offset: 1, length: 2, flags: LockFlags::SHARED_LOCK | LockFlags::FAIL_IMMEDIATELY },
        LockElement {
            offset: 1 << 40,
            length: 9,
            flags: LockFlags::EXCLUSIVE_LOCK | LockFlags::FAIL_IMMEDIATELY,
        },
    ];
    f(
        "lock request",
        Request::Lock(LockRequest { lock_sequence: 0x21, file_id: FILE, locks: List::from(&locks) }),
    );
    let oplock_level = OplockLevel::II;
    f(
        "oplock acknowledgment",
        Request::OplockBreak(OplockBreakAcknowledgment { oplock_level, file_id: FILE }),
    );
}

fn information(f: &mut impl FnMut(&str, Request<'_>)) {
    f(
        "ioctl request",
        Request::Ioctl(IoctlRequest {
            control_code: ControlCode::PIPE_TRANSCEIVE,
            file_id: FILE,
            max_output_response: 4096,
            flags: IoctlFlags::IS_FSCTL,
            input: b"a call",
            ..IoctlRequest::default()
        }),
    );
    f(
        "query_directory request",
        Request::QueryDirectory(QueryDirectoryRequest {
            information_class: DirectoryInformationClass::ID_BOTH_DIRECTORY,
            flags: QueryDirectoryFlags::RESTART_SCANS,
            file_index: 0,
            file_id: FILE,
            output_buffer_length: 65536,
            pattern: Text::from("*.txt"),
        }),
    );
    f(
        "change_notify request",
        Request::ChangeNotify(ChangeNotifyRequest {
            flags: ChangeNotifyFlags::WATCH_TREE,
            output_buffer_length: 4096,
            file_id: FILE,
            completion_filter: CompletionFilter::FILE_NAME | CompletionFilter::SIZE,
        }),
    );
    f(
        "query_info request",
        Request::QueryInfo(QueryInfoRequest {
            info_type: InfoType::FILE,
            info_class: info::class::FILE_ALL,
            output_buffer_length: 1024,
            file_id: FILE,
            ..QueryInfoRequest::default()
        }),
    );
    f(
        "set_info request",
        Request::SetInfo(SetInfoRequest {
            info_type: InfoType::FILE,
            info_class: info::class::FILE_END_OF_FILE,
            file_id: FILE,
            input: &77_u64.to_le_bytes(),
            ..SetInfoRequest::default()
        }),
    );
}

fn answers(f: &mut impl FnMut(&str, Command, NtStatus, Response<'_>)) {
    let negotiated = NegotiateResponse {
        security_mode: SecurityMode::SIGNING_ENABLED,
        dialect: Dialect::SMB_3_0,
        server_guid: KEY,
        capabilities: Capabilities::LEASING | Capabilities::LARGE_MTU,
        max_transact_size: 1 << 20,
        max_read_size: 1 << 21,
        max_write_size: 1 << 22,
        system_time: 133_000_000_000_000_000,
        server_start_time: 132_000_000_000_000_000,
        security_buffer: b"a token",
        contexts: Records::EMPTY,
    };
    let success = NtStatus::SUCCESS;
    f("negotiate response", Command::NEGOTIATE, success, Response::Negotiate(negotiated));
    let contexts = contexts();
    let (dialect, contexts) = (Dialect::SMB_3_1_1, Records::from(&contexts[..3]));
    let response = Response::Negotiate(NegotiateResponse { dialect, contexts, ..negotiated });
    f("negotiate response 3.1.1", Command::NEGOTIATE, success, response);
    let setup = SessionSetupResponse { flags: SessionFlags::IS_GUEST, security_buffer: b"a token" };
    f("session_setup response", Command::SESSION_SETUP, success, Response::SessionSetup(setup));
    let more = NtStatus::MORE_PROCESSING_REQUIRED;
    f("session_setup response, more", Command::SESSION_SETUP, more, Response::SessionSetup(setup));
    f("logoff response", Command::LOGOFF, success, Response::Logoff(LogoffResponse {}));
    let connected = TreeConnectResponse {
        share_type: ShareType::DISK,
        share_flags: ShareFlags::DFS | ShareFlags::ENCRYPT_DATA,
        capabilities: ShareCapabilities::DFS,
        maximal_access: AccessMask(0x001F_01FF),
    };
    f("tree_connect response", Command::TREE_CONNECT, success, Response::TreeConnect(connected));
    let response = Response::TreeDisconnect(TreeDisconnectResponse {});
    f("tree_disconnect response", Command::TREE_DISCONNECT, success, response);
    f("echo response", Command::ECHO, success, Response::Echo(EchoResponse {}));
    for command in [Command::CREATE, Command::READ, Command::QUERY_INFO] {
        let name = format!("failure of {command}");
        f(&name, command, NtStatus::ACCESS_DENIED, Response::Error(ErrorResponse::default()));
    }
    let too_small = ErrorResponse::Data(&[0, 4, 0, 0]);
    f("failure with data", Command::QUERY_INFO, NtStatus::BUFFER_TOO_SMALL, Response::Error(too_small));
}

fn answers_about_files(f: &mut impl FnMut(&str, Command, NtStatus, Response<'_>)) {
    let success = NtStatus::SUCCESS;
    let created = CreateResponse {
        oplock_level: OplockLevel::EXCLUSIVE,
        create_action: CreateAction::CREATED,
        creation_time: 133_000_000_000_000_000,
        last_access_time: 133_000_000_000_000_001,
        last_write_time: 133_000_000_000_000_002,
        change_time: 133_000_000_000_000_003,
        allocation_size: 4096,
        end_of_file: 77,
        file_attributes: FileAttributes::ARCHIVE,
        file_id: FILE,
        ..CreateResponse::default()
    };
    f("create response", Command::CREATE, success, Response::Create(created));
    let context =
        [CreateContext { name: CreateContext::QUERY_MAXIMAL_ACCESS, data: &[0, 0, 0, 0, 0xFF, 1, 0x1F, 0] }];
    let response = Response::Create(CreateResponse { contexts: Records::from(&context), ..created });
    f("create response with a context", Command::CREATE, success, response);
    let closed = CloseResponse {
        flags: CloseFlags::POSTQUERY_ATTRIB,
        creation_time: 133_000_000_000_000_000,
        last_access_time: 133_000_000_000_000_001,
        last_write_time: 133_000_000_000_000_002,
        change_time: 133_000_000_000_000_003,
        allocation_size: 4096,
        end_of_file: 77,
        file_attributes: FileAttributes::ARCHIVE,
    };
    f("close response", Command::CLOSE, success, Response::Close(closed));
    f("flush response", Command::FLUSH, success, Response::Flush(FlushResponse {}));
    let data = Response::Read(ReadResponse { data: b"some data", ..ReadResponse::default() });
    f("read response", Command::READ, success, data);
    let by_rdma = Response::Read(ReadResponse { data_remaining: 65536, ..ReadResponse::default() });
    f("read response by RDMA", Command::READ, success, by_rdma);
    f("write response", Command::WRITE, success, Response::Write(WriteResponse { count: 65536 }));
    f("lock response", Command::LOCK, success, Response::Lock(LockResponse {}));
    let ioctl = IoctlResponse {
        control_code: ControlCode::PIPE_TRANSCEIVE,
        file_id: FILE,
        input: &[],
        output: b"an answer",
    };
    f("ioctl response", Command::IOCTL, success, Response::Ioctl(ioctl));
    let output: &[u8] = b"0123456789abcdef";
    let response = Response::QueryDirectory(QueryDirectoryResponse { output });
    f("query_directory response", Command::QUERY_DIRECTORY, success, response);
    // One change: added "a".
    let output = &[0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, b'a', 0];
    let response = Response::ChangeNotify(ChangeNotifyResponse { output });
    f("change_notify response", Command::CHANGE_NOTIFY, success, response);
    let response = Response::QueryInfo(QueryInfoResponse { output: b"0123456789abcdef" });
    f("query_info response", Command::QUERY_INFO, success, response);
    f("set_info response", Command::SET_INFO, success, Response::SetInfo(SetInfoResponse {}));
    let broken = OplockBreak { oplock_level: OplockLevel::II, file_id: FILE };
    f("oplock break", Command::OPLOCK_BREAK, success, Response::OplockBreak(broken));
}
