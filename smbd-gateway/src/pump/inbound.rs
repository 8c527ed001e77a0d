//! What has come from the stream and was not taken.

/// Bytes that are received at once.
pub(super) const LEN: usize = 32 << 10;
/// The same where data go by RDMA: what comes with the header of a message is copied, what comes behind it goes straight into a
/// buffer.
const LEN_OF_RDMA: usize = 4 << 10;

#[derive(Debug)]
pub(super) struct Inbound {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Inbound {
    pub(super) fn new() -> Self {
        Self { bytes: vec![0; LEN].into(), start: 0, end: 0 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// All but the last `left` bytes were taken.
    pub(super) const fn leave(&mut self, left: usize) {
        self.start = self.end.saturating_sub(left);
    }

    /// Where more can be received, in place of what was there.
    pub(super) fn room(&mut self, is_rdma: bool) -> &mut [u8] {
        let len = if is_rdma { LEN_OF_RDMA } else { LEN };
        self.bytes.get_mut(..len).unwrap_or_default()
    }

    /// So many bytes were received there.
    pub(super) fn received(&mut self, len: usize) {
        (self.start, self.end) = (0, len.min(self.bytes.len()));
    }
}
