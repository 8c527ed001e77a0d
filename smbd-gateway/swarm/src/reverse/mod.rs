//! The other way round: a client over the simulated stream, `Pump`, and a server on the other simulated device, which moves data
//! by RDMA.

mod client_task;
mod device;
mod gateway;
mod judge;
mod plan;
mod run;
mod server_task;

pub use plan::Plan;
pub use run::run;
