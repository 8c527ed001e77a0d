//! The gateway on a broker, which has the device: what ships of both, and simulated sockets and slots between them.

mod broker;
mod gateway;
mod host;
mod owner;
mod plan;

pub use gateway::serve;
pub use plan::Plan;
