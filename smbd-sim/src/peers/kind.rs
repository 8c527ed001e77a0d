//! The modelled peers.

use super::line::ModelParams;
use super::linux::{LinuxClient, LinuxEngine, LinuxServer};
use super::model::Rules;
use super::text::{Edition, Text};
use super::windows::Windows;
use super::work::Opening;
use crate::Side;
use crate::named::named;

named! {
    /// A kind of peer, in one role.
    pub enum Kind {
        /// cifs of Linux 6.12.
        LinuxClient = "linux-6.12-client",
        /// ksmbd of Linux 6.12.
        LinuxServer = "linux-6.12-server",
        /// Windows as client.
        WindowsInitiator = "windows-initiator",
        /// Windows as server.
        WindowsAcceptor = "windows-acceptor",
        /// The text of 2021, which an acceptor can follow as it is.
        Text2021Acceptor = "text-2021-acceptor",
        /// The text of 2021 with CR-1 repaired; CR-2 it has repaired itself.
        Text2021InitiatorRepaired = "text-2021-initiator-repaired",
        /// The text of 2018 with CR-1 and CR-2 repaired.
        Text2018InitiatorRepaired = "text-2018-initiator-repaired",
        /// The text of 2018 with CR-2 repaired; CR-1 is none of an acceptor's.
        Text2018AcceptorRepaired = "text-2018-acceptor-repaired",
        /// The text of 2021 literally.
        Text2021Initiator = "text-2021-initiator",
        /// The text of 2018 literally.
        Text2018Initiator = "text-2018-initiator",
        /// The text of 2018 literally.
        Text2018Acceptor = "text-2018-acceptor",
        /// cifs of Linux 7.3.
        Linux7Client = "linux-7.3-client",
        /// ksmbd of Linux 7.3.
        Linux7Server = "linux-7.3-server",
    }
}

impl Kind {
    /// Its role.
    #[must_use]
    pub const fn side(self) -> Side {
        match self {
            Self::LinuxClient
            | Self::Linux7Client
            | Self::WindowsInitiator
            | Self::Text2021InitiatorRepaired
            | Self::Text2018InitiatorRepaired
            | Self::Text2021Initiator
            | Self::Text2018Initiator => Side::Initiator,
            Self::LinuxServer
            | Self::Linux7Server
            | Self::WindowsAcceptor
            | Self::Text2021Acceptor
            | Self::Text2018AcceptorRepaired
            | Self::Text2018Acceptor => Side::Acceptor,
        }
    }

    /// The one with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether it comes to a stand by its own rules (CR-1, CR-2, row 53 of docs/known-bugs.md), so that a run may end with
    /// [`CreditStall`](smbd_core::error::CloseReason::CreditStall).
    #[must_use]
    pub const fn may_stall(self) -> bool {
        matches!(
            self,
            Self::Text2021Initiator
                | Self::Text2018Initiator
                | Self::Text2018Acceptor
                | Self::Linux7Client
                | Self::Linux7Server
        )
    }

    /// Whether an initiator of this kind grants its first credits with its first message, and not before.
    #[must_use]
    pub const fn grants_with_messages(self) -> bool {
        !matches!(self, Self::LinuxClient)
    }

    const fn is_linux(self) -> bool {
        matches!(self, Self::LinuxClient | Self::LinuxServer | Self::Linux7Client | Self::Linux7Server)
    }

    /// Whether receives are held until a message is complete and read.
    #[must_use]
    pub const fn holds_receives(self) -> bool {
        self.is_linux()
    }

    /// How the conversation with it begins, on a side. Linux has nothing but SMB2 to say.
    #[must_use]
    pub const fn opening(self, side: Side) -> Opening {
        match side {
            _ if !self.is_linux() => Opening::AtOnce,
            Side::Initiator => Opening::Asks,
            Side::Acceptor => Opening::Answers,
        }
    }

    /// Its rules.
    pub(super) fn rules(self, params: &ModelParams) -> Box<dyn Rules> {
        let text = |edition, repaired| Box::new(Text::new(edition, repaired, params));
        match self {
            Self::LinuxClient => Box::new(LinuxClient::new()),
            Self::LinuxServer => Box::new(LinuxServer::new(params)),
            Self::Linux7Client | Self::Linux7Server => Box::new(LinuxEngine::new(params)),
            Self::WindowsInitiator | Self::WindowsAcceptor => Box::new(Windows::new(params)),
            Self::Text2021Acceptor | Self::Text2021Initiator => text(Edition::V2021, false),
            Self::Text2021InitiatorRepaired => text(Edition::V2021, true),
            Self::Text2018Initiator | Self::Text2018Acceptor => text(Edition::V2018, false),
            Self::Text2018InitiatorRepaired | Self::Text2018AcceptorRepaired => text(Edition::V2018, true),
        }
    }
}
