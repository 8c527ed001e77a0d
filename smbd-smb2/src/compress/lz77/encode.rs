use alloc::boxed::Box;

use super::super::copy::{append, common, long, word};
use super::{DISTANCE_MAX, MATCH_MIN};

/// Bits of a hash.
const HASH_BITS: u32 = 13;
const ENTRIES: usize = 1 << HASH_BITS;
/// After each two to this power places without a match, the search skips one more place at each step.
const PATIENCE: u32 = 4;
/// Where less is left, literals are written without a search.
const TAIL: usize = 8;

/// Where words were seen. It belongs to a connection, and is made once: 32 KiB.
#[derive(Debug)]
pub struct Encoder {
    /// Places, by hash.
    seen: Box<[u32; ENTRIES]>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { seen: Box::new([0; ENTRIES]) }
    }
}

impl Encoder {
    /// Compresses data (MS-XCA 2.3.4) to the beginning of `out`, and returns the number of bytes written. `None` if they do not fit;
    /// `out` has any bytes then.
    pub fn encode(&mut self, plain: &[u8], out: &mut [u8]) -> Option<usize> {
        u32::try_from(plain.len()).ok()?;
        self.seen.fill(0);
        let mut items = Items::new(out)?;
        let (mut literals, mut at) = (0_usize, 1_usize);
        while let Some(found) = self.search(plain, at) {
            let Found { at: place, distance, mut length } = found;
            // Bytes before it that were skipped may match too.
            let mut start = place;
            while start > literals
                && let Some(source) = start.wrapping_sub(1).checked_sub(distance)
                && plain.get(start.wrapping_sub(1)) == plain.get(source)
            {
                start = start.wrapping_sub(1);
                length = length.wrapping_add(1);
            }
            items.sequence(plain.get(literals..)?, start.wrapping_sub(literals), distance, length)?;
            at = start.wrapping_add(length);
            self.note(plain, at.wrapping_sub(2));
            literals = at;
        }
        let rest = plain.get(literals..)?;
        items.literals(rest, rest.len())?;
        items.end()
    }

    /// The next place whose four bytes were seen not far before.
    #[inline(always)]
    fn search(&mut self, plain: &[u8], mut at: usize) -> Option<Found> {
        let last = plain.len().checked_sub(TAIL)?;
        let mut misses = 1_usize.wrapping_shl(PATIENCE);
        while at <= last {
            let bytes = long(plain, at)?;
            let entry = self.seen.get_mut(hash(bytes as u32))?;
            let source = *entry as usize;
            *entry = at as u32;
            let distance = at.wrapping_sub(source);
            if distance <= DISTANCE_MAX {
                let different = long(plain, source)? ^ bytes;
                if different as u32 == 0 {
                    let length = match different {
                        0 => common(plain, source.wrapping_add(8), at.wrapping_add(8), plain.len())
                            .wrapping_add(8),
                        _ => (different.trailing_zeros() / 8) as usize,
                    };
                    return Some(Found { at, distance, length });
                }
            }
            at = at.wrapping_add(misses.wrapping_shr(PATIENCE));
            misses = misses.wrapping_add(1);
        }
        None
    }

    /// Notes a place that the search passes.
    #[inline(always)]
    fn note(&mut self, plain: &[u8], at: usize) {
        if let Some(entry) = word(plain, at).and_then(|bytes| self.seen.get_mut(hash(bytes))) {
            *entry = at as u32;
        }
    }
}

/// A match.
struct Found {
    at: usize,
    distance: usize,
    length: usize,
}

#[inline(always)]
fn hash(bytes: u32) -> usize {
    (bytes.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}

/// Items as they are written.
struct Items<'a> {
    out: &'a mut [u8],
    at: usize,
    /// Where the flags of the next items go.
    flags_at: usize,
    flags: u32,
    /// Number of flags that are missing there; never 0.
    left: u32,
    /// The byte whose high half is free.
    half: Option<usize>,
}

