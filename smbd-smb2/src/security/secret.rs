//! Keys in memory: never printed, wiped when dropped.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::hint::black_box;

use zeroize::{Zeroize, Zeroizing};

/// The longest key that is taken, in bytes: a block of HMAC-SHA256. Kerberos and NTLM give 16 or 32.
pub const SECRET_MAX: usize = 64;

/// A key of some length, at most [`SECRET_MAX`] bytes. It is wiped when it is dropped, and `Debug` shows only its length.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes over a copy of `bytes`; `None` if there are none, or more than [`SECRET_MAX`].
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let fits = (1..=SECRET_MAX).contains(&bytes.len());
        fits.then(|| Self(Zeroizing::new(bytes.to_vec())))
    }

    /// Of an array that fits.
    pub(super) fn of_16(bytes: &[u8; 16]) -> Self {
        Self(Zeroizing::new(bytes.to_vec()))
    }

    /// The bytes.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The first 16 bytes, with zeros behind a shorter one: Session.SessionKey (3.2.5.3.1, 3.3.1.8).
    pub(super) fn session_key(&self) -> Key<16> {
        Key::padded(&self.0)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({} bytes)", self.0.len())
    }
}

/// A key of fixed length, wiped when it is dropped. It stays where it is when the value moves.
#[derive(Clone)]
pub(super) struct Key<const N: usize>(Box<Zeroizing<[u8; N]>>);

impl<const N: usize> Key<N> {
    pub(super) fn new(mut bytes: [u8; N]) -> Self {
        let key = Self::padded(&bytes);
        bytes.zeroize();
        key
    }

    pub(super) fn zero() -> Self {
        Self(Box::new(Zeroizing::new([0; N])))
    }

    /// A key with zeros behind it, as HMAC itself fills up one that is shorter than its block. What does not fit is left out.
    pub(super) fn padded(key: &[u8]) -> Self {
        let mut block = Self::zero();
        for (to, from) in block.0.iter_mut().zip(key) {
            *to = *from;
        }
        block
    }

    pub(super) fn bytes(&self) -> &[u8; N] {
        &self.0
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8; N] {
        &mut self.0
    }
}

impl<const N: usize> fmt::Debug for Key<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({N} bytes)")
    }
}

/// What functions that work with keys need of the stack at most, in words of 16 bytes.
const STACK: usize = 2048;

/// Wipes what functions that have returned have left on the stack: copies of what they moved. It reaches below the function that calls
/// it, so keys are made in functions that the compiler does not merge with that one.
#[inline(never)]
pub(super) fn wipe_stack() {
    let mut left = [0_u128; STACK];
    left.zeroize();
    black_box(&mut left);
}
