//! The server: a client is built of wire views, logs in, and asks for everything, well and badly.

mod bound;
mod channel;
mod channels;
mod checks;
mod commands;
mod compounds;
mod covered;
mod edges;
mod information;
mod listing;
mod lost;
mod orders;
mod past;
mod port;
mod refused;
mod rig;
mod setup;
mod several;
mod snapshots;
mod transforms;
mod waiting;
