//! One of every message, made of values and bytes that a test draws.

use smbd_smb2::wire::*;

/// What messages are made of.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    pub numbers: [u64; 4],
    pub bytes: Vec<u8>,
    pub others: Vec<u8>,
    pub text: String,
}

impl Pool {
    fn long(&self, at: usize) -> u64 {
        self.numbers[at % 4].rotate_left(at as u32)
    }

    fn word(&self, at: usize) -> u32 {
        self.long(at) as u32
    }

    fn half(&self, at: usize) -> u16 {
        self.long(at) as u16
    }

    fn byte(&self, at: usize) -> u8 {
        self.long(at) as u8
    }

    pub fn file_id(&self) -> FileId {
        FileId { persistent: self.long(0), volatile: self.long(1) }
    }

    pub fn guid(&self) -> Guid {
        Guid(u128::from(self.long(2)).to_le_bytes())
    }

    fn lease(&self) -> RequestLeaseV2 {
        RequestLeaseV2 {
            lease_key: self.guid(),
            lease_state: LeaseState(self.word(0)),
            flags: LeaseFlags(self.word(1)),
            parent_lease_key: Guid(u128::from(self.long(3)).to_le_bytes()),
            epoch: self.half(1),
        }
    }

    fn durable(&self) -> DurableHandleRequestV2 {
        let flags = DurableHandleFlags(self.word(1));
        DurableHandleRequestV2 { timeout: self.word(0), flags, create_guid: self.guid() }
    }

    fn descriptors(&self) -> Vec<u8> {
        let descriptor =
            BufferDescriptorV1 { offset: self.long(0), token: Token(self.word(1)), length: self.word(2) };
        pack(&vec![descriptor; self.bytes.len() % 4])
    }

    pub fn header(&self, command: Command, is_response: bool, status: NtStatus) -> Header {
        let target = if self.byte(3) & 1 == 0 {
            Target::Sync { process_id: self.word(5), tree_id: TreeId(self.word(6)) }
        } else {
            Target::Async { async_id: self.long(5) }
        };
        let is_async = matches!(target, Target::Async { .. });
        Header {
            credit_charge: self.half(0),
            status,
            command,
            credits: self.half(1),
            flags: Flags(self.word(2))
                .with(Flags::ASYNC_COMMAND, is_async)
                .with(Flags::SERVER_TO_REDIR, is_response),
            next_command: 0,
            message_id: MessageId(self.long(2)),
            target,
            session_id: SessionId(self.long(3)),
            signature: u128::from(self.long(1)).to_be_bytes(),
        }
    }
}

