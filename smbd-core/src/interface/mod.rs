//! The interface of the core: inputs ([`Input`]), actions ([`Action`]) and events ([`Event`]).

mod action;
mod event;
mod input;

pub use action::{Access, Action, Body, Head, RdmaVerb};
pub use event::{Event, Fragment, Negotiated};
pub use input::{Input, Limits};
