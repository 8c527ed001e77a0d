//! The parameters of a subject that is `smbd-core` itself.

use smbd_core::Params;

use super::Settings;
use crate::catalogue::UnderTest;

/// Two sets of parameters that are in use.
#[derive(Clone, Copy, Debug)]
pub(super) enum Profile {
    Windows,
    Linux,
}

impl Profile {
    /// The parameters of a subject in this role, with what a case sets otherwise.
    pub(super) fn params(self, role: UnderTest, settings: Option<Settings>) -> Params {
        let mut params = match (self, role) {
            (Self::Windows, _) => Params::windows(),
            (Self::Linux, UnderTest::Initiator) => Params::linux_client(),
            (Self::Linux, UnderTest::Acceptor | UnderTest::Both) => Params::linux_server(),
        };
        if let Some(settings) = settings {
            settings(&mut params);
        }
        params
    }
}
