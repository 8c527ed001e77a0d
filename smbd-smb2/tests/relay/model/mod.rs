//! A relay between the models of a client and a server, with RDMA and TCP around it.

mod driver;
mod heap;
mod summary;
mod world;

pub use summary::Summary;
pub use world::{Ending, World};
