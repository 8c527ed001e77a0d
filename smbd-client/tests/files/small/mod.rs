//! The small server of the client's tests, which knows sessions on several connections.

#[path = "../../../../smbd-smb2/tests/client/bindable.rs"]
#[allow(dead_code, reason = "the client's tests use more of it")]
pub mod bindable;
#[path = "../../../../smbd-smb2/tests/client/memory.rs"]
#[allow(dead_code, reason = "the client's tests use more of it")]
pub mod memory;
#[path = "../../../../smbd-smb2/tests/client/server.rs"]
#[allow(dead_code, reason = "the client's tests use more of it")]
pub mod server;
#[path = "../../../../smbd-smb2/tests/client/tape.rs"]
#[allow(dead_code, reason = "the client's tests use more of it")]
pub mod tape;
#[path = "../../../../smbd-smb2/tests/client/words.rs"]
mod words;
