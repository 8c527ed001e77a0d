//! What a broker is told of clients that are served here.

mod known;
mod registry;

pub(crate) use known::Known;
pub(crate) use registry::Registry;
