//! WRITEs with the channel RDMA_TRANSFORM (3.3.5.13).

use smbd_core::Access;
use smbd_smb2::wire::{Channel, Cipher, NtStatus, RdmaTransformType, rdma_transform, write};

use super::super::outcome::Stop;
use super::super::play::Play;
use super::super::script::pattern;
use super::super::session::{Asked, Bend, How, Response, Session};
use super::{CIPHERS, encrypted};
use crate::smb2::client::{Opened, Protection};
use crate::smb2::{Crypto, Info};

const SEED: u64 = 0x6b736d62;
/// Bytes of each WRITE.
const LEN: u32 = 8192;
const TAKEN: NtStatus = NtStatus::SUCCESS;
const INVALID: NtStatus = NtStatus::INVALID_PARAMETER;
const MISMATCH: NtStatus = NtStatus::AUTH_TAG_MISMATCH;

/// A WRITE of encrypted data, on its way.
struct Write {
    info: Info,
    /// In the buffer.
    data: Vec<u8>,
    /// RemainingBytes.
    length: u32,
    channel: Channel,
    /// Changes what is behind the request.
    raw: fn(&mut Vec<u8>),
    /// Changes the request.
    bend: Bend,
}

impl Write {
    fn crypto(&mut self, change: fn(&mut Crypto)) {
        self.info.transforms.iter_mut().for_each(change);
    }
}

/// A WRITE in which one thing is different, and what comes of it.
struct Attempt {
    what: &'static str,
    change: fn(&mut Write),
    status: NtStatus,
}

const fn attempt(what: &'static str, status: NtStatus, change: fn(&mut Write)) -> Attempt {
    Attempt { what, change, status }
}

/// As 3.2.4.7 has it.
const GOOD: Attempt = attempt("a WRITE as it should be", TAKEN, |_| {});

impl Attempt {
    /// Its answer.
    fn comes(&self, session: &mut Session<'_>, content: &[u8], at: u64) -> Result<Response, Stop> {
        let mut data = content.to_vec();
        let crypto = session.encrypts(&mut data)?;
        let buffer = session.buffer(&data, Access::Read)?;
        let info = Info::new(Channel::RDMA_V1, crypto, buffer.descriptors.clone());
        let channel = Channel::RDMA_TRANSFORM;
        let mut write = Write { info, data, length: LEN, channel, raw: |_| {}, bend: |_| {} };
        (self.change)(&mut write);
        session.peer.fill(buffer.memory.buffer, &write.data);
        let mut info = write.info.bytes();
        (write.raw)(&mut info);
        let asked = Asked::write(&buffer, write.length, at).by(write.channel).with(&info).bent(write.bend);
        let id = session.ask(&asked.paying(LEN))?;
        let response = session.answer("", id, self.what)?;
        let (status, what) = (response.status(), self.what);
        session.peer.require("", status == self.status, || {
            format!("{what} should be answered with {}, it is with {status}", self.status)
        })?;
        let by = buffer.by(write.info.channel);
        if status == TAKEN {
            session.invalidates("", &response, &by);
        }
        if response.invalidated.is_empty() {
            session.peer.deregister(&by.memory)?;
        }
        Ok(response)
    }
}

/// Each of these WRITEs and a good one behind them are answered as they should be, and the file has what was taken and nothing else.
fn all(play: &mut Play, how: How, attempts: &[Attempt]) -> Result<(), Stop> {
    let mut file = Vec::new();
    let mut session = play.session_secured(how, Opened::Emptied)?;
    for (seed, attempt) in (SEED..).zip(attempts.iter().chain([&GOOD])) {
        let content = pattern(seed, LEN as usize);
        attempt.comes(&mut session, &content, file.len() as u64)?;
        if attempt.status == TAKEN {
            file.extend_from_slice(&content);
        } else {
            file.resize(file.len() + LEN as usize, 0);
        }
    }
    drop(session);
    has(play, how, &file)
}

/// Another session, whose data go by RDMA as they are, reads this file.
fn has(play: &mut Play, how: How, file: &[u8]) -> Result<(), Stop> {
    play.session_secured(how.offering(&[]), Opened::Kept)?.has_written("", file, 0)
}

