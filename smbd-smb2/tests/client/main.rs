//! The client against a small server.

mod bindable;
mod binding;
mod checks;
mod covered;
mod events;
mod flows;
mod hostile;
mod known;
mod memory;
mod orders;
mod replays;
mod server;
mod tape;
mod transforms;
mod words;
mod world;
