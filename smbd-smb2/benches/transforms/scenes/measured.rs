//! The calls that are measured, and nothing else.

use aes_gcm::aead::{AeadInOut, Nonce, Tag};
use smbd_smb2::security::{Opener, RdmaSignature, Sealer, SecurityError, Signer, Verifier};
use smbd_smb2::wire::{SessionId, transform};

#[inline(never)]
pub fn encrypt(sealer: &mut Sealer, from: &[u8], into: &mut [u8]) -> Result<RdmaSignature, SecurityError> {
    sealer.seal_rdma_into(&[from], into)
}

#[inline(never)]
pub fn decrypt(opener: &Opener, signature: &RdmaSignature, data: &mut [u8]) -> Result<(), SecurityError> {
    opener.open_rdma(signature.nonce(), &signature.signature, &mut [data])
}

#[inline(never)]
pub fn sign(signer: &mut Signer, data: &[u8]) -> Result<RdmaSignature, SecurityError> {
    signer.sign_rdma([data])
}

#[inline(never)]
pub fn verify(verifier: &Verifier, signature: &RdmaSignature, data: &[u8]) -> Result<(), SecurityError> {
    verifier.verify_rdma(signature.nonce(), &signature.signature, [data])
}

/// A message in place: [`Sealer::seal_message`].
#[inline(never)]
pub fn seal(sealer: &mut Sealer, message: &mut [u8]) -> Result<[u8; transform::LEN], SecurityError> {
    sealer.seal_message(SessionId(1), &mut [message])
}

#[inline(never)]
pub fn open(opener: &Opener, header: &[u8], message: &mut [u8]) -> Result<(), SecurityError> {
    opener.open_message(header, &mut [message])
}

/// By a crate that has the whole of it.
#[inline(never)]
pub fn encrypt_whole<A: AeadInOut>(cipher: &A, nonce: &Nonce<A>, data: &mut [u8]) -> Option<Tag<A>> {
    cipher.encrypt_inout_detached(nonce, &[], data.into()).ok()
}

/// By a crate that has the whole of it.
#[inline(never)]
pub fn decrypt_whole<A: AeadInOut>(
    cipher: &A,
    nonce: &Nonce<A>,
    tag: &Tag<A>,
    data: &mut [u8],
) -> Option<()> {
    cipher.decrypt_inout_detached(nonce, &[], data.into(), tag).ok()
}

/// The same for data that are authenticated only.
#[inline(never)]
pub fn sign_whole<A: AeadInOut>(cipher: &A, nonce: &Nonce<A>, data: &[u8]) -> Option<Tag<A>> {
    cipher.encrypt_inout_detached(nonce, data, (&mut [][..]).into()).ok()
}

/// By the crates of AES-CMAC and of HMAC.
#[inline(never)]
pub fn mac_whole<M: cmac::Mac>(mac: M, data: &[u8]) -> cmac::digest::Output<M> {
    mac.chain_update(data).finalize().into_bytes()
}
