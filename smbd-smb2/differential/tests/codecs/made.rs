//! Messages that other codecs make of values of their own: what smbd-smb2 reads of them.

use std::io::Cursor;

use binrw::BinWrite as _;
use smb_server::wire::header::{Command as TheirCommand, HeaderTail, Smb2Header};
use smb_server::wire::messages as theirs;
use smb2::msg;
use smb2::pack::{Pack, WriteCursor};
use smbd_smb2::wire::*;

use crate::contexts;
use crate::values::{FILE, KEY, PARENT};

/// What is read of an element, with a MessageId of 7.
fn read_request(element: &[u8], expected: &Request<'_>) {
    let header = Header::parse(element).expect("a header");
    let read = (header.command, header.message_id, header.is_response());
    assert_eq!(read, (expected.command(), MessageId(7), false));
    assert_eq!(&Request::parse(element).expect("a request"), expected);
}

fn read_response(element: &[u8], expected: &Response<'_>) {
    let header = Header::parse(element).expect("a header");
    assert_eq!((header.message_id, header.is_response()), (MessageId(7), true));
    assert_eq!(&Response::parse(element).expect("a response"), expected);
}

fn by_smb2(command: smb2::types::Command, body: &impl Pack) -> Vec<u8> {
    let mut out = WriteCursor::new();
    let header = msg::Header::new_request(command);
    msg::Header { message_id: smb2::types::MessageId(7), ..header }.pack(&mut out);
    body.pack(&mut out);
    out.into_inner()
}

fn by_smb_msg(content: smb_msg::RequestContent) -> Vec<u8> {
    let mut message = smb_msg::PlainRequest::new(content);
    message.header.message_id = 7;
    let mut out = Cursor::new(Vec::new());
    message.write(&mut out).expect("room");
    out.into_inner()
}

fn by_smb_server(
    command: TheirCommand,
    is_response: bool,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), String>,
) -> Vec<u8> {
    let mut out = Vec::new();
    let header = Smb2Header {
        credit_charge: 1,
        channel_sequence_status: 0,
        command,
        credit_request_response: 1,
        flags: u32::from(is_response),
        next_command: 0,
        message_id: 7,
        tail: HeaderTail::Sync { reserved: 0, tree_id: 5 },
        session_id: 9,
        signature: [0; 16],
    };
    header.write(&mut out).expect("room");
    body(&mut out).expect("room");
    out
}

const THEIR_GUID: smb2::pack::Guid =
    smb2::pack::Guid { data1: 0x0909_0909, data2: 0x0909, data3: 0x0909, data4: [9; 8] };
const THEIR_FILE: smb2::types::FileId =
    smb2::types::FileId { persistent: FILE.persistent, volatile: FILE.volatile };

#[test]
fn a_negotiate_of_the_crate_smb2_is_read() {
    use msg::negotiate::NegotiateContext as Context;
    let request = msg::negotiate::NegotiateRequest {
        security_mode: smb2::types::flags::SecurityMode(1),
        capabilities: smb2::types::flags::Capabilities(4),
        client_guid: THEIR_GUID,
        dialects: vec![smb2::types::Dialect::Smb3_0, smb2::types::Dialect::Smb3_1_1],
        negotiate_contexts: vec![
            Context::PreauthIntegrity { hash_algorithms: vec![1], salt: vec![0x5A; 32] },
            Context::Encryption { ciphers: vec![4, 2] },
            Context::Compression { flags: 1, algorithms: vec![2, 4] },
            Context::Signing { algorithms: vec![2, 1] },
        ],
    };
    let element = by_smb2(smb2::types::Command::Negotiate, &request);
    let expected = [
        contexts::negotiate()[0],
        NegotiateContext::Encryption(List::from(&[Cipher::AES_256_GCM, Cipher::AES_128_GCM])),
        contexts::negotiate()[1],
        NegotiateContext::Signing(List::from(&[SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC])),
    ];
    let expected = NegotiateRequest {
        security_mode: SecurityMode::SIGNING_ENABLED,
        capabilities: Capabilities::LARGE_MTU,
        client_guid: KEY,
        dialects: List::from(&[Dialect::SMB_3_0, Dialect::SMB_3_1_1]),
        contexts: Records::from(&expected),
    };
    read_request(&element, &Request::Negotiate(expected));
}

