//! The bodies.

#[cfg(feature = "broker")]
mod broker;
#[cfg(feature = "smbd-broker")]
mod broker_wire;
#[cfg(feature = "smbd-conformance")]
mod capture;
#[cfg(feature = "compression")]
mod compress;
#[cfg(feature = "smbd-sim")]
mod connection;
#[cfg(feature = "smbd-conformance")]
mod messages;
#[cfg(feature = "smbd-sim")]
mod modes;
#[cfg(feature = "smbd-conformance")]
mod monitor;
#[cfg(feature = "security")]
mod ntlm;
#[cfg(feature = "smbd-sim")]
mod pair;
#[cfg(feature = "smbd-smb2")]
mod relay;
#[cfg(feature = "security")]
mod security;
mod slice;
#[cfg(feature = "smbd-smb2")]
mod smb2;
#[cfg(feature = "smb2_client")]
mod smb2_client;
#[cfg(feature = "smb2_server")]
mod smb2_server;
#[cfg(feature = "security")]
mod spnego;
mod wire;

#[cfg(feature = "broker")]
pub use broker::broker;
#[cfg(feature = "smbd-broker")]
pub use broker_wire::broker_wire;
#[cfg(feature = "smbd-conformance")]
pub use capture::capture;
#[cfg(feature = "compression")]
pub use compress::{compress, decompress, huffman, lz4, lz77, lznt1};
#[cfg(feature = "smbd-sim")]
pub use connection::{canary, connection};
#[cfg(feature = "smbd-conformance")]
pub use messages::messages;
#[cfg(feature = "smbd-sim")]
pub use modes::modes;
#[cfg(feature = "smbd-conformance")]
pub use monitor::monitor;
#[cfg(feature = "security")]
pub use ntlm::ntlm;
#[cfg(feature = "smbd-sim")]
pub use pair::pair;
#[cfg(feature = "smbd-smb2")]
pub use relay::{relay, reverse};
pub use slice::slice;
#[cfg(feature = "smbd-smb2")]
pub use smb2::smb2;
#[cfg(feature = "smb2_client")]
pub use smb2_client::smb2_client;
#[cfg(feature = "smb2_server")]
pub use smb2_server::smb2_server;
#[cfg(feature = "security")]
pub use spnego::spnego;
pub use wire::wire;

/// What a target does with bytes; panics where something is wrong.
pub type Body = fn(&[u8]);

/// All that must find nothing, by name.
#[cfg(feature = "all")]
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
    ("lz77", lz77),
    ("huffman", huffman),
    ("lznt1", lznt1),
    ("lz4", lz4),
    ("decompress", decompress),
    ("compress", compress),
    ("broker_wire", broker_wire),
    ("broker", broker),
];
