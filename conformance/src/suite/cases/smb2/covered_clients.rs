//! What a client makes of data that were encrypted or signed on their way to its buffer (3.2.5.11).

use smbd_smb2::wire::{Cipher, NtStatus, SigningAlgorithm};

use super::super::Entry;
use super::refused_clients::{self as refused, CIPHERS};
use crate::suite::session::How;
use crate::suite::{Play, Stated, Stop};

const UNEXPECTED_IO_ERROR: NtStatus = NtStatus(0xC000_00E9);
const CLOSED: &str = "3.2.5.11-01";
const FAILED: &str = "3.2.5.11-02";
const FOUND: &str = "3.2.5.11-05";
const VERIFIED: &str = "3.2.5.11-17";
const DECRYPTED: &str = "3.2.5.11-18";
const WHOLE: &str = "3.2.5.11-19";
const USED: &str = "3.2.5.11-20";

/// The cases.
pub(in super::super) const CASES: &[Entry] = &[
    Entry::new("smb2::encrypted_data_are_decrypted", decrypted),
    Entry::new("smb2::encrypted_data_that_are_others_bring_nothing", others),
    Entry::new("smb2::encrypted_data_are_as_many_as_the_answer_says", as_many),
    Entry::new("smb2::signed_data_are_verified", verified),
    Entry::new("smb2::a_failed_read_under_a_transform_brings_nothing", failed),
    Entry::new("smb2::a_transform_that_does_not_do_is_refused", refused::transforms),
    Entry::new("smb2::a_transform_of_another_length_is_refused", refused::lengths),
];

const ALGORITHMS: [SigningAlgorithm; 2] = [SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC];

/// A way in which a right answer comes.
type Way = (&'static str, &'static str, fn(&mut Stated));

/// Ways in which it does not come most simply, and the statements that a client breaks which does not take it.
const WAYS: [Way; 3] = [
    (FOUND, "whose transform is at byte 88 of its answer", |stated| stated.has_gap = true),
    (USED, "that was said to be under way before", |stated| stated.is_late = true),
    (USED, "whose answer invalidates no token", |stated| stated.invalidates = false),
];

fn decrypted(play: &mut Play) -> Result<(), Stop> {
    let usual: Way = (USED, "with encrypted data", |_| {});
    let ways = CIPHERS.map(|cipher| (cipher, usual)).into_iter();
    for (cipher, (statement, what, change)) in ways.chain(WAYS.map(|way| (Cipher::AES_128_GCM, way))) {
        let (mut peer, offer) = play.secured_client(How::encrypted(cipher))?;
        let mut stated = peer.encrypts(&offer)?;
        change(&mut stated);
        peer.answers(&offer, &stated)?;
        let written = peer.writes_back(statement, what)?;
        peer.check(DECRYPTED, written == stated.content, || {
            format!(
                "{} bytes encrypted with {cipher} should be written as they were read, others are",
                written.len()
            )
        });
        if !stated.invalidates {
            peer.is_closed(CLOSED, &offer)?;
        }
    }
    Ok(())
}

fn verified(play: &mut Play) -> Result<(), Stop> {
    let usual: Way = (USED, "with signed data", |_| {});
    let ways = ALGORITHMS.map(|signing| (signing, usual)).into_iter();
    for (signing, (statement, what, change)) in ways.chain(WAYS.map(|way| (SigningAlgorithm::AES_CMAC, way)))
    {
        let (mut peer, offer) = play.secured_client(How::signed(signing))?;
        let mut stated = peer.signs(&offer)?;
        change(&mut stated);
        peer.answers(&offer, &stated)?;
        let written = peer.writes_back(statement, what)?;
        peer.check(USED, written == stated.content, || {
            format!(
                "{} bytes signed with {signing} should be written as they came, others are",
                written.len()
            )
        });
        if !stated.invalidates {
            peer.is_closed(CLOSED, &offer)?;
        }
    }
    for signing in ALGORITHMS {
        for (what, change) in OTHERS {
            let (mut peer, offer) = play.secured_client(How::signed(signing))?;
            let mut stated = peer.signs(&offer)?;
            change(&mut stated);
            peer.answers(&offer, &stated)?;
            peer.uses_nothing(VERIFIED, Some(NtStatus::INVALID_SIGNATURE), what)?;
        }
    }
    Ok(())
}

fn flip(bytes: &mut [u8]) {
    bytes.last_mut().into_iter().for_each(|last| *last ^= 1);
}

/// What is wrong, and how it is made so.
type Change = (&'static str, fn(&mut Stated));

/// What makes data others than those that were signed or encrypted.
const OTHERS: [Change; 2] = [
    ("of which a byte is another", |stated| flip(&mut stated.data)),
    ("whose signature is another", |stated| stated.each(|crypto| flip(&mut crypto.signature))),
];

fn others(play: &mut Play) -> Result<(), Stop> {
    for cipher in CIPHERS {
        for (what, change) in OTHERS {
            let (mut peer, offer) = play.secured_client(How::encrypted(cipher))?;
            let mut stated = peer.encrypts(&offer)?;
            change(&mut stated);
            peer.answers(&offer, &stated)?;
            // The text has no status for it (RT-8).
            peer.uses_nothing(DECRYPTED, None, what)?;
        }
    }
    Ok(())
}

fn as_many(play: &mut Play) -> Result<(), Stop> {
    for cipher in [Cipher::AES_128_CCM, Cipher::AES_128_GCM] {
        let (mut peer, offer) = play.secured_client(How::encrypted(cipher))?;
        let mut stated = peer.encrypts(&offer)?;
        stated.remaining /= 2;
        peer.answers(&offer, &stated)?;
        peer.uses_nothing(WHOLE, None, "of which twice as many bytes are encrypted as DataRemaining says")?;
    }
    Ok(())
}

fn failed(play: &mut Play) -> Result<(), Stop> {
    let (mut peer, offer) = play.secured_client(How::encrypted(Cipher::AES_128_GCM))?;
    let stated = peer.encrypts(&offer)?;
    peer.write_offer("", &offer, &stated.data)?;
    peer.transfer_failed(&offer, UNEXPECTED_IO_ERROR)?;
    peer.uses_nothing(FAILED, Some(UNEXPECTED_IO_ERROR), "that is answered with an error")
}