#[test]
fn durable_handles_of_the_crate_smb2_are_read() {
    use msg::create_context::{DurableReconnectV2, DurableRequestV2, OnDiskId, pack_contexts};
    let request = DurableRequestV2 { timeout_ms: 60_000, persistent: true, create_guid: THEIR_GUID };
    let again = DurableReconnectV2 { file_id: THEIR_FILE, create_guid: THEIR_GUID, persistent: true };
    let create = msg::create::CreateRequest {
        requested_oplock_level: smb2::types::OplockLevel::Batch,
        impersonation_level: msg::create::ImpersonationLevel::Impersonation,
        desired_access: smb2::types::flags::FileAccessMask(1),
        file_attributes: 0x80,
        share_access: msg::create::ShareAccess(7),
        create_disposition: msg::create::CreateDisposition::FileOpenIf,
        create_options: 0x40,
        name: "dir\\file".into(),
        create_contexts: pack_contexts(&[request.context(), again.context(), OnDiskId::request()]),
    };
    let element = by_smb2(smb2::types::Command::Create, &create);
    let Ok(Request::Create(read)) = Request::parse(&element) else { panic!("{element:?}") };
    let level = (read.oplock_level, read.create_disposition, read.create_options);
    assert_eq!(level, (OplockLevel::BATCH, CreateDisposition::OPEN_IF, CreateOptions::NON_DIRECTORY_FILE));
    assert_eq!((read.name, read.contexts.count()), (Text::from("dir\\file"), 3));
    assert_eq!(read.contexts.read(), Ok(Some(contexts::durable())));
    assert_eq!(read.contexts.read(), Ok(Some(contexts::reconnect())));
    assert_eq!(read.contexts.find(CreateContext::QUERY_ON_DISK_ID), Some(&[][..]));
}

#[test]
fn reads_locks_and_acknowledgments_of_the_crate_smb2_are_read() {
    let read = msg::read::ReadRequest {
        padding: 0x50,
        flags: 0,
        length: 65536,
        offset: 1 << 33,
        file_id: THEIR_FILE,
        minimum_count: 5,
        channel: 0,
        remaining_bytes: 0,
        read_channel_info: Vec::new(),
    };
    let expected = ReadRequest {
        padding: 0x50,
        length: 65536,
        offset: 1 << 33,
        file_id: FILE,
        minimum_count: 5,
        ..ReadRequest::default()
    };
    read_request(&by_smb2(smb2::types::Command::Read, &read), &Request::Read(expected));
    let locks = vec![msg::lock::LockElement { offset: 1, length: 2, flags: 0x12 }];
    let lock = msg::lock::LockRequest { lock_sequence: 0x21, file_id: THEIR_FILE, locks };
    let flags = LockFlags::EXCLUSIVE_LOCK | LockFlags::FAIL_IMMEDIATELY;
    let locks = [LockElement { offset: 1, length: 2, flags }];
    let expected = LockRequest { lock_sequence: 0x21, file_id: FILE, locks: List::from(&locks) };
    read_request(&by_smb2(smb2::types::Command::Lock, &lock), &Request::Lock(expected));
    let oplock_level = smb2::types::OplockLevel::LevelII;
    let broken = msg::oplock_break::OplockBreak { oplock_level, file_id: THEIR_FILE };
    let expected = OplockBreakAcknowledgment { oplock_level: OplockLevel::II, file_id: FILE };
    let element = by_smb2(smb2::types::Command::OplockBreak, &broken);
    read_request(&element, &Request::OplockBreak(expected));
}

