//! Exhaustive search: all states of two connections, in small configurations.
//!
//! The search runs the connection itself, not a model of the protocol. It clones the connection, gives it an input and
//! polls its actions. The [fingerprint](smbd_core::Connection::fingerprint) shows whether the state is new. The oracles
//! of the simulator check every step; their records are a part of the state.
//!
//! A state is both connections with their upper layers, devices and oracles, and what is under way between them. Steps
//! are: a packet arrives; work completes; an RDMA Read is answered; a registration ends; an upper layer gives its next
//! command or releases a fragment; a deadline passes; the connection is lost; a side notices that it is over. Any
//! possible step may be the next: all orders are searched, breadth first. So the steps to a finding are as few as
//! possible.
//!
//! # Checks
//!
//! - In every state: no law of the [oracle](crate::oracle) is broken, no work request meets a full queue, no message an
//!   empty receive queue, and no credit is lost or invented: the credits that one side has and has used are those that
//!   the other has granted.
//! - No deadlock: a state without a step, except faults, is an end: both sides are drained, nothing is borrowed or due.
//! - No livelock: every cycle of steps contains a step of time. The scripts of upper layers end, so a cycle without one
//!   is an endless exchange of messages.
//! - From every state an end can be reached without a fault.
//! - Without faults, every message is delivered and every command is done at every end.
//!
//! # Why states can be merged
//!
//! Ids of work (slots, generations) do not influence behaviour: the connection makes them, and gets them back. Times
//! count by their distance from now. Counters that only grow and are only compared (numbers of messages and sends,
//! credits since the beginning in the oracle) count by their differences; statistics do not count. Everything else is
//! in the fingerprint: 128 bits of XXH3. With `n` states of one side, the probability that two different ones have the
//! same fingerprint is about `n² / 2^129`: below 10⁻²⁴ for ten million. Pairs of sides are compared exactly. The
//! counterexample of a finding is repeated with new connections, which must do the same.
//!
//! # What is not searched
//!
//! Payload bytes: a message carries the place of its fragment instead. Receives and sends are flushed queue by queue,
//! not one by one. A device completes the send queue up to the next signalled work, at any time after it was posted.
//! Its completion does not mean that the peer has received it, as on iWARP.

mod bits;
mod catalogue;
mod explore;
mod graph;
mod judge;
mod key;
mod local;
mod pipe;
mod record;
mod replay;
mod setup;
mod space;
mod states;
mod step;
mod table;
#[cfg(test)]
mod tests;
mod wire;

pub use catalogue::{all, named};
pub use explore::{Finding, Limits, Report, Verdict, search};
pub use record::Progress;
pub use setup::{Core, Delays, Do, Loss, Peer, Raw, Rules, Setup, Size, Tamper};
pub use table::table;
