use alloc::boxed::Box;

use super::super::copy::{common, word};
use super::{CHUNK, MATCH_MIN, SIGNATURE, length_bits};

const HASH_BITS: u32 = 12;
const ENTRIES: usize = 1 << HASH_BITS;

/// Where three bytes were seen. It belongs to a connection, and is made once: 8 KiB.
#[derive(Debug)]
pub struct Encoder {
    /// Places in the plain data, modulo 65536: none is farther than a chunk is long.
    seen: Box<[u16; ENTRIES]>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { seen: Box::new([0; ENTRIES]) }
    }
}

impl Encoder {
    /// Compresses data (MS-XCA 2.5) to the beginning of `out`, and returns the number of bytes written. `None` if they do not fit; `out`
    /// has any bytes then.
    pub fn encode(&mut self, plain: &[u8], out: &mut [u8]) -> Option<usize> {
        self.seen.fill(0);
        let (mut start, mut len) = (0_usize, 0_usize);
        while start < plain.len() {
            let end = plain.len().min(start.wrapping_add(CHUNK));
            let size = end.wrapping_sub(start);
            let out = out.get_mut(len..)?;
            let (header, chunk) = out.split_first_chunk_mut()?;
            let room = chunk.len().min(size);
            // As long as its plain bytes it is of no use.
            let (is_compressed, took) = match self.chunk(plain, start, end, chunk.get_mut(..room)?) {
                Some(took) if took < size => (1, took),
                _ => {
                    chunk.get_mut(..size)?.copy_from_slice(plain.get(start..end)?);
                    (0, size)
                }
            };
            *header = (is_compressed << 15 | SIGNATURE << 12 | took.wrapping_sub(1) as u16).to_le_bytes();
            start = end;
            len = len.wrapping_add(took).wrapping_add(2);
        }
        Some(len)
    }

    /// A chunk without its header; `None` if it does not fit.
    fn chunk(&mut self, plain: &[u8], start: usize, end: usize, out: &mut [u8]) -> Option<usize> {
        let (mut at, mut len, mut flags_at, mut count) = (start, 0_usize, 0_usize, 8_u32);
        while at < end {
            if count == 8 {
                (flags_at, count) = (len, 0);
                *out.get_mut(len)? = 0;
                len = len.wrapping_add(1);
            }
            let written = at.wrapping_sub(start);
            let bits = length_bits(written);
            let longest = 1_usize.wrapping_shl(bits).wrapping_add(MATCH_MIN).wrapping_sub(1);
            let distance = self.seen(plain, at).filter(|&distance| distance <= written);
            let limit = end.min(at.wrapping_add(longest));
            let length = distance.map_or(0, |distance| common(plain, at.wrapping_sub(distance), at, limit));
            if let Some(distance) = distance.filter(|_| length >= MATCH_MIN) {
                let item = distance.wrapping_sub(1).wrapping_shl(bits) | length.wrapping_sub(MATCH_MIN);
                *out.get_mut(len..)?.first_chunk_mut()? = (item as u16).to_le_bytes();
                let flags = out.get_mut(flags_at)?;
                *flags |= 1_u8.wrapping_shl(count);
                len = len.wrapping_add(2);
                // Some of the places inside.
                self.seen(plain, at.wrapping_add(1));
                self.seen(plain, at.wrapping_add(length).wrapping_sub(1));
                at = at.wrapping_add(length);
            } else {
                *out.get_mut(len)? = *plain.get(at)?;
                len = len.wrapping_add(1);
                at = at.wrapping_add(1);
            }
            count = count.wrapping_add(1);
        }
        Some(len)
    }

    /// Notes a place, and how far before it the same three bytes may be.
    #[inline(always)]
    fn seen(&mut self, plain: &[u8], at: usize) -> Option<usize> {
        let bytes = word(plain, at)?;
        let entry =
            self.seen.get_mut(((bytes << 8).wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize)?;
        let distance = usize::from((at as u16).wrapping_sub(*entry));
        *entry = at as u16;
        (distance > 0).then_some(distance)
    }
}
