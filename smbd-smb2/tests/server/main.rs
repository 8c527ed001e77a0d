//! The server: a client is built of wire views, logs in, and asks for everything, well and badly.

mod channel;
mod checks;
mod commands;
mod compounds;
mod edges;
mod listing;
mod orders;
mod rig;
mod setup;
mod snapshots;
mod waiting;
