//! What stands between messages of direct TCP (2.1).

/// A keep-alive of NetBIOS (RFC 1002, 4.3.7), in place of the header of a message. Clients and servers that also speak NetBIOS over TCP send
/// it on idle connections. It has no answer.
pub const KEEP_ALIVE: [u8; 4] = [0x85, 0, 0, 0];
