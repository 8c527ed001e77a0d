//! Transforms in answers to READs that a client has to refuse (3.2.5.11).

use smbd_smb2::wire::{Cipher, NtStatus, RdmaTransformId, RdmaTransformType, SigningAlgorithm};

use crate::smb2::client::Protection;
use crate::suite::session::How;
use crate::suite::{Play, Stated, Stop};

pub(super) const CIPHERS: [Cipher; 4] =
    [Cipher::AES_128_CCM, Cipher::AES_128_GCM, Cipher::AES_256_CCM, Cipher::AES_256_GCM];
const ENCRYPTED: How = How::encrypted(Cipher::AES_128_GCM);
const SIGNED: How = How::signed(SigningAlgorithm::AES_GMAC);
const BOTH: &[RdmaTransformId] = &[RdmaTransformId::SIGNING, RdmaTransformId::ENCRYPTION];
const ENCRYPTION: RdmaTransformType = RdmaTransformType::ENCRYPTION;
const SIGNING: RdmaTransformType = RdmaTransformType::SIGNING;

/// An answer that is wrong in one thing: the statements, the session, what data have, what is wrong in words, and how it is made so.
type Wrong = (&'static str, How, RdmaTransformType, &'static str, fn(&mut Stated));

fn is_refused(play: &mut Play, (statements, how, kind, what, bend): Wrong) -> Result<(), Stop> {
    let (mut peer, offer) = play.secured_client(how)?;
    let mut stated = match kind {
        RdmaTransformType::ENCRYPTION => peer.encrypts(&offer)?,
        _ => peer.signs(&offer)?,
    };
    bend(&mut stated);
    peer.answers(&offer, &stated)?;
    peer.uses_nothing(statements, Some(NtStatus::INVALID_NETWORK_RESPONSE), what)
}

fn none_counted(stated: &mut Stated) {
    stated.count = 0;
}

/// A transform that is not there, and data that have none.
fn none_there(stated: &mut Stated) {
    stated.transforms.clear();
    stated.data.clone_from(&stated.content);
}

fn twice(stated: &mut Stated) {
    stated.transforms.extend_from_within(..);
    stated.count = 2;
}

/// Another one of a type that there is not.
fn of_type_3(stated: &mut Stated) {
    stated.each(|crypto| crypto.kind = RdmaTransformType(3));
    stated.data.clone_from(&stated.content);
    stated.protection = Protection::AsAsked;
}

fn in_an_encrypted_answer(stated: &mut Stated) {
    stated.protection = Protection::Encrypted;
}

fn in_an_answer_as_asked(stated: &mut Stated) {
    stated.protection = Protection::AsAsked;
}

pub(super) fn transforms(play: &mut Play) -> Result<(), Stop> {
    // In a session whose requests are neither signed nor encrypted, the answer may be either.
    let (asked, asked_signing) = (ENCRYPTED.as_asked(), SIGNED.as_asked());
    let wrong: [Wrong; 11] = [
        ("3.2.5.11-07", ENCRYPTED, ENCRYPTION, "with TransformCount 0", none_counted),
        ("3.2.5.11-07", SIGNED, SIGNING, "with TransformCount 0", none_counted),
        (
            "3.2.5.11-08",
            asked,
            ENCRYPTION,
            "with encrypted data and an answer that is not",
            in_an_answer_as_asked,
        ),
        (
            "3.2.5.11-09",
            asked_signing,
            SIGNING,
            "with signed data and an encrypted answer",
            in_an_encrypted_answer,
        ),
        ("3.2.5.11-10", ENCRYPTED, ENCRYPTION, "with TransformCount 1 and no transform", none_there),
        (
            "3.2.5.11-09 3.2.5.11-10",
            ENCRYPTED.offering(BOTH),
            SIGNING,
            "with data that are signed in an encrypted session",
            in_an_encrypted_answer,
        ),
        ("3.2.5.11-11", SIGNED, SIGNING, "with TransformCount 1 and no transform", none_there),
        (
            "3.2.5.11-11",
            asked_signing,
            ENCRYPTION,
            "with encrypted data where signing was negotiated",
            in_an_encrypted_answer,
        ),
        ("3.2.5.11-12", ENCRYPTED, ENCRYPTION, "with two transforms", twice),
        ("3.2.5.11-12", SIGNED, SIGNING, "with two transforms", twice),
        ("3.2.5.11-13", asked, ENCRYPTION, "with a transform of type 3", of_type_3),
    ];
    wrong.into_iter().try_for_each(|wrong| is_refused(play, wrong))
}

fn longer_nonce(stated: &mut Stated) {
    stated.each(|crypto| crypto.nonce.push(0));
}

fn shorter_nonce(stated: &mut Stated) {
    stated.each(|crypto| {
        crypto.nonce.pop();
    });
}

pub(super) fn lengths(play: &mut Play) -> Result<(), Stop> {
    let long = |stated: &mut Stated| stated.each(|crypto| crypto.signature.push(0));
    is_refused(play, ("3.2.5.11-14", ENCRYPTED, ENCRYPTION, "with a signature of 17 bytes", long))?;
    for cipher in CIPHERS {
        let statement = match cipher {
            Cipher::AES_128_CCM | Cipher::AES_256_CCM => "3.2.5.11-15",
            _ => "3.2.5.11-16",
        };
        let how = How::encrypted(cipher);
        is_refused(play, (statement, how, ENCRYPTION, "with a nonce that is a byte longer", longer_nonce))?;
        is_refused(play, (statement, how, ENCRYPTION, "with a nonce that is a byte shorter", shorter_nonce))?;
    }
    Ok(())
}
