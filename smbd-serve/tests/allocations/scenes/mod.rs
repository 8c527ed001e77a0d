//! What serves in the benchmark `operations`.

pub mod measured;
#[path = "../../../benches/operations/scenes/serves.rs"]
pub mod serves;
