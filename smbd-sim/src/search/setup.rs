//! The setup of a search: two peers, the scripts of their upper layers, and the possible faults of the network.

use std::time::Duration;

use smbd_core::{Access, Params, RdmaVerb};

/// A configuration to search.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is in it, in a few words.
    pub about: &'static str,
    /// How much there is to search.
    pub size: Size,
    /// The side that connects, then the side that accepts.
    pub peers: [Peer; 2],
    /// How long things take.
    pub delays: Delays,
    /// Whether the connection may be lost, at any point, once.
    pub loss: Loss,
    /// Inputs and the work that follows them are steps of their own: any number of inputs comes between two drains.
    pub batches: bool,
    /// Each registration may fail.
    pub registrations_fail: bool,
    /// A side closes without waiting for anything, or goes on after it has: not all of it can be done.
    pub aborts: bool,
    /// One side does not do what its connection says.
    pub tamper: Option<Tamper>,
}

/// How much there is to search in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// Some thousand states.
    Small,
    /// Seconds.
    Medium,
    /// Minutes.
    Large,
    /// A quarter of an hour of two processors and some GiB, or more: by name only.
    Huge,
}

/// One of the two peers.
#[derive(Clone, Debug)]
pub enum Peer {
    /// `smbd-core` with an upper layer.
    Core(Core),
    /// A script with rules of its own.
    Raw(Raw),
}

/// A connection and what is above and below it.
#[derive(Clone, Debug)]
pub struct Core {
    /// Of the connection.
    pub params: Params,
    /// Commands of the upper layer, in this order. Each is given at any time after what it waits for.
    pub script: Vec<Do>,
    /// Commands are given as soon as the connection tells what they wait for, in its drain loop.
    pub eager: bool,
    /// Fragments the upper layer keeps; each goes back at any time. With 0 each goes back at once.
    pub hold: usize,
    /// Registrations are windows, bound by work requests of the send queue.
    pub windows: bool,
    /// Places of the send queue; all that the budget asks for if left out.
    pub send_queue: Option<u16>,
}

/// What an upper layer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Do {
    /// Sends a message.
    Send {
        /// Its length in bytes.
        len: u32,
        /// Tells the peer of the registered buffer.
        tells: bool,
        /// Invalidates the token that the peer told of.
        invalidates: bool,
        /// Its result is not waited for.
        unsignalled: bool,
    },
    /// Registers a buffer.
    Register(Access),
    /// Deregisters it.
    Deregister,
    /// Reads or writes the whole buffer that the peer told of.
    Rdma(RdmaVerb),
    /// Asks for a keepalive response.
    Probe,
    /// Goes on when so many messages of the peer have come.
    Received(usize),
    /// Goes on when every command has its result.
    Answered,
    /// Goes on after a time in which nothing else has to happen.
    Sleep(Duration),
    /// Closes in good order.
    Flush,
    /// Closes at once.
    Abort,
}

impl Do {
    /// A message of `len` bytes.
    #[must_use]
    pub const fn send(len: u32) -> Self {
        Self::Send { len, tells: false, invalidates: false, unsignalled: false }
    }
}

/// A peer whose credits follow rules of its own. It takes what comes, answers probes, and never closes.
#[derive(Clone, Debug)]
pub struct Raw {
    /// How it manages credits.
    pub rules: Rules,
    /// CreditsRequested of all its messages.
    pub requested: u16,
    /// Most receives it posts.
    pub receives: u16,
    /// Lengths of its messages in bytes, each one fragment.
    pub messages: Vec<u32>,
}

/// How a scripted peer manages credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rules {
    /// As `smbd-core` does, written a second time.
    Sound,
    /// As 3.1.5.1, 3.1.5.8 and 3.1.5.9 have it literally (CR-1 to CR-4).
    Literal,
    /// The same, but every message is answered by a grant (CR-3).
    Prompt,
    /// Grants nothing after the negotiation.
    Miser,
}

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delays {
    /// Network, devices and upper layers are faster than any timer: time passes when nothing else can happen.
    Bounded,
    /// Anything may be later than any timer: time passes at any point.
    Any,
}

/// How a connection may be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Not at all.
    Never,
    /// Both sides are told, each in its own time; what is under way may still arrive until then.
    Told,
    /// Nothing arrives any more, and nobody is told.
    Silent,
}

/// What is done to one side on purpose, to see that the search finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tamper {
    /// CreditsGranted of its data messages is set to 0 before anybody sees them.
    GrantsNothing,
    /// The same behind the back of the oracle.
    GrantsNothingOnTheWire,
    /// The results of its messages are lost.
    ResultsLost,
    /// The last fragment of each of its messages is sent a second time.
    SentTwice,
}

impl Setup {
    /// Whether nothing can go wrong: then everything has to arrive and every command has to succeed.
    #[must_use]
    pub fn must_succeed(&self) -> bool {
        let fails = self.registrations_fail || self.aborts;
        self.loss == Loss::Never && self.delays == Delays::Bounded && !fails
    }
}
