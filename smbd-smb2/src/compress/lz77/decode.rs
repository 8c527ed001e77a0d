use super::super::copy::{append, matched, word};
use super::super::error::{DataError, Fault};
use super::MATCH_MIN;

/// Input and output, and the place in each.
struct Decoder<'a> {
    input: &'a [u8],
    at: usize,
    out: &'a mut [u8],
    written: usize,
    /// The high half of a byte whose low half was a length.
    half: Option<u8>,
}

/// Decompresses data (MS-XCA 2.4.4) that become exactly as many bytes as `out` has.
///
/// # Errors
/// The data are wrong. `out` has any bytes then.
pub fn decode(input: &[u8], out: &mut [u8]) -> Result<(), DataError> {
    let mut decoder = Decoder { input, at: 0, out, written: 0, half: None };
    decoder.run().map_err(|fault| DataError {
        fault,
        at: decoder.at,
        written: decoder.written,
        section: "MS-XCA 2.4.4",
    })
}

impl Decoder<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        let mut left = 0_u32;
        // Flags are read only for an item: behind the last one there may be another word of them, or none (CO-7).
        while self.written < self.out.len() {
            let mut flags = word(self.input, self.at).ok_or(Fault::Truncated)?;
            self.at = self.at.wrapping_add(4);
            left = 32;
            while left > 0 && self.written < self.out.len() {
                let run = flags.leading_zeros().min(left);
                if run > 0 {
                    let length = self.literals(run)?;
                    left = left.wrapping_sub(length);
                    flags = flags.checked_shl(length).unwrap_or_default();
                } else {
                    self.repeated()?;
                    left = left.wrapping_sub(1);
                    flags = flags.wrapping_shl(1);
                }
            }
        }
        let rest = self.input.len().wrapping_sub(self.at);
        match rest {
            0 => Ok(()),
            4 if left == 0 => Ok(()),
            left => Err(Fault::Trailing { left }),
        }
    }

    /// Up to 32 literals, not more than are missing.
    #[inline(always)]
    fn literals(&mut self, run: u32) -> Result<u32, Fault> {
        let length = (run as usize).min(self.out.len().wrapping_sub(self.written));
        let from = self.input.get(self.at..).unwrap_or_default();
        append::<32>(self.out, self.written, from, length).ok_or(Fault::Truncated)?;
        self.at = self.at.wrapping_add(length);
        self.written = self.written.wrapping_add(length);
        Ok(length as u32)
    }

    #[inline(always)]
    fn repeated(&mut self) -> Result<(), Fault> {
        let item: [u8; 2] = self.take().ok_or(Fault::Truncated)?;
        let item = u16::from_le_bytes(item);
        let distance = usize::from(item >> 3).wrapping_add(1);
        let mut length = u64::from(item & 7);
        if length == 7 {
            length = self.length()?;
        }
        let length = length.wrapping_add(MATCH_MIN as u64);
        self.written = matched(self.out, self.written, distance, length)?;
        Ok(())
    }

    /// The length of a match, without the least one, that does not fit into three bits.
    #[inline]
    fn length(&mut self) -> Result<u64, Fault> {
        let half = match self.half.take() {
            Some(half) => half,
            None => {
                let [byte] = self.take().ok_or(Fault::Truncated)?;
                self.half = Some(byte >> 4);
                byte & 15
            }
        };
        if half < 15 {
            return Ok(u64::from(half).wrapping_add(7));
        }
        let [byte] = self.take().ok_or(Fault::Truncated)?;
        if byte < 255 {
            return Ok(u64::from(byte).wrapping_add(15 + 7));
        }
        let mut value = u32::from(u16::from_le_bytes(self.take().ok_or(Fault::Truncated)?));
        if value == 0 {
            value = u32::from_le_bytes(self.take().ok_or(Fault::Truncated)?);
        }
        if value < 15 + 7 {
            return Err(Fault::Length { value });
        }
        Ok(value.into())
    }

    #[inline(always)]
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.input.get(self.at..)?.first_chunk()?;
        self.at = self.at.wrapping_add(N);
        Some(bytes)
    }
}
