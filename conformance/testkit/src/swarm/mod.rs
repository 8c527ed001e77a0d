//! What swarms have in common. A swarm plays many runs, each of which a seed decides, and demands laws of each.

pub mod notes;
pub mod output;
pub mod pipe;
mod place;
mod play;
mod program;
mod summary;

pub use notes::Notes;
pub use place::{Memory, Place, play_on};
pub use play::{Played, Show, TooLong, play};
pub use program::{Seeds, main};
pub use summary::{Counts, Form, Summary, Table, many};
