//! Counters of all connections, and their text for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};

use smbd_daemon::prometheus::{Kind, Text};
use smbd_daemon::tasks::{Basic, Core};
use smbd_smb2::relay::Bytes;

use crate::report;

/// Counters from the start on.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) taken: AtomicU64,
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
    pub(crate) fn sessions(&self, before: report::Kind, now: report::Kind) {
        let of = |kind: report::Kind| [kind.has_session, kind.uses_rdma, kind.is_signed, kind.is_encrypted];
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

    /// All of them, with how many connections there are and were refused, and the memory of these.
    pub(crate) fn text<S: Basic>(&self, core: &Core<S>, memory: u64) -> String {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let named = |names: [&'static str; 4], counters: &[AtomicU64; 4]| {
            names.into_iter().zip(counters.each_ref().map(of))
        };
        let mut text = Text::new("smbd_gateway");
        text.one("connections", Kind::Gauge, "Connections now.", core.admission.connections().into());
        text.one("memory_bytes", Kind::Gauge, "Bytes allocated for devices and for RDMA.", memory);
        let help = "Connections that were established.";
        text.one("connections_total", Kind::Counter, help, of(&self.taken));
        text.one("refused_total", Kind::Counter, "Clients that were refused.", core.refused_count());
        text.one("failed_total", Kind::Counter, "Clients that could not be connected.", of(&self.failed));
        let help = "Connections with a session, by what it does.";
        text.labelled("sessions_total", Kind::Counter, help, "kind", named(SESSIONS, &self.sessions));
        let help = "Bytes in messages, and by RDMA.";
        text.labelled("bytes_total", Kind::Counter, help, "way", named(WAYS, &self.bytes));
        text.text()
    }
}

#[cfg(test)]
mod tests {
    use smbd_daemon::admission::Admission;

    use super::{Bytes, Core, Counters, report};
    use crate::file::File;
    use crate::options::Run;
    use crate::settings::Settings;

    #[test]
    fn counters_are_told_in_the_format_of_prometheus() {
        let counters = Counters::default();
        let plain = report::Kind { has_session: true, ..report::Kind::default() };
        counters.sessions(report::Kind::default(), plain);
        counters.sessions(plain, report::Kind { uses_rdma: true, ..plain });
        let mut some = Bytes::default();
        (some.from_client, some.to_client, some.rdma_read, some.rdma_write) = (5, 6, 7, 8);
        counters.bytes(Bytes::default(), some);
        let mut more = some;
        more.rdma_write = 10;
        counters.bytes(some, more);
        Counters::add(&counters.taken, 2);
        let run = Run { server: vec!["127.0.0.1".into()], ..Run::default() };
        let core = Core::new(Settings::of(&run, &File::default()).unwrap(), Admission::new(3, 3));
        let _one = core.admission.enter_of_any("10.9.0.2".parse().unwrap()).unwrap();
        insta::assert_snapshot!(counters.text(&core, 4096));
    }
}
