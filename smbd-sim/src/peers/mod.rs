//! The connection against foreign peers: models of what others do, written from what is known of them.
//!
//! One side of a run is a [`Connection`](smbd_core::Connection) with every law watched, as in the [swarm](crate::swarm). The
//! other is a model: a small state machine of its own, which shares nothing with the connection but the codecs of the wire.
//! Nothing goes wrong on purpose; a seed decides the parameters of both, their messages, and how long everything takes. A run
//! ends well if all messages arrived and nothing flew from then on until the keepalive. What need not end well is told from
//! the parameters, before the run.

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
