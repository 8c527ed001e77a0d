//! Tests of SMB Direct over real devices: see the program `smbd-live` and `conformance/lab`.
