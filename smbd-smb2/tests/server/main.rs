//! The server: a client is built of wire views, logs in, and asks for everything, well and badly.

mod channel;
mod checks;
mod commands;
mod compounds;
mod covered;
mod edges;
mod listing;
mod orders;
mod rig;
mod setup;
mod snapshots;
mod transforms;
mod waiting;
