//! A passive monitor: replays the messages of both sides of a connection in a capture, and reports every broken rule.
//!
//! ```no_run
//! # fn main() -> std::io::Result<()> {
//! let report = smbd_sim::decode::read(std::fs::File::open("capture.pcap")?);
//! let verdict = smbd_conformance::monitor::check(&report);
//! for finding in verdict.findings() {
//!     println!("frame {}: {}", finding.frame, finding.rule.name);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What is a violation
//!
//! [`rules`] is the table of all rules. A rule of class [`Text`](rules::Class::Text) is a statement of MS-SMBD, one of
//! class [`Derived`](rules::Class::Derived) follows from several: only these are *violations*. Additional requirements
//! of Microsoft's test suite, and recommendations of `docs/spec-issues.md`, are *deviations*.
//!
//! # Limits of a capture
//!
//! A capture shows messages at the place where it was taken, not where they were sent. The rules on credits are valid
//! at any place: a grant passes it before the messages that use it. So a sender has at most the credits that the
//! capture shows, and the other side has granted at least as many.
//!
//! Values that are not in the capture (the connection began before it, packets are missing, frames are cut) are unknown
//! until a later message shows them. A rule that needs one is not applied, and counted as *not judged*
//! ([`Connection::not_judged`]).
//!
//! Whether a receiver ended the connection correctly after a bad message is not judged: the messages that follow may
//! already have been sent.
//!
//! | part | what it checks |
//! |---|---|
//! | `connection` | the phase of a connection |
//! | `negotiation` | the two messages of the negotiation (2.2.1, 2.2.2, 3.1.5.6) |
//! | `data` | fields of data messages (2.2.3, 3.1.5.8) |
//! | `sequence` | fragments of upper-layer messages (3.1.5.4) |
//! | `credits` | the send credits of both sides (3.1.5.1, 3.1.5.9) |
//! | `keepalive` | probes and answers (3.1.5.8, 3.1.6.2) |
//! | `rdma` | RDMA operations and tokens (3.1.4.5, 3.1.4.6) |
//! | [`text`], [`json`] | nothing: the two formats of a verdict |

mod connection;
mod credits;
mod data;
pub mod json;
mod keepalive;
mod negotiation;
mod order;
mod rdma;
pub mod rules;
mod sequence;
pub mod text;
mod verdict;

use std::collections::BTreeMap;

use smbd_sim::decode::Report;

use connection::Monitor;
pub use verdict::{Connection, Finding, Ledger, Verdict};

/// Holds all SMB Direct connections of a capture against the [`rules`].
///
/// The report has to have the bytes of its messages ([`keep_bytes`](smbd_sim::decode::Options::keep_bytes)): reserved
/// fields and padding are read from them.
#[must_use]
pub fn check(report: &Report) -> Verdict {
    let end_ns = report.items.iter().map(|item| item.frames.last_ns).max().unwrap_or(0);
    // What came twice may have come late as well: then requests and sends are not in their order.
    let ordered = report.summary.counters.retransmissions == 0;
    let connections = report.connections.iter().filter(|connection| connection.smb_direct);
    let mut monitors: BTreeMap<usize, Monitor<'_>> =
        connections.map(|connection| (connection.number, Monitor::new(connection, ordered))).collect();
    for item in order::in_order(&report.items) {
        if let Some(monitor) = monitors.get_mut(&item.connection) {
            monitor.item(item);
        }
    }
    Verdict {
        connections: monitors.into_values().map(|monitor| monitor.finish(end_ns)).collect(),
        counters: report.summary.counters,
        problem: report.problem.as_ref().map(ToString::to_string),
    }
}