/// The signature, the nonce and the data belong together. The text lets a signature have up to 16 bytes (2.2.43.1): with GCM ksmbd takes
/// 4 and 8 of them, and 12 to 16.
///
/// # Errors
/// ksmbd does something else.
pub fn tags(play: &mut Play) -> Result<(), Stop> {
    let both = [
        attempt("a WRITE whose first byte of data was changed", MISMATCH, |write| {
            write.data.first_mut().into_iter().for_each(|byte| *byte ^= 1);
        }),
        attempt("a WRITE whose last byte of data was changed", MISMATCH, |write| {
            write.data.last_mut().into_iter().for_each(|byte| *byte ^= 1);
        }),
        attempt("a WRITE with another signature", MISMATCH, |write| {
            write.crypto(|crypto| crypto.signature.last_mut().into_iter().for_each(|byte| *byte ^= 1));
        }),
        attempt("a WRITE with another nonce", MISMATCH, |write| {
            write.crypto(|crypto| crypto.nonce.first_mut().into_iter().for_each(|byte| *byte ^= 1));
        }),
        attempt("a WRITE with a signature of 17 bytes", MISMATCH, |write| {
            write.crypto(|crypto| crypto.signature.push(0));
        }),
        attempt("a WRITE without a signature", MISMATCH, |write| {
            write.crypto(|crypto| crypto.signature.clear())
        }),
        attempt("a WRITE with a signature of 3 bytes", MISMATCH, shorten::<3>),
        attempt("a WRITE with a signature of 6 bytes", MISMATCH, shorten::<6>),
    ];
    let short = [
        attempt("a WRITE with 4 bytes of its signature", TAKEN, shorten::<4>),
        attempt("a WRITE with 8 bytes of its signature", TAKEN, shorten::<8>),
        attempt("a WRITE with 12 bytes of its signature", TAKEN, shorten::<12>),
        attempt("a WRITE with 15 bytes of its signature", TAKEN, shorten::<15>),
        attempt("a WRITE with 4 bytes of another signature", MISMATCH, |write| {
            shorten::<4>(write);
            write.crypto(|crypto| crypto.signature.last_mut().into_iter().for_each(|byte| *byte ^= 1));
        }),
    ];
    // CCM signs the length of the signature, too: a part of a longer one is none.
    let part = [
        attempt("a WRITE with 4 bytes of a signature of CCM", MISMATCH, shorten::<4>),
        attempt("a WRITE with 12 bytes of a signature of CCM", MISMATCH, shorten::<12>),
    ];
    for (cipher, nonce) in CIPHERS {
        all(play, encrypted(cipher), &both)?;
        all(play, encrypted(cipher), if nonce == 12 { &short } else { &part })?;
    }
    Ok(())
}

fn shorten<const LEN: usize>(write: &mut Write) {
    write.crypto(|crypto| crypto.signature.truncate(LEN));
}

/// A nonce has 12 bytes with GCM and 11 with CCM. One that was used before is taken, though a client must not use it again (2.2.43.1).
///
/// # Errors
/// ksmbd does something else.
pub fn nonces(play: &mut Play) -> Result<(), Stop> {
    let attempts = [
        attempt("a WRITE with a nonce that is a byte longer", MISMATCH, |write| {
            write.crypto(|crypto| crypto.nonce.push(0));
        }),
        attempt("a WRITE with a nonce that is a byte shorter", MISMATCH, |write| {
            write.crypto(|crypto| {
                crypto.nonce.pop();
            });
        }),
        attempt("a WRITE without a nonce", MISMATCH, |write| write.crypto(|crypto| crypto.nonce.clear())),
    ];
    for (cipher, _) in CIPHERS {
        let how = encrypted(cipher);
        all(play, how, &attempts)?;
        let content = pattern(SEED, LEN as usize);
        let mut session = play.session_secured(how, Opened::Emptied)?;
        let mut data = content.to_vec();
        let crypto = session.encrypts(&mut data)?;
        let buffer = session.buffer(&data, Access::Read)?;
        let info = Info::new(Channel::RDMA_V1, crypto, buffer.descriptors.clone());
        for at in [0, u64::from(LEN)] {
            session.writes_covered("", &buffer, &info, LEN, at)?;
        }
        drop(session);
        has(play, how, &[content.clone(), content].concat())?;
    }
    Ok(())
}