#[test]
fn every_negotiate_context_of_smb_msg_is_read() {
    use smb_msg::{
        CompressionAlgorithm as Algorithm, CompressionCapabilities, CompressionCapsFlags,
        RdmaTransformCapabilities, RdmaTransformId as Id, TransportCapabilities,
    };
    let algorithms = vec![Algorithm::LZ77, Algorithm::PatternV1];
    let request = smb_msg::NegotiateRequest {
        security_mode: smb_msg::NegotiateSecurityMode::new().with_signing_enabled(true),
        capabilities: smb_msg::GlobalCapabilities::new().with_large_mtu(true),
        client_guid: [9; 16].into(),
        dialects: vec![smb_msg::Dialect::Smb0311],
        negotiate_context_list: Some(vec![
            smb_msg::PreauthIntegrityCapabilities {
                hash_algorithms: vec![smb_msg::HashAlgorithm::Sha512],
                salt: vec![0x5A; 32],
            }
            .into(),
            CompressionCapabilities {
                flags: CompressionCapsFlags::new().with_chained(true),
                compression_algorithms: algorithms,
            }
            .into(),
            TransportCapabilities::new().with_accept_transport_layer_security(true).into(),
            RdmaTransformCapabilities { transforms: vec![Id::Encryption, Id::Signing] }.into(),
        ]),
    };
    let element = by_smb_msg(smb_msg::RequestContent::Negotiate(request));
    let contexts = contexts::negotiate();
    let expected = NegotiateRequest {
        security_mode: SecurityMode::SIGNING_ENABLED,
        capabilities: Capabilities::LARGE_MTU,
        client_guid: KEY,
        dialects: List::from(&[Dialect::SMB_3_1_1]),
        contexts: Records::from(&contexts),
    };
    read_request(&element, &Request::Negotiate(expected));
}

#[test]
fn the_create_contexts_of_smb_msg_are_read() {
    use smb_msg::{DurableHandleRequestV2 as Durable, DurableHandleV2Flags, RequestLeaseV1, RequestLeaseV2};
    let state = smb_msg::LeaseState::new().with_read_caching(true);
    let contexts = |lease: smb_msg::RequestLease| {
        vec![
            lease.into(),
            Durable {
                timeout: 60_000,
                flags: DurableHandleV2Flags::new().with_persistent(true),
                create_guid: [9; 16].into(),
            }
            .into(),
            smb_msg::QueryMaximalAccessRequest::default().into(),
            smb_msg::QueryOnDiskIdReq.into(),
        ]
    };
    let create = |lease| {
        let request = smb_msg::CreateRequest {
            requested_oplock_level: smb_msg::OplockLevel::None,
            impersonation_level: smb_msg::ImpersonationLevel::Impersonation,
            desired_access: Default::default(),
            file_attributes: Default::default(),
            share_access: smb_msg::ShareAccessFlags::new().with_read(true),
            create_disposition: smb_msg::CreateDisposition::Open,
            create_options: smb_msg::CreateOptions::new(),
            name: "dir\\file".into(),
            contexts: contexts(lease).into(),
        };
        by_smb_msg(smb_msg::RequestContent::Create(request))
    };
    let first = RequestLeaseV1 { lease_key: u128::from_le_bytes(KEY.0), lease_state: state };
    let second = RequestLeaseV2 {
        lease_key: u128::from_le_bytes(KEY.0),
        lease_state: state.with_handle_caching(true),
        lease_flags: smb_msg::LeaseFlags::new().with_parent_lease_key_set(true),
        parent_lease_key: u128::from_le_bytes(PARENT.0),
        epoch: 0x1122,
    };
    for (lease, expected) in [
        (smb_msg::RequestLease::RqLsReqv1(first), LeaseRequest::V1(contexts::lease())),
        (smb_msg::RequestLease::RqLsReqv2(second), LeaseRequest::V2(contexts::lease_v2())),
    ] {
        let element = create(lease);
        let Ok(Request::Create(read)) = Request::parse(&element) else { panic!("{element:?}") };
        assert_eq!(read.contexts.read(), Ok(Some(expected)));
        assert_eq!(read.contexts.read(), Ok(Some(contexts::durable())));
        assert_eq!(read.contexts.read(), Ok(Some(QueryMaximalAccessRequest { timestamp: None })));
        assert_eq!(read.contexts.count(), 4);
    }
}

