//! The queues of a connection, which exist when the device is known.

use std::fmt;
use std::sync::Arc;

use super::VerbsConnection;
use super::regions::Regions;
use super::registrations::Registrations;
use crate::ffi::{ProtectionDomain, QueuePair};
use crate::quirks::{self, Quirks};
use crate::{CallError, DeviceAttributes, Error, LinkType, fit};

pub(super) struct Open {
    /// Before the queue pair: rxe destroys none that a window is bound to, and waits for a minute.
    pub(super) registrations: Registrations,
    /// Before the regions, because the device must stop before its memory goes.
    pub(super) qp: QueuePair,
    pub(super) regions: Regions,
    pub(super) device: DeviceAttributes,
    pub(super) link_type: LinkType,
    pub(super) quirks: &'static Quirks,
    pub(super) windows: bool,
    /// The device was asked to say when something completes, and has not been answered since.
    armed: bool,
}

impl VerbsConnection {
    /// Makes the queues on the device that the connection manager has chosen, and posts what waits for them.
    pub(super) fn open_queues(&mut self) -> Result<(), Error> {
        let id = &self.link.id;
        let no_device = || {
            let any = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
            Error::NoDevice { address: id.local_addr().or_else(|| id.peer_addr()).unwrap_or(any) }
        };
        let found = id.device().ok_or_else(no_device)?;
        let (device, link_type) = (found.attributes()?, found.link_type(id.port_number())?);
        let quirks = quirks::of(&device);
        if quirks.spacer_entries > 0 {
            found.hold_spacer(quirks.spacer_entries)?;
        }
        let sizes = fit::sizes(&self.budget, &device, quirks)?;
        let domain = ProtectionDomain::alloc(found)?;
        let qp = QueuePair::create(id, &domain, &sizes)?;
        self.wake.add_completions(qp.completion_fd())?;
        self.queues.limit_send(qp.granted().send_wr.saturating_sub(1));
        self.spin.limit_micros(quirks.busy_poll_micros_max);
        let windows = quirks.uses_windows(&device);
        let open = Open {
            qp,
            registrations: Registrations::new(self.budget.registrations),
            regions: Regions::new(Arc::clone(&domain), windows),
            device,
            link_type,
            quirks,
            windows,
            armed: false,
        };
        self.open = Some(Box::new(open));
        self.remote_invalidation = windows && quirks.invalidated_flags != 0;
        self.moderate()?;
        #[cfg(feature = "faults")]
        self.limit_posts();
        self.post_early();
        Ok(())
    }
}

impl Open {
    /// Whether what an RDMA Read brings is written by the peer, to a token that it is told.
    pub(super) const fn has_remote_sinks(&self) -> bool {
        #[cfg(feature = "faults")]
        if self.regions.read_sinks.are_wanted {
            return true;
        }
        self.quirks.read_sink_is_remote
    }

    /// As [`Waitable::arm`](crate::Waitable::arm).
    pub(super) fn arm(&mut self) -> Result<bool, CallError> {
        if !self.armed {
            self.qp.arm()?;
            self.armed = true;
        }
        self.qp.has_completion()
    }

    /// Takes what the completion channel has to say, which is one event for each time that it was asked; then it has to be asked again.
    #[cfg(feature = "tokio")]
    pub(super) fn take_event(&mut self) {
        if self.qp.take_completion_event().unwrap_or(false) {
            self.armed = false;
        }
    }

    /// Takes all that the completion channel has to say; then it has to be asked again.
    pub(super) fn take_events(&mut self) {
        if self.qp.take_completion_events().is_ok_and(|taken| taken > 0) {
            self.armed = false;
        }
    }
}

impl fmt::Debug for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Open").field("device", &self.device.name).finish_non_exhaustive()
    }
}
