//! Listeners at addresses of RDMA devices.

use std::net::SocketAddr;
use std::sync::Arc;

use smbd_verbs::tokio::Listener;
use smbd_verbs::{DeviceAddress, LinkType, ListenOptions, Ports, RejectReason, device_addresses, port_of};
use tokio::task::JoinHandle;

use super::{Limits, Routes, Service, Wishes, admit, failed};
use crate::log::Log;
use crate::places::{Found, Over};
use crate::trouble::{Trouble, Unopened};

impl Limits {
    /// One client more than may be let in: admission is what refuses it, and says so at once.
    fn options(self) -> ListenOptions {
        ListenOptions {
            ports: Ports::Fixed,
            max_pending: self.pending,
            max_connections: self.connections.saturating_add(1),
            max_per_host: self.per_client.saturating_add(1),
            ..ListenOptions::default()
        }
    }
}

/// The addresses of RDMA devices.
///
/// # Errors
/// Devices cannot be asked: there is no RDMA on this host, or this user may not use it.
pub async fn addresses() -> Result<Vec<Found>, Trouble> {
    let found = tokio::task::spawn_blocking(device_addresses).await;
    let found = found.map_err(|error| Trouble::other(&error))??;
    Ok(found.into_iter().map(Found::from).collect())
}

/// Writes that RDMA devices have no address, what that means, and what to check.
pub fn no_address(log: Log, why: &str) {
    log.warning("no address").with("why", why).with("check", "`rdma link`, `ip address`").write();
}

impl From<DeviceAddress> for Found {
    fn from(found: DeviceAddress) -> Self {
        let DeviceAddress { address, device, interface, link_type, .. } = found;
        let is_tcp = matches!(link_type, LinkType::Iwarp);
        Self { address, device, interface, port: port_of(link_type), is_tcp }
    }
}

/// Listens at an address, in a task that it returns.
pub(super) fn listen<S: Service>(
    address: SocketAddr,
    routes: Routes<S>,
    service: Arc<S>,
) -> Result<(SocketAddr, JoinHandle<()>), Unopened> {
    let options = service.core().settings().limits().options();
    let listener = Listener::bind(address, options)?;
    Ok((address, tokio::spawn(accept(listener, routes, service))))
}

async fn accept<S: Service>(mut listener: Listener, routes: Routes<S>, service: Arc<S>) {
    let mut wishes = service.core().follow_settings();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Ok(()) = wishes.changed() => {
                let options = wishes.borrow().limits().options();
                listener.set_limits(&options);
                continue;
            }
        };
        let incoming = match accepted {
            Ok(incoming) => incoming,
            Err(error) => {
                failed(service.core().log(), Over::Rdma, error).await;
                continue;
            }
        };
        if let Some((client, reason)) = listener.last_refused() {
            service.core().refused(client, reason);
        }
        match admit(&*service, &routes, incoming.peer_addr()) {
            Some((pass, target)) => service.serve(incoming, pass, target),
            // The client may be gone by now.
            None => _ = incoming.reject(RejectReason::Unwanted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_has_room_for_the_client_that_admission_refuses() {
        let room = |connections, per_client| {
            let options = Limits { connections, per_client, pending: 3 }.options();
            (options.max_connections, options.max_per_host, options.max_pending)
        };
        assert_eq!(room(2, 1), (3, 2, 3));
        assert_eq!(room(1, u32::MAX), (2, u32::MAX, 3));
    }
}
