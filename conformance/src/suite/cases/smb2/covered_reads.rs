//! READs whose data are encrypted or signed on their way (3.3.5.12).

use std::collections::BTreeSet;

use smbd_core::Access;
use smbd_smb2::wire::{Cipher, SigningAlgorithm};

use crate::smb2::client::Opened;
use crate::suite::session::How;
use crate::suite::{Play, Stop, pattern};

const SEED: u64 = 0xc0de;
const MANY: u32 = 64;

pub(super) fn encrypted(play: &mut Play, cipher: Cipher) -> Result<(), Stop> {
    encrypted_parts(play, cipher, 1)
}

pub(super) fn many_encrypted(play: &mut Play) -> Result<(), Stop> {
    encrypted_parts(play, Cipher::AES_128_CCM, MANY)
}

fn encrypted_parts(play: &mut Play, cipher: Cipher, count: u32) -> Result<(), Stop> {
    let mut session = play.session_secured(How::encrypted(cipher), Opened::Emptied)?;
    let size = session.max_read() / count;
    let content = pattern(SEED, (size * count) as usize);
    session.file_has(&content)?;
    let mut nonces = BTreeSet::new();
    for (index, part) in content.chunks(size as usize).enumerate() {
        let buffer = session.buffer(&vec![0; part.len()], Access::Write)?;
        let nonce = session.reads_encrypted(&buffer, index as u64 * u64::from(size), part, cipher)?;
        let is_new = nonces.insert(nonce);
        session.peer.check("3.3.5.12-07", is_new, || "a nonce of encrypted data comes a second time".into());
        session.peer.deregister(&buffer.memory)?;
    }
    Ok(())
}

pub(super) fn signed(play: &mut Play, signing: SigningAlgorithm) -> Result<(), Stop> {
    let mut session = play.session_secured(How::signed(signing), Opened::Emptied)?;
    let content = pattern(SEED + 1, session.max_read() as usize);
    session.file_has(&content)?;
    let buffer = session.buffer(&vec![0; content.len()], Access::Write)?;
    session.reads_signed(&buffer, 0, &content, signing)
}
