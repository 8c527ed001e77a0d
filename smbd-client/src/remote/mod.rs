//! A server: its connection, and handles of what is in it.

mod answer;
mod begin;
mod buffer;
mod carries;
mod channels;
mod command;
mod commands;
mod ended;
mod entry;
mod file;
mod finish;
mod handle;
mod key;
mod later;
mod login;
mod pool;
mod running;
mod session;
mod settings;
mod share;
mod slot;
mod stat;
mod surroundings;

pub use buffer::Buffer;
pub use entry::Entry;
pub use file::File;
pub use handle::Pending;
pub use key::SessionKey;
pub use session::{Channel, Remote, Session};
pub use settings::{CHANNELS_MAX, PIECE_MAX, Settings, Way};
pub use share::Share;
pub use stat::Stat;
pub use surroundings::Surroundings;
