//! Create contexts with a form of their own: bytes as the pictures of MS-SMB2 have them, and what is built is read again.

use core::fmt::Debug;

use proptest::prelude::*;
use smbd_smb2::wire::*;

use crate::known::bytes;

const KEY: Guid = Guid(*b"0123456789abcdef");
const PARENT: Guid = Guid(*b"ABCDEFGHIJKLMNOP");
const FILE: FileId = FileId { persistent: 0x0102, volatile: 0x0304 };

/// The bytes of a value, which are read as the same.
fn hex<T: ContextData + PartialEq + Debug>(value: &T) -> String {
    let data = value.to_bytes();
    assert_eq!(T::parse(&data).as_ref(), Ok(value));
    let words = data.chunks(8).map(|chunk| chunk.iter().map(|byte| format!("{byte:02x}")).collect());
    words.collect::<Vec<String>>().join("\n")
}

#[test]
fn the_first_form_of_a_lease_has_32_bytes_and_that_of_a_response_flags() {
    let request =
        RequestLease { lease_key: KEY, lease_state: LeaseState::READ_CACHING | LeaseState::HANDLE_CACHING };
    insta::assert_snapshot!(hex(&request), @r"
    3031323334353637
    3839616263646566
    0300000000000000
    0000000000000000
    ");
    let response = ResponseLease {
        lease_key: KEY,
        lease_state: LeaseState::WRITE_CACHING,
        lease_flags: LeaseFlags::BREAK_IN_PROGRESS,
    };
    insta::assert_snapshot!(hex(&response), @r"
    3031323334353637
    3839616263646566
    0400000002000000
    0000000000000000
    ");
}

#[test]
fn the_second_form_of_a_lease_has_the_key_of_the_parent_and_an_epoch_behind_the_duration() {
    let request = RequestLeaseV2 {
        lease_key: KEY,
        lease_state: LeaseState::READ_CACHING,
        flags: LeaseFlags::PARENT_LEASE_KEY_SET,
        parent_lease_key: PARENT,
        epoch: 0x1122,
    };
    let expected = "
    3031323334353637
    3839616263646566
    0100000004000000
    0000000000000000
    4142434445464748
    494a4b4c4d4e4f50
    22110000
    ";
    insta::assert_snapshot!(hex(&request), @r"
    3031323334353637
    3839616263646566
    0100000004000000
    0000000000000000
    4142434445464748
    494a4b4c4d4e4f50
    22110000
    ");
    let RequestLeaseV2 { lease_key, lease_state, flags, parent_lease_key, epoch } = request;
    let response = ResponseLeaseV2 { lease_key, lease_state, flags, parent_lease_key, epoch };
    assert_eq!(response.to_bytes(), bytes(expected));
}

#[test]
fn the_length_of_the_data_tells_the_two_forms_of_a_lease_apart() {
    let (first, second) = (RequestLease { lease_key: KEY, ..Default::default() }, RequestLeaseV2::default());
    assert_eq!(LeaseRequest::parse(&first.to_bytes()), Ok(LeaseRequest::V1(first)));
    assert_eq!(LeaseRequest::parse(&second.to_bytes()), Ok(LeaseRequest::V2(second)));
    let given = ResponseLeaseV2 { epoch: 3, ..Default::default() };
    assert_eq!(LeaseResponse::parse(&given.to_bytes()), Ok(LeaseResponse::V2(given)));
    assert_eq!(LeaseResponse::V2(given).to_bytes(), given.to_bytes());
    for len in (0..60).filter(|len| ![32, 52].contains(len)) {
        assert!(LeaseRequest::parse(&vec![0; len]).is_err(), "{len}");
        assert!(LeaseResponse::parse(&vec![0; len]).is_err(), "{len}");
    }
}

#[test]
fn a_durable_handle_before_3_0_is_asked_for_with_16_bytes_and_given_with_8() {
    assert_eq!(DurableHandleRequest {}.to_bytes(), [0; 16]);
    assert_eq!(DurableHandleResponse {}.to_bytes(), [0; 8]);
    insta::assert_snapshot!(hex(&DurableHandleReconnect { file_id: FILE }), @r"
    0201000000000000
    0403000000000000
    ");
    // What is reserved is not read.
    assert_eq!(DurableHandleRequest::parse(&[7; 16]), Ok(DurableHandleRequest {}));
}

#[test]
fn a_durable_handle_of_3_x_is_named_by_the_guid_of_the_request_that_made_it() {
    let flags = DurableHandleFlags::PERSISTENT;
    insta::assert_snapshot!(hex(&DurableHandleRequestV2 { timeout: 60_000, flags, create_guid: KEY }), @r"
    60ea000002000000
    0000000000000000
    3031323334353637
    3839616263646566
    ");
    insta::assert_snapshot!(hex(&DurableHandleReconnectV2 { file_id: FILE, create_guid: KEY, flags }), @r"
    0201000000000000
    0403000000000000
    3031323334353637
    3839616263646566
    02000000
    ");
    insta::assert_snapshot!(hex(&DurableHandleResponseV2 { timeout: 60_000, flags }), @"60ea000002000000");
}

#[test]
fn the_time_of_a_query_for_maximal_access_may_be_left_out() {
    let without = QueryMaximalAccessRequest { timestamp: None };
    assert_eq!((hex(&without), QueryMaximalAccessRequest::parse(b"")), (String::new(), Ok(without)));
    let with = QueryMaximalAccessRequest { timestamp: Some(0x0102_0304_0506_0708) };
    insta::assert_snapshot!(hex(&with), @"0807060504030201");
    for len in [1, 7, 9] {
        assert!(QueryMaximalAccessRequest::parse(&vec![0; len]).is_err(), "{len}");
    }
}

#[test]
fn what_a_server_tells_of_a_file_has_its_rights_and_its_id() {
    let (query_status, maximal_access) = (NtStatus::SUCCESS, AccessMask(0x001F_01FF));
    insta::assert_snapshot!(hex(&QueryMaximalAccessResponse { query_status, maximal_access }), @"00000000ff011f00");
    // As ksmbd answers in `known.rs`.
    let id = QueryOnDiskIdResponse { disk_file_id: 3, volume_id: 2 };
    insta::assert_snapshot!(hex(&id), @r"
    0300000000000000
    0200000000000000
    0000000000000000
    0000000000000000
    ");
}

/// An error names the first field that is missing, or the length if it is too large.
#[test]
fn data_of_another_length_are_refused() {
    let data = DurableHandleRequestV2::default().to_bytes();
    let short = DurableHandleRequestV2::parse(&data[..31]);
    let field = create_context::durable_v2::request::CREATE_GUID.place();
    assert_eq!(short, Err(WireError::Truncated { field, got: 31 }));
    let long = DurableHandleRequestV2::parse(&[&data[..], &[0]].concat());
    let field = create_context::field::DATA_LENGTH.place();
    assert_eq!(long, Err(WireError::Value { field, value: 33, expected: 32 }));
}

#[test]
fn a_context_is_found_by_its_type_and_refused_if_it_has_another_form() {
    let data = QueryOnDiskIdResponse { disk_file_id: 7, volume_id: 0 }.to_bytes();
    let contexts = [
        CreateContext { name: CreateContext::LEASE, data: &[0; 33] },
        CreateContext::of::<QueryOnDiskIdResponse>(&data),
    ];
    let contexts: CreateContexts<'_> = Records::from(&contexts);
    assert_eq!(contexts.read(), Ok(Some(QueryOnDiskIdResponse { disk_file_id: 7, volume_id: 0 })));
    assert_eq!(contexts.read::<QueryMaximalAccessResponse>(), Ok(None));
    assert!(contexts.read::<LeaseResponse>().is_err());
}

/// Bytes of the right length are read, and written again with zeros for what is reserved; others are not read.
fn again<T: ContextData + PartialEq + Debug>(bytes: &[u8]) {
    for len in 0..=bytes.len() {
        let Ok(value) = T::parse(&bytes[..len]) else { continue };
        let written = value.to_bytes();
        assert_eq!(written.len(), len);
        assert_eq!(T::parse(&written), Ok(value));
    }
}

proptest! {
    #[test]
    fn whatever_is_read_of_a_context_is_written_and_read_again(bytes: [u8; 60]) {
        again::<DurableHandleRequest>(&bytes);
        again::<DurableHandleReconnect>(&bytes);
        again::<DurableHandleResponse>(&bytes);
        again::<DurableHandleRequestV2>(&bytes);
        again::<DurableHandleReconnectV2>(&bytes);
        again::<DurableHandleResponseV2>(&bytes);
        again::<LeaseRequest>(&bytes);
        again::<LeaseResponse>(&bytes);
        again::<QueryMaximalAccessRequest>(&bytes);
        again::<QueryMaximalAccessResponse>(&bytes);
        again::<QueryOnDiskIdResponse>(&bytes);
    }

    #[test]
    fn every_field_of_a_lease_comes_back(keys: [[u8; 16]; 2], states: [u32; 2], epoch: u16) {
        let lease = RequestLeaseV2 {
            lease_key: Guid(keys[0]),
            lease_state: LeaseState(states[0]),
            flags: LeaseFlags(states[1]),
            parent_lease_key: Guid(keys[1]),
            epoch,
        };
        prop_assert_eq!(RequestLeaseV2::parse(&lease.to_bytes()), Ok(lease));
    }
}
