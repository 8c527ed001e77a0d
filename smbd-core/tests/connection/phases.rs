//! The table of phases in the documents of [`PhaseName`] is what a connection does: no transition more, none less.

use std::collections::BTreeSet;
use std::time::Duration;

use smbd_core::error::{ConnectReason, DisconnectReason, WorkError};
use smbd_core::wire::NegotiateRequest;
use smbd_core::{Access, Close, Input, Instant, Params, PhaseName, Role};

use crate::pair::{DATA, Polled, REQUEST, RESPONSE, Side, data, request, response};

type Transitions = BTreeSet<(String, String)>;

/// The first and the last column of the table.
fn documented() -> Transitions {
    let text = include_str!("../../src/connection/phase.rs");
    let rows = text.lines().filter_map(|line| line.trim().strip_prefix("/// | ["));
    rows.map(|row| {
        let cells: Vec<_> = row.trim_end_matches('|').split('|').collect();
        let [from, .., to] = &cells[..] else { panic!("{row}") };
        (name(from), name(to))
    })
    .collect()
}

/// ``[`Name`](Self::Name)``, as far as it is left.
fn name(cell: &str) -> String {
    cell.chars().skip_while(|c| !c.is_alphanumeric()).take_while(|c| c.is_alphanumeric()).collect()
}

/// A connection whose phase is looked at after everything that is done to it.
struct Looked {
    side: Side,
    phase: PhaseName,
    seen: Transitions,
}

impl Looked {
    fn new(role: Role) -> Self {
        let mut side = Side::new(role, Params::example());
        side.device.flushes = false;
        let phase = side.connection.phase();
        Self { side, phase, seen: BTreeSet::new() }
    }

    fn look(&mut self) {
        let now = self.side.connection.phase();
        if now != self.phase {
            self.seen.insert((format!("{:?}", self.phase), format!("{now:?}")));
            self.phase = now;
        }
    }

    /// Polls everything, and looks in between.
    fn drain(&mut self) {
        loop {
            let polled = self.side.poll();
            self.look();
            if matches!(polled, Polled::Wait(_)) {
                return;
            }
        }
    }

    fn act(&mut self, what: Act) {
        let side = &mut self.side;
        match what {
            // Not every input can come in every phase.
            Act::Connected => {
                let _ = side.connection.handle(side.now, Input::Connected { limits: side.limits });
            }
            Act::Receive(bytes) if !side.posted.is_empty() => side.receive(&bytes),
            Act::Receive(_) => {}
            Act::CompleteSend => drop(side.complete_send()),
            Act::Pass(time) => {
                side.now = side.now.saturating_add(time);
                side.handle(Input::Timeout);
            }
            Act::Fail => {
                if let Some(id) = side.sends.pop_front() {
                    side.handle(Input::Failed { id: id.into(), error: WorkError::RetryExceeded });
                }
            }
            Act::NotConnected => {
                // Reported once, and not behind `Connected`.
                let failed = Input::ConnectFailed { reason: ConnectReason::Refused };
                side.disconnected |= side.connection.handle(side.now, failed).is_ok();
            }
            Act::Close(how) => side.connection.close(side.now, how),
            Act::Command => {
                let _ = side.connection.send(side.now, 100, None);
                let _ = side.connection.register(side.now, Access::Read, 1);
            }
            Act::AllBack => {
                side.flush();
                side.release_all();
                if !side.disconnected {
                    side.disconnected = side
                        .connection
                        .handle(side.now, Input::Disconnected { reason: DisconnectReason::Unknown })
                        .is_ok();
                }
            }
        }
        self.look();
    }
}

#[derive(Clone, Debug)]
enum Act {
    Connected,
    Receive(Vec<u8>),
    CompleteSend,
    Pass(Duration),
    Fail,
    NotConnected,
    Close(Close),
    Command,
    AllBack,
}

fn acts(role: Role) -> Vec<Act> {
    let negotiation = |good: bool| match (role, good) {
        (Role::Acceptor, true) => request(&REQUEST),
        (Role::Acceptor, false) => request(&NegotiateRequest { max_version: 0, ..REQUEST }),
        (Role::Initiator, true) => response(&RESPONSE),
        (Role::Initiator, false) => {
            response(&smbd_core::wire::NegotiateResponse { credits_granted: 0, ..RESPONSE })
        }
    };
    vec![
        Act::Connected,
        Act::Receive(negotiation(true)),
        Act::Receive(negotiation(false)),
        Act::Receive(data(&DATA)),
        Act::Receive(vec![0; 3]),
        Act::CompleteSend,
        Act::Pass(Duration::from_secs(200)),
        Act::Fail,
        Act::NotConnected,
        Act::Close(Close::Abort),
        Act::Close(Close::Flush { until: Instant::ORIGIN.saturating_add(Duration::from_secs(1000)) }),
        Act::Command,
        Act::AllBack,
    ]
}

/// All sequences of four things done to a connection, polled in between.
#[test]
fn the_table_of_phases_is_what_a_connection_does() {
    const DEPTH: usize = 4;
    let mut seen = Transitions::new();
    for role in [Role::Initiator, Role::Acceptor] {
        let acts = acts(role);
        for sequence in 0..acts.len().pow(u32::try_from(DEPTH).unwrap()) {
            let mut looked = Looked::new(role);
            looked.drain();
            let mut rest = sequence;
            for _ in 0..DEPTH {
                if looked.phase == PhaseName::Drained {
                    break;
                }
                looked.act(acts[rest % acts.len()].clone());
                looked.drain();
                rest /= acts.len();
            }
            looked.act(Act::Close(Close::Abort));
            looked.drain();
            if looked.phase != PhaseName::Drained {
                looked.act(Act::AllBack);
                looked.drain();
            }
            assert_eq!(looked.phase, PhaseName::Drained);
            seen.append(&mut looked.seen);
        }
    }
    assert_eq!(seen, documented());
}
