use core::time::Duration;

use thiserror::Error;

/// Which side of the connection this is (Connection.Role before it is ESTABLISHED, 3.1.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// "ACTIVE": connects and sends the Negotiate Request.
    Initiator,
    /// "PASSIVE": accepts and sends the Negotiate Response.
    Acceptor,
}

/// Times after which an idle connection is probed and ended (3.1.2.2, 3.1.6.2). Both are at least 1 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Keepalive {
    /// Connection.KeepaliveInterval: time without a message of the peer after which a keepalive probe is sent.
    pub interval: Duration,
    /// Time that the peer has to answer, from the expiry of the interval on (note <3>). Then the connection ends with
    /// [`CloseReason::KeepaliveTimeout`](crate::error::CloseReason::KeepaliveTimeout).
    pub answer_timeout: Duration,
}

/// The parameters of a connection: sizes in bytes, numbers of slots, and times. Start from a profile and change single
/// fields: `Params { keepalive: None, ..Params::windows() }`. `Config::try_from(params)` checks the ranges.
///
/// | profile | for |
/// |---|---|
/// | [`Params::windows`], and [`Params::default`] | servers and clients: what Windows Server offers and all known peers accept |
/// | [`Params::linux_client`] | a client that behaves like cifs.ko |
/// | [`Params::linux_server`] | a server that behaves like ksmbd, and any server for cifs.ko, which must not be probed |
/// | [`Params::example`] | tests: the small values of the specification's section 4 |
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Params {
    /// Connection.ReceiveCreditMax: most receives posted for the peer, 4 to 32,767. One more is posted in reserve
    /// (CR-5).
    pub receive_credit_max: u16,
    /// Connection.SendCreditTarget: credits requested from the peer in every message, 2 to 255 (CR-12).
    pub send_credit_target: u16,
    /// Connection.MaxSendSize: longest message to send, 128 to 8,136 bytes; with `large_sends` up to 2^32 - 1 (NE-3).
    pub max_send_size: u32,
    /// Allows a `max_send_size` above 8,136, which some Windows versions refuse (note <5>).
    pub large_sends: bool,
    /// Connection.MaxReceiveSize: longest message to receive, 128 to 524,280 bytes.
    pub max_receive_size: u32,
    /// Connection.MaxFragmentedRecvSize: longest upper-layer message to receive, at least 131,072 bytes.
    pub max_fragmented_recv_size: u32,
    /// Connection.MaxReadWriteSize: longest RDMA operation in bytes; 0 offers no RDMA operation.
    pub max_read_write_size: u32,
    /// `None`: no keepalive; a silent peer is never probed.
    pub keepalive: Option<Keepalive>,
    /// Negotiation timer of the initiator, at least 1 ns (3.1.4.1). It includes the time to connect.
    pub active_negotiation_timeout: Duration,
    /// Negotiation timer of the acceptor, at least 1 ns (3.1.7.2).
    pub passive_negotiation_timeout: Duration,
    /// Send credit timer, at least 1 ns (3.1.5.1): how long a queued message waits for a credit before the connection
    /// ends. `None`: without limit.
    pub send_credit_timeout: Option<Duration>,

    /// Received messages that the upper layer may keep in their receive buffers while all receives of the peer stay
    /// posted, 0 to 32,767. [`Endpoint`](crate::Endpoint) copies messages beyond that.
    pub borrowed_max: u16,
    /// Upper-layer messages that wait to be sent, 1 to 32,767.
    pub message_slots: u16,
    /// Sends in flight, 2 to 32,767.
    pub send_slots: u16,
    /// RDMA operations that are accepted and not finished, 0 to 32,767.
    pub rdma_ops: u16,
    /// RDMA requests in flight, 0 to 32,767; at least 1 if `rdma_ops` is not 0.
    pub rdma_slots: u16,
    /// RDMA Reads outstanding at the same time, to request from the transport for each direction. The transport reports
    /// the result in [`Limits::read_depth`](crate::Limits).
    pub read_depth: u16,
    /// Registrations at the same time, 0 to 32,767.
    pub registrations: u16,
    /// Segments of all registrations together, 0 to 32,767; at least 1 if `registrations` is not 0.
    pub segments_max: u16,
    /// Work requests on the send queue that bind and invalidate memory windows, 0 to 32,767.
    pub registration_slots: u16,

    /// End the connection at deviations that are tolerated by default: see [`Tolerances`](crate::Tolerances). For
    /// tests.
    pub strict: bool,
    /// Request a solicited event at the peer with the last fragment of each message.
    pub solicit: bool,
    /// Acceptor: refuse every version range except 0x0100 to 0x0100, as Windows Server 2012 does (note <4>).
    pub reject_version_range: bool,
    /// Acceptor: refuse a PreferredSendSize above this number of bytes with STATUS_INSUFFICIENT_RESOURCES, as Windows
    /// does above 8,136 (note <5>).
    pub reject_preferred_send_size_above: Option<u32>,
}

