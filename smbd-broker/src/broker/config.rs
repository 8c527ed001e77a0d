//! The limits of a broker.

use std::time::Duration;

use smbd_core::Params;

use crate::wire::Limits;

/// How a broker is configured. Everything has a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What an owner may use.
    pub limits: Limits,
    /// How much of everything there may be.
    pub quotas: Quotas,
    /// How connections are configured until the default acceptor says otherwise, and the largest sizes and credits that it may ask for.
    pub params: Params,
}

/// How much of everything there may be. All of it can be changed while a broker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Bytes of the slots of all owners together.
    pub memory_max: u64,
    /// Owners at the same time.
    pub owners_max: usize,
    /// Connections at the same time.
    pub connections_max: usize,
    /// Of these, how many one owner may have.
    pub connections_of_owner_max: usize,
    /// Sessions and clients that one owner may hold, each.
    pub rules_of_owner_max: usize,
    /// How long a client may take until an owner has its connection: until NEGOTIATE, or SESSION_SETUP if the broker answers NEGOTIATE. From
    /// then on the owner watches it.
    pub setup_within: Duration,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            memory_max: 4 << 30,
            owners_max: 256,
            connections_max: 256,
            connections_of_owner_max: 64,
            rules_of_owner_max: 1024,
            setup_within: Duration::from_secs(45),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits {
                slot_len: 1 << 20,
                slots_max: 64,
                sends_max: 64,
                send_bytes_max: 4 << 20,
                receive_bytes_max: 4 << 20,
                transfers_max: 64,
            },
            quotas: Quotas::default(),
            params: Params {
                // An encrypted WRITE goes in one message, and servers take 8 MiB (Samba, Windows); cifs sends that whatever it is offered here.
                // Memory for a message grows with what has come of it.
                max_fragmented_recv_size: (8 << 20) + (64 << 10),
                max_read_write_size: 8 << 20,
                keepalive: Params::linux_client().keepalive,
                // MS-SMBD 3.1.7.2.
                passive_negotiation_timeout: Params::windows().passive_negotiation_timeout,
                registrations: 0,
                segments_max: 0,
                registration_slots: 0,
                rdma_ops: 64,
                ..Params::linux_server()
            },
        }
    }
}
