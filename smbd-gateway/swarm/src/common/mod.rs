//! What this swarm and that of `smbd-serve` have in common: the stream, the memory, notes, laws, and how a run goes on to its end.

mod law;
pub mod notes;
pub mod pipe;
mod place;
mod play;
pub mod seeds;

pub use law::Breach;
pub(crate) use law::law;
pub use notes::Notes;
pub use place::{Memory, Place, play_on};
pub use play::{Played, Show, TooLong, play};
