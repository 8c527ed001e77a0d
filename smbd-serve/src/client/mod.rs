//! What is served to all clients, and the clients: their connections, and what each of them asks for.

mod carry;
mod census;
mod group;
mod host;
mod inbox;
mod member;
mod named;
mod running;
mod serve;
mod surroundings;
#[cfg(test)]
mod tests;
mod wait;
mod work;

pub use host::Host;
pub use member::{Counts, End, Moved, News, Seen};
pub use serve::{serve, serve_in};
pub use surroundings::Surroundings;
