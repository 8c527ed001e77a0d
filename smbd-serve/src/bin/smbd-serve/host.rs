//! What is served, as far as it needs no network.

use std::sync::Arc;

use smbd_daemon::outcome::Failure;
use smbd_daemon::places::{Found, wanted};
use smbd_daemon::trouble::Trouble;
use smbd_serve::Host;
use smbd_serve::folder::{self, Folder};
use smbd_smb2::security::{RdmaTransforms, capital};
use smbd_smb2::server::{Params, Server, Share};
use smbd_smb2::wire::Guid;
use tokio::sync::watch;

use crate::interfaces;
use crate::limits;
use crate::settings::Settings;
use crate::users::Users;

/// The longest READ and WRITE: one page less than 1 MiB. Of a buffer that does not begin with a page, cifs.ko 6.12 would register one
/// page more than its regions have room for, and tries that for ever.
const TRANSFER_MAX: u32 = (1 << 20) - 4096;
/// The most characters of a NetBIOS name.
const COMPUTER_MAX: usize = 15;

/// A ServerGuid.
pub(crate) fn new_guid() -> Result<Guid, Trouble> {
    let mut guid = [0; 16];
    getrandom::fill(&mut guid)
        .map_err(|error| Trouble::other(&format!("the system has no entropy: {error}")))?;
    Ok(Guid(guid))
}

/// The addresses of RDMA devices; none where there is no RDMA.
pub(crate) fn devices() -> Vec<Found> {
    #[cfg(feature = "verbs")]
    return smbd_verbs::device_addresses().unwrap_or_default().into_iter().map(Found::from).collect();
    #[cfg(not(feature = "verbs"))]
    Vec::new()
}

/// Makes a host of settings. Users are those of `users`, as they change.
pub(crate) fn host(
    settings: &Settings,
    guid: Guid,
    devices: &[Found],
    users: watch::Receiver<Arc<Users>>,
) -> Result<Host, Failure> {
    let open = |share: &crate::file::Share| {
        let options = folder::Options { case_sensitive: share.case_sensitive, read_only: share.read_only };
        Folder::open(&share.path, &share.name, options)
            .map_err(|error| Trouble::other(&format!("DIR {}: {error}", share.path.display())))
    };
    let folders = settings.shares.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let mut params = Params::new(guid, &computer());
    params.shares = settings.shares.iter().map(share).collect();
    let has_guests = settings.shares.iter().any(|share| share.guest);
    (params.guests, params.anonymous) = (has_guests, has_guests);
    (params.signing_required, params.encrypted) = (settings.security.sign, settings.security.encrypt);
    params.rdma_transforms =
        if settings.security.rdma_transforms { RdmaTransforms::ALL } else { RdmaTransforms::NONE };
    (params.max_read_size, params.max_write_size) = (TRANSFER_MAX, TRANSFER_MAX);
    // Units of 100 ns.
    params.setup_timeout = settings.login.as_secs().saturating_mul(10_000_000);
    params.channels_max = settings.channels.into();
    let of_broker = settings.broker.iter().flat_map(|broker| &broker.addresses).copied();
    params.interfaces = interfaces::told(wanted(&settings.listeners, devices).into_keys(), of_broker);
    limits::divide(&mut params, settings.connections, settings.memory_mib, limits::descriptors())
        .map_err(Failure::Usage)?;
    let accounts = move |user: &str, _: &str| users.borrow().get(&capital(user)).cloned();
    let server = Server::new(params, accounts).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(Host::new(Arc::new(server), folders))
}

fn share(share: &crate::file::Share) -> Share {
    Share {
        is_read_only: share.read_only,
        guests: share.guest,
        is_encrypted: share.encrypt,
        users: share.users.clone(),
        ..Share::new(&share.name)
    }
}

/// The name of this host, as NTLM tells it.
fn computer() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default().trim();
    let name: String = capital(name).chars().take(COMPUTER_MAX).collect();
    if name.is_empty() { "SMBD".into() } else { name }
}
