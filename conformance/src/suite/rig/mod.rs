//! The rig of a test: how script and subject connect, how the subject is driven, and how time passes.
//!
//! A [`Target`] makes a fresh [`Rig`] for each play. A rig over any [`Backend`](smbd_core::backend::Backend) keeps one
//! [`Line`] for each connection, which posts the work of the script. The rest of the rig makes the ends, drives the
//! subject, and waits in `pass`.

mod line;
mod profile;
mod real;
pub mod sim;
pub mod socket;
mod stream;
mod subject;
mod upper;
#[cfg(feature = "verbs")]
pub mod verbs;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use smbd_core::error::{ConnectReason, WorkError};
use smbd_core::{Access, BufferDescriptorV1, Config, ConfigError, Instant, Limits, Params, RdmaVerb, Token};
use smbd_smb2::wire::NtStatus;

pub use line::{Line, RDMA_MAX, REGISTRATIONS_MAX, SENDS_MAX};
pub use stream::{Adapter, Heard, Streams};
pub use upper::{MemoryOf, RdmaSeen, Told, UpperHand, Work};

use super::script::Usual;
use super::trace::Event;
use crate::catalogue::{Need, UnderTest};

/// Settings of the subject where its usual ones will not do.
pub type Settings = fn(&mut Params);

/// A kind of network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// RDMA over TCP.
    Iwarp,
    /// RDMA over Converged Ethernet, or InfiniBand.
    Roce,
}

/// Something that can be tested.
pub trait Target {
    /// For reports: `sim`.
    fn name(&self) -> String;

    /// The variants of it that are all played: `windows-roce`. At least one.
    fn variants(&self) -> Vec<String>;

    /// Whether the same subject is there for all plays, as another program is. Then it may be gone.
    fn persists(&self) -> bool {
        false
    }

    /// Whether the subject has these settings (as in `cases.toml`) already and needs not be given them.
    fn has(&self, settings: &[String]) -> bool {
        let _ = settings;
        false
    }

    /// Why the subject cannot be tested in this role, or cannot do what a case needs; `None` if it can.
    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String>;

    /// A fresh subject.
    ///
    /// # Errors
    /// Why there is none, or why it cannot have these settings.
    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable>;
}

/// What a device does, as the verbs have it, and some devices do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// It refuses an RDMA Read of memory that was not registered for reading.
    ReadRights,
    /// It says that a message has invalidated a token, and which.
    Invalidation,
    /// It refuses to invalidate a token of another connection.
    ForeignTokens,
    /// It refuses to invalidate a token that is not valid any more.
    InvalidationOnce,
}

/// A case cannot be played on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unable {
    /// It is made of something else: the case is not applicable.
    NotApplicable(String),
    /// Something is wrong with the target itself: the case fails.
    Broken(String),
}

impl fmt::Display for Unable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotApplicable(why) | Self::Broken(why) => f.write_str(why),
        }
    }
}

/// A connection that the script is about to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Most receives posted at a time; with 0 there is none for the negotiation either.
    pub receives: u16,
    /// Bytes of the longest receive.
    pub receive_len: u32,
    /// Bytes of the longest message the script sends.
    pub send_len: u32,
    /// RDMA Reads the script's device serves and asks for at a time.
    pub read_depth: u16,
    /// The transport connection fails like this. Only where the network can be told to.
    pub failing: Option<(ConnectReason, Duration)>,
    /// Private data of the script's request or consent, on a network that has them. `None` leaves it to the target.
    pub private_data: Option<Vec<u8>>,
    /// The acceptor's device can invalidate a token with a send, and so can the initiator's.
    pub send_with_invalidate: bool,
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            receives: 600,
            receive_len: 8192,
            send_len: 9000,
            read_depth: 16,
            failing: None,
            private_data: None,
            send_with_invalidate: true,
        }
    }
}

