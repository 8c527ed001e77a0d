//! The subject's messages put together from their fragments, whoever reads those.

use smbd_core::wire::DataTransfer;

/// Longer than any message that the script lets the subject send.
const MAX: usize = 16 << 20;

/// The fragments of a message that has not come to its end.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    payload: Vec<u8>,
    fragments: usize,
}

impl Assembly {
    /// Takes the next fragment; the message and the number of its fragments, if it was the last. Whether the fragments fit together is for cases to say.
    pub(super) fn take(&mut self, header: &DataTransfer, payload: &[u8]) -> Option<(Vec<u8>, usize)> {
        if header.data_length == 0 {
            return None;
        }
        if self.payload.len().saturating_add(payload.len()) <= MAX {
            self.payload.extend_from_slice(payload);
        }
        self.fragments += 1;
        (header.remaining_data_length == 0)
            .then(|| (std::mem::take(&mut self.payload), std::mem::take(&mut self.fragments)))
    }
}
