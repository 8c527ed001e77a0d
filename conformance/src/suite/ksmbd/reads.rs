//! READs by a channel where a transform was negotiated (3.3.5.12).

use smbd_core::Access;
use smbd_smb2::wire::{Channel, Cipher, NtStatus, ReadResponseFlags, rdma_transform, read};

use super::super::outcome::Stop;
use super::super::play::Play;
use super::super::script::pattern;
use super::super::session::{Asked, How, Session};
use super::{CIPHERS, encrypted};
use crate::smb2::READ_RESPONSE_LEN;
use crate::smb2::client::{Opened, Protection};

const SEED: u64 = 0x7265_6164;
/// Bytes of the file: no multiple of 8.
const LEN: u32 = 8187;
/// Bytes of a signature.
const SIGNATURE: usize = 16;

/// The answer to an encrypted READ has SMB2_RDMA_TRANSFORM and SMB2_RDMA_CRYPTO_TRANSFORM and nothing behind them: it is not filled up to a
/// multiple of 8. The data are encrypted with the key of the session, and nothing else is covered by their signature.
///
/// # Errors
/// ksmbd does something else.
pub fn read_answers(play: &mut Play) -> Result<(), Stop> {
    for (cipher, nonce) in CIPHERS {
        let mut session = play.session_secured(encrypted(cipher), Opened::Emptied)?;
        let content = pattern(SEED, LEN as usize);
        session.file_has(&content)?;
        let len = rdma_transform::LEN + rdma_transform::crypto::LAYOUT.end() + SIGNATURE + nonce;
        for (wanted, at) in [(content.get(..8), 0), (content.get(8..17), 8), (Some(&*content), 0)] {
            let wanted = wanted.unwrap_or_default();
            let buffer = session.buffer(&vec![0; wanted.len()], Access::Write)?;
            let id =
                session.ask(&Asked::read(&buffer, u32::try_from(wanted.len()).unwrap_or(u32::MAX), at))?;
            let response = session.answer("", id, "a READ")?;
            let stated = read::response::DATA_LENGTH.get(&response.bytes).unwrap_or_default() as usize;
            let carried = response.bytes.len().saturating_sub(READ_RESPONSE_LEN);
            session.peer.require("", (stated, carried) == (len, len), || {
                format!("DataLength should be {len} with {cipher}, and so many bytes come: it is {stated}, {carried} come")
            })?;
            session.reads_encrypted(&buffer, at, wanted, cipher)?;
            session.peer.deregister(&buffer.memory)?;
        }
    }
    Ok(())
}

fn buffered<'p>(play: &'p mut Play, how: How) -> Result<(Session<'p>, bytes::Bytes), Stop> {
    let mut session = play.session_secured(how, Opened::Emptied)?;
    let content = pattern(SEED, LEN as usize);
    session.file_has(&content)?;
    Ok((session, content))
}

/// A READ never has the channel RDMA_TRANSFORM.
///
/// # Errors
/// ksmbd does something else.
pub fn reads_by_other_channels(play: &mut Play) -> Result<(), Stop> {
    let (mut session, _) = buffered(play, encrypted(Cipher::AES_128_GCM))?;
    let buffer = session.buffer(&[0; LEN as usize], Access::Write)?;
    for channel in [Channel::RDMA_TRANSFORM, Channel(4)] {
        let asked = Asked::read(&buffer, LEN, 0).by(channel);
        let what = format!("a READ by channel {}", channel.0);
        session.is_refused("", &asked, &what, NtStatus::INVALID_PARAMETER)?;
    }
    Ok(())
}

/// A READ that is signed and not encrypted has its data as they are, without a transform: ksmbd has none of signing.
///
/// # Errors
/// ksmbd does something else.
pub fn reads_that_are_not_encrypted(play: &mut Play) -> Result<(), Stop> {
    let how = How { protection: Protection::Signed, ..encrypted(Cipher::AES_128_GCM) };
    let (mut session, content) = buffered(play, how)?;
    let buffer = session.buffer(&[0; LEN as usize], Access::Write)?;
    let id = session.ask(&Asked::read(&buffer, LEN, 0))?;
    let response = session.answer("", id, "a READ")?;
    let flags = read::response::FLAGS.get(&response.bytes).unwrap_or_default();
    let stated = read::response::DATA_LENGTH.get(&response.bytes).unwrap_or_default();
    let is_plain = (flags, stated) == (ReadResponseFlags(0), 0);
    session.peer.require("", is_plain, || {
        format!("the answer should have Flags 0 and DataLength 0, it has {} and {stated}", flags.0)
    })?;
    session.has_read("", &buffer, &content);
    Ok(())
}