impl Opening {
    /// The configuration of a connection whose [`Budget`](smbd_core::Budget) is what the script's end needs: for backends
    /// that are sized by it.
    ///
    /// # Errors
    /// Which number is out of range.
    pub fn config(&self) -> Result<Config, ConfigError> {
        Config::try_from(Params {
            receive_credit_max: self.receives.max(4),
            max_receive_size: self.receive_len.max(128),
            max_send_size: self.send_len.max(128),
            large_sends: true,
            borrowed_max: 0,
            send_slots: SENDS_MAX,
            rdma_ops: RDMA_MAX,
            rdma_slots: RDMA_MAX,
            read_depth: self.read_depth,
            registrations: REGISTRATIONS_MAX,
            segments_max: REGISTRATIONS_MAX,
            registration_slots: REGISTRATIONS_MAX,
            ..Params::windows()
        })
    }
}

/// Something the script's device is to do.
#[derive(Debug)]
pub enum Order<'a> {
    /// Ask for the transport connection.
    Connect,
    /// Accept the one that was or will be asked for.
    Accept,
    /// End it.
    Disconnect,
    /// Post a receive of so many bytes.
    Receive(u32),
    /// Send a message, and invalidate a token of the subject with it.
    Send(&'a [u8], Option<Token>),
    /// Register a buffer of [`Rig::allocate`].
    Register(usize, Access),
    /// Deregister it; whether the peer has invalidated it.
    Deregister(usize),
    /// Read or write the subject's memory: so many bytes of a buffer from an offset on.
    Rdma(RdmaVerb, usize, u32, BufferDescriptorV1),
}

/// Something that the script's device reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The transport connection is up.
    Connected(Limits),
    /// It did not come up.
    ConnectFailed(ConnectReason),
    /// It is down.
    Disconnected,
    /// A message came; the token it invalidated here.
    Message(Vec<u8>, Option<Token>),
    /// Some work ended: its ticket.
    Done(u64, Result<(), WorkError>),
    /// A registration is valid: its ticket and its segments.
    Registered(u64, Vec<BufferDescriptorV1>),
}

/// No room on the script's device: a mistake of the case, or of what it asked for with its [`Opening`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full(pub &'static str);

/// One play's worth of network, script's devices and subject.
pub trait Rig {
    /// The time, virtual or not.
    fn now(&self) -> Instant;

    /// Whether it is that of this host, and costs as much.
    fn is_real(&self) -> bool {
        false
    }

    /// Connections opened from now on have subjects with other settings: its usual ones, changed.
    ///
    /// # Errors
    /// They cannot be changed here. Inside: the subject does not take them, and nothing has changed.
    fn configure(&mut self, settings: &dyn Fn(&mut Params)) -> Result<Result<(), ConfigError>, Unable> {
        let _ = settings;
        Err(Unable::NotApplicable("the subject's settings cannot be changed while a case is played".into()))
    }

    /// Called before [`open`](Self::open): the next connection is one that the case asks for. A subject that connects because
    /// it is made to lets go of the connection before, and what it has asked for by itself until then, as a client does that
    /// connects again when a connection ends, is refused and forgotten.
    ///
    /// # Errors
    /// It does not let go.
    fn turn_away(&mut self) -> Result<(), Unable> {
        Ok(())
    }

    /// Whether a connection stays when another is made. It does not where the subject lets go of it before.
    fn keeps_connections(&self) -> bool {
        true
    }

    /// The script gets an end for another connection, and there is a subject at the other; neither does anything yet
    /// but that a subject that connects begins to, when time passes. Numbers are given from 0 on.
    ///
    /// # Errors
    /// Why that cannot be.
    fn open(&mut self, opening: &Opening) -> Result<usize, Unable>;

    /// Waits until the subject, if it connects, has asked for a connection; `false` if it has given that up. Called before
    /// [`Order::Accept`].
    ///
    /// # Errors
    /// It did not ask.
    fn await_request(&mut self, connection: usize) -> Result<bool, Unable> {
        let _ = connection;
        Ok(true)
    }

