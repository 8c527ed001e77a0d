//! A simulated host: its processes, and sockets between them.

mod process;
mod slots;
mod socket;

pub use process::Process;
pub use socket::{Alarm, End, Manner, Passed, Sockets};
