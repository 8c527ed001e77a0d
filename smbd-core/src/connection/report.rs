//! When the upper layer hears of what it commanded, and with it which work requests are signalled.

/// At least one of so many sends, and of so many RDMA requests, is signalled.
pub(super) const SIGNAL_EVERY: u8 = 32;

/// When a result is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Report {
    /// As soon as it is there.
    Prompt,
    /// With that of something later.
    Late,
}
