//! The upper layer of a connection whose peer is a script.

use std::cell::RefCell;
use std::rc::Rc;

use smbd_core::backend::{BufferLookup, BufferSlice, Handler, Payload};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::{CloseReason, ConnectError};
use smbd_core::{Body, Connection, Endpoint, Event, Fragment, RegId};

use super::line::Line;
use crate::machine::{Commands, Watched, plain};
use crate::memory::Range;
use crate::oracle::{Law, Rule};
use crate::probe::{At, Command, Probe as _};
use crate::watch::Watch;
use crate::{Rng, Side};

/// Keeps some of what it gets, and knows what has become of the connection.
#[derive(Debug)]
pub(super) struct Reader {
    rng: Rng,
    side: Side,
    hold_max: usize,
    /// All of its memory, of which nobody looks at the content.
    pub(super) memory: Range,
    pub(super) watch: Rc<RefCell<Watch>>,
    pub(super) held: Vec<Fragment>,
    pub(super) established: bool,
    pub(super) over: bool,
    pub(super) drained: bool,
    /// Violation the connection ended with.
    pub(super) ended_by: Option<Rule>,
}

impl Reader {
    pub(super) const fn new(
        rng: Rng,
        side: Side,
        hold_max: usize,
        memory: Range,
        watch: Rc<RefCell<Watch>>,
    ) -> Self {
        Self {
            rng,
            side,
            hold_max,
            memory,
            watch,
            held: Vec::new(),
            established: false,
            over: false,
            drained: false,
            ended_by: None,
        }
    }

    /// Gives a fragment back.
    pub(super) fn release(&self, fragment: Fragment, commands: &mut Commands<'_>, line: &Line) {
        let at = At { now: line.now, side: self.side };
        self.watch.borrow_mut().command(at, &Command::Release { fragment: &fragment });
        let result = commands.release(line.now, fragment);
        let mut watch = self.watch.borrow_mut();
        let verdicts = watch.oracles.verdicts_mut();
        verdicts.at(at);
        verdicts.check(Law::Ledger, result.is_ok(), || format!("{result:?}"));
    }

    fn take(&mut self, fragment: Fragment, mut commands: Commands<'_>, line: &Line) {
        if self.held.len() < self.hold_max && self.rng.chance(1, 2) {
            self.held.push(fragment);
        } else {
            self.release(fragment, &mut commands, line);
        }
    }

    fn hear(&mut self, event: Event, commands: Commands<'_>, line: &Line) {
        match event {
            Event::Established(_) => self.established = true,
            Event::Data(fragment) => self.take(fragment, commands, line),
            Event::ConnectFailed(error) => {
                if let ConnectError::Violation(v) | ConnectError::RejectedPeer { violation: v, .. } = error {
                    self.ended_by = Some(Rule::of(&v));
                }
                self.over = true;
            }
            Event::Closed(reason) => {
                if let CloseReason::Violation(v) = reason {
                    self.ended_by = Some(Rule::of(&v));
                }
                self.over = true;
            }
            Event::Drained => self.drained = true,
            Event::Invalidated { .. }
            | Event::Sent { .. }
            | Event::RdmaDone { .. }
            | Event::Registered { .. }
            | Event::Deregistered { .. }
            | Event::Probed(_)
            | Event::Writable => {}
        }
    }
}

impl BufferLookup<Range> for Reader {
    fn body(&self, body: Body) -> Option<Payload<'_, Range>> {
        Some(Payload::InPlace(BufferSlice { buffer: &self.memory, offset: 0, len: body.len }))
    }

    fn registration(&self, _: RegId) -> Option<&Range> {
        Some(&self.memory)
    }
}

impl Handler<Line, Watched<Connection, Watch>> for Reader {
    fn event(&mut self, connection: &mut Watched<Connection, Watch>, line: &mut Line, event: Event) {
        self.hear(event, connection.commands(), line);
    }
}

impl Handler<Line, Watched<Endpoint, Watch>> for Reader {
    fn event(&mut self, endpoint: &mut Watched<Endpoint, Watch>, line: &mut Line, event: EndpointEvent) {
        if let Some(event) = plain(&event) {
            return self.hear(event, endpoint.commands(), line);
        }
        if let EndpointEvent::Message(Message::Borrowed(fragment)) = event {
            self.take(fragment, endpoint.commands(), line);
        }
    }
}
