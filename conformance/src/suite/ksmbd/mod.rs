//! What ksmbd makes of RDMA transforms (2.2.43) besides what the cases of the suite are about: steps of live tests, which hold that server to
//! what it was seen to do. They are no cases, since much of it is left open by the text.

mod reads;
mod writes;

use smbd_smb2::wire::{Cipher, SigningAlgorithm};

use super::session::How;

pub use reads::{read_answers, reads_by_other_channels, reads_that_are_not_encrypted};
pub use writes::{
    counts_and_types, descriptors, fields_beside, inner_channels, nonces, tags, too_many_bytes,
    what_is_ignored, without_a_transform, without_encryption,
};

/// The ciphers with the lengths of their nonces in bytes.
const CIPHERS: [(Cipher, usize); 4] = [
    (Cipher::AES_128_GCM, 12),
    (Cipher::AES_256_GCM, 12),
    (Cipher::AES_128_CCM, 11),
    (Cipher::AES_256_CCM, 11),
];

/// An encrypted session with transforms of encryption; ksmbd signs with AES-CMAC and nothing else.
const fn encrypted(cipher: Cipher) -> How {
    How { signing: SigningAlgorithm::AES_CMAC, ..How::encrypted(cipher) }
}
