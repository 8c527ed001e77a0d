//! Reads captures: SMB Direct over RoCEv2 and iWARP, from pcap and pcapng files.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! let report = smbd_sim::decode::read(std::fs::File::open("capture.pcap")?);
//! for item in &report.items {
//!     println!("{}", smbd_sim::decode::text::item(item, &report));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | layer | module |
//! |---|---|
//! | file to frames | [`mod@file`] |
//! | frame to UDP datagram or TCP segment | `link` |
//! | RoCEv2 packets to sends and RDMA operations | `roce` |
//! | TCP segments to sends and RDMA operations | `iwarp` |
//! | sends to SMB Direct messages | `session` |
//! | the result and its two forms | [`report`](Report), [`text`], `json` (feature) |
//!
//! Bounds: a frame or block of at most 16 MiB, and for each direction of a connection at most
//! [`HELD_MAX`] bytes that wait for an earlier packet and a message of at most [`MESSAGE_MAX`] bytes.
//! What exceeds them is reported as lost.

mod collect;
pub mod file;
mod item;
mod iwarp;
#[cfg(feature = "json")]
pub mod json;
mod link;
mod report;
mod roce;
mod session;
pub mod smb2;
mod summary;
pub mod text;

use std::io::Read;

pub use item::{
    Body, CmEvent, Connection, Direction, Endpoint, Fragment, Frames, Identified, Item, ItemKind, Message,
    RdmaKind, RdmaOperation, Roles, Transport,
};
pub use report::Report;
pub use summary::{Counters, Summary, Totals};

use crate::capture::format::bth;
use collect::{Collector, Mark};
use file::{Frame, FrameReader};
use link::Content;

/// Bytes of one direction of a connection that wait for an earlier packet.
pub const HELD_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a message that are kept while it is put together.
pub const MESSAGE_MAX: usize = 16 * 1024 * 1024;

/// How to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Keep the bytes of every message in the report.
    pub keep_bytes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { keep_bytes: true }
    }
}

/// Reads a capture with the message bytes kept. What keeps it from being read to its end is in
/// [`Report::problem`], next to all that was read before.
pub fn read(input: impl Read) -> Report {
    read_with(input, Options::default())
}

/// Reads a capture.
pub fn read_with(input: impl Read, options: Options) -> Report {
    let mut decoder = Decoder::new(options);
    let problem = decoder.read_all(input).err();
    decoder.finish(problem)
}

/// Reads frames one by one, for captures that are no file.
#[derive(Debug)]
pub struct Decoder {
    collector: Collector,
    roce: roce::Roce,
    iwarp: iwarp::Iwarp,
}

impl Decoder {
    /// A decoder that has seen nothing.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            collector: Collector::new(options),
            roce: roce::Roce::default(),
            iwarp: iwarp::Iwarp::default(),
        }
    }

    fn read_all(&mut self, input: impl Read) -> Result<(), file::FileError> {
        let mut reader = FrameReader::new(input)?;
        while let Some(frame) = reader.next_frame()? {
            self.frame(&frame);
        }
        Ok(())
    }

    /// Takes the next frame.
    pub fn frame(&mut self, frame: &Frame) {
        let mark = Mark { frame: frame.number, time_ns: frame.time_ns };
        self.collector.counters.frames += 1;
        self.collector.counters.cut_frames += u64::from(frame.data.len() < frame.original_len as usize);
        match link::content(frame) {
            Content::Udp(datagram) if datagram.dest.port() == bth::UDP_PORT => {
                self.roce.datagram(mark, &datagram, &mut self.collector);
            }
            Content::Tcp(segment) => self.iwarp.segment(mark, &segment, &mut self.collector),
            Content::Udp(_) | Content::Foreign => self.collector.counters.foreign_frames += 1,
            Content::Broken => self.collector.counters.broken_frames += 1,
            Content::UnknownLink(number) => {
                self.collector.counters.unknown_link_frames += 1;
                self.collector.counters.unknown_link_type.get_or_insert(number);
            }
        }
    }

    /// The report on all frames.
    #[must_use]
    pub fn finish(mut self, problem: Option<file::FileError>) -> Report {
        self.roce.finish(&mut self.collector);
        self.iwarp.finish(&mut self.collector);
        self.collector.finish(problem)
    }
}

#[cfg(test)]
mod tests;
