//! WRITEs whose data are encrypted or signed on their way, and those that say of their data what is not so (3.3.5.13).

use smbd_core::Access;
use smbd_smb2::wire::{
    Channel, Cipher, NtStatus, RdmaTransformId, RdmaTransformType, SigningAlgorithm, write,
};

use crate::smb2::client::{Opened, Protection};
use crate::smb2::{Crypto, Info};
use crate::suite::session::{Asked, Buffer, How, Session};
use crate::suite::{Play, Stop, pattern};

const SEED: u64 = 0x3217e;
const MANY: u32 = 64;
/// Bytes of a WRITE that is refused.
const SOME: u32 = 65_536;
const INVALID: NtStatus = NtStatus::INVALID_PARAMETER;
const ENCRYPTION: &[RdmaTransformId] = &[RdmaTransformId::ENCRYPTION];
const SIGNING: &[RdmaTransformId] = &[RdmaTransformId::SIGNING];
const BOTH: &[RdmaTransformId] = &[RdmaTransformId::SIGNING, RdmaTransformId::ENCRYPTION];

/// What was written is there for another session, which reads it by a channel without transforms.
fn is_there(play: &mut Play, how: How, judged: &str, size: u32, content: &[u8]) -> Result<(), Stop> {
    let mut session = play.session_secured(how.offering(&[]), Opened::Kept)?;
    for (index, part) in content.chunks(size as usize).enumerate() {
        session.has_written(judged, part, index as u64 * u64::from(size))?;
    }
    Ok(())
}

/// The data of a WRITE, encrypted in a new buffer, and what the WRITE says of them.
fn encrypted_in(session: &mut Session<'_>, content: &[u8]) -> Result<(Buffer, Info), Stop> {
    let mut data = content.to_vec();
    let crypto = session.encrypts(&mut data)?;
    let buffer = session.buffer(&data, Access::Read)?;
    let info = Info::new(Channel::RDMA_V1, crypto, buffer.descriptors.clone());
    Ok((buffer, info))
}

/// The same, signed.
fn signed_in(session: &mut Session<'_>, content: &[u8]) -> Result<(Buffer, Info), Stop> {
    let crypto = session.signs(content)?;
    let buffer = session.buffer(content, Access::Read)?;
    let info = Info::new(Channel::RDMA_V1_INVALIDATE, crypto, buffer.descriptors.clone());
    Ok((buffer, info))
}

fn encrypted_parts(play: &mut Play, cipher: Cipher, count: u32) -> Result<(), Stop> {
    const JUDGED: &str = "3.3.5.13-24";
    let how = How::encrypted(cipher);
    let mut session = play.session_secured(how, Opened::Emptied)?;
    // It is read back, too.
    let size = session.max_write().min(session.max_read()) / count;
    let content = pattern(SEED, (size * count) as usize);
    for (index, part) in content.chunks(size as usize).enumerate() {
        let (buffer, info) = encrypted_in(&mut session, part)?;
        session.writes_covered(JUDGED, &buffer, &info, size, index as u64 * u64::from(size))?;
        session.peer.deregister(&buffer.memory)?;
    }
    is_there(play, how, JUDGED, size, &content)
}

pub(super) fn encrypted(play: &mut Play, cipher: Cipher) -> Result<(), Stop> {
    encrypted_parts(play, cipher, 1)
}

pub(super) fn many_encrypted(play: &mut Play) -> Result<(), Stop> {
    encrypted_parts(play, Cipher::AES_128_CCM, MANY)
}

pub(super) fn signed(play: &mut Play, signing: SigningAlgorithm) -> Result<(), Stop> {
    const JUDGED: &str = "3.3.5.13-25";
    let how = How::signed(signing);
    let mut session = play.session_secured(how, Opened::Emptied)?;
    let size = session.max_write().min(session.max_read());
    let content = pattern(SEED + 1, size as usize);
    let (buffer, info) = signed_in(&mut session, &content)?;
    let response = session.writes_covered(JUDGED, &buffer, &info, size, 0)?;
    session.invalidates("3.3.5.13-30", &response, &buffer.by(Channel::RDMA_V1_INVALIDATE));
    is_there(play, how, JUDGED, size, &content)
}

/// What is wrong with a WRITE, in words.
type What = &'static str;

