//! Data that are encrypted to another place than where they are.

use core::mem::take;

use super::stream::STEP;

/// The parts of `into`, each filled from `from` when it is asked for: so it is in the first cache when it is encrypted.
pub(super) struct Copied<'f, 'i> {
    piece: &'f [u8],
    rest: &'f [&'f [u8]],
    into: &'i mut [u8],
}

impl<'f, 'i> Copied<'f, 'i> {
    /// As much as both have.
    pub(super) const fn new(from: &'f [&'f [u8]], into: &'i mut [u8]) -> Self {
        Self { piece: &[], rest: from, into }
    }
}

impl<'i> Iterator for Copied<'_, 'i> {
    type Item = &'i mut [u8];

    fn next(&mut self) -> Option<Self::Item> {
        while self.piece.is_empty() {
            let (first, rest) = self.rest.split_first()?;
            (self.piece, self.rest) = (first, rest);
        }
        let (from, later) = self.piece.split_at_checked(STEP).unwrap_or((self.piece, &[]));
        let (part, behind) = take(&mut self.into).split_at_mut_checked(from.len())?;
        part.copy_from_slice(from);
        (self.piece, self.into) = (later, behind);
        Some(part)
    }
}
