//! Data that go by RDMA signed or encrypted: each rule of 3.3.5.13 that is about them, and what its breach returns.

use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::server::{Params, Transport};
use smbd_smb2::wire::rdma_transform::{crypto, field};
use smbd_smb2::wire::*;

use crate::rig::{Answer, NOW, Protect, RDMA, Rig, TCP, message, params};

pub const V1: Channel = Channel::RDMA_V1;
pub const INVALIDATE: Channel = Channel::RDMA_V1_INVALIDATE;
pub const GCM: Cipher = Cipher::AES_128_GCM;
pub const CIPHERS: [(Cipher, usize); 4] = [
    (Cipher::AES_128_CCM, 11),
    (Cipher::AES_256_CCM, 11),
    (Cipher::AES_128_GCM, 12),
    (Cipher::AES_256_GCM, 12),
];
pub const INVALID: NtStatus = NtStatus::INVALID_PARAMETER;

pub fn both() -> Params {
    Params { rdma_transforms: RdmaTransforms::ALL, ..params() }
}

pub fn ready(protect: Protect) -> (Rig, FileId) {
    of(both(), RDMA, protect, GCM, RdmaTransforms::ALL.ids())
}

pub fn of(
    params: Params,
    transport: Transport,
    protect: Protect,
    cipher: Cipher,
    offer: &[RdmaTransformId],
) -> (Rig, FileId) {
    let mut rig = Rig::new(params, transport);
    (rig.offer, rig.signings) = (Some(offer.to_vec()), vec![SigningAlgorithm::AES_GMAC]);
    rig.negotiate(&[Dialect::SMB_3_1_1], &[cipher]);
    rig.log_in("tester", "correct horse");
    rig.protect = protect;
    rig.connect("data");
    let file = rig.file("a");
    (rig, file)
}

pub fn content(len: usize) -> Vec<u8> {
    smbd_testkit::steps(len, 0)
}

/// A WRITE: its data as they go by RDMA, and the structure in its channel information.
pub struct Put {
    pub data: Vec<u8>,
    pub info: Vec<u8>,
}

/// Data in two buffers, signed or encrypted as the messages of the client are.
pub fn covered(rig: &mut Rig, data: &[u8], channel: Channel) -> Put {
    let mut data = data.to_vec();
    let keys = rig.keys.as_mut().unwrap();
    let (kind, signature) = if rig.protect == Protect::Seal {
        let (sealer, _) = keys.encryption.as_mut().unwrap();
        (RdmaTransformType::ENCRYPTION, sealer.seal_rdma(&mut [&mut data]).unwrap())
    } else {
        (RdmaTransformType::SIGNING, keys.signer.sign_rdma([&data[..]]).unwrap())
    };
    let info = structure(rig, &data, channel, &[signature.crypto(kind)]);
    Put { data, info }
}

fn structure(
    rig: &mut Rig,
    data: &[u8],
    channel: Channel,
    transforms: &[RdmaCryptoTransform<'_>],
) -> Vec<u8> {
    let (first, second) = data.split_at(data.len() / 2);
    let buffers = [rig.register(1, first.to_vec()), rig.register(2, second.to_vec())];
    let (transforms, channel_info) = (Records::from(transforms), &pack(&buffers)[..]);
    let mut info = Vec::new();
    RdmaTransform { channel, transforms, channel_info }.write(&mut info).unwrap();
    info
}

/// A WRITE of so many bytes with this channel information.
fn write_of(file_id: FileId, len: usize, channel: Channel, channel_info: &[u8]) -> WriteRequest<'_> {
    WriteRequest { file_id, remaining_bytes: len as u32, channel, channel_info, ..WriteRequest::default() }
}

/// Sends it.
pub fn put(rig: &mut Rig, file: FileId, len: usize, channel: Channel, info: &[u8]) -> Answer {
    let header = rig.header::<WriteRequest<'_>>(len as u64);
    rig.ask(&header, &write_of(file, len, channel, info))
}

/// A WRITE of 1000 bytes with a transform, which has to wait.
pub fn begin_put(rig: &mut Rig, file: FileId, info: &[u8]) -> Header {
    let header = rig.header::<WriteRequest<'_>>(0);
    rig.silent(&header, &write_of(file, 1000, Channel::RDMA_TRANSFORM, info));
    header
}

/// A WRITE of 1000 bytes whose channel information was changed. The file stays as it was.
fn refused(protect: Protect, change: impl FnOnce(&mut Put)) -> NtStatus {
    let (mut rig, file) = ready(protect);
    refused_of(&mut rig, file, change)
}

