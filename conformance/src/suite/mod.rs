//! The suite: every case of `requirements/cases.toml` as code, written once, played against any [`Target`](rig::Target).
//!
//! # How to write a case
//!
//! A case is a function `fn(&mut Play) -> Result<(), Stop>` in the file of its group below `cases/`, and an
//! [`Entry`] with its name in that file's `CASES`. It reads like its `steps`:
//!
//! ```
//! use std::time::Duration;
//! use smbd_conformance::suite::{Data, Play, Stop, pattern};
//!
//! fn a_payload_comes_back(play: &mut Play) -> Result<(), Stop> {
//!     let mut peer = play.established()?;
//!     let payload = pattern(1, 500);
//!     peer.send(&Data::of(&payload))?;
//!     let echo = peer.echoed("2.2.3-02", &payload)?;
//!     peer.check("2.2.3-15", echo.fragments[0].header.data_offset % 8 == 0, || "DataOffset ...".into());
//!     peer.send(&Data::empty().requesting(0))?;
//!     peer.ends("3.1.5.8-03");
//!     Ok(())
//! }
//! ```
//!
//! - [`Play`] makes connections: [`connect`](Play::connect) (the transport alone), [`established`](Play::established)
//!   and its like. For a second connection let go of the first [`Peer`] and call again; [`Play::peer`] comes back to an
//!   earlier one by its [`id`](Peer::id). With `role = "both"` the function is called once for each role; where steps
//!   differ ask [`Play::subject_accepts`].
//! - [`Peer`] does the steps. What the script does by itself is said in the head of `cases.toml`; it is kept by
//!   [`Peer::send`] (waits for a credit, grants what the subject used). [`Peer::send_now`] does not wait, [`Peer::say`]
//!   sends any bytes, and every field of [`Data`], [`Request`] and [`Response`] can have any value.
//! - Each check names the statements it is about, in one string: `"2.2.2-13 3.1.5.3-11"`. [`Peer::check`] goes on when it
//!   fails, [`Peer::require`] and all that waits for something stop the case. The text says what was expected and what
//!   came, with values. What shared parts such as [`Peer::basic_check`] assert counts for the statements that the case
//!   lists.
//! - Every statement that `cases.toml` lists for a case has to be asserted by it, in one of its roles, and no other; a
//!   test sees to that. Where the plan was wrong, change `cases.toml` (and `covered_by` in `ms-smbd.toml`).
//! - `settings` of a case are a function that changes the subject's parameters, in its [`Entry`].
//! - What only a subject gives that is part of this program, in the simulator or over a device (`needs = ["upper"]`), is
//!   [`Peer::upper`]. A case that can do without, but sees more with it, asks [`Peer::upper_if_seen`].
//! - What some devices cannot show is asked with [`Play::can`], and the case does without, or with [`Play::needs`].
//! - What the upper layer should be told: [`Peer::told_the_end`] and its like, which are silent where it cannot be looked
//!   at. [`Play::configure`] changes the subject's settings while a case is played; [`Play::prepare`] and [`Play::go`] are
//!   the two halves of a connection.
//! - What the subject's device can be made to do: [`refuse_after`](rig::UpperHand::refuse_after),
//!   [`break_device`](rig::UpperHand::break_device), and to meet no receive with `Opening { receives: 0, .. }`.
//! - What the transport can be made to do: [`Peer::disconnect`], [`Peer::cut`] (dropped without a farewell), and
//!   [`Opening`](rig::Opening): an attempt that fails, a device that cannot invalidate, a read depth, fewer receives.
//! - A case on which the subject is known to be wrong stays as it is and gets an entry in `KNOWN` of
//!   `tests/suite/main.rs`, with the reason.
//!
//! `smbd-conformance show NAME` prints the case and what happened; `cargo test -p smbd-conformance --test suite` plays all.

pub mod cases;
mod connections;
mod exercise;
mod expect;
mod memory;
mod negotiation;
mod news;
mod outcome;
mod peer;
mod play;
pub mod report;
pub mod rig;
mod run;
mod script;
mod state;
#[cfg(test)]
mod tests;
mod told;
pub mod trace;

pub use cases::Entry;
pub use exercise::Offer;
pub use expect::Whole;
pub use memory::Registered;
pub use outcome::{Finding, KnownFinding, Lost, Outcome, Played, Stop, Tally};
pub use peer::{Next, PATIENCE, Peer, Seen};
pub use play::Play;
pub use run::{Options, SIDES, play};
pub use script::{Data, Grant, Request, Response, Terms, Usual, pattern};
pub use state::{Announced, Message};
pub use told::EndEvent;
