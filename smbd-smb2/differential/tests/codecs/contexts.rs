//! Contexts of NEGOTIATE and CREATE that not every message has, and breaks of leases.

use smbd_smb2::wire::*;

use crate::values::{FILE, KEY, PARENT};

/// Those that not all codecs have: compression, transport and RDMA transforms.
pub fn negotiate() -> [NegotiateContext<'static>; 4] {
    [
        NegotiateContext::PreauthIntegrity {
            hash_algorithms: List::from(&[HashAlgorithm::SHA_512]),
            salt: &[0x5A; 32],
        },
        NegotiateContext::Compression {
            flags: CompressionFlags::CHAINED,
            algorithms: List::from(&[CompressionAlgorithm::LZ77, CompressionAlgorithm::PATTERN_V1]),
        },
        NegotiateContext::Transport(TransportFlags::ACCEPT_TRANSPORT_LEVEL_SECURITY),
        NegotiateContext::RdmaTransform(List::from(&[RdmaTransformId::ENCRYPTION, RdmaTransformId::SIGNING])),
    ]
}

pub fn durable() -> DurableHandleRequestV2 {
    let flags = DurableHandleFlags::PERSISTENT;
    DurableHandleRequestV2 { timeout: 60_000, flags, create_guid: KEY }
}

pub fn reconnect() -> DurableHandleReconnectV2 {
    DurableHandleReconnectV2 { file_id: FILE, create_guid: KEY, flags: DurableHandleFlags::PERSISTENT }
}

pub fn lease() -> RequestLease {
    RequestLease { lease_key: KEY, lease_state: LeaseState::READ_CACHING }
}

pub fn lease_v2() -> RequestLeaseV2 {
    RequestLeaseV2 {
        lease_key: KEY,
        lease_state: LeaseState::READ_CACHING | LeaseState::HANDLE_CACHING,
        flags: LeaseFlags::PARENT_LEASE_KEY_SET,
        parent_lease_key: PARENT,
        epoch: 0x1122,
    }
}

/// Requests with these contexts, one each, and acknowledgments of breaks.
pub fn requests(f: &mut impl FnMut(&str, Request<'_>)) {
    let negotiate = negotiate();
    let request = NegotiateRequest {
        dialects: List::from(&[Dialect::SMB_3_1_1]),
        client_guid: KEY,
        contexts: Records::from(&negotiate),
        ..NegotiateRequest::default()
    };
    f("negotiate request for RDMA", Request::Negotiate(request));
    let since = QueryMaximalAccessRequest { timestamp: Some(133_000_000_000_000_000) };
    let mut create = |name: &str, contexts: &[CreateContext<'_>]| {
        let request = CreateRequest {
            name: Text::from("dir\\file"),
            desired_access: AccessMask::READ_DATA,
            create_disposition: CreateDisposition::OPEN,
            contexts: Records::from(contexts),
            ..CreateRequest::default()
        };
        f(&format!("create request, {name}"), Request::Create(request));
    };
    fn context<T: ContextData>(data: &[u8]) -> CreateContext<'_> {
        CreateContext::of::<T>(data)
    }
    create("lease", &[context::<RequestLease>(&lease().to_bytes())]);
    create("lease v2", &[context::<RequestLeaseV2>(&lease_v2().to_bytes())]);
    create("durable", &[context::<DurableHandleRequest>(&DurableHandleRequest {}.to_bytes())]);
    let old = DurableHandleReconnect { file_id: FILE };
    create("reconnect", &[context::<DurableHandleReconnect>(&old.to_bytes())]);
    create("durable v2", &[context::<DurableHandleRequestV2>(&durable().to_bytes())]);
    create("reconnect v2", &[context::<DurableHandleReconnectV2>(&reconnect().to_bytes())]);
    create("maximal access since", &[context::<QueryMaximalAccessRequest>(&since.to_bytes())]);
    let acknowledgment = LeaseBreakAcknowledgment { lease_key: KEY, lease_state: LeaseState::READ_CACHING };
    f("lease acknowledgment", Request::LeaseBreak(acknowledgment));
}

/// Answers with these contexts, and what a server tells of leases.
pub fn responses(f: &mut impl FnMut(&str, Command, NtStatus, Response<'_>)) {
    let success = NtStatus::SUCCESS;
    let negotiate = negotiate();
    let negotiated = NegotiateResponse {
        dialect: Dialect::SMB_3_1_1,
        server_guid: KEY,
        security_buffer: b"a token",
        contexts: Records::from(&negotiate),
        ..NegotiateResponse::default()
    };
    f("negotiate response for RDMA", Command::NEGOTIATE, success, Response::Negotiate(negotiated));
    let access =
        QueryMaximalAccessResponse { query_status: success, maximal_access: AccessMask(0x001F_01FF) };
    let RequestLeaseV2 { lease_key, lease_state, parent_lease_key, epoch, .. } = lease_v2();
    let flags = LeaseFlags::PARENT_LEASE_KEY_SET | LeaseFlags::BREAK_IN_PROGRESS;
    let lease = ResponseLeaseV2 { lease_key, lease_state, flags, parent_lease_key, epoch };
    let first = ResponseLease { lease_key, lease_state, lease_flags: LeaseFlags::BREAK_IN_PROGRESS };
    let durable = DurableHandleResponseV2 { timeout: 60_000, flags: DurableHandleFlags::NONE };
    let id = QueryOnDiskIdResponse { disk_file_id: 3, volume_id: 2 };
    let mut create = |name: &str, context: CreateContext<'_>| {
        let contexts = [context];
        let response = CreateResponse { file_id: FILE, ..CreateResponse::default() };
        let response = CreateResponse {
            create_action: CreateAction::OPENED,
            contexts: Records::from(&contexts),
            ..response
        };
        let name = format!("create response, {name}");
        f(&name, Command::CREATE, success, Response::Create(response));
    };
    create("maximal access", CreateContext::of::<QueryMaximalAccessResponse>(&access.to_bytes()));
    create("on-disk id", CreateContext::of::<QueryOnDiskIdResponse>(&id.to_bytes()));
    create("lease", CreateContext::of::<ResponseLease>(&first.to_bytes()));
    create("lease v2", CreateContext::of::<ResponseLeaseV2>(&lease.to_bytes()));
    create("durable", CreateContext::of::<DurableHandleResponse>(&DurableHandleResponse {}.to_bytes()));
    create("durable v2", CreateContext::of::<DurableHandleResponseV2>(&durable.to_bytes()));
    let notification = LeaseBreakNotification {
        new_epoch: 2,
        flags: LeaseBreakFlags::ACK_REQUIRED,
        lease_key: KEY,
        current_lease_state: LeaseState::READ_CACHING | LeaseState::WRITE_CACHING,
        new_lease_state: LeaseState::READ_CACHING,
    };
    let broken = Response::LeaseBreakNotification(notification);
    f("lease break", Command::OPLOCK_BREAK, success, broken);
    let response = LeaseBreakResponse { lease_key: KEY, lease_state: LeaseState::READ_CACHING };
    f("lease break response", Command::OPLOCK_BREAK, success, Response::LeaseBreak(response));
}
