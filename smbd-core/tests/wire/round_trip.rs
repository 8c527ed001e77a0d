//! Values to bytes and back. The expected bytes are put together from the fields in the order of the
//! specification's figures, independently of the crate's own tables.

use proptest::prelude::*;
use smbd_core::wire::{
    BufferDescriptorV1, BufferDescriptors, DataTransfer, NegotiateRequest, NegotiateResponse, Token,
    WireError, encode_all,
};

use crate::strategies::{buffer_descriptor, data_transfer, negotiate_request, negotiate_response};

/// Encodes into a buffer with room to spare, and checks that nothing behind the message was written.
fn encoded(encode: impl Fn(&mut [u8]) -> Result<usize, WireError>) -> Vec<u8> {
    let mut buffer = [0xEE; 80];
    let len = encode(&mut buffer).unwrap();
    assert!(buffer[len..].iter().all(|&byte| byte == 0xEE), "wrote behind the message");
    buffer[..len].to_vec()
}

fn request_bytes(x: &NegotiateRequest, reserved: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    for half in [x.min_version, x.max_version, reserved, x.credits_requested] {
        bytes.extend(half.to_le_bytes());
    }
    for word in [x.preferred_send_size, x.max_receive_size, x.max_fragmented_size] {
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

fn response_bytes(x: &NegotiateResponse, reserved: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let versions = [x.min_version, x.max_version, x.negotiated_version];
    for half in versions.into_iter().chain([reserved, x.credits_requested, x.credits_granted]) {
        bytes.extend(half.to_le_bytes());
    }
    let sizes = [x.max_read_write_size, x.preferred_send_size, x.max_receive_size, x.max_fragmented_size];
    for word in [x.status.0].into_iter().chain(sizes) {
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

fn data_bytes(x: &DataTransfer, reserved: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    for half in [x.credits_requested, x.credits_granted, x.flags.0, reserved] {
        bytes.extend(half.to_le_bytes());
    }
    for word in [x.remaining_data_length, x.data_offset, x.data_length] {
        bytes.extend(word.to_le_bytes());
    }
    bytes
}

fn descriptor_bytes(x: &BufferDescriptorV1) -> Vec<u8> {
    let mut bytes = x.offset.to_le_bytes().to_vec();
    bytes.extend(x.token.0.to_le_bytes());
    bytes.extend(x.length.to_le_bytes());
    bytes
}

proptest! {
    #[test]
    fn a_negotiate_request_survives_with_reserved_and_trailing_bytes_ignored(
        x in negotiate_request(), reserved: u16, trailing: Vec<u8>,
    ) {
        prop_assert_eq!(encoded(|out| x.encode(out)), request_bytes(&x, 0));
        let bytes = [request_bytes(&x, reserved), trailing].concat();
        prop_assert_eq!(NegotiateRequest::parse(&bytes), Ok(x));
    }

    #[test]
    fn a_negotiate_response_survives_with_reserved_and_trailing_bytes_ignored(
        x in negotiate_response(), reserved: u16, trailing: Vec<u8>,
    ) {
        prop_assert_eq!(encoded(|out| x.encode(out)), response_bytes(&x, 0));
        let bytes = [response_bytes(&x, reserved), trailing].concat();
        prop_assert_eq!(NegotiateResponse::parse(&bytes), Ok(x));
    }

    #[test]
    fn a_data_transfer_survives_and_is_padded_only_before_a_payload_at_24(
        x in data_transfer(), reserved: u16, trailing: Vec<u8>,
    ) {
        let mut canonical = data_bytes(&x, 0);
        if x.data_offset == 24 {
            canonical.extend([0; 4]);
        }
        prop_assert_eq!(encoded(|out| x.encode(out)), canonical);
        let bytes = [data_bytes(&x, reserved), trailing].concat();
        prop_assert_eq!(DataTransfer::parse(&bytes), Ok(x));
    }

    #[test]
    fn a_buffer_descriptor_survives(x in buffer_descriptor(), trailing: Vec<u8>) {
        prop_assert_eq!(encoded(|out| x.encode(out)), descriptor_bytes(&x));
        let bytes = [descriptor_bytes(&x), trailing].concat();
        prop_assert_eq!(BufferDescriptorV1::parse(&bytes), Ok(x));
    }

    #[test]
    fn a_descriptor_array_survives_in_order(
        descriptors in prop::collection::vec(buffer_descriptor(), 0..40), spare in 0_usize..40,
    ) {
        let expected: Vec<u8> = descriptors.iter().flat_map(descriptor_bytes).collect();
        let mut buffer = vec![0xEE; expected.len() + spare];
        prop_assert_eq!(encode_all(&descriptors, &mut buffer), Ok(expected.len()));
        let (array, rest) = buffer.split_at(expected.len());
        prop_assert_eq!(array, &expected);
        prop_assert!(rest.iter().all(|&byte| byte == 0xEE));

        let view = BufferDescriptors::new(array).unwrap();
        prop_assert_eq!((view.len(), view.is_empty()), (descriptors.len(), descriptors.is_empty()));
        prop_assert!(view.iter().eq(descriptors.iter().copied()));
        prop_assert!(view.iter().rev().eq(descriptors.iter().rev().copied()));
        for index in 0..descriptors.len() + 2 {
            prop_assert_eq!(view.get(index), descriptors.get(index).copied());
        }
    }
}

#[test]
fn an_array_may_be_longer_than_any_smb2_request_carries() {
    let descriptors: Vec<_> = (0..70_000)
        .map(|i| BufferDescriptorV1 { offset: u64::from(i) << 20, token: Token(i), length: i })
        .collect();
    let mut buffer = vec![0; descriptors.len() * 16];
    encode_all(&descriptors, &mut buffer).unwrap();
    assert!(BufferDescriptors::new(&buffer).unwrap().iter().eq(descriptors));
}
