//! Deterministic simulator for `smbd-core`.
pub mod capture;
pub mod decode;