fn is_refused(
    session: &mut Session<'_>,
    statement: &str,
    (buffer, info): &(Buffer, Info),
    what: What,
    status: NtStatus,
) -> Result<(), Stop> {
    let info = info.bytes();
    let asked = Asked::write(buffer, SOME, 0).by(Channel::RDMA_TRANSFORM).with(&info);
    session.is_refused(statement, &asked, what, status)
}

/// A WRITE of encrypted data that says something wrong of them.
fn bent(
    play: &mut Play,
    how: How,
    (statement, what, status): (&str, What, NtStatus),
    bend: fn(&mut Session<'_>, &mut Info, &[u8]) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut session = play.session_secured(how, Opened::Emptied)?;
    let content = pattern(SEED + 2, SOME as usize);
    let mut asked = encrypted_in(&mut session, &content)?;
    bend(&mut session, &mut asked.1, &content)?;
    is_refused(&mut session, statement, &asked, what, status)
}

fn each(info: &mut Info, change: impl FnMut(&mut Crypto)) {
    info.transforms.iter_mut().for_each(change);
}

pub(super) fn none_counted(play: &mut Play) -> Result<(), Stop> {
    let how = How::encrypted(Cipher::AES_128_CCM);
    bent(play, how, ("3.3.5.13-09", "WRITE with TransformCount 0", INVALID), |_, info, _| {
        info.count = 0;
        Ok(())
    })
}

pub(super) fn two_encryptions(play: &mut Play) -> Result<(), Stop> {
    let how = How::encrypted(Cipher::AES_128_CCM);
    bent(play, how, ("3.3.5.13-13", "WRITE with two transforms of encryption", INVALID), |_, info, _| {
        info.transforms.extend_from_within(..);
        info.count = 2;
        Ok(())
    })
}

pub(super) fn encryption_and_signing(play: &mut Play) -> Result<(), Stop> {
    let how = How::encrypted(Cipher::AES_128_CCM).offering(BOTH);
    let what = "WRITE with a transform of encryption and one of signing";
    bent(play, how, ("3.3.5.13-13", what, INVALID), |session, info, content| {
        info.transforms.push(session.signs(content)?);
        info.count = 2;
        Ok(())
    })
}

pub(super) fn not_aligned(play: &mut Play) -> Result<(), Stop> {
    let how = How::encrypted(Cipher::AES_128_GCM);
    bent(play, how, ("3.3.5.13-15", "WRITE with descriptors at byte 52", INVALID), |_, info, _| {
        info.packed = true;
        Ok(())
    })
}

pub(super) fn long_signature(play: &mut Play) -> Result<(), Stop> {
    let how = How::encrypted(Cipher::AES_128_GCM);
    let status = NtStatus::AUTH_TAG_MISMATCH;
    bent(play, how, ("3.3.5.13-21", "WRITE with a signature of 17 bytes", status), |_, info, _| {
        each(info, |crypto| crypto.signature.push(0));
        Ok(())
    })
}

const fn of_nonces(cipher: Cipher) -> &'static str {
    match cipher {
        Cipher::AES_128_CCM | Cipher::AES_256_CCM => "3.3.5.13-22",
        _ => "3.3.5.13-23",
    }
}

pub(super) fn longer_nonce(play: &mut Play, cipher: Cipher) -> Result<(), Stop> {
    let is = (of_nonces(cipher), "WRITE with a nonce that is a byte longer", NtStatus::AUTH_TAG_MISMATCH);
    bent(play, How::encrypted(cipher), is, |_, info, _| {
        each(info, |crypto| crypto.nonce.push(0));
        Ok(())
    })
}

pub(super) fn shorter_nonce(play: &mut Play, cipher: Cipher) -> Result<(), Stop> {
    let is = (of_nonces(cipher), "WRITE with a nonce that is a byte shorter", NtStatus::AUTH_TAG_MISMATCH);
    bent(play, How::encrypted(cipher), is, |_, info, _| {
        each(info, |crypto| {
            crypto.nonce.pop();
        });
        Ok(())
    })
}

/// A WRITE of signed data that says something wrong of them.
fn signed_bent(
    play: &mut Play,
    how: How,
    (statement, what, status): (&str, What, NtStatus),
    bend: fn(&mut Info),
) -> Result<(), Stop> {
    let mut session = play.session_secured(how, Opened::Emptied)?;
    let mut asked = signed_in(&mut session, &pattern(SEED + 3, SOME as usize))?;
    bend(&mut asked.1);
    is_refused(&mut session, statement, &asked, what, status)
}

