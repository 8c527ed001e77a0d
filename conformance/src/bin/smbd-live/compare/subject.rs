//! What is compared.

/// One thing both programs can do.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Bytes of a message on the wire, or of an RDMA operation.
    pub(super) size: u32,
    /// Operations of perftest, so that it takes a second or two.
    pub(super) iterations: u32,
    /// What the value is.
    pub(super) unit: &'static str,
    /// The ratio to reach, or for times not to exceed.
    ratio: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Send,
    Write,
    Read,
    Latency,
}

/// What smbd did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// MB/s (10^6 bytes), or microseconds.
    pub(super) value: f64,
    /// Calls of `ibv_post_send` for each operation.
    pub(super) posts: f64,
    /// Completions of the send queue for each operation.
    pub(super) completions: f64,
}

pub(super) const SUBJECTS: [Subject; 5] = [
    Subject {
        name: "send 8192 B",
        kind: Kind::Send,
        size: 8192,
        iterations: 16_000,
        unit: "MB/s",
        ratio: 0.95,
    },
    Subject {
        name: "send 1364 B",
        kind: Kind::Send,
        size: 1364,
        iterations: 24_000,
        unit: "MB/s",
        ratio: 0.90,
    },
    Subject {
        name: "write 64 KiB",
        kind: Kind::Write,
        size: 65_536,
        iterations: 1_200,
        unit: "MB/s",
        ratio: 0.97,
    },
    Subject {
        name: "read 64 KiB",
        kind: Kind::Read,
        size: 65_536,
        iterations: 600,
        unit: "MB/s",
        ratio: 0.97,
    },
    Subject {
        name: "latency 24 B",
        kind: Kind::Latency,
        size: 24,
        iterations: 3_000,
        unit: "µs",
        ratio: 1.10,
    },
];

impl Subject {
    /// Whether more is worse.
    fn is_time(&self) -> bool {
        self.kind == Kind::Latency
    }

    pub(super) fn better(&self, one: f64, other: f64) -> f64 {
        if self.is_time() { one.min(other) } else { one.max(other) }
    }

    pub(super) fn reaches(&self, ratio: f64) -> bool {
        if self.is_time() { ratio <= self.ratio } else { ratio >= self.ratio }
    }

    pub(super) fn goal(&self) -> String {
        let sign = if self.is_time() { "≤" } else { "≥" };
        format!("{sign} {:.2}", self.ratio)
    }
}
