//! The client's transport, with somebody at it who sees all messages, and one who may change them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::error::CloseReason;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};
use smbd_link::link::{Ending, Event, Piece};
use smbd_link::transport::{Limits, RdmaLimits, Transport};
use smbd_sim::Side;
use smbd_smb2::client::RegistrationId;

use crate::ledger::{From, told};
use crate::mischief::{Changer, Overheard};
use crate::server_task::Shared;

/// A transport that is listened to.
pub struct Overseen<T: Transport<RegistrationId>> {
    transport: T,
    shared: Shared,
    overheard: Option<Rc<RefCell<Overheard>>>,
    changer: Option<Changer>,
    /// It ends when the devices say that the client is to end it. Otherwise somebody else hears of that.
    ends_with_device: bool,
    /// The devices have said so.
    ended: Option<Ending<T::Error>>,
}

impl<T: Transport<RegistrationId>> Overseen<T> {
    pub fn new(
        transport: T,
        shared: Shared,
        (overheard, changer): (Option<Rc<RefCell<Overheard>>>, Option<Changer>),
        ends_with_device: bool,
    ) -> Self {
        Self { transport, shared, overheard, changer, ends_with_device, ended: None }
    }

    fn hear(&self, message: &[u8]) {
        if let Some(overheard) = &self.overheard {
            overheard.borrow_mut().hear(message);
        }
    }

    /// What leaves for a message of the client.
    fn leaving(&mut self, message: &[u8]) -> Vec<Bytes> {
        let judged = self.shared.ledger.borrow_mut().leaves(From::Client, message);
        self.shared.notes.judge(judged);
        self.hear(message);
        let messages = match &mut self.changer {
            Some(changer) => changer.change(message),
            None => vec![message.to_vec()],
        };
        for message in &messages {
            self.shared.notes.step(|| format!("client: sends {}", told(message)));
        }
        messages.into_iter().map(Bytes::from).collect()
    }
}

impl<T: Transport<RegistrationId>> Transport<RegistrationId> for Overseen<T> {
    type Memory = T::Memory;
    type Error = T::Error;

    fn limits(&self) -> Limits {
        let limits = self.transport.limits();
        let max = self.shared.plan.read_write_max;
        let rdma =
            limits.rdma.map(|rdma| RdmaLimits { max_read_write: rdma.max_read_write.min(max), ..rdma });
        Limits { rdma, ..limits }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<RegistrationId, T::Error>> {
        if self.ends_with_device && self.shared.is_device() {
            let stage = self.shared.notes.stage();
            if stage.take_ending(Side::Initiator).is_some() {
                self.shared.notes.note(|seen| seen.is_asked = true);
                self.ended = Some(Ok(CloseReason::Local));
            }
        }
        self.transport.poll_event(cx)
    }

    fn try_recv(&mut self) -> Option<Piece> {
        let piece = if self.ended.is_some() { None } else { self.transport.try_recv() }?;
        self.shared.ledger.borrow_mut().delivered();
        self.hear(&piece.bytes);
        Some(piece)
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.transport.poll_ready(cx)
    }

    fn send(&mut self, message: Bytes, invalidate: Option<Token>) {
        for message in self.leaving(&message) {
            self.transport.send(message, invalidate);
        }
    }

    fn send_unsignalled(&mut self, message: Bytes, invalidate: Option<Token>) {
        for message in self.leaving(&message) {
            self.transport.send_unsignalled(message, invalidate);
        }
    }

    fn rdma(
        &mut self,
        name: RegistrationId,
        verb: RdmaVerb,
        memory: T::Memory,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        self.transport.rdma(name, verb, memory, remote, offset, len);
    }

    fn register(&mut self, name: RegistrationId, memory: T::Memory, access: Access) {
        self.shared.notes.step(|| format!("client: registers {name:?}"));
        self.transport.register(name, memory, access);
    }

    fn deregister(&mut self, name: RegistrationId) {
        self.shared.notes.step(|| format!("client: takes back {name:?}"));
        self.transport.deregister(name);
    }

    fn waiting(&self) -> usize {
        self.transport.waiting()
    }

    fn waiting_bytes(&self) -> usize {
        self.transport.waiting_bytes()
    }

    fn has_messages(&self) -> bool {
        self.transport.has_messages()
    }

    fn ignore_messages(&mut self) {
        self.transport.ignore_messages();
    }

    fn closed(&self) -> Option<&Ending<T::Error>> {
        self.ended.as_ref().or_else(|| self.transport.closed())
    }

    fn close(&mut self, within: Duration) {
        self.transport.close(within);
    }

    fn drop_orders(&mut self) {
        self.transport.drop_orders();
    }

    fn leave(&mut self) {
        self.transport.leave();
    }
}
