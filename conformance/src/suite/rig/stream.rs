//! Connections of the script to the subject over direct TCP, beside those over SMB Direct.

use std::net::IpAddr;

use smbd_core::Instant;

use super::Unable;

/// The adapter of the subject's host by which a stream goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapter {
    /// The one by which it is reached over SMB Direct.
    Rdma,
    /// Another one.
    Other,
    /// Whichever there is.
    Any,
}

/// What comes on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A message of SMB2, without its length.
    Message(Vec<u8>),
    /// The stream has ended.
    Down,
    /// Nothing.
    Nothing,
}

/// A subject that can be reached over direct TCP.
pub trait Streams {
    /// Where it is reached over SMB Direct.
    fn rdma_address(&mut self) -> IpAddr;

    /// Connects. Numbers are given from 0 on.
    ///
    /// # Errors
    /// It is not known to be reached by this adapter, or it does not accept.
    fn dial(&mut self, by: Adapter) -> Result<usize, Unable>;

    /// Sends a message of SMB2.
    ///
    /// # Errors
    /// It is too long, or the stream has ended.
    fn tell(&mut self, stream: usize, message: &[u8]) -> Result<(), Unable>;

    /// The next thing that comes, if it does until `limit`.
    fn hear(&mut self, stream: usize, limit: Instant) -> Heard;
}
