//! What is served to all clients, and the clients: their connections, and what each of them asks for.

mod carry;
mod census;
mod clock;
mod group;
mod host;
mod member;
mod named;
mod serve;
#[cfg(test)]
mod tests;
mod work;

pub use host::Host;
pub use member::{Counts, End, News, Seen};
pub use serve::serve;
