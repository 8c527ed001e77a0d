//! What has come from the server and was not taken.

use std::task::{Context, Poll};

use super::ending::Ending;
use super::server::Server;

/// Bytes that are received at once.
const LEN: usize = 32 << 10;
/// The same where data go by RDMA: what comes with the header of an answer is copied, what comes behind it goes straight into a
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

    /// Receives more, in place of what was there. How many bytes came; 0 at the end of the stream.
    pub(super) fn receive<M>(
        &mut self,
        server: &mut impl Server<M>,
        is_rdma: bool,
        cx: &mut Context<'_>,
    ) -> Poll<Result<usize, Ending>> {
        let len = if is_rdma { LEN_OF_RDMA } else { LEN };
        let into = self.bytes.get_mut(..len).unwrap_or_default();
        server.poll_read(cx, into).map(|got| {
            let got = got.map_err(|error| Ending::Server(error.to_string()))?;
            (self.start, self.end) = (0, got);
            Ok(got)
        })
    }
}
