//! Errors of RDMA devices, and what to check.

use std::io::{self, ErrorKind};

use smbd_verbs::Error;
use smbd_verbs::tokio::Failure;

use super::{Trouble, Unopened};

/// What to check when there is no RDMA device.
const ON_DEVICE: &str =
    "is there an RDMA device, and may this user open it? `rdma link`, `ls -l /dev/infiniband`";

/// The same when a port is not allowed. Linux asks for the capability (`cma_use_port`), whatever the limit of ports for all is.
const ON_PORT: &str = "a port below 1024 takes CAP_NET_BIND_SERVICE, outside of user namespaces: AmbientCapabilities= of the unit, or \
                       `setcap cap_net_bind_service+ep` of the program; net.ipv4.ip_unprivileged_port_start does not count for RDMA";
/// The same when a port is taken.
const IN_USE: &str = "another program listens there; on iWARP, one of SMB over TCP uses the same ports";
/// The same when there is no memory.
const ON_MEMORY: &str = "may this user lock so much memory? `ulimit -l`, LimitMEMLOCK= of the unit";

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self { what: error.to_string(), advice: Some(advice(&error).into()) }
    }
}

impl From<Error> for Unopened {
    fn from(error: Error) -> Self {
        Self { why: error.to_string(), check: Some(advice(&error)) }
    }
}

/// What to check after an error of a device.
#[must_use]
pub fn advice(error: &Error) -> &'static str {
    known(error).unwrap_or(ON_DEVICE)
}

/// The same, if it is an error of a kind that tells.
#[must_use]
pub fn known(error: &Error) -> Option<&'static str> {
    match error {
        Error::Call(call) => cure(call.call(), io::Error::from_raw_os_error(call.errno()).kind()),
        _ => None,
    }
}

/// Why a connection was not made, with what to check if the error tells.
#[must_use]
pub fn why(failure: &Failure) -> String {
    match failure {
        Failure::Backend(error) => {
            known(error).map_or_else(|| failure.to_string(), |cure| format!("{failure}; {cure}"))
        }
        _ => failure.to_string(),
    }
}

fn cure(call: &str, kind: ErrorKind) -> Option<&'static str> {
    match (call, kind) {
        (_, ErrorKind::AddrInUse) => Some(IN_USE),
        ("rdma_bind_addr", ErrorKind::PermissionDenied) => Some(ON_PORT),
        (_, ErrorKind::PermissionDenied) => Some(ON_DEVICE),
        (_, ErrorKind::OutOfMemory) => Some(ON_MEMORY),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_permission_names_its_cure_by_what_was_not_permitted() {
        let of = |call, errno| cure(call, io::Error::from_raw_os_error(errno).kind());
        // EACCES, EADDRINUSE, ENOMEM, EINVAL of Linux.
        assert!(of("rdma_bind_addr", 13).unwrap().contains("CAP_NET_BIND_SERVICE"));
        assert!(of("rdma_create_event_channel", 13).unwrap().contains("/dev/infiniband"));
        assert!(of("rdma_bind_addr", 98).unwrap().contains("another program"));
        assert!(of("ibv_reg_mr", 12).unwrap().contains("LimitMEMLOCK"));
        assert_eq!(of("rdma_bind_addr", 22), None);
    }
}
