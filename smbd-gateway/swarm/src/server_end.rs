//! The pump's end of a simulated stream: a server as `Tcp` is one, or any stream that is copied.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use smbd_gateway::{self as gateway, Part};
use smbd_link::transport::Memory as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::notes::Notes;
use smbd_testkit::swarm::Memory;
use smbd_testkit::swarm::pipe::End;

/// Goes between the stream and memory of the device in one call, as `Tcp`.
pub struct Direct(pub Stream);

/// The end of a stream, whose drop is noted.
pub struct Stream {
    pub end: End,
    pub notes: Notes,
}

impl Drop for Stream {
    fn drop(&mut self) {
        let now = self.notes.now();
        self.notes.note(|seen| _ = seen.own.stream_gone.get_or_insert(now));
    }
}

/// Copies bytes to the front of the room that is left.
fn put(room: &mut [u8], at: &mut usize, bytes: &[u8]) {
    if let Some(to) = room.get_mut(*at..*at + bytes.len()) {
        to.copy_from_slice(bytes);
    }
    *at += bytes.len();
}

impl gateway::Stream<Memory> for Direct {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut at = 0;
        self.0.end.poll_read(cx, into.len(), |bytes| put(into, &mut at, bytes))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.end.poll_write(cx, &[bytes])
    }

    fn poll_read_into(
        &mut self,
        cx: &mut Context<'_>,
        Part { memory, offset, len }: Part<'_, Memory>,
        behind: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let part = len as usize;
        let (mut in_part, mut at, mut outside) = (0, 0, None);
        let got = self.0.end.poll_read(cx, part + behind.len(), |bytes| {
            let (first, rest) = bytes.split_at(bytes.len().min(part - in_part));
            if let Err(error) = memory.fill(offset + in_part as u32, first) {
                outside = Some(error);
            }
            in_part += first.len();
            put(behind, &mut at, rest);
        });
        outside.map_or(got, |error| Poll::Ready(Err(io::Error::other(error))))
    }

    fn poll_write_from(
        &mut self,
        cx: &mut Context<'_>,
        front: &[u8],
        Part { memory, offset, len }: Part<'_, Memory>,
    ) -> Poll<io::Result<usize>> {
        let mut bytes = vec![0; len as usize];
        if let Err(error) = memory.read(offset, &mut bytes) {
            return Poll::Ready(Err(io::Error::other(error)));
        }
        self.0.end.poll_write(cx, &[front, &bytes])
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        AsyncRead::poll_read(Pin::new(&mut self.end), cx, into)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        AsyncWrite::poll_write(Pin::new(&mut self.end), cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_flush(Pin::new(&mut self.end), cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        AsyncWrite::poll_shutdown(Pin::new(&mut self.end), cx)
    }
}

/// What the pump of a run has for a server; which, the plan says.
pub enum Either {
    Direct(Direct),
    Copied(gateway::Copied<Stream>),
}

impl gateway::Stream<Memory> for Either {
    fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Direct(direct) => direct.poll_read(cx, into),
            Self::Copied(copied) => gateway::Stream::<Memory>::poll_read(copied, cx, into),
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Direct(direct) => direct.poll_write(cx, bytes),
            Self::Copied(copied) => gateway::Stream::<Memory>::poll_write(copied, cx, bytes),
        }
    }

    fn poll_read_into(
        &mut self,
        cx: &mut Context<'_>,
        part: Part<'_, Memory>,
        behind: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Direct(direct) => direct.poll_read_into(cx, part, behind),
            Self::Copied(copied) => copied.poll_read_into(cx, part, behind),
        }
    }

    fn poll_write_from(
        &mut self,
        cx: &mut Context<'_>,
        front: &[u8],
        part: Part<'_, Memory>,
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Direct(direct) => direct.poll_write_from(cx, front, part),
            Self::Copied(copied) => copied.poll_write_from(cx, front, part),
        }
    }
}
