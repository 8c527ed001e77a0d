//! What a server is, and what it lets in.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use thiserror::Error;

use crate::security::{Accounts, Identity, NtHash, RdmaTransforms, capital};
use crate::wire::{AccessMask, Guid, NetworkInterface};

/// A share of files. IPC$ is there without being named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its name. Clients may write it in other capitals.
    pub name: String,
    /// Its files are reached in encrypted messages only: Share.EncryptData (3.3.1.6).
    pub is_encrypted: bool,
    /// Nobody changes anything in it.
    pub is_read_only: bool,
    /// Guests and anonymous users may use it, if the server lets them in.
    pub guests: bool,
    /// Whom it is for; empty: every user.
    pub users: Vec<String>,
}

impl Share {
    /// A share of this name, for every user.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_string(),
            is_encrypted: false,
            is_read_only: false,
            guests: false,
            users: Vec::new(),
        }
    }

    /// Share.ConnectSecurity.
    pub(super) fn lets_in(&self, identity: &Identity) -> bool {
        match identity {
            Identity::User { user, .. } => {
                self.users.is_empty() || self.users.iter().any(|name| capital(name) == capital(user))
            }
            Identity::Guest | Identity::Anonymous => self.guests,
        }
    }

    /// The most that may be done with it.
    pub(super) const fn maximal_access(&self) -> AccessMask {
        if self.is_read_only { AccessMask(0x0012_00A9) } else { AccessMask(0x001F_01FF) }
    }
}

/// What can be configured. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// ServerGuid.
    pub guid: Guid,
    /// NetBIOS name of the server, which NTLM tells.
    pub computer: String,
    /// Its shares, with different names.
    pub shares: Vec<Share>,
    /// Unknown users are let in as guests. Not those with a wrong password.
    pub guests: bool,
    /// Anonymous users are let in.
    pub anonymous: bool,
    /// RequireMessageSigning.
    pub signing_required: bool,
    /// EncryptData: everything behind SESSION_SETUP is encrypted. Clients that cannot do it are refused.
    pub encrypted: bool,
    /// Transforms that data may have which go by RDMA, in 3.1.1 (2.2.3.1.6); none: IsRDMATransformSupported is FALSE. Whoever has some
    /// does what [`Action::Transform`](super::Action::Transform) asks for.
    pub rdma_transforms: RdmaTransforms,
    /// MaxTransactSize: 65,536 to 8 MiB.
    pub max_transact_size: u32,
    /// MaxReadSize: 65,536 to 8 MiB.
    pub max_read_size: u32,
    /// MaxWriteSize: 65,536 to 8 MiB.
    pub max_write_size: u32,
    /// The most credits that a client has, each good for 64 KiB: so many as the largest size needs, to 8192. They also limit what a
    /// connection holds at one time.
    pub credits_max: u16,
    /// The most sessions on a connection, at least 1.
    pub sessions_max: usize,
    /// The most channels of a session: connections that it is bound to. 1: IsMultiChannelCapable is FALSE. Whoever has more gives all
    /// connections of one client to one [`Client`](super::Client).
    pub channels_max: usize,
    /// What FSCTL_QUERY_NETWORK_INTERFACE_INFO tells clients that can use more than one connection: addresses with which another can
    /// be made. One whose index is 0 is not told (3.3.5.15.11).
    pub interfaces: Vec<NetworkInterface>,
    /// The most tree connects of a session, at least 1.
    pub trees_max: usize,
    /// The most files that are open on a connection, at least 1. Those of a session count on each of its connections.
    pub opens_max: usize,
    /// The most requests that wait for something: locks and changes. Others fail with STATUS_INSUFFICIENT_RESOURCES.
    pub waiting_max: usize,
    /// The most requests of a compound, at least 1.
    pub compound_max: usize,
    /// The most buffers that one READ or WRITE may describe, at least 1. By default as many as a request has room for; 16 bytes are kept
    /// of each.
    pub descriptors_max: usize,
    /// How long a client has until somebody has logged in, in 100 ns.
    pub setup_timeout: u64,
}

/// Descriptors that fit into a request, whose length has 16 bits.
const DESCRIPTORS: usize = 4095;

impl Params {
    /// A server without shares, which lets in users only.
    #[must_use]
    pub fn new(guid: Guid, computer: &str) -> Self {
        Self {
            guid,
            computer: computer.to_string(),
            shares: Vec::new(),
            guests: false,
            anonymous: false,
            signing_required: false,
            encrypted: false,
            rdma_transforms: RdmaTransforms::NONE,
            max_transact_size: 1 << 20,
            max_read_size: 8 << 20,
            max_write_size: 8 << 20,
            credits_max: 512,
            sessions_max: 16,
            channels_max: 1,
            interfaces: Vec::new(),
            trees_max: 64,
            opens_max: 4096,
            waiting_max: 256,
            compound_max: 32,
            descriptors_max: DESCRIPTORS,
            setup_timeout: 45 * 10_000_000,
        }
    }
}

