//! Messages as they come out of a stream.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;
use tokio::io::{AsyncRead, ReadBuf};

use super::{HEADER, TcpError};

/// Bytes of a message for which memory is taken before any of them has come.
pub(super) const STEP: usize = 64 << 10;
/// A message of NetBIOS over TCP (RFC 1002 4.3.1) that says nothing, between two messages.
const KEEP_ALIVE: [u8; HEADER] = [0x85, 0, 0, 0];

#[derive(Debug)]
pub(super) struct Incoming {
    /// The longest message, in bytes.
    max: u32,
    /// What has come of a header.
    header: [u8; HEADER],
    header_len: usize,
    /// Length of the message behind a complete header.
    expected: Option<usize>,
    /// What has come of that message is the first `filled` bytes.
    message: BytesMut,
    filled: usize,
}

impl Incoming {
    pub(super) fn new(max: u32) -> Self {
        Self { max, header: [0; HEADER], header_len: 0, expected: None, message: BytesMut::new(), filled: 0 }
    }

    pub(super) const fn max(&self) -> u32 {
        self.max
    }

    /// The next message; `None` if the stream ends behind a message.
    pub(super) fn poll_message(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<BytesMut>, TcpError>> {
        loop {
            let Some(expected) = self.expected else {
                let room = self.header.get_mut(self.header_len..).unwrap_or_default();
                let got = ready!(read(stream, cx, room))?;
                if got == 0 && self.header_len == 0 {
                    return Poll::Ready(Ok(None));
                }
                self.header_len = self.header_len.saturating_add(got);
                if got == 0 {
                    let missing = HEADER.saturating_sub(self.header_len);
                    return Poll::Ready(Err(TcpError::Cut { missing }));
                }
                if self.header == KEEP_ALIVE && self.header_len == HEADER {
                    self.header_len = 0;
                } else if self.header_len == HEADER {
                    self.expected = Some(length(self.header, self.max)?);
                }
                continue;
            };
            if self.filled == expected {
                (self.header_len, self.filled, self.expected) = (0, 0, None);
                return Poll::Ready(Ok(Some(std::mem::take(&mut self.message))));
            }
            // Memory is taken as the message comes, and never for what is only promised.
            let room = expected.min(self.filled.saturating_add(STEP));
            if self.message.len() < room {
                self.message.resize(room, 0);
            }
            let got = ready!(read(stream, cx, self.message.get_mut(self.filled..).unwrap_or_default()))?;
            if got == 0 {
                let missing = expected.saturating_sub(self.filled);
                return Poll::Ready(Err(TcpError::Cut { missing }));
            }
            self.filled = self.filled.saturating_add(got);
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.message.capacity()
    }
}

/// Length in bytes of the message behind this header.
fn length(header: [u8; HEADER], max: u32) -> Result<usize, TcpError> {
    let [got, ..] = header;
    if got != 0 {
        return Err(TcpError::Type { got });
    }
    let got = u32::from_be_bytes(header);
    usize::try_from(got).ok().filter(|_| got <= max).ok_or(TcpError::TooLong { got, max })
}

fn read(
    stream: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
    room: &mut [u8],
) -> Poll<Result<usize, TcpError>> {
    let mut read = ReadBuf::new(room);
    ready!(Pin::new(stream).poll_read(cx, &mut read))?;
    Poll::Ready(Ok(read.filled().len()))
}
