use thiserror::Error;

/// Why a call was refused. Nothing has changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[repr(u16)]
pub enum Refusal {
    /// The version of HELLO is not that of the broker.
    #[error("the broker does not speak this version")]
    Version = 1,
    /// HELLO has not been said, or a second time.
    #[error("HELLO comes first, and once")]
    Order = 2,
    /// Another owner holds the SessionId or the ClientGuid.
    #[error("another owner holds it")]
    Held = 3,
    /// This owner does not hold what it wants to forget.
    #[error("it is not held")]
    NotHeld = 4,
    /// A limit of this owner or of all owners is reached.
    #[error("a quota is reached")]
    Quota = 5,
    /// There is not enough memory.
    #[error("there is not enough memory")]
    Memory = 6,
    /// The file descriptor is not the socket of a connection of this broker.
    #[error("the file descriptor is not the socket of a connection")]
    NotASocket = 7,
    /// Another owner is the default acceptor.
    #[error("another owner is the default acceptor")]
    Taken = 8,
    /// Only the default acceptor may do that.
    #[error("only the default acceptor may do that")]
    NotAcceptor = 9,
    /// The parameters are not valid together.
    #[error("the parameters are not valid")]
    Parameters = 10,
    /// The connection has ended.
    #[error("the connection has ended")]
    Ended = 11,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Version,
        Self::Order,
        Self::Held,
        Self::NotHeld,
        Self::Quota,
        Self::Memory,
        Self::NotASocket,
        Self::Taken,
        Self::NotAcceptor,
        Self::Parameters,
        Self::Ended,
    ];

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// That of a number.
    #[must_use]
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.number() == number)
    }
}
