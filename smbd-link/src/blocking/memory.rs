//! Registrations and RDMA operations of a connection whose calls wait.

use std::sync::Arc;
use std::time::Duration;

use super::{Blocking, Connection, Done};
use crate::{Failure, Messages, Registration};
use smbd_core::error::{CommandError, RdmaError, RegisterError};
use smbd_core::{Access, BufferDescriptorV1, OpId, RdmaVerb, Token};

/// Segments that a registration may have: one buffer is one region or one window.
const SEGMENTS: u16 = 1;

impl<B: Blocking, C: Messages> Connection<B, C> {
    /// Gives the peer access to all of `buffer`, with exactly these rights, on this connection only (3.1.4.3). Waits
    /// for the device, and returns the registration with its descriptors.
    ///
    /// # Errors
    /// [`Failure::Register`]: no registration is free, or the connection is closing. [`Failure::Registration`]: the
    /// provider refused, or the connection ended. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this
    /// side broke a contract.
    pub fn register(
        &mut self,
        buffer: &B::Buffer,
        access: Access,
    ) -> Result<Registration, Failure<B::Error>> {
        let id = self.endpoint.register(self.backend.now(), access, SEGMENTS)?;
        self.inbox.forget_invalidated();
        let name = self.inbox.next_name;
        self.inbox.next_name = name.wrapping_add(1);
        self.inbox.registrations.insert(id, (name, buffer.clone()));
        let (_, result) = self.wait_for(|this| this.inbox.registered.take_if(|(done, _)| *done == id))?;
        if let Err(error) = result {
            self.inbox.registrations.remove(&id);
            return Err(error.into());
        }
        let descriptors = self.endpoint().connection().live_segments(id).collect();
        Ok(Registration { name, descriptors })
    }

    /// Ends the peer's access to a registered buffer (3.1.4.4). Waits for the device. After `Ok` the peer cannot access
    /// the buffer any more.
    ///
    /// # Errors
    /// [`Failure::Register`]: the registration is not valid, or the connection is closing. [`Failure::Registration`]:
    /// the provider refused, or the connection ended, which ends the access too. [`Failure::Backend`]: the backend
    /// fails. [`Failure::Drive`]: this side broke a contract.
    pub fn deregister(&mut self, registration: &Registration) -> Result<(), Failure<B::Error>> {
        let mut known = self.inbox.registrations.iter();
        let named = known.find(|(_, (name, _))| *name == registration.name).map(|(id, _)| *id);
        let id = named.ok_or(RegisterError::NotRegistered)?;
        self.endpoint.deregister(self.backend.now(), id)?;
        let (_, result) = self.wait_for(|this| this.inbox.deregistered.take_if(|(done, _)| *done == id))?;
        result?;
        self.inbox.registrations.remove(&id);
        Ok(())
    }

    /// Returns a token of a registration that the peer has invalidated, each token once; `None` if there is no other. A
    /// token of a registration that has ended is returned until the next [`register`](Self::register).
    /// Returns at once and does not drive the connection.
    pub fn invalidated(&mut self) -> Option<Token> {
        self.inbox.invalidated.pop_front().map(|(_, token)| token)
    }

    /// Starts an RDMA operation and returns its id. It transfers `len` bytes between the beginning of `buffer` and the
    /// peer's buffer that `remote` describes, from byte `offset` of that buffer on: [`RdmaVerb::Write`] to the peer
    /// (3.1.4.5), [`RdmaVerb::Read`] from it (3.1.4.6). Waits only while all operations of the configuration are under
    /// way. [`next_rdma`](Self::next_rdma) and [`finish_rdma`](Self::finish_rdma) return the result.
    ///
    /// # Errors
    /// [`Failure::Rdma`]: the range is too long or not inside the descriptors, the connection allows no RDMA Read, or
    /// it is closing or has ended. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side broke a
    /// contract.
    pub fn start_rdma(
        &mut self,
        verb: RdmaVerb,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<OpId, Failure<B::Error>> {
        self.wait_for(|this| {
            let now = this.backend.now();
            match this.endpoint.rdma(now, verb, len, Arc::clone(remote), offset) {
                Ok(op) => {
                    this.inbox.operations.insert(op, buffer.clone());
                    Some(Ok(op))
                }
                Err(RdmaError::Command(CommandError::NoRoom { .. })) => None,
                Err(error) => Some(Err(error.into())),
            }
        })?
    }

    /// The number of RDMA operations that are not finished.
    #[must_use]
    pub fn rdma_in_flight(&self) -> usize {
        self.inbox.operations.len()
    }

    /// Returns the next finished RDMA operation. Waits for it for at most `within`, also if no operation is under way.
    ///
    /// # Errors
    /// [`Failure::TimedOut`]: no operation finished within `within`. [`Failure::Closed`]: the connection has ended, and
    /// all results were returned. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side broke a
    /// contract.
    pub fn next_rdma(&mut self, within: Duration) -> Result<Done, Failure<B::Error>> {
        self.wait_within(within, |this| this.inbox.finished.pop_front())
    }

    /// Carries out an RDMA operation: [`start_rdma`](Self::start_rdma) and then [`finish_rdma`](Self::finish_rdma).
    ///
    /// # Errors
    /// The errors of both.
    pub fn rdma(
        &mut self,
        verb: RdmaVerb,
        buffer: &B::Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), Failure<B::Error>> {
        let op = self.start_rdma(verb, buffer, remote, offset, len)?;
        self.finish_rdma(op)
    }

    /// Waits until the RDMA operation `op` is finished. If the result of `op` was returned before, it waits until the
    /// connection ends.
    ///
    /// # Errors
    /// [`Failure::Operation`]: the operation failed, or the connection ended first. [`Failure::Closed`]: the connection
    /// has ended, and the result of `op` was returned before. [`Failure::Backend`]: the backend fails.
    /// [`Failure::Drive`]: this side broke a contract.
    pub fn finish_rdma(&mut self, op: OpId) -> Result<(), Failure<B::Error>> {
        let result = self.wait_for(|this| {
            let place = this.inbox.finished.iter().position(|(done, _)| *done == op)?;
            this.inbox.finished.remove(place)
        })?;
        Ok(result.1?)
    }
}
