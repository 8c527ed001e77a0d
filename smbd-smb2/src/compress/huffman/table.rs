use super::super::error::Fault;
use super::{BITS_MAX, LENGTHS, SYMBOLS};

/// Codes up to this length are found by one look.
const FAST: u32 = 11;

/// How the codes of a block are read. 5 KiB.
#[derive(Debug)]
pub(super) struct Table {
    /// By the next [`FAST`] bits: a symbol, and the length of its code in the low four bits; 0 if it is longer.
    fast: [u16; 1 << FAST],
    /// All symbols, by length and number.
    symbols: [u16; SYMBOLS],
    /// For each length: where its codes end in 15 bits, and what the number of a code is to be added to for its symbol.
    longer: [(u32, u32); 16],
}

impl Table {
    pub(super) const EMPTY: Self = Self { fast: [0; 1 << FAST], symbols: [0; SYMBOLS], longer: [(0, 0); 16] };

    /// Takes the lengths of a block (MS-XCA 2.2.4). Both halves of a byte are lengths, the low one first.
    pub(super) fn build(&mut self, lengths: &[u8; LENGTHS]) -> Result<(), Fault> {
        let mut counts = [0_u16; 16];
        for &byte in lengths {
            for length in [byte & 15, byte >> 4] {
                if let Some(count) = counts.get_mut(usize::from(length)) {
                    *count = count.wrapping_add(1);
                }
            }
        }
        // Where each length begins, among the symbols and in the codes of 15 bits.
        let mut begins = [0_u16; 16];
        let (mut begin, mut filled) = (0_u16, 0_u32);
        for (length, ((count, begins), longer)) in
            (0_u32..).zip(counts.iter().zip(&mut begins).zip(&mut self.longer)).skip(1)
        {
            *begins = begin;
            let shift = BITS_MAX.wrapping_sub(length);
            let first = filled.wrapping_shr(shift);
            filled = filled.wrapping_add(u32::from(*count).wrapping_shl(shift));
            *longer = (filled, u32::from(begin).wrapping_sub(first));
            begin = begin.wrapping_add(*count);
        }
        if filled != 1 << BITS_MAX {
            return Err(Fault::Code { filled });
        }
        for (symbols, &byte) in (0_u16..).step_by(2).zip(lengths) {
            for (symbol, length) in [(symbols, byte & 15), (symbols | 1, byte >> 4)] {
                if length > 0
                    && let Some(at) = begins.get_mut(usize::from(length))
                    && let Some(place) = self.symbols.get_mut(usize::from(*at))
                {
                    *place = symbol;
                    *at = at.wrapping_add(1);
                }
            }
        }
        self.fill(&counts);
        Ok(())
    }

    fn fill(&mut self, counts: &[u16; 16]) {
        let (mut symbols, mut fast) = (self.symbols.as_slice(), self.fast.as_mut_slice());
        for (length, &count) in (0_u16..).zip(counts).skip(1).take(FAST as usize) {
            let each = 1_usize.wrapping_shl(FAST.wrapping_sub(length.into()));
            let (own, others) = symbols.split_at_checked(count.into()).unwrap_or_default();
            symbols = others;
            for symbol in own {
                let (entries, rest) = fast.split_at_mut_checked(each).unwrap_or_default();
                entries.fill(symbol << 4 | length);
                fast = rest;
            }
        }
        fast.fill(0);
    }

    /// The symbol at the beginning of 64 bits, and the length of its code.
    #[inline(always)]
    pub(super) fn symbol(&self, bits: u64) -> (usize, u32) {
        let entry = self.fast.get((bits >> (64 - FAST)) as usize).copied().unwrap_or_default();
        if entry & 15 > 0 { (usize::from(entry >> 4), (entry & 15).into()) } else { self.slow(bits) }
    }

    #[cold]
    #[inline(never)]
    fn slow(&self, bits: u64) -> (usize, u32) {
        let code = (bits >> (64 - BITS_MAX)) as u32;
        let mut lengths = (0_u32..).zip(&self.longer).skip_while(|(length, _)| *length <= FAST);
        let (length, (_, add)) = lengths.find(|(_, (end, _))| code < *end).unwrap_or((BITS_MAX, &(0, 0)));
        let at = code.wrapping_shr(BITS_MAX.wrapping_sub(length)).wrapping_add(*add);
        (self.symbols.get(at as usize).copied().unwrap_or_default().into(), length)
    }
}
