//! Counters of a connection.

/// Counters of one direction, for Data Transfer messages (2.2.3) only. A message counts when it leaves the core, or
/// when it is accepted from the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Data Transfer messages.
    pub messages: u64,
    /// Upper-layer bytes.
    pub bytes: u64,
    /// Messages that carried a part of a longer upper-layer message, not all of it.
    pub fragments: u64,
    /// Messages without data.
    pub empties: u64,
    /// Credits granted.
    pub credits: u64,
    /// Messages with SMB_DIRECT_RESPONSE_REQUESTED.
    pub keepalives: u64,
    /// Tokens invalidated.
    pub invalidations: u64,
}

/// How often the peer did something that a literal reading of the specification forbids, and the connection accepted
/// it. With [`Params::strict`](crate::Params::strict) all of these except unknown flags end the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tolerances {
    /// Empty messages inside a sequence of fragments (RA-4).
    pub empty_inside_sequence: u64,
    /// Bytes behind the data (VA-6).
    pub trailing_bytes: u64,
    /// Data behind offset 24, or an empty message with an offset (VA-4).
    pub unusual_data_offset: u64,
    /// PreferredSendSize 0 in the negotiation (NE-3).
    pub preferred_send_size_zero: u64,
    /// Messages with flags that the specification does not define (VA-7).
    pub unknown_flags: u64,
}

/// Counters of a connection, from its creation on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Messages to the peer.
    pub sent: Traffic,
    /// Messages from the peer.
    pub received: Traffic,
    /// How often a queued message began to wait for a send credit (3.1.5.1). The first message of an acceptor counts,
    /// too, if the initiator has granted nothing yet. Counted only with a
    /// [`send_credit_timeout`](crate::Params::send_credit_timeout).
    pub credit_stalls: u64,
    /// Deviations of the peer that were accepted.
    pub tolerances: Tolerances,
    /// RDMA Read requests posted.
    pub rdma_reads: u64,
    /// RDMA Write requests posted.
    pub rdma_writes: u64,
    /// Bytes of those requests.
    pub rdma_bytes: u64,
    /// Tokens that were not invalidated at the peer, because the transport has no send with invalidate.
    pub invalidations_dropped: u64,
}
