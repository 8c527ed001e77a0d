//! Registrations and RDMA operations of a connection whose calls wait.

use std::sync::Arc;
use std::time::Duration;

use super::{Blocking, Connection};
use crate::link::Event;
use crate::{Failure, Messages, Registration};
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};

/// The name of an RDMA operation on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operation(u64);

/// A finished RDMA operation: its name and its result. `E` is the error of the backend.
pub type Done<E> = (Operation, Result<(), Failure<E>>);

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
        self.link.forget_invalidated();
        let name = self.name();
        self.link.register(name, buffer.clone(), access);
        let descriptors = self.wait_for_event(None, |event| {
            let Event::Registered { name: of, result } = event else { return None };
            (*of == name).then(|| result.clone())
        })??;
        Ok(Registration { name, descriptors: descriptors.to_vec() })
    }

    /// Ends the peer's access to a registered buffer (3.1.4.4). Waits for the device. After `Ok` the peer cannot access
    /// the buffer any more.
    ///
    /// # Errors
    /// [`Failure::Register`]: the registration is not valid, or the connection is closing. [`Failure::Registration`]:
    /// the provider refused, or the connection ended, which ends the access too. [`Failure::Backend`]: the backend
    /// fails. [`Failure::Drive`]: this side broke a contract.
    pub fn deregister(&mut self, registration: &Registration) -> Result<(), Failure<B::Error>> {
        self.link.deregister(registration.name);
        self.wait_for_event(None, |event| {
            let Event::Deregistered { name, result } = event else { return None };
            (*name == registration.name).then(|| result.clone())
        })?
    }

    /// Returns a token of a registration that the peer has invalidated, each token once; `None` if there is no other. A
    /// token of a registration that has ended is returned until the next [`register`](Self::register).
    /// Returns at once and does not drive the connection.
    pub fn invalidated(&mut self) -> Option<Token> {
        self.link.take_event(|event| {
            let Event::Invalidated { token, .. } = event else { return None };
            Some(*token)
        })
    }

    /// Starts an RDMA operation and returns its name. It transfers `len` bytes between the beginning of `buffer` and the
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
    ) -> Result<Operation, Failure<B::Error>> {
        let op = Operation(self.name());
        self.link.rdma(op.0, verb, buffer.clone(), Arc::clone(remote), offset, len);
        // Until the endpoint has taken it, or refused it.
        self.wait(None, |this| (this.link.waiting() == 0).then_some(()))?;
        let refused = self.link.take_event(|event| match done(event)? {
            (of, Err(Failure::Rdma(error))) if of == op => Some(error),
            _ => None,
        });
        refused.map_or(Ok(op), |error| Err(error.into()))
    }

    /// The number of RDMA operations that are not finished.
    #[must_use]
    pub fn rdma_in_flight(&self) -> usize {
        self.link.operations()
    }

    /// Returns the next finished RDMA operation. Waits for it for at most `within`, also if no operation is under way.
    ///
    /// # Errors
    /// [`Failure::TimedOut`]: no operation finished within `within`. [`Failure::Closed`]: the connection has ended, and
    /// all results were returned. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: this side broke a
    /// contract.
    pub fn next_rdma(&mut self, within: Duration) -> Result<Done<B::Error>, Failure<B::Error>> {
        self.wait_for_event(Some(within), done)
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
    pub fn finish_rdma(&mut self, op: Operation) -> Result<(), Failure<B::Error>> {
        self.wait_for_event(None, |event| done(event).filter(|(of, _)| *of == op))?.1
    }
}

fn done<E: Clone>(event: &Event<u64, E>) -> Option<Done<E>> {
    let Event::RdmaDone { name, result } = event else { return None };
    Some((Operation(*name), result.clone()))
}
