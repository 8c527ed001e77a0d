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

    /// [`Transport::connect`]
    ///
    /// # Errors
    /// See [`Writer`].
    pub fn connect(&mut self, now: u64, private_data: &[u8]) -> io::Result<()> {
        let frames = self.transport.connect(private_data);
        self.put(now, &frames)
    }

    /// [`Transport::accept`]
    ///
    /// # Errors
    /// See [`Writer`].
    pub fn accept(&mut self, now: u64, private_data: &[u8]) -> io::Result<()> {
        let frames = self.transport.accept(private_data);
        self.put(now, &frames)
    }

    /// [`Transport::reject`]
    ///
    /// # Errors
    /// See [`Writer`].
    pub fn reject(&mut self, now: u64, private_data: &[u8]) -> io::Result<()> {
        let frames = self.transport.reject(private_data);
        self.put(now, &frames)
    }

    /// [`Transport::send`]
    ///
    /// # Errors
    /// See [`Writer`].
    pub fn send(&mut self, now: u64, from: Side, message: &[u8], options: SendOptions) -> io::Result<()> {
        let frames = self.transport.send(from, message, options);
        self.put(now, &frames)
    }

    /// [`Transport::write`]
    ///
    /// # Errors
    /// See [`Writer`].
    pub fn write(&mut self, now: u64, from: Side, remote: Remote, data: &[u8]) -> io::Result<()> {
        let frames = self.transport.write(from, remote, data);
        self.put(now, &frames)
    }

    /// [`Transport::read_request`]
    ///
    /// # Errors
    /// See [`Writer`].
    pub fn read_request(&mut self, now: u64, from: Side, remote: Remote, length: u32) -> io::Result<()> {
        let frames = self.transport.read_request(from, remote, length);
        self.put(now, &frames)
    }

    /// [`Transport::read_response`]
    ///
    /// # Errors
    /// See [`Writer`].
    pub fn read_response(&mut self, now: u64, from: Side, data: &[u8]) -> io::Result<()> {
        let frames = self.transport.read_response(from, data);
        self.put(now, &frames)
    }

    /// [`Transport::acknowledge`]
    ///
    /// # Errors
    /// See [`Writer`].
    pub fn acknowledge(&mut self, now: u64, from: Side) -> io::Result<()> {
        let frames = self.transport.acknowledge(from);
        self.put(now, &frames)
    }

    /// [`Transport::fault`]
    ///
    /// # Errors
    /// See [`Writer`].
    pub fn fault(&mut self, now: u64, from: Side, fault: Fault) -> io::Result<()> {
        let frames = self.transport.fault(from, fault);
        self.put(now, &frames)
    }

    /// [`Transport::disconnect`]
    ///
    /// # Errors
    /// See [`Writer`].
    pub fn disconnect(&mut self, now: u64, from: Side) -> io::Result<()> {
        let frames = self.transport.disconnect(from);
        self.put(now, &frames)
    }

    /// Ends the file and gives the output back.
    ///
    /// # Errors
    /// Those of flushing the output.
    pub fn finish(self) -> io::Result<W> {
        self.file.finish()
    }
}