impl<'a> Items<'a> {
    fn new(out: &'a mut [u8]) -> Option<Self> {
        (out.len() >= 4).then_some(Self { out, at: 4, flags_at: 0, flags: 0, left: 32, half: None })
    }

    #[inline(always)]
    fn literals(&mut self, mut bytes: &[u8], count: usize) -> Option<()> {
        let mut rest = count;
        while rest > 0 {
            let length = rest.min(self.left as usize);
            append::<32>(self.out, self.at, bytes, length)?;
            bytes = bytes.get(length..)?;
            rest = rest.wrapping_sub(length);
            self.at = self.at.wrapping_add(length);
            self.flags = self.flags.checked_shl(length as u32).unwrap_or_default();
            self.flagged(length as u32)?;
        }
        Some(())
    }

    /// Literals, of which `bytes` has more, and the match behind them.
    #[inline(always)]
    fn sequence(&mut self, bytes: &[u8], count: usize, distance: usize, length: usize) -> Option<()> {
        let item = self.item(distance, length);
        // Mostly all flags fit, and there is room for more than is written.
        if count < self.left as usize
            && let Some(from) = bytes.first_chunk::<32>()
            && let Some(room) = self.out.get_mut(self.at..).and_then(|out| out.first_chunk_mut::<34>())
        {
            *room.first_chunk_mut()? = *from;
            *room.get_mut(count & 31..)?.first_chunk_mut()? = item;
            self.at = self.at.wrapping_add(count).wrapping_add(2);
            self.flags = self.flags.wrapping_shl(count as u32);
            self.left = self.left.wrapping_sub(count as u32);
        } else {
            self.literals(bytes, count)?;
            self.put(item)?;
        }
        if let Some(rest) = length.checked_sub(MATCH_MIN + 7) {
            self.length(rest)?;
        }
        self.flags = self.flags.wrapping_shl(1) | 1;
        self.flagged(1)
    }

    #[inline(always)]
    fn item(&self, distance: usize, length: usize) -> [u8; 2] {
        let place = distance.wrapping_sub(1) << 3;
        ((place | length.wrapping_sub(MATCH_MIN).min(7)) as u16).to_le_bytes()
    }

    /// What a length is above that of three bits.
    #[inline]
    fn length(&mut self, rest: usize) -> Option<()> {
        let half = rest.min(15) as u8;
        match self.half.take() {
            None => {
                self.half = Some(self.at);
                self.put([half])?;
            }
            Some(at) => {
                let byte = self.out.get_mut(at)?;
                *byte |= half << 4;
            }
        }
        let Some(rest) = rest.checked_sub(15) else { return Some(()) };
        if rest < 255 {
            return self.put([rest as u8]);
        }
        self.put([255])?;
        let whole = rest.wrapping_add(15 + 7);
        match u16::try_from(whole) {
            Ok(whole) => self.put(whole.to_le_bytes()),
            Err(_) => {
                self.put([0; 2])?;
                self.put(u32::try_from(whole).ok()?.to_le_bytes())
            }
        }
    }

    #[inline(always)]
    fn flagged(&mut self, count: u32) -> Option<()> {
        self.left = self.left.wrapping_sub(count);
        if self.left == 0 {
            *self.out.get_mut(self.flags_at..)?.first_chunk_mut()? = self.flags.to_le_bytes();
            (self.flags_at, self.flags, self.left) = (self.at, 0, 32);
            // Room for them.
            self.at = self.at.wrapping_add(4);
        }
        Some(())
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) -> Option<()> {
        *self.out.get_mut(self.at..)?.first_chunk_mut()? = bytes;
        self.at = self.at.wrapping_add(N);
        Some(())
    }

    /// Flags of no item are ones.
    fn end(self) -> Option<usize> {
        let ones = 1_u32.checked_shl(self.left).unwrap_or_default().wrapping_sub(1);
        let flags = self.flags.checked_shl(self.left).unwrap_or_default() | ones;
        *self.out.get_mut(self.flags_at..)?.first_chunk_mut()? = flags.to_le_bytes();
        Some(self.at)
    }
}
