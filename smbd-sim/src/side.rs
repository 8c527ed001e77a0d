/// One of the two hosts of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The host that connects.
    Initiator,
    /// The host that accepts.
    Acceptor,
}

impl Side {
    /// Both, in a fixed order.
    pub const BOTH: [Self; 2] = [Self::Initiator, Self::Acceptor];

    /// The other one.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Initiator => Self::Acceptor,
            Self::Acceptor => Self::Initiator,
        }
    }

    /// Place in a pair.
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Initiator => 0,
            Self::Acceptor => 1,
        }
    }

    /// Short name for traces.
    #[must_use]
    pub const fn short(self) -> &'static str {
        match self {
            Self::Initiator => "init",
            Self::Acceptor => "acc",
        }
    }
}

impl From<Side> for smbd_core::Role {
    fn from(side: Side) -> Self {
        match side {
            Side::Initiator => Self::Initiator,
            Side::Acceptor => Self::Acceptor,
        }
    }
}
