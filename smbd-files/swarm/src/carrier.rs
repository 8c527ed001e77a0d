//! The client's transport, with somebody at it who sees all messages, and one who may change them.

use std::task::{Context, Poll};

use smbd_files::transport::{Lost, Part, Received, Registered, Transport};
use smbd_sim::Side;
use smbd_smb2::client::{self, RegistrationId};

use crate::ledger::{From, told};
use crate::mischief::Changer;
use crate::mischief::Overheard;
use crate::server_task::Shared;
use std::cell::RefCell;
use std::rc::Rc;

/// A transport that is listened to.
pub struct Overseen<T> {
    pub transport: T,
    pub shared: Shared,
    pub overheard: Option<Rc<RefCell<Overheard>>>,
    pub changer: Option<Changer>,
    /// It ends when the devices say that the client is to end it. Otherwise somebody else hears of that.
    pub ends_with_device: bool,
}

impl<T: Transport> Transport for Overseen<T> {
    type Memory = T::Memory;

    fn limits(&self) -> client::Transport {
        self.transport.limits()
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, Lost>> {
        if self.ends_with_device && self.shared.is_device() {
            let stage = self.shared.notes.stage();
            if stage.take_ending(Side::Initiator).is_some() {
                self.shared.notes.note(|seen| seen.is_asked = true);
                return Poll::Ready(Err(Lost::because("the devices have it end")));
            }
        }
        self.transport.poll_receive(cx).map_ok(|received| {
            self.shared.ledger.borrow_mut().delivered();
            if let Some(overheard) = &self.overheard {
                overheard.borrow_mut().hear(&received.message);
            }
            received
        })
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        self.transport.poll_ready(cx)
    }

    fn send(&mut self, message: [&[u8]; 2]) {
        let message = message.concat();
        let judged = self.shared.ledger.borrow_mut().leaves(From::Client, &message);
        self.shared.notes.judge(judged);
        if let Some(overheard) = &self.overheard {
            overheard.borrow_mut().hear(&message);
        }
        let messages = match &mut self.changer {
            Some(changer) => changer.change(&message),
            None => vec![message],
        };
        for message in messages {
            self.shared.notes.step(|| format!("client: sends {}", told(&message)));
            self.transport.send([&message, &[]]);
        }
    }

    fn register(&mut self, registration: RegistrationId, part: Part<T::Memory>) {
        self.shared.notes.step(|| format!("client: registers {} bytes for {registration:?}", part.len));
        self.transport.register(registration, part);
    }

    fn deregister(&mut self, registration: RegistrationId) {
        self.shared.notes.step(|| format!("client: takes back {registration:?}"));
        self.transport.deregister(registration);
    }

    fn poll_registered(&mut self, cx: &mut Context<'_>) -> Poll<Registered> {
        self.transport.poll_registered(cx)
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.transport.poll_close(cx)
    }

    fn give_up(&mut self) {
        self.transport.give_up();
    }
}