pub(super) fn not_signed_itself(play: &mut Play) -> Result<(), Stop> {
    let how = How::encrypted(Cipher::AES_128_GCM).offering(SIGNING);
    signed_bent(play, how, ("3.3.5.13-14", "WRITE of signed data that is not signed", INVALID), |_| {})
}

pub(super) fn signing_not_negotiated(play: &mut Play) -> Result<(), Stop> {
    let how = How::encrypted(Cipher::AES_128_GCM);
    let what = "WRITE of signed data where encryption alone was negotiated";
    signed_bent(play, how, ("3.3.5.13-11", what, INVALID), |_| {})
}

pub(super) fn wrong_signature(play: &mut Play) -> Result<(), Stop> {
    let how = How::signed(SigningAlgorithm::AES_CMAC);
    let is = ("3.3.5.13-25", "WRITE with two bytes of the signature exchanged", NtStatus::INVALID_SIGNATURE);
    signed_bent(play, how, is, |info| {
        each(info, |crypto| {
            let pair = crypto.signature.get_mut(2..4);
            // Exchanged they may be what they were.
            pair.into_iter().for_each(|pair| match pair {
                [a, b] if a == b => *a ^= 1,
                pair => pair.reverse(),
            });
        });
    })
}

pub(super) fn none_counted_of_signatures(play: &mut Play) -> Result<(), Stop> {
    let how = How::signed(SigningAlgorithm::AES_CMAC);
    signed_bent(play, how, ("3.3.5.13-09", "WRITE with TransformCount 0", INVALID), |info| info.count = 0)
}

/// WRITE with the channel RDMA_TRANSFORM where none was negotiated.
pub(super) fn not_negotiated(play: &mut Play, kind: RdmaTransformType, channel: Channel) -> Result<(), Stop> {
    use smbd_smb2::wire::Dialect;
    let mut session = play.session(&[Dialect::SMB_3_1_1])?;
    let buffer = session.buffer(&pattern(SEED, SOME as usize), Access::Read)?;
    let crypto = Crypto { kind, signature: vec![0x51; 16], nonce: vec![0x0c; 12] };
    let asked = (buffer.clone(), Info::new(channel, crypto, buffer.descriptors.clone()));
    let what = "WRITE under a transform where none was negotiated";
    // Whether the channel or its use is what the server does not know is its own matter.
    is_refused(&mut session, "3.3.5.13-07 +3.3.5.13-01", &asked, what, INVALID)
}

/// Our own: what the statements say besides.
pub(super) fn none_that_there_is(play: &mut Play) -> Result<(), Stop> {
    let content = pattern(SEED + 4, SOME as usize);
    let how = How::encrypted(Cipher::AES_128_GCM);
    {
        let mut session = play.session_secured(how.offering(ENCRYPTION), Opened::Emptied)?;
        let (buffer, info) = encrypted_in(&mut session, &content)?;
        let bytes = info.bytes();
        let asked = Asked::write(&buffer, SOME, 0).by(Channel::RDMA_TRANSFORM).with(&bytes).bent(|bytes| {
            let set = write::request::WRITE_CHANNEL_INFO_LENGTH.set(bytes, 15);
            debug_assert_eq!(set, Ok(()));
        });
        session.is_refused("3.3.5.13-08", &asked, "WRITE with 15 bytes of a transform", INVALID)?;

        let (buffer, mut info) = encrypted_in(&mut session, &content)?;
        each(&mut info, |crypto| crypto.kind = RdmaTransformType(3));
        let what = "WRITE with a transform of type 3";
        is_refused(&mut session, "3.3.5.13-16", &(buffer, info), what, INVALID)?;
    }
    {
        let mut session = play.session_secured(how.offering(SIGNING), Opened::Emptied)?;
        let asked = encrypted_in(&mut session, &content)?;
        let what = "WRITE of encrypted data where signing alone was negotiated";
        is_refused(&mut session, "3.3.5.13-10", &asked, what, INVALID)?;
    }
    let how = How { protection: Protection::Signed, ..how };
    let mut session = play.session_secured(how.offering(ENCRYPTION), Opened::Emptied)?;
    let asked = encrypted_in(&mut session, &content)?;
    is_refused(&mut session, "3.3.5.13-12", &asked, "WRITE of encrypted data that is not encrypted", INVALID)
}
