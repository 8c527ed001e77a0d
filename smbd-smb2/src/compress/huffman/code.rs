use super::{BITS_MAX, LENGTHS, SYMBOLS};

/// Counts of symbols, and the codes that are made of them (MS-XCA 2.1.4.2). 8 KiB.
#[derive(Debug)]
pub(super) struct Code {
    counts: [u32; SYMBOLS],
    /// Code and length in bits; length 0 if the symbol does not occur.
    codes: [(u16, u8); SYMBOLS],
    /// Nodes of the tree: leaves first, sorted by count. Weights, then parents, then depths.
    nodes: [u32; 2 * SYMBOLS],
    /// Symbols that occur, by count: the count above nine bits of the symbol.
    sorted: [u32; SYMBOLS],
}

impl Code {
    pub(super) const EMPTY: Self = Self {
        counts: [0; SYMBOLS],
        codes: [(0, 0); SYMBOLS],
        nodes: [0; 2 * SYMBOLS],
        sorted: [0; SYMBOLS],
    };

    /// Forgets all counts.
    pub(super) fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// Counts a symbol.
    #[inline(always)]
    pub(super) fn count(&mut self, symbol: usize) {
        if let Some(count) = self.counts.get_mut(symbol) {
            *count = count.wrapping_add(1);
        }
    }

    /// The code of a symbol, and its length.
    #[inline(always)]
    pub(super) fn code(&self, symbol: usize) -> (u32, u32) {
        self.codes.get(symbol).map_or((0, 0), |&(code, length)| (code.into(), length.into()))
    }

    /// Number of bits that all counted symbols take.
    pub(super) fn bits(&self) -> u64 {
        let both = self.counts.iter().zip(&self.codes);
        both.fold(0, |bits, (&count, &(_, length))| {
            bits.wrapping_add(u64::from(count).wrapping_mul(length.into()))
        })
    }

    /// Lengths of all codes, two to a byte.
    pub(super) fn lengths(&self) -> [u8; LENGTHS] {
        let mut lengths = [0; LENGTHS];
        for (both, codes) in lengths.iter_mut().zip(self.codes.as_chunks().0) {
            let [(_, low), (_, high)] = codes;
            *both = high << 4 | low;
        }
        lengths
    }

    /// Makes the codes of what was counted.
    pub(super) fn make(&mut self) {
        self.codes.fill((0, 0));
        // A code of one symbol is not complete: another one joins it.
        for symbol in 0..2 {
            if self.counts.iter().filter(|count| **count > 0).count() < 2
                && let Some(count) = self.counts.get_mut(symbol)
            {
                *count = (*count).max(1);
            }
        }
        let mut used = 0_usize;
        for (symbol, &count) in (0_u32..).zip(&self.counts) {
            if count > 0
                && let Some(place) = self.sorted.get_mut(used)
            {
                *place = count << 9 | symbol;
                used = used.wrapping_add(1);
            }
        }
        let sorted = self.sorted.get_mut(..used).unwrap_or_default();
        sorted.sort_unstable();
        // Halved counts make a flatter tree. Once all are 1 it has ten levels.
        let mut shift = 0_u32;
        let mut lengths = [0_u16; 16];
        while !tree(sorted, &mut self.nodes, shift, &mut lengths) {
            shift = shift.wrapping_add(1);
        }
        // The rarest symbols have the longest codes.
        let mut symbols = sorted.iter();
        for (length, &count) in (0_u8..16).zip(&lengths).rev() {
            for &symbol in symbols.by_ref().take(count.into()) {
                if let Some(code) = self.codes.get_mut((symbol & 511) as usize) {
                    code.1 = length;
                }
            }
        }
        self.number(&lengths);
    }

    /// Canonical codes: by length, then by symbol.
    fn number(&mut self, lengths: &[u16; 16]) {
        let mut next = [0_u16; 16];
        let mut code = 0_u16;
        for (next, &count) in next.iter_mut().zip(lengths).skip(1) {
            code = code.wrapping_shl(1);
            *next = code;
            code = code.wrapping_add(count);
        }
        for (code, length) in &mut self.codes {
            if *length > 0
                && let Some(next) = next.get_mut(usize::from(*length))
            {
                *code = *next;
                *next = next.wrapping_add(1);
            }
        }
    }
}

/// How many codes have each length in a Huffman tree of these counts, shifted right. False if one is longer than 15 bits.
fn tree(sorted: &[u32], nodes: &mut [u32; 2 * SYMBOLS], shift: u32, lengths: &mut [u16; 16]) -> bool {
    lengths.fill(0);
    let leaves = sorted.len();
    let weight = |node: u32| (node >> 9).wrapping_shr(shift).max(1);
    // Inner nodes are made in the order of their weights: the lightest two of leaves and inner nodes are always in front.
    let Some(inner) = nodes.get_mut(..leaves.saturating_sub(1)) else { return false };
    let (mut leaf, mut first) = (0_usize, 0_usize);
    for made in 0..inner.len() {
        let mut sum = 0_u32;
        for _ in 0..2 {
            let of_leaf = sorted.get(leaf).map(|&node| weight(node));
            let of_inner = (first < made).then(|| inner.get(first).copied()).flatten();
            let takes_leaf = match (of_leaf, of_inner) {
                (Some(leaf), Some(inner)) => leaf <= inner,
                (leaf, _) => leaf.is_some(),
            };
            if takes_leaf {
                sum = sum.wrapping_add(of_leaf.unwrap_or_default());
                leaf = leaf.wrapping_add(1);
            } else {
                sum = sum.wrapping_add(of_inner.unwrap_or_default());
                // From here on it is its parent.
                if let Some(node) = inner.get_mut(first) {
                    *node = made as u32;
                }
                first = first.wrapping_add(1);
            }
        }
        if let Some(node) = inner.get_mut(made) {
            *node = sum;
        }
    }
    depths(inner, leaves, lengths)
}

/// From the root down: the depth of each inner node, and the leaves of each level.
fn depths(inner: &mut [u32], leaves: usize, lengths: &mut [u16; 16]) -> bool {
    let Some((root, _)) = inner.split_last_mut() else { return false };
    *root = 0;
    for at in (0..inner.len().saturating_sub(1)).rev() {
        let depth = inner.get(at).and_then(|&parent| inner.get(parent as usize)).copied().unwrap_or_default();
        if let Some(node) = inner.get_mut(at) {
            *node = depth.wrapping_add(1);
        }
    }
    // Nodes of a level are twice the inner nodes of the level above.
    let (mut nodes, mut left) = (1_usize, leaves);
    let mut rest = inner.iter().rev().peekable();
    for depth in 0_u32..16 {
        let mut of_level = 0_usize;
        while rest.next_if(|node| **node == depth).is_some() {
            of_level = of_level.wrapping_add(1);
        }
        let own = nodes.saturating_sub(of_level);
        if let Some(length) = lengths.get_mut(depth as usize) {
            *length = own as u16;
        }
        left = left.saturating_sub(own);
        nodes = of_level.wrapping_mul(2);
        if left == 0 {
            return depth <= BITS_MAX;
        }
    }
    false
}
