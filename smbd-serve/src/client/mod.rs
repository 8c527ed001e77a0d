//! Clients: their connections, and what each of them asks for.

mod carry;
mod clock;
mod group;
mod member;
mod named;
mod serve;
#[cfg(test)]
mod tests;

pub(crate) use member::Newcomer;
pub use member::{Counts, End, News, Seen};
pub use serve::serve;
