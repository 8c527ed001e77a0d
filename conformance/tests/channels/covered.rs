//! Servers that are wrong about data which are encrypted or signed.

use smbd_conformance::suite::pattern;
use smbd_smb2::wire::rdma_transform::{crypto, field};
use smbd_smb2::wire::{
    Command, Flags, Header, RdmaTransformType, ReadResponseFlags, rdma_transform, read, write,
};

use super::red::{CHANNEL_3, Row, behind, by_v1, flip_last, hears, of_asked_write, of_read, says};
use super::wrong::{Said, Wrong};

const READ: &str = "BVT_Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES128CCM";
const SIGNED_READ: &str = "Smb2OverRdmaChannelTransform_Signing_ReadLargeFile_AES_GMAC";
const WRITE: &str = "BVT_Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES128CCM";
const OURS: &str = "smb2::a_write_under_a_transform_that_is_none_is_refused";
/// Where the buffer of the answer to a READ begins, and in it the crypto transform.
const BUFFER: usize = 80;
const CRYPTO: usize = BUFFER + rdma_transform::LEN;
/// What the cases of encrypted READs have in the file.
const SEED: u64 = 0xc0de;

/// What is behind a WRITE under a transform, from its SMB2_RDMA_TRANSFORM on.
fn info(smb2: &mut [u8]) -> Option<&mut [u8]> {
    if write::request::CHANNEL.get(smb2).ok()?.0 != CHANNEL_3 {
        return None;
    }
    let at = write::request::WRITE_CHANNEL_INFO_OFFSET.get(smb2).ok()?;
    smb2.get_mut(usize::from(at)..)
}

/// The first transform of a WRITE is of this type.
fn is_of(smb2: &mut [u8], kind: u16) -> bool {
    let behind = info(smb2).and_then(|info| info.get(rdma_transform::LEN..));
    behind.is_some_and(|crypto| crypto::TRANSFORM_TYPE.get(crypto).is_ok_and(|found| found.0 == kind))
}

fn is_signed(smb2: &[u8]) -> bool {
    Header::parse(smb2).is_ok_and(|header| header.flags.contains(Flags::SIGNED))
}

/// All of the transform is passed over: data are written as they come.
fn passed_over(smb2: &mut [u8]) {
    of_asked_write(smb2, |smb2| {
        if let Some(at) = info(smb2).and_then(|info| field::RDMA_DESCRIPTOR_OFFSET.get(info).ok()) {
            by_v1(smb2, Command::WRITE, &[CHANNEL_3]);
            behind(smb2, at);
        }
    });
}

fn of_writes() -> Vec<Row> {
    let passed = hears(passed_over);
    let encryption = "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile";
    let signing = "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile";
    let of = |group: &str, rest: &str| -> &'static str { format!("{group}_{rest}").leak() };
    let row = |case, statement: &'static str| -> Row {
        ("a transform of a WRITE is passed over", passed, case, Vec::leak(vec![statement]))
    };
    vec![
        row(of(encryption, "MultipleEncryptionStructure_Fails"), "3.3.5.13-13"),
        row(of(encryption, "EncryptionAndSigningStructure_Fails"), "3.3.5.13-13"),
        row(of(encryption, "BufferNotAligned_Fails"), "3.3.5.13-15"),
        row(of(encryption, "IncreaseSignatureLength_Fails"), "3.3.5.13-21"),
        row(of(encryption, "IncreaseNonceLength_AES128CCM_Fails"), "3.3.5.13-22"),
        row(of(encryption, "DecreaseNonceLength_AES256CCM_Fails"), "3.3.5.13-22"),
        row(of(encryption, "IncreaseNonceLength_AES256GCM_Fails"), "3.3.5.13-23"),
        row(of(encryption, "DecreaseNonceLength_AES128GCM_Fails"), "3.3.5.13-23"),
        row(of(encryption, "ZeroTransformCount_Fails"), "3.3.5.13-09"),
        row(of(signing, "ZeroTransformCount_Fails"), "3.3.5.13-09"),
        row(of(signing, "FlagsSignedNotSet_Fails"), "3.3.5.13-14"),
        row(of(signing, "SigningStructure_EncryptionId_Fails"), "3.3.5.13-11"),
        row(of(signing, "InvalidSignature_Fails"), "3.3.5.13-25"),
        row(WRITE, "3.3.5.13-24"),
        (
            "a byte of encrypted data is not read",
            Wrong { finds: flip_last, ..Wrong::default() },
            "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES256GCM",
            &["3.3.5.13-24"],
        ),
        (
            "a byte of signed data is not read",
            Wrong { finds: flip_last, ..Wrong::default() },
            "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_AES_CMAC",
            &["3.3.5.13-25"],
        ),
        (
            "no descriptors are found behind a transform",
            hears(|smb2| {
                if let Some(info) = info(smb2) {
                    field::RDMA_DESCRIPTOR_LENGTH.set(info, 0).unwrap();
                }
            }),
            WRITE,
            &["3.3.5.13-20"],
        ),
        (
            "no token is invalidated under a transform",
            says(|said| said.token = None),
            "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_AES_GMAC",
            &["3.3.5.13-30"],
        ),
    ]
}

