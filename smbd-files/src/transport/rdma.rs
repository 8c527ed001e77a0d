//! SMB Direct, over anything that async tasks can wait for.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smbd_core::error::{CommandError, RegisterError, RegistrationError};
use smbd_core::{Access, BufferDescriptorV1, Endpoint, Token};
use smbd_link::link::{self, Event, Link, Owned};
use smbd_link::{Failure, Messages, PollReady};
use smbd_smb2::client::{self, RegistrationId};

use super::{Lost, Memory, Part, Received, Registered, Transport, part_of};

/// What is left of a connection that has no user any more.
pub type Rest<B, C = Endpoint> = link::Rest<B, RegistrationId, C>;
type FailureOf<B> = Failure<<B as PollReady>::Error>;

/// How long messages may still take to leave when a connection is closed.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// A server over an RDMA device, or over another backend. The connection is driven by whoever polls this, and only then: it makes no
/// progress otherwise, and does not answer keepalives.
pub struct Rdma<B: PollReady, C: Messages = Endpoint> {
    limits: client::Transport,
    /// It is left when it is over, and all messages were taken.
    link: Owned<B, RegistrationId, C>,
    /// The part of each registered buffer that is described.
    parts: BTreeMap<RegistrationId, (u32, u32)>,
    /// What came of registrations.
    told: VecDeque<Registered>,
    /// Tokens of this side that the peer has invalidated. Those of a registration go with it.
    invalidated: Vec<(RegistrationId, Token)>,
    lost: Option<Lost>,
}

impl<B: PollReady, C: Messages> Rdma<B, C> {
    /// Takes an established connection, which carries this.
    #[must_use]
    pub const fn new(link: Owned<B, RegistrationId, C>, limits: client::Transport) -> Self {
        Self {
            limits,
            link,
            parts: BTreeMap::new(),
            told: VecDeque::new(),
            invalidated: Vec::new(),
            lost: None,
        }
    }

    /// Drives the connection, and takes what it tells.
    fn drive(&mut self, cx: &mut Context<'_>) {
        while let Some(link) = self.link.get_mut() {
            let Poll::Ready(event) = link.poll_event(cx) else { break };
            match event {
                Event::Registered { name, result } => self.registered(name, result),
                Event::Deregistered { name, result } => {
                    self.invalidated.retain(|(of, _)| *of != name);
                    match result {
                        Ok(()) => self.told.push_back(Registered::Ended(name)),
                        Err(_) => self.be_unsure(),
                    }
                }
                Event::Invalidated { name, token } => self.invalidated.push((name, token)),
                Event::Ended(_) | Event::Established(_) | Event::RdmaDone { .. } | Event::Probed(_) => {}
            }
        }
        if self.lost.is_none()
            && let Some(ending) = self.link.get().and_then(Link::closed)
        {
            self.lost = Some(match ending {
                Ok(reason) => Lost::because(Failure::<<B as PollReady>::Error>::Closed(*reason)),
                Err(failure) => Lost::because(failure),
            });
        }
        // Its backend goes, when all messages were taken.
        if self.link.get().is_some_and(|link| link.is_over() && !link.has_messages()) {
            self.link.leave();
        }
    }

    /// Memory is registered. The part that is wanted of it may not be in it.
    fn registered(&mut self, of: RegistrationId, result: Result<Vec<BufferDescriptorV1>, FailureOf<B>>) {
        match result {
            Ok(descriptors) => {
                let part = self.parts.get(&of).and_then(|(offset, len)| part_of(&descriptors, *offset, *len));
                let is_inside = part.is_some();
                self.told
                    .push_back(part.map_or(Registered::Impossible(of), |part| Registered::Valid(of, part)));
                if !is_inside && let Some(link) = self.link.get_mut() {
                    // Nobody has a use for it.
                    link.deregister(of);
                }
            }
            // The transfer is no worse than any other that was under way: it can go on at another connection.
            Err(failure) if ends(&failure) => self.be_unsure(),
            Err(_) => {
                self.parts.remove(&of);
                self.told.push_back(Registered::Impossible(of));
            }
        }
    }

    /// It is not known whether the access to some memory has ended. It ends with the connection.
    fn be_unsure(&mut self) {
        if let Some(link) = self.link.get_mut() {
            link.close(CLOSE_WITHIN);
        }
    }
}

impl<B, C> Transport for Rdma<B, C>
where
    B: PollReady,
    B::Buffer: Memory,
    C: Messages,
{
    type Memory = B::Buffer;

    fn limits(&self) -> client::Transport {
        self.limits
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, Lost>> {
        self.drive(cx);
        let Some(piece) = self.link.get_mut().and_then(Link::try_recv) else {
            return self.lost.clone().map_or(Poll::Pending, |lost| Poll::Ready(Err(lost)));
        };
        let invalidated = self.invalidated.drain(..).map(|(_, token)| token).collect();
        Poll::Ready(Ok(Received { invalidated, message: BytesMut::from(piece.bytes) }))
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        self.drive(cx);
        // Messages that came before the end are taken first.
        let has_messages = self.link.get().is_some_and(Link::has_messages);
        match (&self.lost, self.link.get_mut()) {
            (Some(lost), _) if !has_messages => Poll::Ready(Err(lost.clone())),
            (None, Some(link)) => link.poll_ready(cx).map(Ok),
            _ => Poll::Ready(Ok(())),
        }
    }

    fn send(&mut self, message: [&[u8]; 2]) {
        if let Some(link) = self.link.get_mut() {
            // The server's answer says that it was sent.
            link.send_unsignalled(Bytes::from(message.concat()), None);
        }
    }

    fn register(&mut self, registration: RegistrationId, part: Part<B::Buffer>) {
        // Without a connection there is nobody who could use it.
        let Some(link) = self.link.get_mut() else { return };
        let Part { memory, offset, len, access } = part;
        let access = match access {
            client::Access::RemoteRead => Access::Read,
            client::Access::RemoteWrite => Access::Write,
        };
        self.parts.insert(registration, (offset, len));
        link.register(registration, memory, access);
    }

    fn deregister(&mut self, registration: RegistrationId) {
        match (self.parts.remove(&registration), self.link.get_mut()) {
            // The server has no access, because there was no registration.
            (None, _) => self.told.push_back(Registered::Ended(registration)),
            (Some(_), Some(link)) => link.deregister(registration),
            (Some(_), None) => {}
        }
    }

    fn poll_registered(&mut self, cx: &mut Context<'_>) -> Poll<Registered> {
        self.drive(cx);
        self.told.pop_front().map_or(Poll::Pending, Poll::Ready)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(link) = self.link.get_mut() {
            link.ignore_messages();
        }
        self.drive(cx);
        // What waits goes first, unless the connection has ended.
        if let Some(link) = self.link.get_mut()
            && (link.waiting() == 0 || link.closed().is_some())
        {
            link.close(CLOSE_WITHIN);
            self.drive(cx);
        }
        if self.link.get().is_none() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn give_up(&mut self) {
        if let Some(link) = self.link.get_mut() {
            link.drop_orders();
        }
    }
}

/// Whether memory was not registered because the connection ends.
const fn ends<E>(failure: &Failure<E>) -> bool {
    matches!(
        failure,
        Failure::Register(RegisterError::Command(CommandError::Closing))
            | Failure::Registration(RegistrationError::Aborted(_))
    )
}

impl<B: PollReady, C: Messages> fmt::Debug for Rdma<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rdma").field("limits", &self.limits).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
