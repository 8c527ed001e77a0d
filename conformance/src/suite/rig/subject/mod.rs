//! The implementation under test if it is part of this program: an endpoint of `smbd-core` and its upper layer, over
//! any backend.

mod hand;
mod layer;
mod smb2;
mod watched;

use std::fmt;
use std::rc::Rc;

use smbd_core::backend::{HostMemory, drive};
use smbd_core::error::WorkError;
use smbd_core::{BufferDescriptorV1, Config, Endpoint, Instant, PhaseName, Role, WrId};
use smbd_smb2::wire::NtStatus;

pub(super) use hand::Seat;
use layer::Layer;
use smb2::Smb2;
pub(super) use smb2::{ADDRESSES, Door, PASSWORD, Shared, USER, Work};
pub(super) use watched::Opens;
use watched::{Device, Watched};

use super::Told;
use crate::suite::trace::{By, Event, What};

/// What a refused post is reported as: the device's invalid argument.
#[cfg(feature = "verbs")]
pub const REFUSED: WorkError = WorkError::PostFailed { errno: 22 };

/// An endpoint, its upper layer, and what they were seen to do. `M` is a buffer of the backend.
#[derive(Debug)]
pub(super) struct Subject<M> {
    endpoint: Endpoint,
    layer: Layer<M>,
    device: Device,
    events: Vec<(Instant, What)>,
    /// When it wants to be driven at the latest.
    pub(super) deadline: Option<Instant>,
    /// It or its backend did what breaks the contract between them.
    pub(super) broken: Option<String>,
}

impl<M: Clone + fmt::Debug> Subject<M> {
    pub(super) fn new(role: Role, config: &Config, now: Instant) -> Self {
        Self {
            endpoint: Endpoint::new(role, config, now),
            layer: Layer::default(),
            device: Device::default(),
            events: Vec::new(),
            deadline: None,
            broken: None,
        }
    }

    /// The same with SMB2 as its upper layer: a server if it accepts, a client that copies a file if it connects.
    pub(super) fn speaking_smb2(mut self, role: Role) -> Self {
        self.layer.smb2 = Some(match role {
            Role::Acceptor => Smb2::server(false),
            Role::Initiator => Smb2::client(),
        });
        self
    }

    /// The same with the client of `smbd-smb2` as its upper layer.
    pub(super) fn copying(mut self) -> Self {
        self.layer.smb2 = Some(Smb2::client_of_smb2());
        self
    }

    /// The same with a client of SMB2 that logs in as the user, and leaves out a rule of 3.2.5.11.
    pub(super) fn copying_without(mut self, rule: Option<&'static str>) -> Self {
        self.layer.smb2 = Some(Smb2::lax(rule));
        self
    }

    /// As [`Rig::given`](super::Rig::given).
    pub(super) fn given(&self) -> Option<NtStatus> {
        self.layer.smb2.as_ref()?.given()
    }

    /// The same with an SMB2 server as its upper layer that says of each request that it is under way, before it answers.
    pub(super) fn answering_late(mut self) -> Self {
        self.layer.smb2 = Some(Smb2::server(true));
        self
    }

    /// The same with the server of `smbd-smb2` as its upper layer, one of several connections.
    pub(super) fn serving(mut self, share: &Shared) -> Self {
        self.layer.smb2 = Some(Smb2::of_smb2(share));
        self
    }

    /// Whether it is not to be driven any more.
    pub(super) fn is_over(&self) -> bool {
        self.endpoint.connection().phase() == PhaseName::Drained || self.broken.is_some()
    }

    /// Drives it; whether anything happened.
    pub(super) fn drive<B: HostMemory<Buffer = M> + Opens>(&mut self, end: B) -> bool {
        if self.broken.is_some() {
            return false;
        }
        let told = self.layer.told.len();
        let sends = Rc::clone(&self.layer.sends);
        let mut watched = Watched::new(end, &mut self.device, sends, &mut self.events);
        // What another connection has made an SMB2 server do on this one.
        if let Some(smb2) = &mut self.layer.smb2 {
            smb2.pump(&mut self.endpoint, &mut watched);
        }
        match drive(&mut self.endpoint, &mut watched, &mut self.layer) {
            Ok(deadline) => self.deadline = deadline,
            Err(error) => {
                self.broken = Some(error.to_string());
                self.deadline = None;
            }
        }
        let busy = watched.is_busy() || self.layer.told.len() > told;
        for (at, told) in &self.layer.told[told..] {
            if let Some(text) = worth_telling(told) {
                self.events.push((*at, What::Upper { text }));
            }
        }
        busy
    }

    /// What was seen of it since the last call.
    pub(super) fn take_events(&mut self, connection: usize) -> impl Iterator<Item = Event> + '_ {
        let event =
            move |(at, what): (Instant, What)| Event { at: at.as_nanos(), connection, by: By::Subject, what };
        self.events.drain(..).map(event)
    }

    /// Memory that its device was seen to open to the script, in order.
    fn opened(&self) -> &[BufferDescriptorV1] {
        &self.device.opened
    }

    /// Work that its device reported as failed.
    fn failures(&self) -> &[(WrId, WorkError)] {
        &self.device.failures
    }
}

/// What belongs into a recording; the rest can be seen in the messages.
fn worth_telling(told: &Told) -> Option<String> {
    match told {
        Told::Established(_) => Some("established".into()),
        Told::ConnectFailed(error) => Some(format!("not connected: {error}")),
        Told::Closed(reason) => Some(format!("closed: {reason}")),
        _ => None,
    }
}
