//! An echo over `Backend` and `drive`: the example on the front page of `smbd-core`.

use std::{error::Error, time::Duration};

use bytes::Bytes;
use smbd_core::backend::kit::{Fixture, Lab, Peer, Situation, reference::Reference};
use smbd_core::backend::{Backend, BufferLookup, Handler, drive};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::{Close, Config, Endpoint, Params, Role};

/// The upper layer: the initiator sends a message and closes when it is back.
struct App(Role);

// It names no memory of its own: the endpoint has the messages, and there is no RDMA.
impl<M> BufferLookup<M> for App {}

impl<B: Backend> Handler<B, Endpoint> for App {
    fn event(&mut self, endpoint: &mut Endpoint, backend: &mut B, event: EndpointEvent) {
        let now = backend.now();
        match event {
            EndpointEvent::Established(_) if self.0 == Role::Initiator => {
                endpoint.send(now, Bytes::from_static(b"hello"), None).expect("room for one");
            }
            EndpointEvent::Message(message) => {
                let bytes = Bytes::copy_from_slice(message.bytes(backend).expect("a sound backend"));
                // It is still in a receive buffer, which the peer needs.
                if let Message::Borrowed(fragment) = message {
                    endpoint.release(now, fragment).expect("own fragment");
                }
                println!("{:?} received {bytes:?}", self.0);
                match self.0 {
                    Role::Acceptor => drop(endpoint.send(now, bytes, None).expect("room")),
                    Role::Initiator => endpoint.close(now, Close::Abort),
                }
            }
            event => println!("{:?}: {event:?}", self.0),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = Config::try_from(Params::windows())?;
    // Two backends in memory. On RDMA devices they are smbd_verbs::VerbsConnection.
    let mut network = Reference::default().fixture(Situation::Connects, &config)?;
    let mut sides = [Peer::INITIATOR, Peer::ACCEPTOR].map(|peer| {
        let endpoint = Endpoint::new(peer.role, &config, network.backend(peer).now());
        (peer, endpoint, App(peer.role))
    });
    while !sides.iter().all(|(_, endpoint, _)| endpoint.is_drained()) {
        for (peer, endpoint, app) in &mut sides {
            let _deadline = drive(endpoint, &mut network.backend(*peer), app)?;
        }
        // A program sleeps here: until its backend has something, or the deadline.
        network.pass(Duration::from_millis(1));
    }
    Ok(())
}
