//! The backend of the example against the kit.
#![cfg(unix)]

#[path = "../examples/third_backend/main.rs"]
mod example;

use std::cell::Cell;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use example::socket::{Buffer, SocketBackend};
use smbd_core::backend::kit::{self, Capabilities, Fixture, Lab, Peer, Situation};
use smbd_core::{Config, Instant, Role};

struct Sockets;

/// Two connections; time is virtual, sockets take none.
struct Pairs {
    ends: Vec<[SocketBackend; 2]>,
    now: Rc<Cell<Instant>>,
}

impl Lab for Sockets {
    type Fixture = Pairs;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            refusal: false,
            two_connections: true,
            late_connected: false,
            refused: false,
            unreachable: false,
            silent: false,
            rdma: false,
            read_rights: false,
            invalidation_told: false,
            peer_close_told: true,
            patience: Duration::from_millis(200),
        }
    }

    fn fixture(&mut self, _: Situation, config: &Config) -> Result<Pairs, String> {
        let now = Rc::new(Cell::new(Instant::ORIGIN));
        let end = |stream| {
            let now = Rc::clone(&now);
            SocketBackend::new(stream, &config.budget(), move || now.get())
        };
        let pair = || {
            let (initiator, acceptor) = UnixStream::pair()?;
            Ok([end(initiator)?, end(acceptor)?])
        };
        let ends = (0..2).map(|_| pair()).collect::<std::io::Result<_>>();
        Ok(Pairs { ends: ends.map_err(|error| error.to_string())?, now })
    }
}

impl Fixture for Pairs {
    type Buffer = Buffer;
    type Backend<'a> = &'a mut SocketBackend;

    fn backend(&mut self, end: Peer) -> &mut SocketBackend {
        &mut self.ends[end.connection][usize::from(end.role == Role::Acceptor)]
    }

    fn pass(&mut self, time: Duration) {
        self.now.set(self.now.get().saturating_add(time));
    }

    fn refuse_after(&mut self, _: Peer, _: usize) {
        unreachable!("no such capability");
    }
}

#[test]
fn a_backend_on_sockets_passes_every_line_that_needs_no_rdma() {
    let report = kit::run(&mut Sockets);
    assert!(report.passed(), "{report}");
    let skipped: Vec<_> = report.not_applicable().map(|outcome| outcome.id).collect();
    // Nothing about messages, the end or the clock may be left out.
    let subjects =
        ["order.messages", "receive.", "completion.own", "completion.peer", "end.", "time.", "limits.send"];
    for subject in subjects {
        assert!(report.outcomes.iter().any(|outcome| outcome.id.starts_with(subject)), "{subject}");
        assert!(!skipped.iter().any(|id| id.starts_with(subject)), "{subject}: {skipped:?}");
    }
}

#[test]
fn the_example_gets_its_question_back_backwards() {
    example::main().unwrap();
}
