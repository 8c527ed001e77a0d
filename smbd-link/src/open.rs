use smbd_core::Config;

/// A backend of an initiator that can be made from `To`, the address of the acceptor.
pub trait Connect<To>: Sized {
    /// The error if it cannot be made.
    type Error;

    /// A backend for one connection to `to`. Returns at once: nothing is sent before the backend is driven.
    ///
    /// # Errors
    /// The backend cannot be made, for example because the host has no RDMA device.
    fn connect(to: To, config: &Config) -> Result<Self, Self::Error>;
}

/// A backend of an acceptor that can be made from `Request`, a listener's connection request.
pub trait Accept<Request>: Sized {
    /// The error if it cannot be made.
    type Error;

    /// A backend for the requested connection. Returns at once: the request is answered when the backend is driven.
    ///
    /// # Errors
    /// The request cannot be accepted.
    fn accept(request: Request, config: &Config) -> Result<Self, Self::Error>;
}
