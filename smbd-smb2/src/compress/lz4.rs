//! Blocks of LZ4, by the crate lz4_flex: without a frame and a dictionary (3.1.4.4).

use core::fmt;

use lz4_flex::block::{self, CompressTable};

use super::error::{DataError, Fault};

/// Where words were seen. It belongs to a connection, and is made once: 16 KiB.
pub struct Encoder {
    table: CompressTable,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { table: CompressTable::large() }
    }
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}

impl Encoder {
    /// Number of bytes that `out` has to have for this number of plain ones.
    pub fn room(len: usize) -> usize {
        block::get_maximum_output_size(len)
    }

    /// Compresses data to the beginning of `out`, and returns the number of bytes written. `None` if `out` has fewer than
    /// [`Self::room`].
    pub fn encode(&mut self, plain: &[u8], out: &mut [u8]) -> Option<usize> {
        block::compress_into_with_table(plain, out, &mut self.table).ok()
    }
}

/// Decompresses a block that becomes exactly as many bytes as `out` has.
///
/// # Errors
/// The data are wrong. `out` has any bytes then.
pub fn decode(input: &[u8], out: &mut [u8]) -> Result<(), DataError> {
    let room = out.len();
    let fault = match block::decompress_into(input, out) {
        Ok(written) if written == room => return Ok(()),
        Ok(_)
        | Err(block::DecompressError::LiteralOutOfBounds | block::DecompressError::ExpectedAnotherByte) => {
            Fault::Truncated
        }
        Err(block::DecompressError::OutputTooSmall { expected, .. }) => {
            Fault::Room { length: expected as u64, room }
        }
        // It does not tell the distance.
        Err(_) => Fault::Distance { distance: 0 },
    };
    Err(DataError { fault, at: 0, written: 0, section: "LZ4" })
}