/// A list of contexts with one of each kind.
pub fn with_contexts(pool: &Pool, f: impl FnOnce(NegotiateContexts<'_>)) {
    let ids: Vec<u16> = pool.numbers.iter().map(|number| *number as u16).collect();
    let hashes: Vec<_> = ids.iter().copied().map(HashAlgorithm).collect();
    let ciphers: Vec<_> = ids.iter().copied().map(Cipher).collect();
    let compressions: Vec<_> = ids.iter().copied().map(CompressionAlgorithm).collect();
    let transforms: Vec<_> = ids.iter().copied().map(RdmaTransformId).collect();
    let signings: Vec<_> = ids.iter().copied().map(SigningAlgorithm).collect();
    let short = &pool.bytes[..pool.bytes.len().min(64)];
    f(Records::from(&[
        NegotiateContext::PreauthIntegrity { hash_algorithms: List::from(&hashes[..]), salt: short },
        NegotiateContext::Encryption(List::from(&ciphers[1..])),
        NegotiateContext::Compression {
            flags: CompressionFlags(pool.word(0)),
            algorithms: List::from(&compressions[..3]),
        },
        NegotiateContext::Netname(Text::from(&pool.text[..])),
        NegotiateContext::Other(ContextType(0x0100), short),
        NegotiateContext::Transport(TransportFlags(pool.word(1))),
        NegotiateContext::RdmaTransform(List::from(&transforms[..2])),
        NegotiateContext::Signing(List::from(&signings[..])),
    ]));
}

/// Every request, and some in two forms.
pub fn each_request(pool: &Pool, mut f: impl FnMut(Request<'_>)) {
    let text = Text::from(&pool.text[..]);
    let (bytes, others) = (&pool.bytes[..], &pool.others[..]);
    let file_id = pool.file_id();
    let descriptors = pool.descriptors();
    setup(pool, &mut f);
    let (lease, durable) = (pool.lease().to_bytes(), pool.durable().to_bytes());
    f(Request::Create(CreateRequest {
        oplock_level: OplockLevel(pool.byte(0)),
        impersonation_level: ImpersonationLevel(pool.word(1)),
        desired_access: AccessMask(pool.word(2)),
        file_attributes: FileAttributes(pool.word(3)),
        share_access: ShareAccess(pool.word(4)),
        create_disposition: CreateDisposition(pool.word(5)),
        create_options: CreateOptions(pool.word(6)),
        name: text,
        contexts: Records::from(&[
            CreateContext { name: CreateContext::LEASE, data: bytes },
            CreateContext { name: CreateContext::QUERY_ON_DISK_ID, data: &[] },
            CreateContext { name: CreateContext::APP_INSTANCE_ID, data: others },
            CreateContext::of::<RequestLeaseV2>(&lease),
            CreateContext::of::<DurableHandleRequestV2>(&durable),
        ]),
    }));
    f(Request::Create(CreateRequest { name: text, ..CreateRequest::default() }));
    f(Request::Close(CloseRequest { flags: CloseFlags(pool.half(0)), file_id }));
    f(Request::Flush(FlushRequest { file_id }));
    f(Request::Read(ReadRequest {
        padding: pool.byte(0),
        flags: ReadFlags(pool.byte(1)),
        length: pool.word(2),
        offset: pool.long(3),
        file_id,
        minimum_count: pool.word(4),
        channel: Channel::RDMA_V1,
        remaining_bytes: pool.word(5),
        channel_info: &descriptors,
    }));
    f(Request::Write(WriteRequest {
        offset: pool.long(0),
        file_id,
        flags: WriteFlags(pool.word(1)),
        data: bytes,
        ..WriteRequest::default()
    }));
    f(Request::Write(WriteRequest {
        file_id,
        channel: Channel::RDMA_V1_INVALIDATE,
        remaining_bytes: pool.word(2),
        channel_info: &descriptors,
        ..WriteRequest::default()
    }));
    let lock = LockElement { offset: pool.long(1), length: pool.long(2), flags: LockFlags(pool.word(3)) };
    let locks = vec![lock; 1 + bytes.len() % 5];
    let lock_sequence = pool.word(0);
    f(Request::Lock(LockRequest { lock_sequence, file_id, locks: List::from(&locks[..]) }));
    f(Request::Ioctl(IoctlRequest {
        control_code: ControlCode(pool.word(0)),
        file_id,
        max_input_response: pool.word(1),
        max_output_response: pool.word(2),
        flags: IoctlFlags(pool.word(3)),
        input: bytes,
        output: others,
    }));
    questions(pool, &mut f);
}

fn setup(pool: &Pool, f: &mut impl FnMut(Request<'_>)) {
    let dialects: Vec<_> = pool.numbers.iter().map(|number| Dialect(*number as u16)).collect();
    let with_311 = [&dialects[..], &[Dialect::SMB_3_1_1]].concat();
    for dialects in [&dialects, &with_311] {
        let dialects = List::from(&dialects[..]);
        let request = NegotiateRequest {
            security_mode: SecurityMode(pool.half(0)),
            capabilities: Capabilities(pool.word(1)),
            client_guid: pool.guid(),
            dialects,
            contexts: Records::EMPTY,
        };
        if dialects.iter().any(|dialect| dialect == Dialect::SMB_3_1_1) {
            with_contexts(pool, |contexts| f(Request::Negotiate(NegotiateRequest { contexts, ..request })));
        } else {
            f(Request::Negotiate(request));
        }
    }
    f(Request::SessionSetup(SessionSetupRequest {
        flags: SessionSetupFlags(pool.byte(0)),
        security_mode: SessionSecurityMode(pool.byte(1)),
        capabilities: Capabilities(pool.word(2)),
        previous_session_id: SessionId(pool.long(3)),
        security_buffer: &pool.bytes,
    }));
    f(Request::Logoff(LogoffRequest {}));
    let flags = TreeConnectFlags(pool.half(0)).with(TreeConnectFlags::EXTENSION_PRESENT, false);
    let plain = TreeConnectRequest { flags, path: Text::from(&pool.text[..]), extension: None };
    f(Request::TreeConnect(plain));
    f(Request::TreeConnect(TreeConnectRequest {
        flags: flags.with(TreeConnectFlags::EXTENSION_PRESENT, true),
        extension: Some(TreeConnectExtension { count: 1, contexts: &pool.bytes }),
        ..plain
    }));
    f(Request::TreeDisconnect(TreeDisconnectRequest {}));
}

fn questions(pool: &Pool, f: &mut impl FnMut(Request<'_>)) {
    let file_id = pool.file_id();
    f(Request::Cancel(CancelRequest {}));
    f(Request::Echo(EchoRequest {}));
    f(Request::QueryDirectory(QueryDirectoryRequest {
        information_class: DirectoryInformationClass(pool.byte(0)),
        flags: QueryDirectoryFlags(pool.byte(1)),
        file_index: pool.word(2),
        file_id,
        output_buffer_length: pool.word(3),
        pattern: Text::from(&pool.text[..]),
    }));
    f(Request::ChangeNotify(ChangeNotifyRequest {
        flags: ChangeNotifyFlags(pool.half(0)),
        output_buffer_length: pool.word(1),
        file_id,
        completion_filter: CompletionFilter(pool.word(2)),
    }));
    f(Request::QueryInfo(QueryInfoRequest {
        info_type: InfoType(pool.byte(0)),
        info_class: pool.byte(1),
        output_buffer_length: pool.word(2),
        additional_information: AdditionalInformation(pool.word(3)),
        flags: QueryInfoFlags(pool.word(4)),
        file_id,
        input: &pool.others,
    }));
    f(Request::SetInfo(SetInfoRequest {
        info_type: InfoType(pool.byte(0)),
        info_class: pool.byte(1),
        additional_information: AdditionalInformation(pool.word(2)),
        file_id,
        input: &pool.bytes,
    }));
    let oplock_level = OplockLevel(pool.byte(0));
    f(Request::OplockBreak(OplockBreakAcknowledgment { oplock_level, file_id }));
    let lease_state = LeaseState(pool.word(1));
    f(Request::LeaseBreak(LeaseBreakAcknowledgment { lease_key: pool.guid(), lease_state }));
    f(Request::Other(Command(0x20 | pool.half(3)), &pool.bytes));
}

/// Every response, with a status that it comes with.
pub fn each_response(pool: &Pool, mut f: impl FnMut(Command, NtStatus, Response<'_>)) {
    let bytes = &pool.bytes[..];
    let mut ok = |command, response: Response<'_>| f(command, NtStatus::SUCCESS, response);
    let negotiated = NegotiateResponse {
        security_mode: SecurityMode(pool.half(0)),
        dialect: Dialect::SMB_3_0,
        server_guid: pool.guid(),
        capabilities: Capabilities(pool.word(1)),
        max_transact_size: pool.word(2),
        max_read_size: pool.word(3),
        max_write_size: pool.word(4),
        system_time: pool.long(5),
        server_start_time: pool.long(6),
        security_buffer: bytes,
        contexts: Records::EMPTY,
    };
    ok(Command::NEGOTIATE, Response::Negotiate(negotiated));
    with_contexts(pool, |contexts| {
        let dialect = Dialect::SMB_3_1_1;
        ok(Command::NEGOTIATE, Response::Negotiate(NegotiateResponse { dialect, contexts, ..negotiated }));
    });
    ok(Command::LOGOFF, Response::Logoff(LogoffResponse {}));
    ok(
        Command::TREE_CONNECT,
        Response::TreeConnect(TreeConnectResponse {
            share_type: ShareType(pool.byte(0)),
            share_flags: ShareFlags(pool.word(1)),
            capabilities: ShareCapabilities(pool.word(2)),
            maximal_access: AccessMask(pool.word(3)),
        }),
    );
    ok(Command::TREE_DISCONNECT, Response::TreeDisconnect(TreeDisconnectResponse {}));
    files(pool, &mut f);
    others_than_success(pool, &mut f);
}

fn files(pool: &Pool, f: &mut impl FnMut(Command, NtStatus, Response<'_>)) {
    let (bytes, others) = (&pool.bytes[..], &pool.others[..]);
    let mut ok = |command, response: Response<'_>| f(command, NtStatus::SUCCESS, response);
    let id = QueryOnDiskIdResponse { disk_file_id: pool.long(0), volume_id: pool.long(1) }.to_bytes();
    ok(
        Command::CREATE,
        Response::Create(CreateResponse {
            oplock_level: OplockLevel(pool.byte(0)),
            flags: CreateFlags(pool.byte(1)),
            create_action: CreateAction(pool.word(2)),
            creation_time: pool.long(3),
            last_access_time: pool.long(4),
            last_write_time: pool.long(5),
            change_time: pool.long(6),
            allocation_size: pool.long(7),
            end_of_file: pool.long(8),
            file_attributes: FileAttributes(pool.word(9)),
            file_id: pool.file_id(),
            contexts: Records::from(&[
                CreateContext { name: CreateContext::QUERY_MAXIMAL_ACCESS, data: others },
                CreateContext::of::<QueryOnDiskIdResponse>(&id),
            ]),
        }),
    );
    ok(
        Command::CLOSE,
        Response::Close(CloseResponse {
            flags: CloseFlags(pool.half(0)),
            creation_time: pool.long(1),
            last_access_time: pool.long(2),
            last_write_time: pool.long(3),
            change_time: pool.long(4),
            allocation_size: pool.long(5),
            end_of_file: pool.long(6),
            file_attributes: FileAttributes(pool.word(7)),
        }),
    );
    ok(Command::FLUSH, Response::Flush(FlushResponse {}));
    let data_remaining = pool.word(0);
    let read = ReadResponse { data_remaining, flags: ReadResponseFlags(pool.word(1)), data: bytes };
    ok(Command::READ, Response::Read(read));
    ok(Command::WRITE, Response::Write(WriteResponse { count: pool.word(0) }));
    ok(Command::LOCK, Response::Lock(LockResponse {}));
    ok(Command::ECHO, Response::Echo(EchoResponse {}));
    ok(Command::QUERY_DIRECTORY, Response::QueryDirectory(QueryDirectoryResponse { output: bytes }));
    ok(Command::SET_INFO, Response::SetInfo(SetInfoResponse {}));
}

fn others_than_success(pool: &Pool, f: &mut impl FnMut(Command, NtStatus, Response<'_>)) {
    let bytes = &pool.bytes[..];
    let (input, output) = (&pool.others[..], bytes);
    let ioctl =
        IoctlResponse { control_code: ControlCode::SRV_COPYCHUNK, file_id: pool.file_id(), input, output };
    f(Command::IOCTL, NtStatus::SUCCESS, Response::Ioctl(ioctl));
    f(Command::IOCTL, NtStatus::INVALID_PARAMETER, Response::Ioctl(ioctl));
    let read = Response::Read(ReadResponse { data: bytes, ..ReadResponse::default() });
    f(Command::READ, NtStatus::BUFFER_OVERFLOW, read);
    let setup = SessionSetupResponse { flags: SessionFlags(pool.half(0)), security_buffer: bytes };
    for status in [NtStatus::SUCCESS, NtStatus::MORE_PROCESSING_REQUIRED] {
        f(Command::SESSION_SETUP, status, Response::SessionSetup(setup));
    }
    for status in [NtStatus::SUCCESS, NtStatus::BUFFER_OVERFLOW] {
        f(Command::QUERY_INFO, status, Response::QueryInfo(QueryInfoResponse { output }));
    }
    for status in [NtStatus::SUCCESS, NtStatus::NOTIFY_ENUM_DIR] {
        f(Command::CHANGE_NOTIFY, status, Response::ChangeNotify(ChangeNotifyResponse { output }));
    }
    let oplock = OplockBreak { oplock_level: OplockLevel(pool.byte(0)), file_id: pool.file_id() };
    f(Command::OPLOCK_BREAK, NtStatus::SUCCESS, Response::OplockBreak(oplock));
    let (lease_key, lease_state) = (pool.guid(), LeaseState(pool.word(0)));
    let lease = LeaseBreakResponse { lease_key, lease_state };
    f(Command::OPLOCK_BREAK, NtStatus::SUCCESS, Response::LeaseBreak(lease));
    let notification = LeaseBreakNotification {
        new_epoch: pool.half(0),
        flags: LeaseBreakFlags(pool.word(1)),
        lease_key,
        current_lease_state: lease_state,
        new_lease_state: LeaseState(pool.word(2)),
    };
    f(Command::OPLOCK_BREAK, NtStatus::SUCCESS, Response::LeaseBreakNotification(notification));
    let notification_type = NotificationType(pool.word(0));
    let notification = ServerToClientNotification { notification_type, notification: bytes };
    f(Command::SERVER_TO_CLIENT_NOTIFICATION, NtStatus::SUCCESS, Response::Notification(notification));
    let contexts = [
        ErrorContext { error_id: ErrorId::SHARE_REDIRECT, data: bytes },
        ErrorContext { error_id: ErrorId(pool.word(0)), data: input },
    ];
    for command in Command::NAMED {
        // These have no answer, or none that fails.
        if ![Command::CANCEL, Command::SERVER_TO_CLIENT_NOTIFICATION].contains(command) {
            let failures = [ErrorResponse::Data(bytes), ErrorResponse::Contexts(Records::from(&contexts))];
            for failure in failures {
                f(*command, NtStatus::ACCESS_DENIED, Response::Error(failure));
            }
            f(*command, NtStatus::PENDING, Response::Error(ErrorResponse::default()));
        }
    }
    f(Command(0x40), NtStatus::ACCESS_DENIED, Response::Other(Command(0x40), bytes));
}
