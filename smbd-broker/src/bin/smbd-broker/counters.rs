//! What is counted, and its text for Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};

use smbd_broker::broker::{Broker, Counts};
use smbd_daemon::prometheus::{Kind, Text};

/// Counters from the start on, besides those of the broker.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) taken: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) owners: AtomicU64,
    pub(crate) owners_refused: AtomicU64,
}

/// What a broker has now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    owners: usize,
    connections: usize,
    memory: u64,
    counts: Counts,
}

impl Counters {
    /// Counters do not go back.
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// All of them, with those that the listeners have `refused`.
    pub(crate) fn text(&self, now: Now, refused: u64) -> String {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Now { owners, connections, memory, counts } = now;
        let mut text = Text::new("smbd_broker");
        text.one("owners", Kind::Gauge, "Servers that are attached now.", owners as u64);
        text.one("connections", Kind::Gauge, "Connections now.", connections as u64);
        text.one("slots_bytes", Kind::Gauge, "Bytes that are shared with servers.", memory);
        text.one("owners_total", Kind::Counter, "Servers that have attached.", of(&self.owners));
        let help = "Processes that were not let attach.";
        text.one("owners_refused_total", Kind::Counter, help, of(&self.owners_refused));
        let help = "Connections that were established.";
        text.one("connections_total", Kind::Counter, help, of(&self.taken));
        text.one("refused_total", Kind::Counter, "Clients that were refused.", refused);
        text.one("failed_total", Kind::Counter, "Clients that could not be connected.", of(&self.failed));
        let messages = [("from_client", counts.messages_in), ("to_client", counts.messages_out)];
        text.labelled("messages_total", Kind::Counter, "Messages.", "way", messages);
        let transfers = [("success", counts.transfers), ("failure", counts.transfers_failed)];
        text.labelled("transfers_total", Kind::Counter, "Transfers by RDMA.", "result", transfers);
        let bytes = [
            ("from_client", counts.bytes_in),
            ("to_client", counts.bytes_out),
            ("rdma_read", counts.rdma_in),
            ("rdma_write", counts.rdma_out),
        ];
        text.labelled("bytes_total", Kind::Counter, "Bytes in messages, and by RDMA.", "way", bytes);
        text.text()
    }
}

impl From<&Broker> for Now {
    fn from(broker: &Broker) -> Self {
        Self {
            owners: broker.owners(),
            connections: broker.connections(),
            memory: broker.memory(),
            counts: broker.counts(),
        }
    }
}

#[cfg(test)]
mod tests {
    use smbd_broker::broker::Settings;

    use super::*;

    #[test]
    fn counters_are_told_in_the_format_of_prometheus() {
        let mut broker = Broker::new(Settings::default(), 1).unwrap();
        let _owner = broker.owner_joined().unwrap();
        let counters = Counters::default();
        Counters::count(&counters.owners);
        insta::assert_snapshot!(counters.text(Now::from(&broker), 1));
    }
}
