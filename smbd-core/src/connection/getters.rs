//! What can be asked of a connection. Nothing here changes it.

use super::phase::{Phase, PhaseName};
use super::registration::Segment;
use super::{Connection, Outstanding};
use crate::stats::Stats;
use crate::{BufferDescriptorV1, Config, Credits, Instant, Limits, Negotiated, RegId, Role};

impl Connection {
    /// The role of this side.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The phase of the connection.
    #[must_use]
    pub const fn phase(&self) -> PhaseName {
        self.phase.name()
    }

    /// Whether the phase is [`PhaseName::Drained`]: the connection is over, and nothing is outstanding.
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        matches!(self.phase, Phase::Drained)
    }

    /// The latest time it was given, by an input or a command. It is the time of the event that an upper layer is told: commands
    /// that follow from that need no other look at the clock.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The configuration that it was created with.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The negotiated values (3.1.4.7); `None` before the negotiation has succeeded.
    #[must_use]
    pub const fn negotiated(&self) -> Option<Negotiated> {
        self.negotiated
    }

    /// The limits that `Connected` reported; before it, those that the configuration reserves.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// The credits of both directions (3.1.5.9).
    #[must_use]
    pub const fn credits(&self) -> Credits {
        self.credits
    }

    /// Counters.
    #[must_use]
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Work that is not complete. All zero when `Drained` is polled.
    #[must_use]
    pub fn outstanding(&self) -> Outstanding {
        Outstanding {
            recvs: self.receiver.posted,
            sends: self.sender.in_flight.used(),
            rdma: self.rdma.in_flight(),
            registrations: self.registrations.in_flight(),
            borrowed: self.receiver.borrowed(),
        }
    }

    /// Bytes still missing of the upper-layer message that is being received; 0 between messages.
    ///
    /// A sequence of fragments has no time limit (RA-9). An upper layer that needs one can watch this value.
    #[must_use]
    pub const fn incomplete(&self) -> u32 {
        self.receiver.expected()
    }

    /// Segments of a valid registration, in buffer order; empty if `id` is not one.
    #[must_use]
    pub fn segments(&self, id: RegId) -> &[Segment] {
        self.registrations.segments(id)
    }

    /// Descriptors of a valid registration whose tokens the peer has not invalidated (2.2.3.1): those to send to the
    /// peer, and those that a deregistration still has to invalidate.
    pub fn live_segments(&self, id: RegId) -> impl Iterator<Item = BufferDescriptorV1> {
        self.segments(id).iter().filter_map(Segment::descriptor)
    }
}
