//! The wire format against the text of the specification, through the public API.

mod any_bytes;
mod examples;
mod ird_ord;
mod layouts;
mod round_trip;
mod strategies;
