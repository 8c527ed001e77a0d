//! Ids of work: every request that the core gives to a backend carries one, and its completion reports it.

use core::fmt;

/// Place in a fixed table, with the generation that tells this use of it from earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Slot {
    pub(crate) generation: u32,
    pub(crate) index: u16,
}

const INDEX_BITS: u32 = 16;
const KIND_SHIFT: u32 = 56;

impl Slot {
    #[inline]
    fn to_raw(self) -> u64 {
        u64::from(self.generation) << INDEX_BITS | u64::from(self.index)
    }

    /// The inverse of `to_raw`: bits 0 to 15 are the index, 16 to 47 the generation.
    #[inline]
    const fn from_raw(raw: u64) -> Self {
        let [i0, i1, g0, g1, g2, g3, _, _] = raw.to_le_bytes();
        Self { index: u16::from_le_bytes([i0, i1]), generation: u32::from_le_bytes([g0, g1, g2, g3]) }
    }
}

macro_rules! slot_id {
    ($(#[$doc:meta])* $name:ident, $short:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) Slot);

        impl $name {
            /// The index of the table slot: less than the slot count of [`Budget`](crate::Budget), reused after
            /// completion. A backend may use it as the index of an array with its data for each work request.
            #[must_use]
            #[inline]
            pub const fn slot(self) -> u16 {
                self.0.index
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($short, "{}.{}"), self.0.index, self.0.generation)
            }
        }
    };
}

slot_id!(
    /// A posted receive.
    RecvId, "recv"
);
slot_id!(
    /// A posted send.
    SendId, "send"
);
slot_id!(
    /// A posted RDMA Read or RDMA Write request: one slice of an operation.
    RdmaId, "rdma"
);
slot_id!(
    /// A registered buffer (3.1.4.3), from the command to the end of its deregistration.
    RegId, "reg"
);
slot_id!(
    /// An RDMA operation of the upper layer (3.1.4.5, 3.1.4.6). It is carried out in requests, each with an [`RdmaId`].
    OpId, "op"
);

/// An upper-layer message accepted for sending, counted from 0 on each connection (wraps after 2^32).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MsgId(pub(crate) u32);

impl MsgId {
    /// Position in the order of `send` commands of this connection.
    #[must_use]
    pub const fn sequence(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for MsgId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "msg{}", self.0)
    }
}

/// The id of any work that a backend completes. It fits the `wr_id` of a verbs work request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WrId {
    /// A posted receive.
    Recv(RecvId),
    /// A posted send.
    Send(SendId),
    /// A posted RDMA request.
    Rdma(RdmaId),
    /// A registration or deregistration.
    Reg(RegId),
}

impl WrId {
    /// The id as 64 bits for a `wr_id`; never 0.
    #[must_use]
    #[inline]
    pub fn to_raw(self) -> u64 {
        let (kind, slot) = match self {
            Self::Recv(id) => (1_u64, id.0),
            Self::Send(id) => (2, id.0),
            Self::Rdma(id) => (3, id.0),
            Self::Reg(id) => (4, id.0),
        };
        kind << KIND_SHIFT | slot.to_raw()
    }

    /// The inverse of [`to_raw`](Self::to_raw); `None` for a number that [`to_raw`](Self::to_raw) never returns.
    ///
    /// An invented number may parse. The connection refuses it, because its generation is wrong
    /// ([`Misuse::UnknownWork`](crate::Misuse::UnknownWork)).
    #[must_use]
    #[inline]
    pub fn from_raw(raw: u64) -> Option<Self> {
        let slot = Slot::from_raw(raw);
        let id = match raw >> KIND_SHIFT {
            1 => Self::Recv(RecvId(slot)),
            2 => Self::Send(SendId(slot)),
            3 => Self::Rdma(RdmaId(slot)),
            4 => Self::Reg(RegId(slot)),
            _ => return None,
        };
        (id.to_raw() == raw).then_some(id)
    }
}

impl fmt::Debug for WrId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recv(id) => id.fmt(f),
            Self::Send(id) => id.fmt(f),
            Self::Rdma(id) => id.fmt(f),
            Self::Reg(id) => id.fmt(f),
        }
    }
}

impl fmt::Display for WrId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

macro_rules! into_wr_id {
    ($($id:ident => $variant:ident),*) => {
        $(impl From<$id> for WrId {
            #[inline]
            fn from(id: $id) -> Self {
                Self::$variant(id)
            }
        })*
    };
}
into_wr_id!(RecvId => Recv, SendId => Send, RdmaId => Rdma, RegId => Reg);

#[cfg(test)]
mod tests;
