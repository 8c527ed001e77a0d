//! Deterministic simulator for `smbd-core`.
