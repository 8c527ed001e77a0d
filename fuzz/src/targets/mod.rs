//! The bodies.

mod broker;
mod broker_wire;
mod capture;
mod connection;
mod messages;
mod modes;
mod monitor;
mod ntlm;
mod pair;
mod relay;
mod security;
mod slice;
mod smb2;
mod smb2_client;
mod smb2_server;
mod spnego;
mod wire;

pub use broker::broker;
pub use broker_wire::broker_wire;
pub use capture::capture;
pub use connection::{canary, connection};
pub use messages::messages;
pub use modes::modes;
pub use monitor::monitor;
pub use ntlm::ntlm;
pub use pair::pair;
pub use relay::{relay, reverse};
pub use slice::slice;
pub use smb2::smb2;
pub use smb2_client::smb2_client;
pub use smb2_server::smb2_server;
pub use spnego::spnego;
pub use wire::wire;

/// What a target does with bytes; panics where something is wrong.
pub type Body = fn(&[u8]);

/// All that must find nothing, by name.
pub const ALL: &[(&str, Body)] = &[
    ("wire", wire),
    ("slice", slice),
    ("capture", capture),
    ("messages", messages),
    ("connection", connection),
    ("modes", modes),
    ("pair", pair),
    ("monitor", monitor),
    ("smb2", smb2),
    ("relay", relay),
    ("reverse", reverse),
    ("ntlm", ntlm),
    ("spnego", spnego),
    ("smb2_client", smb2_client),
    ("smb2_server", smb2_server),
    ("broker_wire", broker_wire),
    ("broker", broker),
];
