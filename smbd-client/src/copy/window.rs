//! Pieces of a file that are read from a server, several at once, handed out in order.

use std::collections::VecDeque;

use bytes::Bytes;
use smbd_smb2::wire::NtStatus;

use super::PIECES_MAX;
use super::failure::Failure;
use crate::{Error, File, Pending};

/// Reads a file from some byte on.
#[derive(Debug)]
pub(super) struct Window<'f> {
    file: &'f File,
    path: &'f str,
    pieces: usize,
    /// Where the next piece begins that is asked for, and the next that is handed out.
    asked: u64,
    given: u64,
    waiting: VecDeque<(u32, Pending<Bytes>)>,
}

/// How many pieces are under way at once.
pub(super) fn pieces(wanted: u16) -> usize {
    wanted.clamp(1, PIECES_MAX).into()
}

impl<'f> Window<'f> {
    pub(super) fn new(file: &'f File, path: &'f str, from: u64, wanted: u16) -> Self {
        Self { file, path, pieces: pieces(wanted), asked: from, given: from, waiting: VecDeque::new() }
    }

    /// The next piece; `None` behind the last.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let of = Failure::remote(self.path);
        let size = self.file.size();
        while self.waiting.len() < self.pieces && self.asked < size {
            let left = u32::try_from(size.saturating_sub(self.asked)).unwrap_or(u32::MAX);
            let len = left.min(self.file.read_max());
            self.waiting.push_back((len, self.file.start_read(self.asked, len).await.map_err(&of)?));
            self.asked = self.asked.saturating_add(len.into());
        }
        let Some((len, pending)) = self.waiting.pop_front() else { return Ok(None) };
        let data = match pending.wait().await {
            Err(Error::Status(NtStatus::END_OF_FILE)) => Bytes::new(),
            other => other.map_err(&of)?,
        };
        self.given = self.given.saturating_add(data.len() as u64);
        if data.is_empty() {
            return Err(Failure::Shorter { path: self.path.into(), end: self.given, size });
        }
        // A server need not send all at once: only nothing is the end.
        let left = len.saturating_sub(u32::try_from(data.len()).unwrap_or(u32::MAX));
        if left > 0 {
            let rest = self.file.start_read(self.given, left).await.map_err(&of)?;
            self.waiting.push_front((left, rest));
        }
        Ok(Some(data))
    }
}
