//! Counters of all connections, and their text for Prometheus.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use smbd_smb2::relay::Bytes;

use crate::report::Kind;

/// Counters from the start on.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) taken: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) failed: AtomicU64,
    sessions: [AtomicU64; 4],
    bytes: [AtomicU64; 4],
}

/// Names of the kinds of sessions, in the order of the counters.
const SESSIONS: [&str; 4] = ["any", "rdma", "signed", "encrypted"];
/// Names of the ways of bytes.
const WAYS: [&str; 4] = ["from_client", "to_client", "rdma_read", "rdma_write"];

impl Counters {
    /// Counters do not go back.
    pub(crate) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Ordering::Relaxed);
    }

    /// A connection was `before` and is `now`.
    pub(crate) fn sessions(&self, before: Kind, now: Kind) {
        let of = |kind: Kind| [kind.has_session, kind.uses_rdma, kind.is_signed, kind.is_encrypted];
        for ((counter, before), now) in self.sessions.iter().zip(of(before)).zip(of(now)) {
            Self::add(counter, u64::from(now && !before));
        }
    }

    /// A connection has moved `before` and now `now`.
    pub(crate) fn bytes(&self, before: Bytes, now: Bytes) {
        let of = |bytes: Bytes| [bytes.from_client, bytes.to_client, bytes.rdma_read, bytes.rdma_write];
        for ((counter, before), now) in self.bytes.iter().zip(of(before)).zip(of(now)) {
            Self::add(counter, now.saturating_sub(before));
        }
    }

    /// All of them, how many connections there are, and the memory of these.
    pub(crate) fn text(&self, connections: u32, memory: u64) -> String {
        let mut text = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, values: &[(String, u64)]| {
            // Text can be written to a text.
            let _ = writeln!(text, "# HELP smbd_gateway_{name} {help}\n# TYPE smbd_gateway_{name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "smbd_gateway_{name}{labels} {value}");
            }
        };
        let one = |counter: &AtomicU64| [(String::new(), counter.load(Ordering::Relaxed))];
        let labelled = |label: &str, names: [&str; 4], counters: &[AtomicU64; 4]| {
            let values = counters.iter().map(|counter| counter.load(Ordering::Relaxed));
            let labels = names.into_iter().map(|name| format!("{{{label}=\"{name}\"}}"));
            labels.zip(values).collect::<Vec<_>>()
        };
        metric("connections", "gauge", "Connections now.", &[(String::new(), connections.into())]);
        let help = "Bytes allocated for devices and for RDMA.";
        metric("memory_bytes", "gauge", help, &[(String::new(), memory)]);
        metric("connections_total", "counter", "Connections that were established.", &one(&self.taken));
        metric("refused_total", "counter", "Clients that were refused.", &one(&self.refused));
        metric("failed_total", "counter", "Clients that could not be connected.", &one(&self.failed));
        let sessions = labelled("kind", SESSIONS, &self.sessions);
        metric("sessions_total", "counter", "Connections with a session, by what it does.", &sessions);
        let bytes = labelled("way", WAYS, &self.bytes);
        metric("bytes_total", "counter", "Bytes in messages, and by RDMA.", &bytes);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_told_in_the_format_of_prometheus() {
        let counters = Counters::default();
        let plain = Kind { has_session: true, ..Kind::default() };
        counters.sessions(Kind::default(), plain);
        counters.sessions(plain, Kind { uses_rdma: true, ..plain });
        let mut some = Bytes::default();
        (some.from_client, some.to_client, some.rdma_read, some.rdma_write) = (5, 6, 7, 8);
        counters.bytes(Bytes::default(), some);
        let mut more = some;
        more.rdma_write = 10;
        counters.bytes(some, more);
        Counters::add(&counters.taken, 2);
        insta::assert_snapshot!(counters.text(1, 4096));
    }
}
