//! Memory that the peer may access: memory windows if the device has them, otherwise memory regions.

use smbd_core::backend::Request;
use smbd_core::error::WorkError;
use smbd_core::{Access, BufferDescriptorV1, Input, RegId, Segment, Token, WrId};

use super::VerbsConnection;
use super::not_chained::NotChained;
use super::reports::Report;
use crate::Buffer;
use crate::ffi::{MemoryRegion, Rights, Window};
use crate::quirks::Invalidate;

/// Registrations by slot, and windows that wait to be used again.
pub(super) struct Registrations {
    slots: Vec<Option<(Means, BufferDescriptorV1)>>,
    idle: Vec<Window>,
}

/// What lets the peer in.
enum Means {
    /// A region with the rights asked for. Ends when it is dropped. Of this end's own protection domain.
    Region(MemoryRegion),
    /// A window of this queue pair.
    Window(Window),
}

impl Registrations {
    pub(super) fn new(slots: u32) -> Self {
        Self { slots: (0..slots).map(|_| None).collect(), idle: Vec::new() }
    }

    /// What the peer may address.
    pub(super) fn segments(&self, id: RegId) -> &[BufferDescriptorV1] {
        let slot = self.slots.get(usize::from(id.slot())).and_then(Option::as_ref);
        slot.map_or(&[], |(_, descriptor)| std::slice::from_ref(descriptor))
    }

    /// Whether there is a window with this token.
    pub(super) fn has_window(&self, token: Token) -> bool {
        let mut used = self.slots.iter().flatten();
        used.any(|(means, descriptor)| matches!(means, Means::Window(_)) && descriptor.token == token)
    }

    /// A registration is over, or never was: its window may be used again.
    pub(super) fn free(&mut self, id: RegId) {
        if let Some((Means::Window(mut window), _)) = self.take(id) {
            window.unbind();
            self.idle.push(window);
        }
    }

    /// Ends all access.
    pub(super) fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = None);
        self.idle.clear();
    }

    fn take(&mut self, id: RegId) -> Option<(Means, BufferDescriptorV1)> {
        self.slots.get_mut(usize::from(id.slot())).and_then(Option::take)
    }

    fn put(&mut self, id: RegId, means: Means, descriptor: BufferDescriptorV1) {
        if let Some(slot) = self.slots.get_mut(usize::from(id.slot())) {
            *slot = Some((means, descriptor));
        }
    }
}

impl VerbsConnection {
    /// [`BackendOp::Register`](smbd_core::backend::BackendOp::Register).
    pub(super) fn register(&mut self, id: RegId, buffer: &Buffer, access: Access) {
        if self.queues.is_broken() {
            return self.registration_failed(id, WorkError::Flushed);
        }
        let result = match &self.open {
            None => Err(NotChained(libc::ENOTCONN)),
            Some(open) if open.windows => self.register_window(id, buffer, access),
            Some(_) => self.register_region(id, buffer, access),
        };
        if let Err(NotChained(errno)) = result {
            self.registration_failed(id, WorkError::PostFailed { errno });
        }
    }

    fn register_region(&mut self, id: RegId, buffer: &Buffer, access: Access) -> Result<(), NotChained> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let region = MemoryRegion::register(open.regions.domain(), buffer, rights(access));
        let region = region.map_err(|error| NotChained(error.errno()))?;
        let (offset, token) = (region.addr(), Token(region.rkey()));
        let descriptor = BufferDescriptorV1 { offset, token, length: buffer.len() };
        open.registrations.put(id, Means::Region(region), descriptor);
        self.reports.push(Report::Registered { id, bind_complete: true });
        Ok(())
    }

    /// An error means that nothing was posted.
    fn register_window(&mut self, id: RegId, buffer: &Buffer, access: Access) -> Result<(), NotChained> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let idle = open.registrations.idle.pop();
        let window = match idle {
            Some(window) => window,
            None => Window::alloc(open.regions.domain()).map_err(|error| NotChained(error.errno()))?,
        };
        // Registered before anything is chained: its failure must not look like a refused post.
        open.regions.local(buffer)?;
        let mut window = Some(window);
        self.post(Request::Bind(id), |open| {
            let Some(mut window) = window.take() else { return Ok(()) };
            let region = open.regions.local(buffer)?;
            let (offset, length) = (region.addr(), buffer.len());
            let raw = WrId::from(id).to_raw();
            let key = open.qp.chain_bind(raw, &mut window, region, 0, length.into(), rights(access))?;
            let descriptor = BufferDescriptorV1 { offset, token: Token(key), length };
            open.registrations.put(id, Means::Window(window), descriptor);
            Ok(())
        });
        self.ring_chain();
        // A refused bind is reported by the queues.
        if !self.queues.is_broken() {
            self.reports.push(Report::Registered { id, bind_complete: false });
        }
        Ok(())
    }

    fn registration_failed(&mut self, id: RegId, error: WorkError) {
        self.reports.push(Report::Input(Input::Failed { id: id.into(), error }));
    }

    /// [`BackendOp::Deregister`](smbd_core::backend::BackendOp::Deregister). A window that the peer has invalidated is
    /// touched no more.
    pub(super) fn deregister(&mut self, id: RegId, segments: &[Segment]) {
        let is_live = segments.iter().any(|segment| segment.descriptor().is_some());
        let Some(open) = &mut self.open else { return };
        let entries = open.qp.granted().recv_wr.saturating_add(open.qp.granted().send_wr);
        let done = Report::Input(Input::Deregistered { id });
        match open.registrations.take(id) {
            Some((Means::Window(window), descriptor)) if is_live => match open.quirks.invalidate {
                Invalidate::Request => {
                    open.registrations.put(id, Means::Window(window), descriptor);
                    let key = descriptor.token.0;
                    self.post(Request::Invalidate(id), |open| {
                        Ok(open.qp.chain_invalidate(WrId::from(id).to_raw(), key)?)
                    });
                    self.ring_chain();
                    return;
                }
                Invalidate::Free => drop(window),
            },
            Some((Means::Window(mut window), _)) => {
                window.unbind();
                open.registrations.idle.push(window);
            }
            Some((Means::Region(region), _)) => drop(region),
            None => {}
        }
        // Behind the messages that arrived before: one of them may have invalidated the token.
        self.reports.push_behind(entries, done);
    }
}

/// Exactly the rights asked for. A right to write needs that of the device itself.
const fn rights(access: Access) -> Rights {
    let (remote_read, remote_write) = (access.reads(), access.writes());
    Rights { local_write: remote_write, remote_read, remote_write, bind: false }
}
