//! Which loops of `smbd_link` drive the two ends of a connection.

use crate::named::named;

named! {
    /// A loop of `smbd_link`.
    pub enum Loop {
        /// Calls that wait.
        Blocking = "blocking",
        /// Many connections on one thread.
        Engine = "engine",
        /// Async calls, and a future that drives.
        Tokio = "tokio",
    }
}

named! {
    /// Initiator and acceptor. Two that wait in their calls would need two threads.
    pub enum Pair {
        /// Blocking calls and an engine.
        BlockingEngine = "blocking and engine",
        /// Blocking and async calls.
        BlockingTokio = "blocking and tokio",
        /// An engine and blocking calls.
        EngineBlocking = "engine and blocking",
        /// Two engines.
        EngineEngine = "engine and engine",
        /// An engine and async calls.
        EngineTokio = "engine and tokio",
        /// Async and blocking calls.
        TokioBlocking = "tokio and blocking",
        /// Async calls and an engine.
        TokioEngine = "tokio and engine",
        /// Async calls on both sides.
        TokioTokio = "tokio and tokio",
    }
}

impl Pair {
    /// The loops, initiator first.
    #[must_use]
    pub const fn loops(self) -> [Loop; 2] {
        use Loop::{Blocking, Engine, Tokio};
        match self {
            Self::BlockingEngine => [Blocking, Engine],
            Self::BlockingTokio => [Blocking, Tokio],
            Self::EngineBlocking => [Engine, Blocking],
            Self::EngineEngine => [Engine, Engine],
            Self::EngineTokio => [Engine, Tokio],
            Self::TokioBlocking => [Tokio, Blocking],
            Self::TokioEngine => [Tokio, Engine],
            Self::TokioTokio => [Tokio, Tokio],
        }
    }
}
