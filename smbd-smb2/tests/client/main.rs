//! The client against a small server.

mod checks;
mod covered;
mod events;
mod flows;
mod hostile;
mod known;
mod memory;
mod orders;
mod server;
mod tape;
mod transforms;
mod world;