fn refused_of(rig: &mut Rig, file: FileId, change: impl FnOnce(&mut Put)) -> NtStatus {
    let mut it = covered(rig, &content(1000), INVALIDATE);
    change(&mut it);
    rig.memory.insert(1, it.data[..500].to_vec());
    rig.memory.insert(2, it.data[500..].to_vec());
    let answer = put(rig, file, 1000, Channel::RDMA_TRANSFORM, &it.info);
    assert_eq!(end_of_file(rig, file), 0, "the file was touched");
    assert!(rig.closed.is_none());
    answer.status()
}

fn end_of_file(rig: &mut Rig, file_id: FileId) -> u64 {
    let answer = rig.request(&CloseRequest { file_id, flags: CloseFlags::POSTQUERY_ATTRIB });
    CloseResponse::parse(&answer.bytes).unwrap().end_of_file
}

fn set<T: Value>(at: &'static Field<T>, value: T) -> impl Fn(&mut Put) {
    move |it| at.set(&mut it.info, value).unwrap()
}

/// Of the first transform.
fn set_crypto<T: Value>(at: &'static Field<T>, value: T) -> impl Fn(&mut Put) {
    move |it| at.set(&mut it.info[rdma_transform::LEN..], value).unwrap()
}

/// A READ into two buffers, of which the first takes 300 bytes.
fn read_of<'a>(
    rig: &mut Rig,
    file_id: FileId,
    length: u32,
    channel: Channel,
    info: &'a mut Vec<u8>,
) -> ReadRequest<'a> {
    let buffers = [rig.register(3, vec![0xee; 300]), rig.register(4, vec![0xee; length as usize])];
    *info = pack(&buffers);
    ReadRequest { file_id, length, channel, channel_info: info, ..ReadRequest::default() }
}

