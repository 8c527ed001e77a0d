//! Descriptors that point at pieces of one buffer, and what transfers through them should do.

use std::sync::Arc;

use smbd_core::BufferDescriptorV1;

/// Pieces of a buffer in the order of their descriptors, each where it begins and its length in bytes.
#[derive(Clone, Debug)]
pub(super) struct Pieces(Vec<(u32, u32)>);

/// A step through the pieces that meets each of them once: no count in use has it as a factor.
const STEP: u32 = 1021;

impl Pieces {
    /// `count` pieces of a buffer of `len` bytes: at odd offsets, of lengths from 1 on, overlapping nowhere, in an order
    /// that is not that of their addresses.
    pub(super) fn new(len: u32, count: u32) -> Self {
        let stride = len / count;
        let piece = |index: u32| {
            let place = index * STEP % count;
            // A stride may be odd.
            let start = place * stride;
            let longest = stride - 2;
            let len = if index % 5 == 4 { 1 } else { longest - (place * 37 + index) % (longest / 2) };
            (start + 1 - start % 2, len)
        };
        Self((0..count).map(piece).collect())
    }

    /// Bytes of all pieces.
    pub(super) fn total(&self) -> u32 {
        self.0.iter().map(|(_, len)| len).sum()
    }

    /// The descriptors, of a buffer that is `whole`.
    pub(super) fn descriptors(&self, whole: BufferDescriptorV1) -> Arc<[BufferDescriptorV1]> {
        let descriptor = |(start, length): &(u32, u32)| BufferDescriptorV1 {
            offset: whole.offset + u64::from(*start),
            token: whole.token,
            length: *length,
        };
        self.0.iter().map(descriptor).collect()
    }

    /// What a read of `len` bytes from `offset` on gets out of `memory`.
    pub(super) fn gather(&self, memory: &[u8], offset: u32, len: u32) -> Vec<u8> {
        self.places(offset, len).map(|place| memory[place]).collect()
    }

    /// What a write of `data` from `offset` on leaves in `memory`.
    pub(super) fn scatter(&self, memory: &mut [u8], offset: u32, data: &[u8]) {
        let len = u32::try_from(data.len()).unwrap_or(u32::MAX);
        self.places(offset, len).zip(data).for_each(|(place, byte)| memory[place] = *byte);
    }

    /// Where in the buffer the bytes of a transfer are.
    fn places(&self, offset: u32, len: u32) -> impl Iterator<Item = usize> {
        let all = self.0.iter().flat_map(|(start, len)| *start as usize..(*start + *len) as usize);
        all.skip(offset as usize).take(len as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Pieces;

    #[test]
    fn pieces_overlap_nowhere_and_are_out_of_order() {
        for count in [1, 2, 31, 4095] {
            let pieces = Pieces::new(1 << 20, count);
            let mut taken = vec![false; 1 << 20];
            for place in pieces.places(0, u32::MAX) {
                assert!(!std::mem::replace(&mut taken[place], true), "byte {place} of {count} pieces");
            }
            assert!(pieces.0.iter().all(|(start, len)| start % 2 == 1 && *len > 0));
            assert!(count < 3 || !pieces.0.is_sorted());
        }
    }

    #[test]
    fn what_was_scattered_is_gathered() {
        let pieces = Pieces::new(1000, 7);
        let (mut memory, data) = (vec![0; 1000], [1, 2, 3, 4, 5]);
        pieces.scatter(&mut memory, 3, &data);
        assert_eq!(pieces.gather(&memory, 3, 5), data);
        assert_eq!(memory.iter().filter(|byte| **byte != 0).count(), 5);
    }
}
