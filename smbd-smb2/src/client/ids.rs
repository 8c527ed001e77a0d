//! Names of what the client and its caller talk about.

use core::fmt;

use super::table::Key;

macro_rules! ids {
    ($($(#[$doc:meta])* $Name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $Name(pub(super) Key);

        impl fmt::Debug for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($Name), "({:?})"), self.0)
            }
        }
    )+};
}

ids! {
    /// An operation, from the call that begins it to its result.
    OperationId;
    /// A session, from the result of its login to its end.
    SessionHandle;
    /// A tree connect, from its result to its end or that of its session.
    TreeHandle;
    /// A registration of a part of a buffer, from [`Output::Register`](super::Output::Register) to
    /// [`Client::deregistered`](super::Client::deregistered).
    RegistrationId;
}

/// A buffer of the caller's, which names it as it likes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub u64);
