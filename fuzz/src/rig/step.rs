//! What a fuzzer may have happen.

use arbitrary::Arbitrary;

use super::hear::Said;

/// One thing that happens.
#[derive(Arbitrary, Clone, Debug)]
pub enum Step {
    /// So many actions are carried out.
    Poll(u8),
    /// All of them are.
    Drain,
    /// Time passes, in microseconds.
    Pass(u16),
    /// Time passes until the deadline, or nearly.
    Due { early: bool },
    /// A timer is reported, whatever the time.
    Timeout,
    /// A message arrives.
    Hear { at: u8, said: Said, invalidates: Option<u8> },
    /// Messages arrive as they should.
    Listen { credits: u8, lens: [u16; 4] },
    /// Work completes.
    Complete { kind: Kind, count: u8 },
    /// Work fails.
    Fail { kind: Kind, error: u8 },
    /// What has come back comes back again, or something is made up.
    Forge { raw: Forged, kind: Kind },
    /// The transport connection is up.
    Connected,
    /// It is not, and will not be.
    ConnectFailed { reason: u8 },
    /// It is gone.
    Disconnected,
    /// A message is to be sent.
    Send { len: u32, invalidate: Option<u8> },
    /// RDMA.
    Rdma { write: bool, len: u32, offset: u8, remote: Vec<(u16, u16)> },
    /// A buffer is registered.
    Register { access: u8, segments: u8 },
    /// The end of a registration.
    Deregister { at: u8 },
    /// A fragment is given back.
    Release { at: u8 },
    /// A probe.
    Probe,
    /// The end, at once or in good order.
    Close { flush: Option<u16> },
}

/// Kinds of work.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Kind {
    /// Sends.
    Send,
    /// RDMA requests.
    Rdma,
    /// Receives.
    Recv,
    /// Registrations.
    Register,
    /// Window binds.
    Bind,
    /// Deregistrations.
    Deregister,
}

/// A name that is not outstanding, or is by accident.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Forged {
    /// One that has come back.
    Again(u8),
    /// Any number.
    Raw(u64),
}
