//! What is counted, and its text for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};

use smbd_daemon::prometheus::{Kind, Text};
use smbd_daemon::tasks::{Basic, Core};
use smbd_serve::{Counts, Moved};

/// Bytes that went between clients and the server.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    messages_in: AtomicU64,
    messages_out: AtomicU64,
    rdma_in: AtomicU64,
    rdma_out: AtomicU64,
}

impl Traffic {
    /// Some more went.
    pub(crate) fn add(&self, how: Moved, bytes: u64) {
        let counter = match how {
            Moved::MessageIn => &self.messages_in,
            Moved::MessageOut => &self.messages_out,
            Moved::RdmaIn => &self.rdma_in,
            Moved::RdmaOut => &self.rdma_out,
        };
        counter.fetch_add(bytes, Ordering::Relaxed);
    }

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

#[cfg(test)]
mod tests {
    use smbd_daemon::admission::Admission;

    use super::*;
    use crate::file::File;
    use crate::options::Run;
    use crate::settings::Settings;

    #[test]
    fn each_counter_has_a_name_a_kind_and_its_value() {
        let file = "users = 'u'\n[[share]]\nname = 'a'\npath = '/a'\n[broker]\nsocket = 'b'\n";
        let settings = Settings::of(&Run::default(), &File::parse(file).unwrap()).unwrap();
        let core = Core::new(settings, Admission::new(3, 3));
        let _one = core.admission.enter_of_any("10.9.0.2".parse().unwrap()).unwrap();
        let counters = Counters::default();
        counters.traffic.add(Moved::RdmaOut, 7);
        counters.traffic.add(Moved::MessageIn, 5);
        for counter in [&counters.taken, &counters.taken, &counters.logins_failed] {
            Counters::count(counter);
        }
        let text = counters.text(&core, 4);
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with("# HELP")).collect();
        let expected = [
            "# TYPE smbd_serve_connections gauge",
            "smbd_serve_connections 1",
            "# TYPE smbd_serve_open_files gauge",
            "smbd_serve_open_files 4",
            "# TYPE smbd_serve_connections_total counter",
            "smbd_serve_connections_total 2",
            "# TYPE smbd_serve_refused_total counter",
            "smbd_serve_refused_total 0",
            "# TYPE smbd_serve_failed_total counter",
            "smbd_serve_failed_total 0",
            "# TYPE smbd_serve_sessions_total counter",
            "smbd_serve_sessions_total 0",
            "# TYPE smbd_serve_logins_failed_total counter",
            "smbd_serve_logins_failed_total 1",
            "# TYPE smbd_serve_bytes_total counter",
            "smbd_serve_bytes_total{way=\"from_client\"} 5",
            "smbd_serve_bytes_total{way=\"to_client\"} 0",
            "smbd_serve_bytes_total{way=\"rdma_read\"} 0",
            "smbd_serve_bytes_total{way=\"rdma_write\"} 7",
        ];
        assert_eq!(lines, expected);
    }
}