/// Where descriptors are, and how many bytes they have (2.2.43, 3.3.5.13).
///
/// # Errors
/// ksmbd does something else.
pub fn descriptors(play: &mut Play) -> Result<(), Stop> {
    use rdma_transform::field::{RDMA_DESCRIPTOR_LENGTH, RDMA_DESCRIPTOR_OFFSET};
    /// RdmaDescriptorOffset: 16 + 8 + 16 + 12 bytes, filled up to a multiple of 8.
    const AT: usize = 56;
    let attempts = [
        attempt("a WRITE with descriptors at byte 52", INVALID, |write| write.info.packed = true),
        attempt("a WRITE with descriptors 8 bytes behind their place", INVALID, |write| {
            write.raw = |info| {
                info.splice(AT..AT, [0; 8]);
                set(&RDMA_DESCRIPTOR_OFFSET, info, 64);
            };
        }),
        attempt("a WRITE with RdmaDescriptorOffset 0", INVALID, |write| {
            write.raw = |info| set(&RDMA_DESCRIPTOR_OFFSET, info, 0);
        }),
        attempt("a WRITE with RdmaDescriptorLength 0", INVALID, |write| {
            write.raw = |info| set(&RDMA_DESCRIPTOR_LENGTH, info, 0);
        }),
        attempt("a WRITE with RdmaDescriptorLength 15", INVALID, |write| {
            write.raw = |info| set(&RDMA_DESCRIPTOR_LENGTH, info, 15);
        }),
        attempt("a WRITE with descriptors beyond the channel information", INVALID, |write| {
            write.raw = |info| set(&RDMA_DESCRIPTOR_LENGTH, info, 0xFFF0);
        }),
        attempt("a WRITE with a first descriptor of no bytes", INVALID, |write| {
            let first = write.info.descriptors.first().copied();
            let empty = first.map(|first| smbd_core::BufferDescriptorV1 { length: 0, ..first });
            write.info.descriptors.splice(0..0, empty);
        }),
        attempt("a WRITE with descriptors of a byte less than RemainingBytes", INVALID, |write| {
            write.info.descriptors.last_mut().into_iter().for_each(|last| last.length -= 1);
        }),
        attempt("a WRITE of RemainingBytes 0", INVALID, |write| write.length = 0),
        attempt("a WRITE with something behind the descriptors", TAKEN, |write| {
            write.raw = |info| info.extend_from_slice(&[0x5a; 24]);
        }),
    ];
    all(play, encrypted(Cipher::AES_128_GCM), &attempts)
}

fn set(field: &'static smbd_smb2::wire::Field<u16>, bytes: &mut [u8], value: u16) {
    let set = field.set(bytes, value);
    debug_assert_eq!(set, Ok(()), "there is room for it");
}

/// TransformCount and TransformType (2.2.43, 2.2.43.1). Of the types only encryption was negotiated: ksmbd has no other (3.3.5.4), so a
/// transform of signing is INVALID_PARAMETER (3.3.5.13).
///
/// # Errors
/// ksmbd does something else.
pub fn counts_and_types(play: &mut Play) -> Result<(), Stop> {
    let attempts = [
        attempt("a WRITE with TransformCount 0", INVALID, |write| write.info.count = 0),
        attempt("a WRITE with TransformCount 2 and one transform", INVALID, |write| write.info.count = 2),
        attempt("a WRITE with two transforms of encryption", INVALID, |write| {
            write.info.transforms.extend_from_within(..);
            write.info.count = 2;
        }),
        attempt("a WRITE with a second transform that TransformCount leaves out", INVALID, |write| {
            write.info.transforms.extend_from_within(..);
        }),
        attempt("a WRITE with a transform of signing", INVALID, |write| {
            write.crypto(|crypto| crypto.kind = RdmaTransformType::SIGNING);
        }),
        attempt("a WRITE with a transform of type 0", INVALID, |write| {
            write.crypto(|crypto| crypto.kind = RdmaTransformType(0));
        }),
        attempt("a WRITE with a transform of type 3", INVALID, |write| {
            write.crypto(|crypto| crypto.kind = RdmaTransformType(3));
        }),
        attempt("a WRITE with 15 bytes of channel information", INVALID, |write| {
            write.bend = |request| set(&write::request::WRITE_CHANNEL_INFO_LENGTH, request, 15);
        }),
        attempt("a WRITE with 16 bytes of channel information", INVALID, |write| {
            write.bend = |request| set(&write::request::WRITE_CHANNEL_INFO_LENGTH, request, 16);
        }),
    ];
    all(play, encrypted(Cipher::AES_128_GCM), &attempts)
}

/// Length and DataOffset are 0 with the channel RDMA_TRANSFORM, too (3.3.5.13).
///
/// # Errors
/// ksmbd does something else.
pub fn fields_beside(play: &mut Play) -> Result<(), Stop> {
    let attempts = [
        attempt("a WRITE with Length 16", INVALID, |write| {
            write.bend = |request| {
                let set = write::request::LENGTH.set(request, 16);
                debug_assert_eq!(set, Ok(()));
            };
        }),
        attempt("a WRITE with DataOffset 112", INVALID, |write| {
            write.bend = |request| set(&write::request::DATA_OFFSET, request, 112);
        }),
        attempt("a WRITE with WriteChannelInfoOffset 0", INVALID, |write| {
            write.bend = |request| set(&write::request::WRITE_CHANNEL_INFO_OFFSET, request, 0);
        }),
        attempt("a WRITE with channel 4", INVALID, |write| write.channel = Channel(4)),
    ];
    all(play, encrypted(Cipher::AES_128_GCM), &attempts)
}

