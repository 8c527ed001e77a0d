use crate::Config;

/// An initiator's backend that can be made from `To`, the address of what to connect to.
pub trait Connect<To>: Sized {
    /// Why it cannot be made.
    type Error;

    /// A backend for one connection to `to`. Nothing happens on the network before it is driven.
    ///
    /// # Errors
    /// There is nothing to connect with.
    fn connect(to: To, config: &Config) -> Result<Self, Self::Error>;
}

/// An acceptor's backend that can be made from `Request`, what a listener has of a connection request.
pub trait Accept<Request>: Sized {
    /// Why it cannot be made.
    type Error;

    /// A backend for the connection that was asked for. The request is answered when the backend is driven.
    ///
    /// # Errors
    /// The request cannot be accepted.
    fn accept(request: Request, config: &Config) -> Result<Self, Self::Error>;
}