pub fn fetch(rig: &mut Rig, file: FileId, length: u32, channel: Channel) -> Answer {
    let (mut info, header) = (Vec::new(), rig.header::<ReadRequest<'_>>(length.into()));
    let request = read_of(rig, file, length, channel, &mut info);
    rig.ask(&header, &request)
}

/// A READ of 1000 bytes, which has to wait.
pub fn begin_fetch(rig: &mut Rig, file: FileId) -> Header {
    let (mut info, header) = (Vec::new(), rig.header::<ReadRequest<'_>>(0));
    let request = read_of(rig, file, 1000, INVALIDATE, &mut info);
    rig.silent(&header, &request);
    header
}

pub fn came(rig: &Rig) -> Vec<u8> {
    [&rig.memory[&3][..], &rig.memory[&4]].concat()
}

pub const PROTECTED: [Protect; 2] = [Protect::Sign, Protect::Seal];

#[test]
fn data_of_a_write_are_decrypted_or_verified_before_they_are_written() {
    for (protect, (cipher, _)) in
        CIPHERS.map(|cipher| (Protect::Seal, cipher)).into_iter().chain([(Protect::Sign, CIPHERS[0])])
    {
        let (mut rig, file) = of(both(), RDMA, protect, cipher, RdmaTransforms::ALL.ids());
        let data = content(100_001);
        for (channel, token) in [(INVALIDATE, Some(Token(1))), (V1, None)] {
            let it = covered(&mut rig, &data, channel);
            assert_eq!(it.data == data, protect == Protect::Sign);
            let answer = put(&mut rig, file, data.len(), Channel::RDMA_TRANSFORM, &it.info);
            assert_eq!((answer.status(), answer.invalidate), (NtStatus::SUCCESS, token), "{cipher}");
            assert_eq!(WriteResponse::parse(&answer.bytes).unwrap().count, 100_001);
        }
        let header = rig.header::<ReadRequest<'_>>(100_001);
        let answer =
            rig.ask(&header, &ReadRequest { file_id: file, length: 100_001, ..ReadRequest::default() });
        assert!(ReadResponse::parse(&answer.bytes).unwrap().data == data);
    }
}

#[test]
fn a_write_with_a_transform_is_refused_if_none_was_negotiated() {
    let offers: [(Params, &[RdmaTransformId]); 3] =
        [(both(), &[]), (both(), &[RdmaTransformId::NONE]), (params(), RdmaTransforms::ALL.ids())];
    for (params, offer) in offers {
        let mut rig = Rig::new(params, RDMA);
        (rig.offer, rig.signings) =
            (Some(offer.to_vec()).filter(|ids| !ids.is_empty()), vec![SigningAlgorithm::AES_GMAC]);
        rig.negotiate(&[Dialect::SMB_3_1_1], &[GCM]);
        rig.log_in("tester", "correct horse");
        rig.protect = Protect::Seal;
        rig.connect("data");
        let file = rig.file("a");
        assert_eq!(refused_of(&mut rig, file, |_| ()), INVALID);
    }
}

#[test]
fn a_write_with_a_transform_is_refused_over_tcp() {
    for protect in PROTECTED {
        let (mut rig, file) = of(both(), TCP, protect, GCM, RdmaTransforms::ALL.ids());
        assert_eq!(refused_of(&mut rig, file, |_| ()), INVALID);
    }
}

#[test]
fn a_write_with_a_transform_and_data_or_without_remaining_bytes_or_info_is_refused() {
    type Change = fn(&mut [u8]);
    let fields: [(&str, Change); 5] = [
        ("Length", |bytes| write::request::LENGTH.set(bytes, 1).unwrap()),
        ("DataOffset", |bytes| write::request::DATA_OFFSET.set(bytes, 112).unwrap()),
        ("RemainingBytes", |bytes| write::request::REMAINING_BYTES.set(bytes, 0).unwrap()),
        ("WriteChannelInfoOffset", |bytes| write::request::WRITE_CHANNEL_INFO_OFFSET.set(bytes, 0).unwrap()),
        ("WriteChannelInfoLength", |bytes| write::request::WRITE_CHANNEL_INFO_LENGTH.set(bytes, 0).unwrap()),
    ];
    for (name, change) in fields {
        let (mut rig, file_id) = ready(Protect::Seal);
        let it = covered(&mut rig, &content(1000), INVALIDATE);
        let header = rig.header::<WriteRequest<'_>>(0);
        let mut bytes = message(&header, &write_of(file_id, 1000, Channel::RDMA_TRANSFORM, &it.info));
        change(&mut bytes);
        rig.send(bytes);
        assert_eq!(rig.answers()[0].status(), INVALID, "{name}");
    }
}

#[test]
fn a_write_whose_info_is_shorter_than_the_structure_is_refused() {
    for protect in PROTECTED {
        for len in [1, 15, 16, 23, 40] {
            assert_eq!(refused(protect, |it| it.info.truncate(len)), INVALID, "{len}");
        }
    }
}

#[test]
fn a_write_with_a_transform_count_of_0_is_refused() {
    for protect in PROTECTED {
        assert_eq!(refused(protect, set(&field::TRANSFORM_COUNT, 0)), INVALID);
    }
}

#[test]
fn a_write_with_a_transform_that_was_not_negotiated_is_refused() {
    for (protect, id) in
        [(Protect::Seal, RdmaTransformId::SIGNING), (Protect::Sign, RdmaTransformId::ENCRYPTION)]
    {
        let (mut rig, file) = of(both(), RDMA, protect, GCM, &[id]);
        assert_eq!(refused_of(&mut rig, file, |_| ()), INVALID);
    }
}

#[test]
fn encrypted_data_of_a_write_that_is_not_encrypted_are_refused() {
    let (mut rig, file) = ready(Protect::Seal);
    let it = covered(&mut rig, &content(1000), INVALIDATE);
    for protect in [Protect::Sign, Protect::Nothing] {
        rig.protect = protect;
        assert_eq!(put(&mut rig, file, 1000, Channel::RDMA_TRANSFORM, &it.info).status(), INVALID);
    }
    assert_eq!(end_of_file(&mut rig, file), 0);
}

#[test]
fn signed_data_of_a_write_that_is_not_signed_are_refused() {
    let (mut rig, file) = ready(Protect::Sign);
    let it = covered(&mut rig, &content(1000), INVALIDATE);
    for protect in [Protect::Seal, Protect::Nothing] {
        rig.protect = protect;
        assert_eq!(put(&mut rig, file, 1000, Channel::RDMA_TRANSFORM, &it.info).status(), INVALID);
    }
    assert_eq!(end_of_file(&mut rig, file), 0);
}

#[test]
fn a_write_with_more_than_one_transform_is_refused_whichever_they_are() {
    let kinds = [RdmaTransformType::ENCRYPTION, RdmaTransformType::SIGNING];
    for protect in PROTECTED {
        for (first, second) in kinds.into_iter().flat_map(|first| kinds.map(|second| (first, second))) {
            let (mut rig, file) = ready(protect);
            let of =
                |transform_type| RdmaCryptoTransform { transform_type, signature: &[1; 16], nonce: &[2; 12] };
            let info = structure(&mut rig, &content(1000), INVALIDATE, &[of(first), of(second)]);
            let answer = put(&mut rig, file, 1000, Channel::RDMA_TRANSFORM, &info);
            assert_eq!(answer.status(), INVALID, "{first} {second}");
        }
        assert_eq!(refused(protect, set(&field::TRANSFORM_COUNT, 2)), INVALID);
    }
}

#[test]
fn descriptors_that_do_not_begin_at_the_first_multiple_of_8_behind_the_transform_are_refused() {
    for protect in PROTECTED {
        // 16 + 36, and 4 to fill it up.
        for at in [48, 52, 53, 55, 57, 60, 64, 72] {
            let status = refused(protect, |it| {
                let descriptors = it.info[56..].to_vec();
                it.info.resize(at, 0);
                it.info.extend_from_slice(&descriptors);
                field::RDMA_DESCRIPTOR_OFFSET.set(&mut it.info, at as u16).unwrap();
            });
            assert_eq!(status, INVALID, "{at}");
        }
    }
}

#[test]
fn a_write_with_a_transform_that_nobody_knows_is_refused() {
    for protect in PROTECTED {
        for kind in [0, 3, 0xFFFF] {
            let change = set_crypto(&crypto::TRANSFORM_TYPE, RdmaTransformType(kind));
            assert_eq!(refused(protect, change), INVALID);
        }
    }
}

#[test]
fn descriptors_that_cannot_be_read_or_are_none_are_refused() {
    for protect in PROTECTED {
        for len in [0, 15, 31, 33] {
            assert_eq!(refused(protect, set(&field::RDMA_DESCRIPTOR_LENGTH, len)), INVALID, "{len}");
        }
        assert_eq!(refused(protect, set(&field::CHANNEL, Channel::NONE)), INVALID);
        assert_eq!(refused(protect, set(&field::CHANNEL, Channel::RDMA_TRANSFORM)), INVALID);
    }
}

#[test]
fn a_write_of_more_than_max_write_size_is_refused() {
    let small = Params { max_write_size: 65536, ..both() };
    for (channel, len, expected) in [
        (Channel::RDMA_TRANSFORM, 65537, INVALID),
        (INVALIDATE, 65537, INVALID),
        (Channel::RDMA_TRANSFORM, 65536, NtStatus::SUCCESS),
    ] {
        let (mut rig, file) = of(small.clone(), RDMA, Protect::Seal, GCM, RdmaTransforms::ALL.ids());
        let it = covered(&mut rig, &content(len), INVALIDATE);
        let info = if channel == INVALIDATE { it.info[56..].to_vec() } else { it.info };
        assert_eq!(put(&mut rig, file, len, channel, &info).status(), expected);
    }
}

#[test]
fn a_first_buffer_of_length_0_is_refused() {
    for protect in PROTECTED {
        let empty = |it: &mut Put| it.info[56 + 12..][..4].fill(0);
        assert_eq!(refused(protect, empty), INVALID);
    }
    let (mut rig, file) = ready(Protect::Nothing);
    let buffers = pack(&[rig.register(1, Vec::new()), rig.register(2, vec![1; 1000])]);
    assert_eq!(put(&mut rig, file, 1000, INVALIDATE, &buffers).status(), INVALID);
}

#[test]
fn buffers_with_fewer_bytes_than_remaining_bytes_are_refused() {
    for protect in PROTECTED {
        let (mut rig, file) = ready(protect);
        let it = covered(&mut rig, &content(1000), INVALIDATE);
        assert_eq!(put(&mut rig, file, 1001, Channel::RDMA_TRANSFORM, &it.info).status(), INVALID);
    }
}

#[test]
fn a_signature_of_encrypted_data_longer_than_16_is_an_auth_tag_mismatch() {
    // SE-8: a shorter one as well.
    lengths(Protect::Seal, GCM, &[(17, 12), (0, 12), (15, 12), (40, 12)], NtStatus::AUTH_TAG_MISMATCH);
}

#[test]
fn a_nonce_of_ccm_that_has_not_11_bytes_is_an_auth_tag_mismatch() {
    for cipher in [Cipher::AES_128_CCM, Cipher::AES_256_CCM] {
        lengths(Protect::Seal, cipher, &[(16, 12), (16, 10), (16, 0)], NtStatus::AUTH_TAG_MISMATCH);
    }
}

#[test]
fn a_nonce_of_gcm_that_has_not_12_bytes_is_an_auth_tag_mismatch() {
    for cipher in [Cipher::AES_128_GCM, Cipher::AES_256_GCM] {
        lengths(Protect::Seal, cipher, &[(16, 11), (16, 13), (16, 0)], NtStatus::AUTH_TAG_MISMATCH);
    }
}

#[test]
fn a_signature_or_nonce_of_signed_data_with_another_length_is_an_invalid_signature() {
    lengths(Protect::Sign, GCM, &[(15, 12), (17, 12), (16, 11), (16, 0)], NtStatus::INVALID_SIGNATURE);
}

fn lengths(protect: Protect, cipher: Cipher, cases: &[(usize, usize)], expected: NtStatus) {
    for (signature, nonce) in cases {
        let (mut rig, file) = of(both(), RDMA, protect, cipher, RdmaTransforms::ALL.ids());
        let (signature, nonce) = (vec![1; *signature], vec![2; *nonce]);
        let transform_type =
            if protect == Protect::Seal { RdmaTransformType::ENCRYPTION } else { RdmaTransformType::SIGNING };
        let transforms = [RdmaCryptoTransform { transform_type, signature: &signature, nonce: &nonce }];
        let info = structure(&mut rig, &content(1000), INVALIDATE, &transforms);
        let answer = put(&mut rig, file, 1000, Channel::RDMA_TRANSFORM, &info);
        assert_eq!((answer.status(), answer.invalidate), (expected, Some(Token(1))));
        assert_eq!(end_of_file(&mut rig, file), 0);
    }
}

#[test]
fn data_that_are_not_what_was_encrypted_are_an_auth_tag_mismatch_and_touch_no_file() {
    for (cipher, _) in CIPHERS {
        let changes: [fn(&mut Put); 3] =
            [|it| it.data[999] ^= 1, |it| it.info[16 + 8] ^= 1, |it| it.info[16 + 8 + 16] ^= 1];
        for change in changes {
            let (mut rig, file) = of(both(), RDMA, Protect::Seal, cipher, RdmaTransforms::ALL.ids());
            assert_eq!(refused_of(&mut rig, file, change), NtStatus::AUTH_TAG_MISMATCH);
        }
    }
}

#[test]
fn data_that_are_not_what_was_signed_are_an_invalid_signature_and_touch_no_file() {
    let changes: [fn(&mut Put); 3] =
        [|it| it.data[0] ^= 1, |it| it.info[16 + 8 + 15] ^= 1, |it| it.info[16 + 8 + 16] ^= 1];
    for change in changes {
        assert_eq!(refused(Protect::Sign, change), NtStatus::INVALID_SIGNATURE);
    }
}

#[test]
fn decrypted_data_of_another_size_than_remaining_bytes_are_bad_data() {
    for protect in PROTECTED {
        let (mut rig, file) = ready(protect);
        let it = covered(&mut rig, &content(1000), INVALIDATE);
        rig.holds_data = true;
        begin_put(&mut rig, file, &it.info);
        let [(id, 1000)] = rig.untransformed[..] else { panic!() };
        let mut data = it.data;
        rig.connection.transform(NOW, id, &mut [&mut data[..999]]).unwrap();
        rig.drive();
        assert_eq!(rig.answers()[0].status(), NtStatus::BAD_DATA);
        assert!(data[..999] == [0; 999]);
        assert_eq!(end_of_file(&mut rig, file), 0);
    }
}

#[test]
fn data_of_a_write_without_a_transform_are_taken_from_its_own_descriptors() {
    for protect in [Protect::Nothing, Protect::Sign, Protect::Seal] {
        let (mut rig, file) = ready(protect);
        let buffers = pack(&[rig.register(1, vec![7; 1000])]);
        assert_eq!(put(&mut rig, file, 1000, INVALIDATE, &buffers).status(), NtStatus::SUCCESS);
    }
}

#[test]
fn what_fails_invalidates_too_if_the_structure_asks_for_it() {
    for (channel, token) in [(INVALIDATE, Some(Token(1))), (V1, None)] {
        let (mut rig, file) = ready(Protect::Seal);
        let mut it = covered(&mut rig, &content(1000), channel);
        it.info[30] ^= 1;
        let answer = put(&mut rig, file, 1000, Channel::RDMA_TRANSFORM, &it.info);
        assert_eq!((answer.status(), answer.invalidate), (NtStatus::AUTH_TAG_MISMATCH, token));
        field::TRANSFORM_COUNT.set(&mut it.info, 0).unwrap();
        let answer = put(&mut rig, file, 1000, Channel::RDMA_TRANSFORM, &it.info);
        assert_eq!((answer.status(), answer.invalidate), (INVALID, token));
    }
}

/// A file with this content.
pub fn filled(rig: &mut Rig, file: FileId, data: &[u8]) {
    let header = rig.header::<WriteRequest<'_>>(data.len() as u64);
    let request = WriteRequest { file_id: file, data, ..WriteRequest::default() };
    assert_eq!(rig.ask(&header, &request).status(), NtStatus::SUCCESS);
}
