//! A transport of the client or the server, with somebody at it who sees all messages, and those who may change them and data.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::customs::Customs;
use crate::ledger::{From, told};
use crate::mischief::{Changer, Overheard};
use crate::shared::Shared;
use bytes::Bytes;
use smbd_core::error::CloseReason;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};
use smbd_link::link::{Ending, Event, Piece};
use smbd_link::transport::{Limits, RdmaLimits, Transport};
use smbd_sim::Side;

/// A transport that is listened to.
pub struct Overseen<T: Transport<N>, N> {
    transport: T,
    shared: Shared,
    from: From,
    overheard: Option<Rc<RefCell<Overheard>>>,
    changer: Option<Changer>,
    /// It ends when the devices say that its side is to end it. Otherwise somebody else hears of that.
    ends_with_device: bool,
    /// The devices have said so.
    ended: Option<Ending<T::Error>>,
    /// At the server.
    customs: Option<Customs<T::Memory, N>>,
}

impl<T, N> Overseen<T, N>
where
    T: Transport<N>,
    N: Copy + PartialEq,
{
    /// That of the client.
    pub fn of_client(
        transport: T,
        shared: Shared,
        (overheard, changer): (Option<Rc<RefCell<Overheard>>>, Option<Changer>),
        ends_with_device: bool,
    ) -> Self {
        let from = From::Client;
        Self { transport, shared, from, overheard, changer, ends_with_device, ended: None, customs: None }
    }

    /// That of the server.
    pub fn of_server(
        transport: T,
        shared: Shared,
        changer: Option<Changer>,
        customs: Customs<T::Memory, N>,
    ) -> Self {
        Self {
            transport,
            shared,
            from: From::Server,
            overheard: None,
            changer,
            ends_with_device: true,
            ended: None,
            customs: Some(customs),
        }
    }

    fn hear(&self, message: &[u8]) {
        if let Some(overheard) = &self.overheard {
            overheard.borrow_mut().hear(message);
        }
    }

    /// What leaves for a message, and what the arrival of each invalidates.
    fn leaving(&mut self, message: &[u8], invalidate: Option<Token>) -> Vec<(Bytes, Option<Token>)> {
        let judged = self.shared.ledger.borrow_mut().leaves(self.from, message);
        self.shared.notes.judge(judged);
        self.hear(message);
        let messages = match &mut self.changer {
            Some(changer) => changer.change(message),
            None => vec![message.to_vec()],
        };
        let (from, last) = (self.from, messages.len().saturating_sub(1));
        for message in &messages {
            let text = || format!("{from:?}: sends {}, invalidates {invalidate:?}", told(message));
            self.shared.notes.step(text);
        }
        let told = |at| invalidate.filter(|_| at == last);
        messages.into_iter().enumerate().map(|(at, message)| (message.into(), told(at))).collect()
    }
}

impl<T, N> Transport<N> for Overseen<T, N>
where
    T: Transport<N>,
    N: Copy + PartialEq,
{
    type Memory = T::Memory;
    type Error = T::Error;

    fn limits(&self) -> Limits {
        let limits = self.transport.limits();
        let max = self.shared.plan.read_write_max;
        let rdma =
            limits.rdma.map(|rdma| RdmaLimits { max_read_write: rdma.max_read_write.min(max), ..rdma });
        Limits { rdma, ..limits }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<N, T::Error>> {
        if self.ends_with_device && self.shared.is_device() {
            let stage = self.shared.notes.stage();
            let side = if self.from == From::Client { Side::Initiator } else { Side::Acceptor };
            if stage.take_ending(side).is_some() {
                self.shared.notes.note(|seen| seen.is_asked = true);
                self.ended = Some(Ok(CloseReason::Local));
            }
        }
        let event = self.transport.poll_event(cx);
        if let (Some(customs), Poll::Ready(Event::RdmaDone { name, result })) = (&mut self.customs, &event) {
            customs.is_over(*name, result.is_ok());
        }
        event
    }

    fn try_recv(&mut self) -> Option<Piece> {
        let piece = if self.ended.is_some() { None } else { self.transport.try_recv() }?;
        if self.from == From::Client {
            self.shared.ledger.borrow_mut().delivered();
        }
        self.hear(&piece.bytes);
        Some(piece)
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.transport.poll_ready(cx)
    }

    fn send(&mut self, message: Bytes, invalidate: Option<Token>) {
        for (message, invalidate) in self.leaving(&message, invalidate) {
            self.transport.send(message, invalidate);
        }
    }

    fn send_unsignalled(&mut self, message: Bytes, invalidate: Option<Token>) {
        for (message, invalidate) in self.leaving(&message, invalidate) {
            self.transport.send_unsignalled(message, invalidate);
        }
    }

    fn rdma(
        &mut self,
        name: N,
        verb: RdmaVerb,
        memory: T::Memory,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        if let Some(customs) = &mut self.customs {
            customs.begins(name, verb, &memory, len);
        }
        self.transport.rdma(name, verb, memory, remote, offset, len);
    }

    fn write_ahead(
        &mut self,
        name: N,
        memory: T::Memory,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        if let Some(customs) = &mut self.customs {
            customs.begins(name, RdmaVerb::Write, &memory, len);
        }
        self.transport.write_ahead(name, memory, remote, offset, len);
    }

    fn register(&mut self, name: N, memory: T::Memory, access: Access) {
        self.shared.notes.step(|| format!("{:?}: registers {memory:?}", self.from));
        self.transport.register(name, memory, access);
    }

    fn deregister(&mut self, name: N) {
        self.shared.notes.step(|| format!("{:?}: takes memory back", self.from));
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
