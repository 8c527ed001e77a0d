//! The parameters of a subject that is `smbd-core` itself.

use smbd_core::Params;

use crate::catalogue::UnderTest;

/// Two sets of parameters that are in use.
#[derive(Clone, Copy, Debug)]
pub(super) enum Profile {
    Windows,
    Linux,
}

impl Profile {
    /// The parameters of a subject in this role.
    pub(super) const fn params(self, role: UnderTest) -> Params {
        match (self, role) {
            (Self::Windows, _) => Params::windows(),
            (Self::Linux, UnderTest::Initiator) => Params::linux_client(),
            (Self::Linux, UnderTest::Acceptor | UnderTest::Both) => Params::linux_server(),
        }
    }
}
