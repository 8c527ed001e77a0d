//! Bits in words of 16, the highest first, and bytes between the words (MS-XCA 2.1.4.3, 2.2.4).

/// Reads bits. As many words are ahead as fit; [`Self::rewind`] goes back to where bytes between them are.
pub(super) struct Reader<'a> {
    input: &'a [u8],
    /// Where the next word is.
    at: usize,
    /// The next bits, and zeros.
    bits: u64,
    /// How many they are.
    have: u32,
}

impl<'a> Reader<'a> {
    /// Reads on from `at`: two words, of which the next word is taken when fewer than 16 bits are left.
    pub(super) fn new(input: &'a [u8], at: usize) -> Option<Self> {
        let mut reader = Self { input, at, bits: 0, have: 0 };
        reader.word()?;
        reader.word()?;
        Some(reader)
    }

    /// Where the next word or byte is for a decoder that takes no word early.
    pub(super) fn at(&self) -> usize {
        self.at.saturating_sub((self.have >> 4).saturating_sub(1).wrapping_mul(2) as usize)
    }

    pub(super) fn bits(&self) -> u64 {
        self.bits
    }

    /// Takes as many words as fit. At least 49 bits are there then; false if the input ends before.
    #[inline(always)]
    pub(super) fn fill(&mut self) -> bool {
        let Some(words) = self.input.get(self.at..).and_then(|input| input.first_chunk()) else {
            return false;
        };
        let swapped = u64::from_be_bytes(*words);
        let words = (swapped & 0x00ff_00ff_00ff_00ff) << 8 | swapped >> 8 & 0x00ff_00ff_00ff_00ff;
        let count = 64_u32.wrapping_sub(self.have) >> 4;
        // Bits of a word that does not fit as a whole come again, the same.
        self.bits |= words.checked_shr(self.have).unwrap_or_default();
        self.have = self.have.wrapping_add(count << 4);
        self.at = self.at.wrapping_add(count.wrapping_mul(2) as usize);
        true
    }

    /// Passes bits that are there.
    #[inline(always)]
    pub(super) fn skip(&mut self, count: u32) {
        self.bits = self.bits.wrapping_shl(count);
        self.have = self.have.wrapping_sub(count);
    }

    /// Up to 15 bits, as a number. `None` if the input ends before.
    #[inline(always)]
    pub(super) fn take(&mut self, count: u32) -> Option<usize> {
        if self.have < count {
            self.word()?;
        }
        let number = (self.bits >> 1).wrapping_shr(63_u32.wrapping_sub(count)) as usize;
        self.skip(count);
        Some(number)
    }

    /// Goes to where a decoder is that takes a word only when fewer than 16 bits are left. `None` if the input ends before.
    #[inline(always)]
    pub(super) fn rewind(&mut self) -> Option<()> {
        if self.have < 16 {
            return self.word();
        }
        self.at = self.at();
        self.have = self.have & 15 | 16;
        self.bits &= u64::MAX.wrapping_shl(64_u32.wrapping_sub(self.have));
        Some(())
    }

    /// Bytes between the words.
    #[inline(always)]
    pub(super) fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let bytes = *self.input.get(self.at..)?.first_chunk()?;
        self.at = self.at.wrapping_add(N);
        Some(bytes)
    }

    #[inline(always)]
    fn word(&mut self) -> Option<()> {
        let word = u64::from(u16::from_le_bytes(self.bytes()?));
        self.bits |= word << 48 >> self.have;
        self.have = self.have.wrapping_add(16);
        Some(())
    }
}

/// Writes bits.
pub(super) struct Writer<'a> {
    out: &'a mut [u8],
    /// Where the next two words go, and all else behind them.
    words: [usize; 2],
    at: usize,
    bits: u64,
    have: u32,
}

impl<'a> Writer<'a> {
    /// Writes on from `at`.
    pub(super) fn new(out: &'a mut [u8], at: usize) -> Self {
        let [first, second, behind] = [0, 2, 4].map(|word| at.wrapping_add(word));
        Self { out, words: [first, second], at: behind, bits: 0, have: 0 }
    }

    /// Writes the low `count` bits, up to 32. The others are zeros.
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u32, count: u32) -> Option<()> {
        self.bits = self.bits.wrapping_shl(count) | u64::from(bits);
        self.have = self.have.wrapping_add(count);
        // A full word waits for the next bit.
        while self.have > 16 {
            self.have = self.have.wrapping_sub(16);
            let word = self.bits.wrapping_shr(self.have) as u16;
            self.word(word)?;
        }
        Some(())
    }

    #[inline(always)]
    pub(super) fn bytes<const N: usize>(&mut self, bytes: [u8; N]) -> Option<()> {
        *self.out.get_mut(self.at..)?.first_chunk_mut()? = bytes;
        self.at = self.at.wrapping_add(N);
        Some(())
    }

    /// Writes what is left, and returns where all ends.
    pub(super) fn end(mut self) -> Option<usize> {
        let word = (self.bits as u16).checked_shl(16_u32.wrapping_sub(self.have)).unwrap_or_default();
        let end = self.at;
        self.word(word)?;
        let [last, _] = self.words;
        *self.out.get_mut(last..)?.first_chunk_mut()? = [0; 2];
        Some(end)
    }

    #[inline(always)]
    fn word(&mut self, word: u16) -> Option<()> {
        let [first, second] = self.words;
        *self.out.get_mut(first..)?.first_chunk_mut()? = word.to_le_bytes();
        self.words = [second, self.at];
        self.at = self.at.wrapping_add(2);
        Some(())
    }
}
