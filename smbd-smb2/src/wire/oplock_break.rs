//! OPLOCK_BREAK (2.2.23, 2.2.24, 2.2.25): what a server tells unasked, the client's acknowledgment, and the answer to that. A lease
//! has bodies of its own; StructureSize tells them apart.

use super::id::{FileId, Guid};
use super::names::flags;
use super::oplock::{LeaseState, OplockLevel};
use super::structure::message;

flags! {
    /// Flags of a Lease Break Notification (2.2.23.2).
    pub struct LeaseBreakFlags(u32) {
        ACK_REQUIRED = 0x0000_0001 "ACK_REQUIRED",
    }
}

message! {
    /// An Oplock Break Notification (2.2.23.1), whose MessageId is that of no request, or an Oplock Break Response (2.2.25.1).
    pub struct OplockBreak: OPLOCK_BREAK response;
    pub mod oplock: "Oplock Break Notification", "2.2.23.1", size 24, least 0;
    fields {
        /// What is left of the oplock.
        oplock_level: OplockLevel = OPLOCK_LEVEL "OplockLevel" at 2;
        /// The file.
        file_id: FileId = FILE_ID "FileId" at 8;
    }
    reserved {
        RESERVED: u8 = "Reserved" at 3;
        RESERVED2: u32 = "Reserved2" at 4;
    }
    parts {}
}

message! {
    /// An Oplock Break Acknowledgment (2.2.24.1).
    pub struct OplockBreakAcknowledgment: OPLOCK_BREAK request;
    pub mod oplock_acknowledgment: "Oplock Break Acknowledgment", "2.2.24.1", size 24, least 0;
    fields {
        /// What is left of the oplock.
        oplock_level: OplockLevel = OPLOCK_LEVEL "OplockLevel" at 2;
        /// The file.
        file_id: FileId = FILE_ID "FileId" at 8;
    }
    reserved {
        RESERVED: u8 = "Reserved" at 3;
        RESERVED2: u32 = "Reserved2" at 4;
    }
    parts {}
}

message! {
    /// A Lease Break Notification (2.2.23.2).
    pub struct LeaseBreakNotification: OPLOCK_BREAK response;
    pub mod lease_notification: "Lease Break Notification", "2.2.23.2", size 44, least 0;
    fields {
        /// Counts the changes of the lease; in 3.x.
        new_epoch: u16 = NEW_EPOCH "NewEpoch" at 2;
        /// Whether an acknowledgment is wanted.
        flags: LeaseBreakFlags = FLAGS "Flags" at 4;
        /// The lease.
        lease_key: Guid = LEASE_KEY "LeaseKey" at 8;
        /// What the client may cache now.
        current_lease_state: LeaseState = CURRENT_LEASE_STATE "CurrentLeaseState" at 24;
        /// What it may cache from now on.
        new_lease_state: LeaseState = NEW_LEASE_STATE "NewLeaseState" at 28;
    }
    reserved {
        BREAK_REASON: u32 = "BreakReason" at 32;
        ACCESS_MASK_HINT: u32 = "AccessMaskHint" at 36;
        SHARE_MASK_HINT: u32 = "ShareMaskHint" at 40;
    }
    parts {}
}

message! {
    /// A Lease Break Acknowledgment (2.2.24.2).
    pub struct LeaseBreakAcknowledgment: OPLOCK_BREAK request;
    pub mod lease_acknowledgment: "Lease Break Acknowledgment", "2.2.24.2", size 36, least 0;
    fields {
        /// The lease.
        lease_key: Guid = LEASE_KEY "LeaseKey" at 8;
        /// What the client still caches.
        lease_state: LeaseState = LEASE_STATE "LeaseState" at 24;
    }
    reserved {
        RESERVED: u16 = "Reserved" at 2;
        FLAGS: u32 = "Flags" at 4;
        LEASE_DURATION: u64 = "LeaseDuration" at 28;
    }
    parts {}
}

message! {
    /// A Lease Break Response (2.2.25.2).
    pub struct LeaseBreakResponse: OPLOCK_BREAK response;
    pub mod lease_response: "Lease Break Response", "2.2.25.2", size 36, least 0;
    fields {
        /// The lease.
        lease_key: Guid = LEASE_KEY "LeaseKey" at 8;
        /// What the client may cache.
        lease_state: LeaseState = LEASE_STATE "LeaseState" at 24;
    }
    reserved {
        RESERVED: u16 = "Reserved" at 2;
        FLAGS: u32 = "Flags" at 4;
        LEASE_DURATION: u64 = "LeaseDuration" at 28;
    }
    parts {}
}
