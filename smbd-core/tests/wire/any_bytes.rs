//! Whatever a peer or a file contains: a value or an error, and the same bytes again except for what is
//! defined to be written as zero.

use proptest::prelude::*;
use smbd_core::wire::{
    BufferDescriptors, DataTransfer, Flags, IrdOrd, NegotiateRequest, NegotiateResponse, data_transfer,
    encode_all, negotiate_request, negotiate_response,
};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..100)
}

proptest! {
    #[test]
    fn a_negotiate_request_is_written_as_it_was_read(bytes in bytes()) {
        let Ok(message) = NegotiateRequest::parse(&bytes) else {
            prop_assert!(bytes.len() < 20);
            return Ok(());
        };
        let mut expected = bytes[..20].to_vec();
        expected[negotiate_request::field::RESERVED].fill(0);
        let mut out = [0xEE; 20];
        prop_assert_eq!(message.encode(&mut out), Ok(20));
        prop_assert_eq!(out.as_slice(), expected);
    }

    #[test]
    fn a_negotiate_response_is_written_as_it_was_read(bytes in bytes()) {
        let Ok(message) = NegotiateResponse::parse(&bytes) else {
            prop_assert!(bytes.len() < 32);
            return Ok(());
        };
        let mut expected = bytes[..32].to_vec();
        expected[negotiate_response::field::RESERVED].fill(0);
        let mut out = [0xEE; 32];
        prop_assert_eq!(message.encode(&mut out), Ok(32));
        prop_assert_eq!(out.as_slice(), expected);
    }

    #[test]
    fn a_data_transfer_is_written_as_it_was_read(mut bytes in bytes(), at_24: bool) {
        if at_24 && let Some(offset) = bytes.get_mut(data_transfer::field::DATA_OFFSET) {
            offset.copy_from_slice(&[24, 0, 0, 0]);
        }
        let Ok(header) = DataTransfer::parse(&bytes) else {
            prop_assert!(bytes.len() < 20);
            return Ok(());
        };
        let mut expected = bytes[..20].to_vec();
        expected[data_transfer::field::RESERVED].fill(0);
        expected.resize(if at_24 { 24 } else { 20 }, 0);
        let mut out = [0xEE; 24];
        let len = header.encode(&mut out).unwrap();
        prop_assert_eq!(&out[..len], expected);
    }

    #[test]
    fn a_descriptor_array_is_written_as_it_was_read(bytes in bytes()) {
        let Ok(array) = BufferDescriptors::new(&bytes) else {
            prop_assert!(bytes.len() % 16 != 0);
            return Ok(());
        };
        let descriptors: Vec<_> = array.iter().collect();
        let mut out = vec![0xEE; bytes.len()];
        prop_assert_eq!(encode_all(&descriptors, &mut out), Ok(bytes.len()));
        prop_assert_eq!(out, bytes);
    }

    #[test]
    fn a_read_depth_header_never_gives_zero(bytes in prop::collection::vec(0_u8..2, 0..12)) {
        if let Ok((header, _)) = IrdOrd::parse(&bytes) {
            prop_assert!(header.ird > 0 && header.ord > 0);
        }
    }

    #[test]
    fn unknown_flags_are_told_apart_and_kept(bits: u16) {
        let flags = Flags(bits);
        prop_assert_eq!(flags.contains(Flags::RESPONSE_REQUESTED), bits % 2 == 1);
        prop_assert_eq!(flags.unknown(), bits / 2 * 2);
        prop_assert_eq!((flags | Flags::RESPONSE_REQUESTED).0, bits | 1);
    }
}