/// Parameters that make no server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number is not one that it can be.
    #[error("{field} is {value}, and can be {min} to {max}")]
    Range {
        /// The parameter.
        field: &'static str,
        /// Its value.
        value: u64,
        /// The lowest valid value.
        min: u64,
        /// The highest valid value.
        max: u64,
    },
    /// A name is empty, is in several parts, or is the name of another share.
    #[error(
        "a share cannot be called {0:?}: it takes a name without slashes, and not that of another share, such as IPC$"
    )]
    ShareName(String),
}

/// What all connections of a server share: who it is, whom it knows, and what it serves. It does not change.
pub struct Server {
    params: Params,
    accounts: Arc<dyn Accounts + Send + Sync>,
}

impl Server {
    /// A server that knows these users.
    ///
    /// # Errors
    /// [`ConfigError`]: a parameter is none.
    pub fn new(params: Params, accounts: impl Accounts + Send + Sync + 'static) -> Result<Self, ConfigError> {
        check(&params)?;
        Ok(Self { params, accounts: Arc::new(accounts) })
    }

    /// What it was made with.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// What an authentication asks for users.
    pub(super) fn accounts(&self) -> impl Accounts + Send + 'static {
        let accounts = Arc::clone(&self.accounts);
        move |user: &str, domain: &str| -> Option<NtHash> { accounts.nt_hash(user, domain) }
    }

    /// The share of this name.
    pub(super) fn share(&self, name: &str) -> Option<usize> {
        let name = capital(name);
        self.params.shares.iter().position(|share| capital(&share.name) == name)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("params", &self.params).finish_non_exhaustive()
    }
}

fn check(params: &Params) -> Result<(), ConfigError> {
    const LEAST: u64 = 1 << 16;
    let sizes = [params.max_transact_size, params.max_read_size, params.max_write_size].map(u64::from);
    let names = ["max_transact_size", "max_read_size", "max_write_size"];
    for (field, value) in names.into_iter().zip(sizes) {
        range(field, value, LEAST, 8 << 20)?;
    }
    let largest = sizes.into_iter().max().unwrap_or(LEAST);
    range("credits_max", params.credits_max.into(), largest.div_ceil(LEAST), 8192)?;
    for (field, value) in [
        ("sessions_max", params.sessions_max),
        ("channels_max", params.channels_max),
        ("trees_max", params.trees_max),
        ("opens_max", params.opens_max),
        ("compound_max", params.compound_max),
        ("descriptors_max", params.descriptors_max),
    ] {
        range(field, value as u64, 1, u32::MAX.into())?;
    }
    for (at, share) in params.shares.iter().enumerate() {
        let name = capital(&share.name);
        let mut others = params.shares.iter().take(at).map(|other| capital(&other.name));
        if name.is_empty()
            || name == "IPC$"
            || name.contains(['\\', '/', '\0'])
            || others.any(|other| other == name)
        {
            return Err(ConfigError::ShareName(share.name.clone()));
        }
    }
    Ok(())
}

fn range(field: &'static str, value: u64, min: u64, max: u64) -> Result<(), ConfigError> {
    if (min..=max).contains(&value) { Ok(()) } else { Err(ConfigError::Range { field, value, min, max }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: impl Fn(&mut Params)) -> Result<Server, ConfigError> {
        let mut params = Params::new(Guid::default(), "SERVER");
        change(&mut params);
        Server::new(params, |_: &str, _: &str| None)
    }

    #[test]
    fn a_client_can_have_as_many_credits_as_the_largest_read_needs() {
        assert!(with(|params| params.credits_max = 128).is_ok());
        assert_eq!(
            with(|params| params.credits_max = 127).unwrap_err(),
            ConfigError::Range { field: "credits_max", value: 127, min: 128, max: 8192 }
        );
    }

    #[test]
    fn two_shares_cannot_have_one_name_nor_that_of_ipc() {
        for names in [&["a", "A"][..], &["ipc$"], &[""], &["a\\b"]] {
            let made = with(|params| params.shares = names.iter().map(|name| Share::new(name)).collect());
            assert!(matches!(made, Err(ConfigError::ShareName(_))), "{names:?}");
        }
    }
}
