//! Oplock levels and lease states.

use super::names::{flags, values};

values! {
    /// A level of an opportunistic lock (2.2.13, 2.2.14, 2.2.23.1).
    pub struct OplockLevel(u8) {
        NONE = 0x00 "none",
        II = 0x01 "II",
        EXCLUSIVE = 0x08 "exclusive",
        BATCH = 0x09 "batch",
        LEASE = 0xFF "lease",
    }
}

flags! {
    /// What a lease lets its holder cache (2.2.13.2.8, 2.2.23.2).
    pub struct LeaseState(u32) {
        READ_CACHING = 0x0000_0001 "READ_CACHING",
        HANDLE_CACHING = 0x0000_0002 "HANDLE_CACHING",
        WRITE_CACHING = 0x0000_0004 "WRITE_CACHING",
    }
}
