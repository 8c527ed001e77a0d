//! The program `smbd-sim`.
fn main() {}
