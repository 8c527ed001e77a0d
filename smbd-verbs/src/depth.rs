//! How many RDMA Reads may be outstanding in each direction: the depths of this side, those of the peer, and the
//! result.
//!
//! InfiniBand and RoCE negotiate them in the connection manager's own messages. iWARP sends them in an IRD/ORD header
//! in the private data (section 6). A peer may leave it out; then this side's values are valid.

use smbd_core::error::ConnectReason;
use smbd_core::wire::WireError;
use smbd_core::wire::ird_ord::{self, IrdOrd, View};

use crate::DeviceAttributes;
use crate::quirks::Quirks;

/// What this side can do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depths {
    local: IrdOrd,
    /// Reads that the configuration asks for; may be none.
    wanted: u16,
    header: bool,
    in_events: bool,
}

/// What the peer's connection manager says about depths, seen from here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// The peer's header, if it sent one.
    pub(crate) header: Option<IrdOrd>,
    /// Reads of the peer that this side is to serve.
    pub(crate) incoming: u8,
    /// Reads of this side that the peer serves.
    pub(crate) outgoing: u8,
}

/// What is told to the connection manager, and what may be counted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// `responder_resources`: reads of the peer.
    pub(crate) incoming: u8,
    /// `initiator_depth`: own reads.
    pub(crate) outgoing: u8,
    /// Private data.
    pub(crate) header: Option<[u8; IrdOrd::LEN]>,
    /// Own reads that may be under way.
    pub(crate) read_depth: u16,
}

/// The IRD/ORD header at the beginning of private data. Zero padding, as InfiniBand has it, must not be given.
pub(crate) fn header_of(private_data: &[u8]) -> Result<Option<IrdOrd>, ConnectReason> {
    match IrdOrd::parse(private_data) {
        Ok((header, _)) => Ok(Some(header)),
        Err(WireError::Zero { .. }) => Err(ConnectReason::ReadDepth),
        Err(_) => Ok(None),
    }
}

impl Depths {
    /// No reads at all.
    pub(crate) const NONE: Self =
        Self { local: IrdOrd { ird: 0, ord: 0 }, wanted: 0, header: false, in_events: false };

    pub(crate) fn new(device: &DeviceAttributes, quirks: &Quirks, wanted: u16) -> Self {
        let most = wanted.min(quirks.read_depth_max.into());
        let within = |has: u32| has.min(most.into());
        let local = IrdOrd { ird: within(device.max_qp_rd_atom), ord: within(device.max_qp_init_rd_atom) };
        Self { local, wanted, header: device.transport_iwarp, in_events: quirks.depths_in_events }
    }

    /// Whether depths are told by a header.
    pub(crate) const fn has_header(&self) -> bool {
        self.header
    }

    /// What an initiator asks for.
    pub(crate) fn offer(&self) -> Terms {
        self.terms(self.local, Some(ird_ord::offer(self.local)))
    }

    /// What an initiator may count on after an answer.
    pub(crate) fn adopt(&self, told: Told) -> Result<u16, ConnectReason> {
        Ok(self.terms(self.settle(told)?, None).read_depth)
    }

    /// What an acceptor answers; `None` if there would be no depth (6.2).
    pub(crate) fn answer(&self, told: Told) -> Option<Terms> {
        let settled = self.settle(told).ok()?;
        let header = match told.header {
            Some(peer) => Some(ird_ord::answer(ird_ord::offer(self.local), peer, View::Sender).ok()?),
            None => None,
        };
        Some(self.terms(settled, header))
    }

    fn settle(&self, told: Told) -> Result<IrdOrd, ConnectReason> {
        if let Some(peer) = told.header {
            let settled = ird_ord::settle(ird_ord::offer(self.local), peer);
            return settled.map_err(|_| ConnectReason::ReadDepth);
        }
        if !self.in_events {
            return Ok(self.local);
        }
        let IrdOrd { ird, ord } = self.local;
        Ok(IrdOrd { ird: ird.min(told.incoming.into()), ord: ord.min(told.outgoing.into()) })
    }

    fn terms(&self, settled: IrdOrd, header: Option<IrdOrd>) -> Terms {
        let small = |depth: u32| u8::try_from(depth).unwrap_or(u8::MAX);
        let header = header.filter(|_| self.header).and_then(|header| {
            let mut bytes = [0; IrdOrd::LEN];
            header.encode(&mut bytes).is_ok().then_some(bytes)
        });
        let outgoing = small(settled.ord);
        Terms {
            incoming: small(settled.ird),
            outgoing,
            header,
            read_depth: u16::from(outgoing).min(self.wanted),
        }
    }
}

#[cfg(test)]
mod tests;
