//! SMB2_RDMA_TRANSFORM and SMB2_RDMA_CRYPTO_TRANSFORM: what is built is read again, and what comes is read without harm.

use proptest::prelude::*;
use smbd_smb2::wire::rdma_transform::{crypto, field};
use smbd_smb2::wire::*;

fn written(transform: &RdmaTransform<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    transform.write(&mut bytes).expect("no part is too long");
    bytes
}

fn hex(bytes: &[u8]) -> String {
    let words = bytes.chunks(8).map(|chunk| chunk.iter().map(|byte| format!("{byte:02x}")).collect());
    words.collect::<Vec<String>>().join("\n")
}

#[test]
fn the_channel_information_of_a_write_has_its_descriptors_at_the_first_multiple_of_8_behind_the_transform() {
    let descriptor =
        BufferDescriptorV1 { offset: 0x1122_3344_5566_7788, token: Token(0x0a0b_0c0d), length: 65536 };
    let crypto = RdmaCryptoTransform {
        transform_type: RdmaTransformType::ENCRYPTION,
        signature: &[0xaa; 16],
        nonce: &[0xbb; 12],
    };
    let (crypto, info) = ([crypto], pack(&[descriptor]));
    let transform = RdmaTransform {
        channel: Channel::RDMA_V1_INVALIDATE,
        transforms: Records::from(&crypto),
        channel_info: &info,
    };
    let bytes = written(&transform);
    insta::assert_snapshot!(hex(&bytes), @r"
    3800100002000000
    0100000000000000
    010010000c000000
    aaaaaaaaaaaaaaaa
    aaaaaaaaaaaaaaaa
    bbbbbbbbbbbbbbbb
    bbbbbbbb00000000
    8877665544332211
    0d0c0b0a00000100
    ");
    assert_eq!(RdmaTransform::parse(&bytes), Ok(transform));
    assert!(transform.descriptors().unwrap().iter().eq([descriptor]));
}

#[test]
fn the_buffer_of_a_read_ends_with_its_transform() {
    let crypto = RdmaCryptoTransform {
        transform_type: RdmaTransformType::SIGNING,
        signature: &[0xaa; 16],
        nonce: &[0xbb; 12],
    };
    let transforms = [crypto];
    let transform = RdmaTransform { transforms: Records::from(&transforms), ..RdmaTransform::default() };
    let bytes = written(&transform);
    assert_eq!((bytes.len(), crypto.len()), (52, 36));
    assert_eq!(RdmaTransform::parse(&bytes), Ok(transform));
}

#[test]
fn without_a_channel_nobody_looks_where_the_descriptors_are() {
    let mut bytes = written(&RdmaTransform::default());
    field::RDMA_DESCRIPTOR_OFFSET.set(&mut bytes, 3).unwrap();
    field::RDMA_DESCRIPTOR_LENGTH.set(&mut bytes, 0xFFFF).unwrap();
    assert_eq!(RdmaTransform::parse(&bytes).unwrap().channel_info, b"");
    field::CHANNEL.set(&mut bytes, Channel::RDMA_V1).unwrap();
    assert!(matches!(RdmaTransform::parse(&bytes), Err(WireError::Inside { value: 3, first: 16, .. })));
    field::RDMA_DESCRIPTOR_OFFSET.set(&mut bytes, 0xFFFF).unwrap();
    assert!(matches!(
        RdmaTransform::parse(&bytes),
        Err(WireError::Beyond { offset: 0xFFFF, length: 0xFFFF, .. })
    ));
}

#[test]
fn a_signature_or_nonce_that_ends_outside_is_refused() {
    let crypto =
        RdmaCryptoTransform { signature: &[1; 16], nonce: &[2; 12], ..RdmaCryptoTransform::default() };
    let sound = written(&RdmaTransform { transforms: Records::from(&[crypto]), ..RdmaTransform::default() });
    let first =
        |bytes: &[u8]| RdmaTransform::parse(bytes).unwrap().transforms.iter().next().unwrap().map(|_| ());
    assert_eq!(first(&sound), Ok(()));
    for (length, value) in
        [(&crypto::SIGNATURE_LENGTH, 17), (&crypto::NONCE_LENGTH, 13), (&crypto::SIGNATURE_LENGTH, 0xFFFF)]
    {
        let mut bytes = sound.clone();
        length.set(&mut bytes[rdma_transform::LEN..], value).unwrap();
        assert!(matches!(first(&bytes), Err(WireError::Beyond { .. })), "{value}");
    }
    assert!(matches!(first(&sound[..20]), Err(WireError::Truncated { .. })));
    assert!(RdmaTransform::parse(&sound[..15]).is_err());
}

proptest! {
    #[test]
    fn every_structure_that_is_built_is_read_again(
        kinds in prop::collection::vec((any::<u16>(), 0..40_usize, 0..40_usize), 0..4), channel in 1..4_u32, count in 0..3_usize,
    ) {
        let parts = [7; 40];
        let transforms: Vec<_> = kinds
            .iter()
            .map(|(kind, signature, nonce)| RdmaCryptoTransform {
                transform_type: RdmaTransformType(*kind),
                signature: &parts[..*signature],
                nonce: &parts[..*nonce],
            })
            .collect();
        let info = vec![9; count * 16];
        let transform =
            RdmaTransform { channel: Channel(channel), transforms: Records::from(&transforms[..]), channel_info: &info };
        let bytes = written(&transform);
        prop_assert_eq!(RdmaTransform::parse(&bytes), Ok(transform));
        prop_assert_eq!(RdmaTransform::parse(&bytes).unwrap().transforms.count(), transforms.len());
    }

    #[test]
    fn no_bytes_make_more_of_themselves_than_they_are(bytes in prop::collection::vec(any::<u8>(), 0..200), count: u16) {
        let mut bytes = bytes;
        let _ = field::TRANSFORM_COUNT.set(&mut bytes, count);
        if let Ok(transform) = RdmaTransform::parse(&bytes) {
            prop_assert!(transform.transforms.iter().count() <= bytes.len() / 8 + 1);
            let inside = bytes.as_ptr_range();
            let info = transform.channel_info.as_ptr_range();
            prop_assert!(transform.channel_info.is_empty() || inside.start <= info.start && info.end <= inside.end);
        }
    }
}
