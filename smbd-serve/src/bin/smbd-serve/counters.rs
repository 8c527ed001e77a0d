//! What is counted, and its text for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};

use smbd_daemon::prometheus::{Kind, Text};
use smbd_daemon::tasks::{Basic, Core};
use smbd_serve::Counts;

/// Bytes that went between clients and the server.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) messages_in: AtomicU64,
    pub(crate) messages_out: AtomicU64,
    pub(crate) rdma_in: AtomicU64,
    pub(crate) rdma_out: AtomicU64,
}

impl Traffic {
    /// What went until now.
    pub(crate) fn counts(&self) -> Counts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            messages_in: of(&self.messages_in),
            messages_out: of(&self.messages_out),
            rdma_in: of(&self.rdma_in),
            rdma_out: of(&self.rdma_out),
        }
    }
}

/// Counters from the start on.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) taken: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) sessions: AtomicU64,
    pub(crate) logins_failed: AtomicU64,
    /// Of all clients together.
    pub(crate) traffic: Traffic,
}

impl Counters {
    /// Counters do not go back.
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// All of them, with the clients that are there and that were refused, and the files that are open.
    pub(crate) fn text<S: Basic>(&self, core: &Core<S>, open: usize) -> String {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut text = Text::new("smbd_serve");
        let connections = core.admission.connections().into();
        text.one("connections", Kind::Gauge, "Connections now; with --fork children.", connections);
        text.one("open_files", Kind::Gauge, "Files that clients have open.", open as u64);
        let help = "Connections that were established.";
        text.one("connections_total", Kind::Counter, help, of(&self.taken));
        text.one("refused_total", Kind::Counter, "Clients that were refused.", core.refused_count());
        text.one("failed_total", Kind::Counter, "Clients that could not be connected.", of(&self.failed));
        let help = "Connections on which somebody has logged in.";
        text.one("sessions_total", Kind::Counter, help, of(&self.sessions));
        text.one("logins_failed_total", Kind::Counter, "Logins that were refused.", of(&self.logins_failed));
        let Counts { messages_in, messages_out, rdma_in, rdma_out } = self.traffic.counts();
        let bytes = [
            ("from_client", messages_in),
            ("to_client", messages_out),
            ("rdma_read", rdma_in),
            ("rdma_write", rdma_out),
        ];
        text.labelled("bytes_total", Kind::Counter, "Bytes in messages, and by RDMA.", "way", bytes);
        text.text()
    }
}
