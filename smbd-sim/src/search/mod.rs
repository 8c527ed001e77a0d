//! Exhaustive search: everything that two connections can do, in small configurations.
//!
//! Not a model of the protocol is searched but the connection itself: it is cloned, given an input, asked what to do, and
//! its [fingerprint](smbd_core::Connection::fingerprint) tells whether that was seen before. The oracles of the simulator
//! watch every step, with their records as a part of the state.
//!
//! A state is both connections with their upper layers, devices and oracles, and what is under way between them. Steps
//! are: a packet arrives; work completes; an RDMA Read is answered; a registration ends; an upper layer gives its next
//! command or a fragment back; a deadline passes; the connection is lost; a side notices that it is over. Any of them that
//! is possible may be the next: all orders are searched, breadth first, so that what is found is found on a shortest way.
//!
//! # What is demanded
//!
//! - In every state: no law of the [oracle](crate::oracle) is broken, no work request meets a full queue, no message an
//!   empty receive queue, and no credit is lost or made: what one side may send and has sent is what the other has granted.
//! - No deadlock: a state without a step, but faults, is an end: both sides drained, nothing held, nothing owed.
//! - No livelock: on every round of steps time passes. Upper layers' scripts end, so such a round is the network talking to
//!   itself.
//! - From every state an end can be reached without a fault.
//! - Where nothing goes wrong, every end has every message delivered and every command done.
//!
//! # Why states may be taken together
//!
//! Names of work (slots, generations) say nothing about behaviour: they are handed out by the connection and come back.
//! Times count by their distance from now. Counters that only grow and are looked at in differences only (numbers of
//! messages and sends, credits since the beginning in the oracle) count as these differences; statistics, which nothing
//! looks at, not at all. All else is in the fingerprint: 128 bits of XXH3. With `n` states of one side, the probability
//! that two of them are taken for one is about `n² / 2^129`: below 10⁻²⁴ for ten million. Pairs of sides are compared
//! exactly. The counterexample of a finding is played again with connections of its own, which must do the same.
//!
//! # What is not searched
//!
//! Payload bytes: a message carries the place of its fragment instead. Receives and sends that are flushed come back
//! queue by queue, not one by one. A device completes the send queue up to the next work that asked for a completion, at
//! any time after it was posted; whether the peer has it by then says nothing, as on iWARP.

mod catalogue;
mod explore;
mod graph;
mod judge;
mod local;
mod pipe;
mod record;
mod replay;
mod setup;
mod space;
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
