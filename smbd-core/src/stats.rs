//! Counters of a connection.

/// What one direction carried, Data Transfer messages only. Counted when a message leaves the core or is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Data Transfer messages.
    pub messages: u64,
    /// Upper-layer bytes.
    pub bytes: u64,
    /// Messages that carried a part of a longer upper-layer message.
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

/// How often something was accepted that a literal reading of the text does not allow.
/// With [`Params::strict`](crate::Params::strict) all but the unknown flags end the connection instead.
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
    /// Flags that mean nothing (VA-7).
    pub unknown_flags: u64,
}

/// Counters of a connection, from its creation on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// From here to the peer.
    pub sent: Traffic,
    /// From the peer.
    pub received: Traffic,
    /// Times a queued message began to wait for a send credit; also that of an acceptor that speaks before the
    /// initiator has granted it the first one.
    pub credit_stalls: u64,
    /// What was tolerated.
    pub tolerances: Tolerances,
    /// RDMA Read requests posted.
    pub rdma_reads: u64,
    /// RDMA Write requests posted.
    pub rdma_writes: u64,
    /// Bytes of those requests.
    pub rdma_bytes: u64,
    /// Tokens that were not invalidated at the peer, because the transport cannot.
    pub invalidations_dropped: u64,
}
