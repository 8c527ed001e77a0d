//! A pcapng file with one connection, or with several, one after the other.

use std::io::{self, Write};

use super::format::pcapng::PcapNg;
use super::iwarp::Iwarp;
use super::link::{Fault, Frames, Link, Remote, SendOptions, Side, Transport};
use super::roce::Roce;

/// Writes a RoCEv2 connection.
pub type RoceWriter<W> = Writer<W, Roce>;
/// Writes an iWARP connection.
pub type IwarpWriter<W> = Writer<W, Iwarp>;

/// Writes the frames of connections with the time of each event, in nanoseconds.
///
/// Every event is written when it reaches the wire; times must not go back.
///
/// # Errors
/// All functions return the errors of the output, and `InvalidInput` for an event that cannot be shown.
#[derive(Debug)]
pub struct Writer<W, T> {
    file: PcapNg<W>,
    transport: T,
}

impl<W: Write> Writer<W, Roce> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn roce(out: W, link: Link) -> io::Result<Self> {
        Self::new(out, Roce::new(link))
    }
}

impl<W: Write> Writer<W, Iwarp> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn iwarp(out: W, link: Link) -> io::Result<Self> {
        Self::new(out, Iwarp::new(link))
    }
}

/// Events of [`Transport`], each written with its time.
macro_rules! events {
    ($($event:ident($($name:ident: $kind:ty),*);)*) => {
        $(
            #[doc = concat!("[`Transport::", stringify!($event), "`]")]
            ///
            /// # Errors
            /// See [`Writer`].
            pub fn $event(&mut self, now: u64, $($name: $kind),*) -> io::Result<()> {
                let frames = self.transport.$event($($name),*);
                self.put(now, &frames)
            }
        )*
    };
}

impl<W: Write, T: Transport> Writer<W, T> {
    /// Begins a file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, transport: T) -> io::Result<Self> {
        Ok(Self { file: PcapNg::new(out)?, transport })
    }

    fn put(&mut self, now: u64, frames: &Frames) -> io::Result<()> {
        if frames.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the event has no frames"));
        }
        frames.iter().try_for_each(|frame| self.file.frame(now, frame))
    }

    /// [`Transport::renew`]: what follows is another connection.
    pub fn renew(&mut self) {
        self.transport.renew();
    }

    events! {
        connect(private_data: &[u8]);
        accept(private_data: &[u8]);
        reject(private_data: &[u8]);
        send(from: Side, message: &[u8], options: SendOptions);
        write(from: Side, remote: Remote, data: &[u8]);
        read_request(from: Side, remote: Remote, length: u32);
        read_response(from: Side, data: &[u8]);
        acknowledge(from: Side);
        fault(from: Side, fault: Fault);
        disconnect(from: Side);
    }

    /// Ends the file and gives the output back.
    ///
    /// # Errors
    /// Those of flushing the output.
    pub fn finish(self) -> io::Result<W> {
        self.file.finish()
    }
}
