//! Tests of SMB Direct over real devices: see the program `smbd-live` and `conformance/lab`. And what any implementation
//! of it has to do: see [`catalogue`].

pub mod catalogue;