fn of_our_writes() -> Vec<Row> {
    use write::request::{WRITE_CHANNEL_INFO_LENGTH, WRITE_CHANNEL_INFO_OFFSET};
    vec![
        (
            "the length of a transform is not looked at",
            hears(|smb2| {
                of_asked_write(smb2, |smb2| {
                    if WRITE_CHANNEL_INFO_LENGTH.get(smb2) == Ok(15) {
                        let at = WRITE_CHANNEL_INFO_OFFSET.get(smb2).unwrap();
                        let len = u16::try_from(smb2.len()).unwrap() - at;
                        WRITE_CHANNEL_INFO_LENGTH.set(smb2, len).unwrap();
                    }
                });
            }),
            OURS,
            &["3.3.5.13-08"],
        ),
        (
            "a transform of type 3 is passed over",
            hears(|smb2| {
                of_asked_write(smb2, |smb2| {
                    if is_of(smb2, 3) {
                        passed_over(smb2)
                    }
                })
            }),
            OURS,
            &["3.3.5.13-16"],
        ),
        (
            "an encryption that was not negotiated is passed over",
            hears(|smb2| {
                of_asked_write(smb2, |smb2| {
                    let is_whole = WRITE_CHANNEL_INFO_LENGTH.get(smb2) != Ok(15);
                    if is_whole && !is_signed(smb2) && is_of(smb2, 1) {
                        passed_over(smb2);
                    }
                });
            }),
            OURS,
            &["3.3.5.13-10"],
        ),
        (
            "an encryption in a request that is not encrypted is passed over",
            hears(|smb2| {
                of_asked_write(smb2, |smb2| {
                    if is_signed(smb2) && is_of(smb2, 1) {
                        passed_over(smb2)
                    }
                });
            }),
            OURS,
            &["3.3.5.13-12"],
        ),
    ]
}

/// An answer to a READ that has a transform.
fn of_answer(said: &mut Said, change: impl FnOnce(&mut Vec<u8>)) {
    of_read(said, |said| {
        let flags = read::response::FLAGS.get(&said.smb2).unwrap();
        if flags.contains(ReadResponseFlags::RDMA_TRANSFORM) {
            change(&mut said.smb2);
        }
    });
}

/// A byte of its signature is another.
fn signature(said: &mut Said) {
    of_answer(said, |smb2| smb2[CRYPTO + 8] ^= 1);
}

fn longer(said: &mut Said, more: u32) {
    use read::response::DATA_LENGTH;
    of_answer(said, |smb2| {
        let len = DATA_LENGTH.get(smb2).unwrap();
        DATA_LENGTH.set(smb2, len + more).unwrap();
        smb2.resize(smb2.len() + more as usize, 0);
    });
}

/// Its transform has another type.
fn typed(said: &mut Said, kind: RdmaTransformType) {
    of_answer(said, |smb2| crypto::TRANSFORM_TYPE.set(&mut smb2[CRYPTO..], kind).unwrap());
}

fn of_reads() -> Vec<Row> {
    use crypto::{NONCE_LENGTH, SIGNATURE_LENGTH};
    use read::response::{DATA_LENGTH, FLAGS};
    vec![
        (
            "TransformCount of an answer is 2",
            says(|said| of_answer(said, |smb2| field::TRANSFORM_COUNT.set(&mut smb2[BUFFER..], 2).unwrap())),
            READ,
            &["3.3.5.12-05"],
        ),
        (
            "encrypted data are said to be signed",
            says(|said| typed(said, RdmaTransformType::SIGNING)),
            READ,
            &["3.3.5.12-06"],
        ),
        (
            "the nonce of encrypted data has 10 bytes",
            says(|said| of_answer(said, |smb2| NONCE_LENGTH.set(&mut smb2[CRYPTO..], 10).unwrap())),
            READ,
            &["3.3.5.12-07"],
        ),
        ("the signature of encrypted data is another", says(signature), READ, &["3.3.5.12-08"]),
        (
            "signed data are said to be encrypted",
            says(|said| typed(said, RdmaTransformType::ENCRYPTION)),
            SIGNED_READ,
            &["3.3.5.12-09"],
        ),
        ("the signature of signed data is another", says(signature), SIGNED_READ, &["3.3.5.12-10"]),
        (
            "SignatureLength is 15",
            says(|said| of_answer(said, |smb2| SIGNATURE_LENGTH.set(&mut smb2[CRYPTO..], 15).unwrap())),
            READ,
            &["3.3.5.12-11"],
        ),
        (
            "nothing is behind SMB2_RDMA_TRANSFORM",
            says(|said| {
                of_answer(said, |smb2| {
                    DATA_LENGTH.set(smb2, 16).unwrap();
                    smb2.truncate(CRYPTO);
                });
            }),
            READ,
            &["3.3.5.12-12"],
        ),
        ("DataLength is 16 bytes more", says(|said| longer(said, 16)), SIGNED_READ, &["3.3.5.12-13"]),
        (
            "Flags says nothing of a transform",
            says(|said| of_answer(said, |smb2| FLAGS.set(smb2, ReadResponseFlags::default()).unwrap())),
            READ,
            &["3.3.5.12-14"],
        ),
        (
            "data are written as they are",
            Wrong { wrote: |bytes| bytes.copy_from_slice(&pattern(SEED, bytes.len())), ..Wrong::default() },
            READ,
            &["3.3.5.12-15"],
        ),
        (
            "a byte of signed data is not written",
            Wrong { wrote: flip_last, ..Wrong::default() },
            SIGNED_READ,
            &["3.3.5.12-20"],
        ),
    ]
}

/// All of them.
pub fn rows() -> Vec<Row> {
    [of_reads(), of_writes(), of_our_writes()].concat()
}