    /// The connection failed before it was up: the subject may have withdrawn its request and made another. Whether it has, or
    /// does soon; that is to be accepted, and has the receives of the one before.
    ///
    /// # Errors
    /// The receives cannot be posted.
    fn await_another(&mut self, connection: usize) -> Result<bool, Unable> {
        let _ = connection;
        Ok(false)
    }

    /// Has the script's device do something; what comes of it is news. Its ticket tells it from other work.
    ///
    /// # Errors
    /// No room.
    fn order(&mut self, connection: usize, order: Order<'_>) -> Result<u64, Full>;

    /// Memory of the script: a buffer that holds `bytes`.
    ///
    /// # Errors
    /// No room.
    fn allocate(&mut self, connection: usize, bytes: &[u8]) -> Result<usize, Full>;

    /// What a buffer of the script holds.
    fn contents(&mut self, connection: usize, buffer: usize) -> Vec<u8>;

    /// Writes a buffer of the script, all of it.
    fn fill(&mut self, connection: usize, buffer: usize, bytes: &[u8]);

    /// Drops the connection without a farewell, as if the script's host had lost power or its cable: both devices notice
    /// in their own way.
    ///
    /// # Errors
    /// That cannot be brought about here.
    fn cut(&mut self, connection: usize) -> Result<(), Unable> {
        let _ = connection;
        Err(Unable::NotApplicable("a connection cannot be dropped without a disconnect here".into()))
    }

    /// The private data of the subject's request or consent, when they have come. Only where the network has them.
    fn private_data(&mut self, connection: usize) -> Option<Vec<u8>> {
        let _ = connection;
        None
    }

    /// The next thing that the script's device has to say, and when it was noticed.
    fn news(&mut self, connection: usize) -> Option<(Instant, News)>;

    /// Drives the subject and lets time pass, until there is news on any connection, or until `limit`.
    fn pass(&mut self, limit: Instant);

    /// Why a connection ended or did not come up, in the words of what it went over, where there are any.
    fn trouble(&self, connection: usize) -> Option<&str> {
        let _ = connection;
        None
    }

    /// Why neither device can do something that the verbs say it can; `None` if it can, or before there is a connection.
    fn device_lacks(&self, ability: Ability) -> Option<String> {
        let _ = ability;
        None
    }

    /// What the last READ by RDMA gave the program that an SMB2 client is for, where that can be looked at.
    fn given(&self, connection: usize) -> Option<NtStatus> {
        let _ = connection;
        None
    }

    /// Whether the subject's upper layer may say something that no case made it say, as that of another program may.
    fn speaks(&self) -> bool {
        false
    }

    /// The kind of network between script and subject, if it is a real one and there was a connection.
    fn network(&self) -> Option<Network> {
        None
    }

    /// The script's device, by its name and link type, if it is a real one and there was a connection.
    fn device(&self) -> Option<String> {
        None
    }

    /// What the script does otherwise for this subject than usual.
    fn usual(&self) -> Option<Usual> {
        None
    }

    /// What the subject's device was seen to do besides messages, and its upper layer was told, since the last call.
    /// Empty where neither is looked at.
    fn seen(&mut self) -> Vec<Event> {
        Vec::new()
    }

    /// The play is over: the subject lets go of its connections.
    ///
    /// # Errors
    /// It does not, and is of no use for another play.
    fn end(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// What the subject did that no device would take: a fault of whoever drives it.
    fn faults(&self) -> Vec<String> {
        Vec::new()
    }

    /// How the subject is reached over direct TCP besides, if it is known to be.
    fn streams(&mut self) -> Option<&mut dyn Streams> {
        None
    }

    /// A look at the subject's upper layer, which changes nothing. Only in the simulator.
    fn look(&self, connection: usize) -> Option<&dyn UpperHand> {
        let _ = connection;
        None
    }

    /// The subject's upper layer. Only where the subject is part of this program.
    fn upper(&mut self, connection: usize) -> Option<&mut dyn UpperHand> {
        let _ = connection;
        None
    }
}