/// A parameter is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{field} is {value}, must be {min} to {max} ({why})")]
pub struct ConfigError {
    /// Name of the field of [`Params`].
    pub field: &'static str,
    /// Its value; durations are in nanoseconds.
    pub value: u64,
    /// Smallest valid value.
    pub min: u64,
    /// Largest valid value.
    pub max: u64,
    /// Source of the range: a section, a note or an id of docs/spec-issues.md.
    pub why: &'static str,
}

/// Smallest MaxReceiveSize that a peer may announce (3.1.5.6, 3.1.5.7).
pub(crate) const MAX_RECEIVE_SIZE_MIN: u32 = 128;
/// Smallest MaxFragmentedSize that a peer may announce (3.1.5.6, 3.1.5.7).
pub(crate) const MAX_FRAGMENTED_SIZE_MIN: u32 = 131_072;
/// Size of the receive for a negotiation message (3.1.4.1, 3.1.7.2).
pub(crate) const NEGOTIATE_RECEIVE_SIZE: u32 = 512;
/// 65,535 times 8.
const MAX_RECEIVE_SIZE_MAX: u32 = 524_280;
const WINDOWS_SEND_SIZE_MAX: u32 = 8_136;
/// Slot indices are 16 bits and receives need `receive_credit_max + 1 + borrowed_max` of them.
const SLOTS_MAX: u16 = 32_767;

impl Params {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let rdma_min = u16::from(self.rdma_ops > 0);
        let segments_min = u16::from(self.registrations > 0);
        let send_size_max = if self.large_sends { u32::MAX } else { WINDOWS_SEND_SIZE_MAX };
        let receive_sizes = MAX_RECEIVE_SIZE_MIN..=MAX_RECEIVE_SIZE_MAX;
        let table = "slots are numbered in 16 bits";
        check("receive_credit_max", self.receive_credit_max, 4..=SLOTS_MAX, "spec-issues CR-5")?;
        check("send_credit_target", self.send_credit_target, 2..=255, "spec-issues CR-12")?;
        check(
            "max_send_size",
            self.max_send_size,
            MAX_RECEIVE_SIZE_MIN..=send_size_max,
            "3.1.5.6, note <5>",
        )?;
        check("max_receive_size", self.max_receive_size, receive_sizes, "3.1.5.6")?;
        let fragmented = MAX_FRAGMENTED_SIZE_MIN..=u32::MAX;
        check("max_fragmented_recv_size", self.max_fragmented_recv_size, fragmented, "3.1.5.6")?;
        if let Some(keepalive) = self.keepalive {
            check_duration("keepalive.interval", keepalive.interval, "3.1.2.2")?;
            check_duration("keepalive.answer_timeout", keepalive.answer_timeout, "3.1.5.1 note <3>")?;
        }
        check_duration("active_negotiation_timeout", self.active_negotiation_timeout, "3.1.4.1")?;
        check_duration("passive_negotiation_timeout", self.passive_negotiation_timeout, "3.1.7.2")?;
        if let Some(timeout) = self.send_credit_timeout {
            check_duration("send_credit_timeout", timeout, "3.1.5.1")?;
        }
        check("borrowed_max", self.borrowed_max, 0..=SLOTS_MAX, table)?;
        check("message_slots", self.message_slots, 1..=SLOTS_MAX, table)?;
        check("send_slots", self.send_slots, 2..=SLOTS_MAX, table)?;
        check("rdma_ops", self.rdma_ops, 0..=SLOTS_MAX, table)?;
        check("rdma_slots", self.rdma_slots, rdma_min..=SLOTS_MAX, table)?;
        check("registrations", self.registrations, 0..=SLOTS_MAX, table)?;
        check("segments_max", self.segments_max, segments_min..=SLOTS_MAX, table)?;
        check("registration_slots", self.registration_slots, 0..=SLOTS_MAX, table)
    }
}

fn check<T: Into<u64>>(
    field: &'static str,
    value: T,
    range: core::ops::RangeInclusive<T>,
    why: &'static str,
) -> Result<(), ConfigError> {
    let (min, max) = range.into_inner();
    let (value, min, max) = (value.into(), min.into(), max.into());
    if (min..=max).contains(&value) { Ok(()) } else { Err(ConfigError { field, value, min, max, why }) }
}

/// A timer of zero would fire at once and for ever (KA-7).
fn check_duration(field: &'static str, value: Duration, why: &'static str) -> Result<(), ConfigError> {
    check(field, u64::try_from(value.as_nanos()).unwrap_or(u64::MAX), 1..=u64::MAX, why)
}
