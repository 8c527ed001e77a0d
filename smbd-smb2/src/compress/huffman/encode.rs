use alloc::boxed::Box;
use alloc::vec::Vec;

use super::bits::Writer;
use super::code::Code;
use super::matches::{Match, Matches, is_short};
use super::{BLOCK, END, LENGTHS, MATCH_MIN};

/// Matches of a block: none is shorter than 4.
const SEQUENCES: usize = BLOCK / 4;

/// Compresses LZ77+Huffman. It belongs to a connection, and is made once: 300 KiB.
#[derive(Debug)]
pub struct Encoder {
    matches: Matches,
    code: Box<Code>,
    /// What a block is made of, between the two phases (MS-XCA 2.1).
    sequences: Vec<Sequence>,
}

/// Literals, and the match behind them. Lengths in a block fit into 16 bits, except that of one match that is all of it.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    literals: u16,
    distance: u16,
    length: u32,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            matches: Matches::new(),
            code: Box::new(Code::EMPTY),
            sequences: Vec::with_capacity(SEQUENCES),
        }
    }
}

impl Encoder {
    /// Compresses data (MS-XCA 2.1.4) to the beginning of `out`, and returns the number of bytes written. `None` if they do not fit;
    /// `out` has any bytes then.
    pub fn encode(&mut self, plain: &[u8], out: &mut [u8]) -> Option<usize> {
        self.matches.clear();
        let (mut start, mut at) = (0_usize, 0_usize);
        while start < plain.len() {
            let end = plain.len().min(start.wrapping_add(BLOCK));
            self.code.clear();
            self.sequences.clear();
            let extra = self.find(plain, start, end);
            let is_last = end == plain.len();
            if is_last {
                self.code.count(END);
            }
            self.code.make();
            // Not begun if it cannot be ended.
            let size = self.code.bits().wrapping_add(extra) >> 3;
            if size > (out.len() as u64).saturating_sub(at as u64).saturating_sub(LENGTHS as u64) {
                return None;
            }
            at = self.write(plain.get(start..end)?, out, at, is_last)?;
            start = end;
        }
        Some(at)
    }

    /// The first phase (MS-XCA 2.1.4.1). Returns the number of bits that matches take besides their symbols.
    fn find(&mut self, plain: &[u8], start: usize, end: usize) -> u64 {
        let (mut at, mut literals, mut extra) = (start, start, 0_u64);
        let mut misses = 0_usize;
        while at < end {
            let Some(mut found) = self.matches.find(plain, at, end, MATCH_MIN) else {
                // Data without matches are searched less and less.
                let next = at.wrapping_add(1).wrapping_add(misses >> 6).min(end);
                misses = misses.wrapping_add(1);
                self.literals(plain, at, next);
                at = next;
                continue;
            };
            misses = 0;
            let mut noted = at.wrapping_add(1);
            while is_short(&found) {
                let next = self.matches.find(plain, noted, end, found.length);
                noted = noted.wrapping_add(1);
                let Some(better) = next else { break };
                self.literals(plain, at, at.wrapping_add(1));
                at = at.wrapping_add(1);
                found = better;
            }
            extra = extra.wrapping_add(self.sequence(at.wrapping_sub(literals), found));
            let behind = at.wrapping_add(found.length);
            self.matches.pass(plain, noted, behind);
            (at, literals) = (behind, behind);
        }
        extra
    }

    #[inline(always)]
    fn literals(&mut self, plain: &[u8], from: usize, to: usize) {
        for &byte in plain.get(from..to).unwrap_or_default() {
            self.code.count(byte.into());
        }
    }

    #[inline(always)]
    fn sequence(&mut self, literals: usize, found: Match) -> u64 {
        let (symbol, bits) = symbol(found.length, found.distance);
        self.code.count(symbol);
        self.sequences.push(Sequence {
            literals: literals as u16,
            distance: found.distance as u16,
            length: found.length as u32,
        });
        let bytes = match found.length.wrapping_sub(MATCH_MIN) {
            0..15 => 0,
            15..270 => 8,
            270..65536 => 24,
            _ => 56,
        };
        u64::from(bits).wrapping_add(bytes)
    }

    /// The final phase (MS-XCA 2.1.4.3).
    fn write(&self, plain: &[u8], out: &mut [u8], at: usize, is_last: bool) -> Option<usize> {
        *out.get_mut(at..)?.first_chunk_mut()? = self.code.lengths();
        let mut writer = Writer::new(out, at.wrapping_add(LENGTHS));
        let mut plain = plain;
        for sequence in &self.sequences {
            let (literals, rest) = plain.split_at_checked(sequence.literals.into())?;
            self.write_literals(&mut writer, literals)?;
            self.write_match(&mut writer, sequence)?;
            plain = rest.get(sequence.length as usize..)?;
        }
        self.write_literals(&mut writer, plain)?;
        if is_last {
            let (code, count) = self.code.code(END);
            writer.put(code, count)?;
        }
        writer.end()
    }

    #[inline(always)]
    fn write_literals(&self, writer: &mut Writer<'_>, literals: &[u8]) -> Option<()> {
        for &byte in literals {
            let (code, count) = self.code.code(byte.into());
            writer.put(code, count)?;
        }
        Some(())
    }

    #[inline(always)]
    fn write_match(&self, writer: &mut Writer<'_>, sequence: &Sequence) -> Option<()> {
        let distance = u32::from(sequence.distance);
        let (symbol, bits) = symbol(sequence.length as usize, distance as usize);
        let (code, count) = self.code.code(symbol);
        writer.put(code, count)?;
        let length = sequence.length.wrapping_sub(MATCH_MIN as u32);
        if let Some(rest) = length.checked_sub(15) {
            if rest < 255 {
                writer.bytes([rest as u8])?;
            } else {
                writer.bytes([255])?;
                if length < 65536 {
                    writer.bytes((length as u16).to_le_bytes())?;
                } else {
                    // CO-8
                    writer.bytes([0; 2])?;
                    writer.bytes(length.to_le_bytes())?;
                }
            }
        }
        writer.put(distance & 1_u32.wrapping_shl(bits).wrapping_sub(1), bits)
    }
}

/// The symbol of a match, and the number of bits of its distance behind it (MS-XCA 2.1.4.1).
#[inline(always)]
fn symbol(length: usize, distance: usize) -> (usize, u32) {
    let bits = distance.checked_ilog2().unwrap_or_default();
    let length = length.wrapping_sub(MATCH_MIN).min(15);
    (END.wrapping_add(length).wrapping_add((bits as usize).wrapping_mul(16)), bits)
}
