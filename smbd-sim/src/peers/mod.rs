//! The connection against foreign peers: models of other implementations, written from their known behaviour.
//!
//! One side of a run is a [`Connection`](smbd_core::Connection) with every law watched, as in the
//! [swarm](crate::swarm). The other is a model: a small state machine that shares only the codecs of the wire with the
//! connection. No faults are injected. A seed decides the parameters of both sides, their messages, and all durations.
//! A run passes if all messages arrive, and nothing is sent after them until the keepalive. The parameters decide
//! before the run whether it may fail.

mod exception;
mod kind;
mod line;
mod linux;
mod model;
mod plan;
mod run;
mod summary;
#[cfg(test)]
mod tests;
mod text;
mod upper;
mod windows;
mod work;

pub use exception::Exception;
pub use kind::Kind;
pub use line::{ModelParams, Posting};
pub use plan::Plan;
pub use run::{Report, Verdict, run};
pub use summary::{Row, Summary, run_seeds, table};
pub use upper::Behaviour;
pub use work::{Opening, ScriptedMessage};
