//! What all runs together have tried.

use smbd_smb2::relay::Statistics;

/// Of either direction.
#[derive(Debug, Default)]
pub struct Summary {
    runs: u64,
    closed: u64,
    requests: u64,
    read: u64,
    written: u64,
    encrypted: u64,
    signed: u64,
    split: u64,
    lowered: u64,
    refusals: std::collections::BTreeMap<String, u64>,
}

impl Summary {
    pub fn add(&mut self, statistics: &Statistics, is_closed: bool) {
        self.runs += 1;
        self.closed += u64::from(is_closed);
        self.requests += statistics.requests.iter().map(|(_, count)| count).sum::<u64>();
        self.read += statistics.bytes.rdma_read;
        self.written += statistics.bytes.rdma_write;
        self.encrypted += statistics.encrypted_messages;
        self.signed += statistics.signed_elements;
        self.split += statistics.split_answers;
        self.lowered += statistics.lowered_reads;
        for (refusal, count) in statistics.refusals.iter() {
            *self.refusals.entry(refusal.to_string()).or_default() += count;
        }
    }

    /// Whether each thing was tried that goes both ways, and those that `others` counts. A few runs need not.
    pub fn has_all(&self, others: &[u64]) -> bool {
        let counts =
            [self.closed, self.read, self.written, self.encrypted, self.signed, self.split, self.lowered];
        self.runs < 1000 || !(counts.contains(&0) || others.contains(&0))
    }

    /// Whether each request was refused that can be.
    pub fn has_all_refusals(&self) -> bool {
        self.runs < 1000 || self.refusals.values().all(|count| *count > 0)
    }
}
