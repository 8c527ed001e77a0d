use alloc::boxed::Box;

use super::super::copy::matched;
use super::super::error::{DataError, Fault};
use super::bits::Reader;
use super::table::Table;
use super::{BLOCK, END, LENGTHS, MATCH_MIN};

/// Decompresses LZ77+Huffman. It has the codes of a block, belongs to a connection, and is made once: 5 KiB.
#[derive(Debug)]
pub struct Decoder {
    table: Box<Table>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { table: Box::new(Table::EMPTY) }
    }
}

impl Decoder {
    /// Decompresses data (MS-XCA 2.2.4) that become exactly as many bytes as `out` has.
    ///
    /// # Errors
    /// The data are wrong. `out` has any bytes then.
    pub fn decode(&mut self, input: &[u8], out: &mut [u8]) -> Result<(), DataError> {
        let (mut at, mut written) = (0, 0);
        while written < out.len() {
            let error = |fault, at, written| DataError { fault, at, written, section: "MS-XCA 2.2.4" };
            let lengths = input.get(at..).and_then(|input| input.first_chunk());
            let lengths: &[u8; LENGTHS] = lengths.ok_or_else(|| error(Fault::Truncated, at, written))?;
            self.table.build(lengths).map_err(|fault| error(fault, at, written))?;
            at = at.wrapping_add(LENGTHS);
            let reader = Reader::new(input, at).ok_or_else(|| error(Fault::Truncated, at, written))?;
            let end = written.wrapping_add(BLOCK).min(out.len());
            let mut block = Block { table: &self.table, reader, out, written, end };
            block.run().map_err(|fault| error(fault, block.reader.at(), block.written))?;
            (at, written) = (block.reader.at(), block.written);
        }
        // The symbol behind the last item may take one more word.
        match input.len().saturating_sub(at) {
            0..=2 => Ok(()),
            left => Err(DataError { fault: Fault::Trailing { left }, at, written, section: "MS-XCA 2.2.4" }),
        }
    }
}

/// A block while it is read.
struct Block<'a> {
    table: &'a Table,
    reader: Reader<'a>,
    out: &'a mut [u8],
    written: usize,
    /// The item that reaches this is the last (CO-9).
    end: usize,
}

impl Block<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        loop {
            self.fast()?;
            if self.written >= self.end {
                return Ok(());
            }
            let (symbol, count) = self.table.symbol(self.reader.bits());
            self.reader.skip(count);
            if symbol < END {
                self.literal(symbol)?;
            } else {
                // Symbol 256 is a match, since the plain data are not complete (MS-XCA 2.2.4).
                self.repeated(symbol)?;
            }
        }
    }

    /// The same while neither the input nor the block is near its end.
    #[inline(always)]
    fn fast(&mut self) -> Result<(), Fault> {
        // Three literals at a time, of 15 bits each at most.
        let last = self.end.saturating_sub(2);
        while self.written < last && self.reader.fill() {
            for _ in 0..3 {
                let (symbol, count) = self.table.symbol(self.reader.bits());
                self.reader.skip(count);
                if symbol >= END {
                    self.repeated(symbol)?;
                    break;
                }
                self.literal(symbol)?;
            }
        }
        self.reader.rewind().ok_or(Fault::Truncated)
    }

    #[inline(always)]
    fn literal(&mut self, symbol: usize) -> Result<(), Fault> {
        *self.out.get_mut(self.written).ok_or(Fault::Truncated)? = symbol as u8;
        self.written = self.written.wrapping_add(1);
        Ok(())
    }

    #[inline(always)]
    fn repeated(&mut self, symbol: usize) -> Result<(), Fault> {
        let mut length = symbol as u64 & 15;
        let bits = (symbol.wrapping_sub(END) >> 4) as u32;
        if length == 15 {
            length = self.length()?;
        }
        let length = length.wrapping_add(MATCH_MIN as u64);
        let low = self.reader.take(bits).ok_or(Fault::Truncated)?;
        let distance = low | 1_usize.wrapping_shl(bits);
        self.written = matched(self.out, self.written, distance, length)?;
        Ok(())
    }

    /// A length, without the least one, that the symbol does not have: in bytes between the words (MS-XCA 2.1.4.3).
    #[inline]
    fn length(&mut self) -> Result<u64, Fault> {
        self.reader.rewind().ok_or(Fault::Truncated)?;
        let [byte] = self.reader.bytes().ok_or(Fault::Truncated)?;
        if byte < 255 {
            return Ok(u64::from(byte).wrapping_add(15));
        }
        let mut value = u32::from(u16::from_le_bytes(self.reader.bytes().ok_or(Fault::Truncated)?));
        // CO-8
        if value == 0 {
            value = u32::from_le_bytes(self.reader.bytes().ok_or(Fault::Truncated)?);
        }
        if value < 15 {
            return Err(Fault::Length { value });
        }
        Ok(value.into())
    }
}