/// Channel of SMB2_RDMA_TRANSFORM (2.2.43). With RDMA_V1_INVALIDATE the answer invalidates the first token, with RDMA_V1 none (3.3.5.13).
///
/// # Errors
/// ksmbd does something else.
pub fn inner_channels(play: &mut Play) -> Result<(), Stop> {
    let attempts = [
        attempt("a WRITE with the inner channel RDMA_V1", TAKEN, |_| {}),
        attempt("a WRITE with the inner channel RDMA_V1_INVALIDATE", TAKEN, |write| {
            write.info.channel = Channel::RDMA_V1_INVALIDATE;
        }),
        attempt("a WRITE with no inner channel", INVALID, |write| write.info.channel = Channel::NONE),
        attempt("a WRITE with the inner channel RDMA_TRANSFORM", INVALID, |write| {
            write.info.channel = Channel::RDMA_TRANSFORM;
        }),
    ];
    all(play, encrypted(Cipher::AES_128_GCM), &attempts)
}

/// What is reserved is ignored, and so is what fills up (2.2.43, 2.2.43.1).
///
/// # Errors
/// ksmbd does something else.
pub fn what_is_ignored(play: &mut Play) -> Result<(), Stop> {
    let attempts = [
        attempt("a WRITE with Reserved1 and Reserved2", TAKEN, |write| {
            write.raw = |info| info.get_mut(10..16).into_iter().flatten().for_each(|byte| *byte = 0xff);
        }),
        attempt("a WRITE with Reserved of the transform", TAKEN, |write| {
            write.raw = |info| info.get_mut(22..24).into_iter().flatten().for_each(|byte| *byte = 0xff);
        }),
        attempt("a WRITE with padding that is not 0", TAKEN, |write| {
            write.raw = |info| info.get_mut(52..56).into_iter().flatten().for_each(|byte| *byte = 0xff);
        }),
    ];
    all(play, encrypted(Cipher::AES_128_GCM), &attempts)
}

/// A transform of encryption takes a request that is encrypted itself (3.3.5.13).
///
/// # Errors
/// ksmbd does something else.
pub fn without_encryption(play: &mut Play) -> Result<(), Stop> {
    let how = How { protection: Protection::Signed, ..encrypted(Cipher::AES_128_GCM) };
    let mut session = play.session_secured(how, Opened::Emptied)?;
    let refused = attempt("a WRITE with a transform of encryption that is signed only", INVALID, |_| {});
    refused.comes(&mut session, &pattern(SEED, LEN as usize), 0).map(|_| ())
}

/// An encrypted WRITE by RDMA_V1 has data that are not encrypted, though a transform of encryption was negotiated: ksmbd takes them, and
/// 3.3.5.13 does not forbid that.
///
/// # Errors
/// ksmbd does something else.
pub fn without_a_transform(play: &mut Play) -> Result<(), Stop> {
    let how = encrypted(Cipher::AES_128_GCM);
    let content = pattern(SEED, LEN as usize);
    play.session_secured(how, Opened::Emptied)?.file_has(&content)?;
    has(play, how, &content)
}

/// Deviation from 3.3.5.13, which has RemainingBytes above MaxWriteSize (4 MiB) refused: ksmbd takes as many as it has negotiated for SMB
/// Direct, MaxReadWriteSize (8 MiB), and refuses what is above that.
///
/// # Errors
/// ksmbd does something else.
pub fn too_many_bytes(play: &mut Play) -> Result<(), Stop> {
    let how = encrypted(Cipher::AES_128_GCM);
    let mut session = play.session_secured(how, Opened::Emptied)?;
    let stated = session.stated_max_write();
    session
        .peer
        .require("", stated == 4 << 20, || format!("MaxWriteSize should be 4194304, it is {stated}"))?;
    for (length, status) in [((4 << 20) + 1, TAKEN), (8 << 20, TAKEN), ((8 << 20) + 1, INVALID)] {
        let mut data = vec![0x5a; length as usize];
        let crypto = session.encrypts(&mut data)?;
        let buffer = session.buffer(&data, Access::Read)?;
        let info = Info::new(Channel::RDMA_V1, crypto, buffer.descriptors.clone()).bytes();
        let asked = Asked::write(&buffer, length, 0).by(Channel::RDMA_TRANSFORM).with(&info);
        session.is_refused("", &asked, &format!("a WRITE of {length} bytes"), status)?;
        session.peer.deregister(&buffer.memory)?;
    }
    drop(session);
    has(play, how, &[0x5a; 1 << 20])
}
