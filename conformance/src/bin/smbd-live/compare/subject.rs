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
    /// Operations that each keeps under way where both are asked for the same.
    pub(super) depth: u16,
    /// What the value is.
    pub(super) unit: &'static str,
    /// The ratio to reach, or for times not to exceed: on siw, and on others.
    ratio: [f64; 2],
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

const MB_S: &str = "MB/s";

#[rustfmt::skip]
pub(super) const SUBJECTS: [Subject; 7] = [
    Subject { name: "send 8192 B", kind: Kind::Send, size: 8192, iterations: 16_000, depth: 128, unit: MB_S, ratio: [1.0; 2] },
    Subject { name: "send 1364 B", kind: Kind::Send, size: 1364, iterations: 24_000, depth: 128, unit: MB_S, ratio: [0.95; 2] },
    Subject { name: "write 64 KiB", kind: Kind::Write, size: 65_536, iterations: 1_200, depth: 16, unit: MB_S, ratio: [1.0; 2] },
    Subject { name: "write 1 MiB", kind: Kind::Write, size: 1 << 20, iterations: 100, depth: 16, unit: MB_S, ratio: [1.0; 2] },
    Subject { name: "read 64 KiB", kind: Kind::Read, size: 65_536, iterations: 600, depth: 16, unit: MB_S, ratio: [1.0; 2] },
    Subject { name: "read 1 MiB", kind: Kind::Read, size: 1 << 20, iterations: 60, depth: 16, unit: MB_S, ratio: [1.0; 2] },
    Subject { name: "latency 24 B", kind: Kind::Latency, size: 24, iterations: 3_000, depth: 1, unit: "µs", ratio: [1.25, 1.40] },
];

impl Subject {
    /// Whether more is worse.
    fn is_time(&self) -> bool {
        self.kind == Kind::Latency
    }

    pub(super) fn better(&self, one: f64, other: f64) -> f64 {
        if self.is_time() { one.min(other) } else { one.max(other) }
    }

    /// The ratio to reach on this device, or for times not to exceed.
    fn ratio(&self, device: &str) -> f64 {
        let [on_siw, otherwise] = self.ratio;
        if device.starts_with("siw") { on_siw } else { otherwise }
    }

    pub(super) fn reaches(&self, device: &str, ratio: f64) -> bool {
        if self.is_time() { ratio <= self.ratio(device) } else { ratio >= self.ratio(device) }
    }

    pub(super) fn goal(&self, device: &str) -> String {
        let sign = if self.is_time() { "≤" } else { "≥" };
        format!("{sign} {:.2}", self.ratio(device))
    }
}
