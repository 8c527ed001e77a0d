//! What a connection has negotiated.

use crate::wire::CompressionAlgorithm;

/// Connection.CompressionIds and Connection.SupportsChainedCompression (3.2.1.2, 3.3.1.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Negotiated {
    /// A bit for each algorithm, by its number.
    ids: u8,
    preferred: Option<Algorithm>,
    supports_chained_compression: bool,
}

/// An algorithm that compresses any data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Algorithm {
    Lznt1,
    Lz77,
    Lz77Huffman,
    Lz4,
}

impl Negotiated {
    /// Algorithms, the preferred one first, and whether messages may be chains. NONE and algorithms that have no name here are left out.
    #[must_use]
    pub fn new(compression_ids: &[CompressionAlgorithm], supports_chained_compression: bool) -> Self {
        let mut negotiated = Self { supports_chained_compression, ..Self::default() };
        for &id in compression_ids {
            negotiated.ids |= bit(id);
            negotiated.preferred = negotiated.preferred.or(Algorithm::of(id));
        }
        negotiated
    }

    /// Whether CompressionIds has this algorithm.
    #[must_use]
    pub fn allows(&self, algorithm: CompressionAlgorithm) -> bool {
        self.ids & bit(algorithm) != 0
    }

    /// Whether messages may be chains.
    #[must_use]
    pub fn supports_chained_compression(&self) -> bool {
        self.supports_chained_compression
    }

    /// The first algorithm of CompressionIds that compresses any data.
    pub(super) fn preferred(&self) -> Option<Algorithm> {
        self.preferred
    }
}

impl Algorithm {
    /// The algorithm with this id, if it compresses any data.
    pub(super) fn of(id: CompressionAlgorithm) -> Option<Self> {
        match id {
            CompressionAlgorithm::LZNT1 => Some(Self::Lznt1),
            CompressionAlgorithm::LZ77 => Some(Self::Lz77),
            CompressionAlgorithm::LZ77_HUFFMAN => Some(Self::Lz77Huffman),
            CompressionAlgorithm::LZ4 => Some(Self::Lz4),
            _ => None,
        }
    }

    /// Its id (2.2.3.1.3).
    pub(super) fn id(self) -> CompressionAlgorithm {
        match self {
            Self::Lznt1 => CompressionAlgorithm::LZNT1,
            Self::Lz77 => CompressionAlgorithm::LZ77,
            Self::Lz77Huffman => CompressionAlgorithm::LZ77_HUFFMAN,
            Self::Lz4 => CompressionAlgorithm::LZ4,
        }
    }
}

/// The bit of an algorithm; none for NONE and one that is not known.
fn bit(id: CompressionAlgorithm) -> u8 {
    match id {
        CompressionAlgorithm::PATTERN_V1 => 1,
        CompressionAlgorithm::LZNT1 => 2,
        CompressionAlgorithm::LZ77 => 4,
        CompressionAlgorithm::LZ77_HUFFMAN => 8,
        CompressionAlgorithm::LZ4 => 16,
        _ => 0,
    }
}
