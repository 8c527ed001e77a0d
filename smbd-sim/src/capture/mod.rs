//! Writes captures: a run of the simulator as frames that Wireshark decodes down to SMB Direct and SMB2.
//!
//! [`RoceWriter`] and [`IwarpWriter`] write a pcapng file with one connection at a time. The frames come from
//! [`Roce`] and [`Iwarp`], which do no I/O: each holds the sequence numbers of one connection, and each event gives
//! frames in the order of the wire. For connections side by side in one file use them with [`PcapNg`] directly.
//!
//! ```
//! use smbd_sim::capture::{Link, RoceWriter, SendOptions, Side};
//!
//! # fn main() -> std::io::Result<()> {
//! let mut writer = RoceWriter::roce(Vec::new(), Link::roce())?;
//! writer.connect(0, &[])?;
//! writer.accept(1_000, &[])?;
//! writer.send(2_000, Side::Initiator, &[0; 20], SendOptions::default())?;
//! writer.acknowledge(3_000, Side::Acceptor)?;
//! writer.disconnect(4_000, Side::Initiator)?;
//! let file = writer.finish()?;
//! # assert!(file.len() > 1_000);
//! # Ok(())
//! # }
//! ```
//!
//! Wireshark takes port 5445 for another protocol; iWARP files with it need `-o tcp.try_heuristic_first:TRUE`.

pub mod format;
mod iwarp;
mod link;
mod roce;
mod writer;

pub use format::net::Host;
pub use format::pcapng::PcapNg;
pub use iwarp::Iwarp;
pub use link::{Fault, Frames, Link, Remote, SendOptions, Side, Transport};
pub use roce::Roce;
pub use writer::{IwarpWriter, RoceWriter, Writer};

#[cfg(test)]
mod tests;
