//! The suite: every case of `requirements/cases.toml` and `smb2-cases.toml` as code, written once, played against any
//! [`Target`](rig::Target).
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
//!   and similar functions. For a second connection drop the first [`Peer`] and call again; [`Play::peer`] returns an
//!   earlier one by its [`id`](Peer::id). With `role = "both"` the function is called once for each role;
//!   [`Play::subject_accepts`] tells which.
//! - [`Peer`] has the steps. The head of `cases.toml` describes what the script does by itself. [`Peer::send`] keeps to
//!   it (waits for a credit, grants the receives that the subject used). [`Peer::send_now`] does not wait,
//!   [`Peer::say`] sends any bytes, and every field of [`Data`], [`Request`] and [`Response`] can have any value.
//! - Each check names its statements in one string: `"2.2.2-13 3.1.5.3-11"`. After a failed [`Peer::check`] the case
//!   goes on; [`Peer::require`] and all functions that wait stop it. The text has the expected and the actual values.
//!   Assertions
//!   of shared parts such as [`Peer::basic_check`] count for the statements that the case lists.
//! - A case has to assert every statement that `cases.toml` lists for it, in one of its roles, and no other; a test
//!   checks this. If the plan was wrong, change `cases.toml` (and `covered_by` in `ms-smbd.toml`).
//! - `settings` of a case are a function that changes the subject's parameters, in its [`Entry`].
//! - `Play::session` is a session of SMB2, for cases about READ and WRITE by RDMA (`needs = ["smb2"]`): each request is as the case
//!   makes it. What breaks their statements is in `tests/channels/red.rs`.
//! - [`Peer::upper`] is the upper layer of a subject that is part of this program, in the simulator or over a device
//!   (`needs = ["upper"]`). A case that can do without it uses [`Peer::upper_if_seen`].
//! - [`Play::can`] tells whether the device supports something, for a case that can do without it. [`Play::needs`]
//!   requires it.
//! - [`Peer::told_the_end`] and similar functions check the events of the upper layer; they do nothing if it is not
//!   part of this program. [`Play::configure`] changes the subject's settings during a case; [`Play::prepare`] and
//!   [`Play::go`] are
//!   the two halves of a connection.
//! - Faults of the subject's device: [`refuse_after`](rig::UpperHand::refuse_after),
//!   [`break_device`](rig::UpperHand::break_device), and no posted receive with `Opening { receives: 0, .. }`.
//! - Faults of the transport: [`Peer::disconnect`], [`Peer::cut`] (dropped without a disconnect), and
//!   [`Opening`](rig::Opening): an attempt that fails, a device that cannot invalidate, a read depth, fewer receives.
//! - [`Play::lives_after`] makes a new connection and has a message answered on it: for steps that may end the subject, of which
//!   there are several in one case. Behind the case a run looks anyway.
//! - What a case asserts has to be seen broken: `requirements/breaks.toml` has a row for each statement, a subject that is wrong in
//!   one thing, with the cases that find it and everything that it breaks; or a reason why there is none.
//! - A case that the subject is known to fail stays unchanged, and gets an entry with the reason in `KNOWN` of
//!   `tests/suite/main.rs`.
//!
//! `smbd-conformance show NAME` prints the case and what happened; `cargo test -p smbd-conformance --test suite` plays all.

mod about;
mod answers;
mod basic;
mod basis;
pub mod cases;
mod channel;
mod connections;
mod covered;
mod detect;
mod ending;
mod exercise;
mod expect;
pub mod ksmbd;
mod layout;
mod liveness;
mod memory;
mod negotiation;
mod news;
mod offers;
mod outcome;
mod peer;
mod play;
pub mod report;
pub mod rig;
mod run;
mod script;
mod seen;
mod sending;
mod session;
mod state;
#[cfg(test)]
mod tests;
mod told;
pub mod trace;
mod trial;
pub mod upper;
mod usable;
mod waiting;
mod words;

pub use cases::Entry;
pub use channel::{ByRdma, Pending};
use covered::Stated;
pub use detect::{Choice, detect};
pub use exercise::{Asking, Offer};
pub use liveness::{Liveness, comes_back, is_alive};
pub use memory::Registered;
pub use outcome::{Finding, KnownFinding, Lost, Outcome, Played, Signs, Stop, Tally, Unjudged};
pub use peer::{Next, Peer};
pub use play::Play;
pub use run::{Options, SIDES, play};
pub use script::{Data, Grant, Request, Response, Terms, Usual, pattern};
pub use seen::{Message, Seen, Whole};
pub use state::Announced;
pub use told::EndEvent;
pub use upper::{Question, Upper, Uppers};
pub use waiting::{LITTLE_PATIENCE, PATIENCE, Watch, longest_wait};