#[test]
fn breaks_of_leases_of_smb_server_are_read() {
    let notification = theirs::LeaseBreakNotification {
        structure_size: 44,
        new_epoch: 2,
        flags: 1,
        lease_key: KEY.0,
        current_lease_state: 5,
        new_lease_state: 1,
        break_reason: 0,
        access_mask_hint: 0,
        share_mask_hint: 0,
    };
    let element = by_smb_server(TheirCommand::OplockBreak, true, |out| {
        notification.write_to(out).map_err(|error| error.to_string())
    });
    let expected = LeaseBreakNotification {
        new_epoch: 2,
        flags: LeaseBreakFlags::ACK_REQUIRED,
        lease_key: KEY,
        current_lease_state: LeaseState(5),
        new_lease_state: LeaseState::READ_CACHING,
    };
    read_response(&element, &Response::LeaseBreakNotification(expected));
    let acknowledgment = theirs::LeaseBreakAck {
        structure_size: 36,
        reserved: 0,
        flags: 0,
        lease_key: KEY.0,
        lease_state: 1,
        lease_duration: 0,
    };
    let element = by_smb_server(TheirCommand::OplockBreak, false, |out| {
        acknowledgment.write_to(out).map_err(|error| error.to_string())
    });
    let expected = LeaseBreakAcknowledgment { lease_key: KEY, lease_state: LeaseState::READ_CACHING };
    read_request(&element, &Request::LeaseBreak(expected));
}

/// The answer to a CREATE with all contexts that it can make.
#[test]
fn the_create_contexts_of_smb_server_are_read() {
    let lease = theirs::LeaseContext {
        key: KEY.0,
        state: 3,
        flags: 6,
        parent_key: PARENT.0,
        epoch: 0x1122,
        v2: true,
    };
    let durable = theirs::DurableResponseV2 { timeout_ms: 60_000, flags: 2 };
    let chain = [
        (CreateContext::LEASE, lease.encode()),
        (CreateContext::DURABLE_HANDLE_REQUEST_V2, durable.encode()),
        (CreateContext::DURABLE_HANDLE_REQUEST, theirs::DurableResponse.encode()),
    ];
    let chain: Vec<_> =
        chain.into_iter().map(|(name, data)| theirs::CreateContext { name: name.to_vec(), data }).collect();
    let mut create_contexts = Vec::new();
    theirs::CreateContext::encode_chain(&chain, &mut create_contexts).expect("room");
    let response = theirs::CreateResponse {
        structure_size: 89,
        oplock_level: 0xFF,
        flags: 0,
        create_action: 1,
        creation_time: 1,
        last_access_time: 2,
        last_write_time: 3,
        change_time: 4,
        allocation_size: 4096,
        end_of_file: 77,
        file_attributes: 0x20,
        reserved2: 0,
        file_id: theirs::FileId { persistent: FILE.persistent, volatile: FILE.volatile },
        create_contexts_offset: 64 + 88,
        create_contexts_length: create_contexts.len() as u32,
        create_contexts,
    };
    let element = by_smb_server(TheirCommand::Create, true, |out| {
        response.write_to(out).map_err(|error| error.to_string())
    });
    let Ok(Response::Create(read)) = Response::parse(&element) else { panic!("{element:?}") };
    assert_eq!((read.oplock_level, read.file_id, read.end_of_file), (OplockLevel::LEASE, FILE, 77));
    let RequestLeaseV2 { lease_key, lease_state, parent_lease_key, epoch, .. } = contexts::lease_v2();
    let flags = LeaseFlags(6);
    let expected = ResponseLeaseV2 { lease_key, lease_state, flags, parent_lease_key, epoch };
    assert_eq!(read.contexts.read(), Ok(Some(LeaseResponse::V2(expected))));
    let flags = DurableHandleFlags::PERSISTENT;
    assert_eq!(read.contexts.read(), Ok(Some(DurableHandleResponseV2 { timeout: 60_000, flags })));
    assert_eq!(read.contexts.read(), Ok(Some(DurableHandleResponse {})));
}
