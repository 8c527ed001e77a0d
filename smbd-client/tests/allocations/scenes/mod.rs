//! The scenes of the benchmark `operations`.

#[path = "../../../benches/operations/scenes/client.rs"]
#[allow(dead_code, reason = "the benchmark uses more of it")]
pub mod client;
#[path = "../../../../smbd-link/benches/pair/device.rs"]
pub mod device;
#[path = "../../../../smbd-link/benches/pair/hardware.rs"]
mod hardware;
#[path = "../../../benches/operations/scenes/host.rs"]
pub mod host;
pub mod measured;
#[path = "../../../../smbd-link/benches/pair/parts.rs"]
mod parts;
#[path = "../../../benches/operations/scenes/server.rs"]
pub mod server;
#[path = "../../../benches/operations/scenes/world.rs"]
pub mod world;
