//! A broker with owners and clients that do what they like, and a model with records of its own, which demands its laws after each step.
//! What happens is drawn from a tape.

mod actions;
mod calls;
mod orders;
mod records;
mod run;
mod tape;
mod words;
mod world;

pub use tape::Tape;
pub use world::World;
