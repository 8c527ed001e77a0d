//! Leases (2.2.13.2.8, 2.2.13.2.10, 2.2.14.2.10, 2.2.14.2.11). Both forms have one name; the length of the data tells them apart.

use alloc::vec::Vec;

use super::data::{ContextData, context_data};
use crate::wire::error::WireError;
use crate::wire::id::Guid;
use crate::wire::names::flags;
use crate::wire::oplock::LeaseState;

flags! {
    /// Flags of a lease (2.2.13.2.10, 2.2.14.2.10, 2.2.14.2.11).
    pub struct LeaseFlags(u32) {
        BREAK_IN_PROGRESS = 0x0000_0002 "BREAK_IN_PROGRESS",
        PARENT_LEASE_KEY_SET = 0x0000_0004 "PARENT_LEASE_KEY_SET",
    }
}

context_data! {
    /// SMB2_CREATE_REQUEST_LEASE (2.2.13.2.8).
    pub struct RequestLease: LEASE;
    pub mod request: "SMB2_CREATE_REQUEST_LEASE", "2.2.13.2.8";
    fields {
        /// The lease, by a key of the client.
        lease_key: Guid = LEASE_KEY "LeaseKey" at 0;
        /// What the client wants to cache.
        lease_state: LeaseState = LEASE_STATE "LeaseState" at 16;
    }
    reserved {
        LEASE_FLAGS: u32 = "LeaseFlags" at 20;
        LEASE_DURATION: u64 = "LeaseDuration" at 24;
    }
}

context_data! {
    /// SMB2_CREATE_RESPONSE_LEASE (2.2.14.2.10).
    pub struct ResponseLease: LEASE;
    pub mod response: "SMB2_CREATE_RESPONSE_LEASE", "2.2.14.2.10";
    fields {
        /// The lease, by a key of the client.
        lease_key: Guid = LEASE_KEY "LeaseKey" at 0;
        /// What the client may cache.
        lease_state: LeaseState = LEASE_STATE "LeaseState" at 16;
        /// Whether it is being broken.
        lease_flags: LeaseFlags = LEASE_FLAGS "LeaseFlags" at 20;
    }
    reserved {
        LEASE_DURATION: u64 = "LeaseDuration" at 24;
    }
}

context_data! {
    /// SMB2_CREATE_REQUEST_LEASE_V2 (2.2.13.2.10), of 3.x.
    pub struct RequestLeaseV2: LEASE;
    pub mod request_v2: "SMB2_CREATE_REQUEST_LEASE_V2", "2.2.13.2.10";
    fields {
        /// The lease, by a key of the client.
        lease_key: Guid = LEASE_KEY "LeaseKey" at 0;
        /// What the client wants to cache.
        lease_state: LeaseState = LEASE_STATE "LeaseState" at 16;
        /// Whether there is a key of the parent.
        flags: LeaseFlags = FLAGS "Flags" at 20;
        /// The lease of the directory.
        parent_lease_key: Guid = PARENT_LEASE_KEY "ParentLeaseKey" at 32;
        /// Counts the changes of the lease.
        epoch: u16 = EPOCH "Epoch" at 48;
    }
    reserved {
        LEASE_DURATION: u64 = "LeaseDuration" at 24;
        RESERVED: u16 = "Reserved" at 50;
    }
}

context_data! {
    /// SMB2_CREATE_RESPONSE_LEASE_V2 (2.2.14.2.11), of 3.x.
    pub struct ResponseLeaseV2: LEASE;
    pub mod response_v2: "SMB2_CREATE_RESPONSE_LEASE_V2", "2.2.14.2.11";
    fields {
        /// The lease, by a key of the client.
        lease_key: Guid = LEASE_KEY "LeaseKey" at 0;
        /// What the client may cache.
        lease_state: LeaseState = LEASE_STATE "LeaseState" at 16;
        /// Whether it is being broken, and whether there is a key of the parent.
        flags: LeaseFlags = FLAGS "Flags" at 20;
        /// The lease of the directory.
        parent_lease_key: Guid = PARENT_LEASE_KEY "ParentLeaseKey" at 32;
        /// Counts the changes of the lease.
        epoch: u16 = EPOCH "Epoch" at 48;
    }
    reserved {
        LEASE_DURATION: u64 = "LeaseDuration" at 24;
        RESERVED: u16 = "Reserved" at 50;
    }
}

/// Both forms of a lease. Data that are no longer than the first are read as that one.
macro_rules! forms {
    ($(#[$doc:meta])* pub enum $Name:ident { $V1:ident, $V2:ident } of $module:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Name {
            /// The first form.
            V1($V1),
            /// That of 3.x.
            V2($V2),
        }

        impl ContextData for $Name {
            const NAME: &'static [u8] = $V1::NAME;

            fn parse(data: &[u8]) -> Result<Self, WireError> {
                if data.len() <= $module::LAYOUT.end() {
                    $V1::parse(data).map(Self::V1)
                } else {
                    $V2::parse(data).map(Self::V2)
                }
            }

            fn to_bytes(&self) -> Vec<u8> {
                match self {
                    Self::V1(lease) => lease.to_bytes(),
                    Self::V2(lease) => lease.to_bytes(),
                }
            }
        }
    };
}

forms! {
    /// A lease that a client asks for.
    pub enum LeaseRequest { RequestLease, RequestLeaseV2 } of request
}

forms! {
    /// A lease that a server gives.
    pub enum LeaseResponse { ResponseLease, ResponseLeaseV2 } of response
}
