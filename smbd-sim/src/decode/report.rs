//! The content of a capture.

use super::file::FileError;
use super::item::{Connection, Item};
use super::summary::Summary;

/// All that was read from a capture.
#[derive(Debug)]
pub struct Report {
    /// Connections in the order they were first seen.
    pub connections: Vec<Connection>,
    /// Messages, RDMA operations and connection events in the order they were complete.
    pub items: Vec<Item>,
    /// Totals.
    pub summary: Summary,
    /// Why reading ended before the end of the file.
    pub problem: Option<FileError>,
}
