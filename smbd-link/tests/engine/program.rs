//! Upper layers of many connections.

use bytes::Bytes;
use smbd_core::Endpoint;
use smbd_core::backend::{Backend, BufferLookup, Handler};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::CloseReason;

use super::wire::End;

/// Returns each message, or asks for answers.
#[derive(Default)]
pub struct Program {
    /// Questions that are not asked yet; `None` if it returns what comes.
    pub to_ask: Option<u32>,
    pub is_established: bool,
    pub messages: u32,
    pub closed: Option<CloseReason>,
    pub is_drained: bool,
}

impl BufferLookup<()> for Program {}

impl Handler<End, Endpoint> for Program {
    fn event(&mut self, endpoint: &mut Endpoint, end: &mut End, event: EndpointEvent) {
        match event {
            EndpointEvent::Established(_) => self.is_established = true,
            EndpointEvent::Message(message) => {
                let bytes = Bytes::copy_from_slice(message.bytes(end).unwrap());
                if let Message::Borrowed(fragment) = message {
                    endpoint.release(end.now(), fragment).unwrap();
                }
                if self.to_ask.is_some() {
                    assert_eq!(bytes, question(end.wire(), self.messages), "answers come in order");
                    self.messages += 1;
                    self.ask(endpoint, end);
                } else {
                    self.messages += 1;
                    endpoint.send(end.now(), bytes, None).unwrap();
                }
            }
            EndpointEvent::Sent { result, .. } => result.unwrap(),
            EndpointEvent::Closed(reason) => self.closed = Some(reason),
            EndpointEvent::Drained => self.is_drained = true,
            other => panic!("{other:?}"),
        }
    }
}

impl Program {
    pub fn ask(&mut self, endpoint: &mut Endpoint, end: &End) {
        if let Some(left @ 1..) = &mut self.to_ask {
            *left -= 1;
            endpoint.send(end.now(), question(end.wire(), self.messages), None).unwrap();
        }
    }
}

/// Of one fragment or of several.
fn question(wire: usize, number: u32) -> Bytes {
    let len = if number % 4 == 3 { 5000 } else { 64 };
    let seed = wire * 31 + number as usize;
    (0..len).map(|at| u8::try_from((seed + at) % 251).unwrap()).collect()
}
