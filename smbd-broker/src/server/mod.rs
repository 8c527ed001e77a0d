//! What drives a [`Broker`](crate::broker::Broker): a task for each owner, one for each connection, and a [`Hub`] between them.
//!
//! Connections are links (`smbd_link::link`) over any backend; sockets, memory and time are those of a [`System`]. The driver has
//! no opinion: it moves what the broker decides. Who does not read is not listened to, so what waits for one owner is bounded and holds up
//! its connections only.

mod connection;
mod hub;
mod lines;
mod owner;
mod system;
mod transport;

pub use connection::serve;
pub use hub::Hub;
pub use owner::{attend, attend_as};
pub use system::{Boxed, Pair, System};
