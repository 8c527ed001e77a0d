//! The end against the kit of the core, and against peers that break the protocol.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use smbd_core::backend::kit::{self, Capabilities, Fixture, Lab, Peer, Situation};
use smbd_core::backend::{Backend as _, BackendOp, HostMemory as _};
use smbd_core::error::{ConnectReason, DisconnectReason};
use smbd_core::{Access, BufferDescriptorV1, Config, Input, Params, RecvId, RegId, Role, Token, WrId};

use super::*;

struct Sockets;

/// Two connections.
struct Pairs([[SocketEnd; 2]; 2]);

fn pair(config: &Config, clock: Clock) -> [SocketEnd; 2] {
    let (initiator, acceptor) = UnixStream::pair().unwrap();
    let end = |stream: UnixStream, role| SocketEnd::new(stream.into(), role, config, clock).unwrap();
    [end(initiator, Role::Initiator), end(acceptor, Role::Acceptor)]
}

impl Lab for Sockets {
    type Fixture = Pairs;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            refusal: false,
            two_connections: true,
            late_connected: false,
            refused: true,
            unreachable: false,
            silent: false,
            rdma: true,
            read_rights: true,
            invalidation_told: true,
            peer_close_told: true,
            patience: Duration::from_millis(200),
        }
    }

    fn fixture(&mut self, situation: Situation, config: &Config) -> Result<Pairs, String> {
        let clock = Clock::start();
        let mut pairs = [pair(config, clock), pair(config, clock)];
        if situation == Situation::Refused {
            let nowhere = "/nowhere/at/all".parse().unwrap();
            pairs[0][0] = SocketEnd::connect(&nowhere, config, clock);
        }
        Ok(Pairs(pairs))
    }
}

impl Fixture for Pairs {
    type Buffer = Buffer;
    type Backend<'a> = &'a mut SocketEnd;

    fn backend(&mut self, end: Peer) -> &mut SocketEnd {
        &mut self.0[end.connection][usize::from(end.role == Role::Acceptor)]
    }

    fn pass(&mut self, _: Duration) {
        self.0.as_flattened_mut().iter_mut().for_each(SocketEnd::progress);
    }

    fn refuse_after(&mut self, _: Peer, _: usize) {
        unreachable!("no such capability");
    }
}

#[test]
fn an_end_passes_every_line_of_the_kit_but_those_for_faults_that_a_socket_has_not() {
    let report = kit::run(&mut Sockets);
    assert!(report.passed(), "{report}");
    let skipped: Vec<_> = report.not_applicable().map(|outcome| outcome.id).collect();
    let none = ["rdma.", "invalidation.", "order.", "receive.", "completion.", "end.", "limits."];
    let wrong: Vec<_> =
        skipped.iter().filter(|id| none.iter().any(|subject| id.starts_with(subject))).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}
