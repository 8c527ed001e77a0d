//! When what is chained is handed over to the device.

use std::thread;
use std::time::Duration;

use smbd_core::backend::{Backend, BackendOp, BufferLookup, Handler, Payload, drive};
use smbd_core::{Action, Body, Close, Config, Connection, Event, Role};
use smbd_verbs::{Buffer, Clock, ListenOptions, VerbsConnection};

use super::ports;
use super::serving::Serving;
use crate::case::{Context, Failure, Outcome};
use crate::expect::{holds, same};
use crate::patience::PATIENCE;
use crate::settings;

/// How often a side that waits for its peer is driven.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Messages of which one has to find an empty send queue.
const TRIES: u32 = 10;
/// Of each message.
const LEN: u32 = 100;
static BYTES: [u8; LEN as usize] = [7; LEN as usize];

/// An upper layer that has one message to send, gives back what it receives, and counts.
#[derive(Debug, Default)]
struct Program {
    established: bool,
    received: u32,
    sent: u32,
    drained: bool,
}

impl BufferLookup<Buffer> for Program {
    fn body(&self, body: Body) -> Option<Payload<'_, Buffer>> {
        let (from, len) = (usize::try_from(body.offset).ok()?, usize::try_from(body.len).ok()?);
        BYTES.get(from..from.checked_add(len)?).map(Payload::Copy)
    }
}

impl Handler<VerbsConnection> for Program {
    fn event(&mut self, connection: &mut Connection, _: &mut VerbsConnection, event: Event) {
        match event {
            Event::Established(_) => self.established = true,
            Event::Data(fragment) => {
                self.received += 1;
                let released = connection.release(connection.now(), fragment);
                debug_assert_eq!(released, Ok(()), "a fragment of this connection");
            }
            Event::Sent { result: Ok(()), .. } => self.sent += 1,
            Event::Drained => self.drained = true,
            _ => {}
        }
    }
}

/// One side that is driven by hand.
struct Side {
    connection: Connection,
    end: VerbsConnection,
    program: Program,
}

impl Side {
    /// Drives it until `done`.
    fn until(&mut self, what: &str, done: impl Fn(&Program) -> bool) -> Result<(), Failure> {
        let until = self.end.now().saturating_add(PATIENCE);
        loop {
            drive(&mut self.connection, &mut self.end, &mut self.program)?;
            if done(&self.program) {
                return Ok(());
            }
            if self.end.now() >= until {
                return Err(format!("not {what} within {} s: {:?}", PATIENCE.as_secs(), self.program).into());
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Drives it until so many messages are sent, and have come back.
    fn answered(&mut self, messages: u32) -> Result<(), Failure> {
        self.until("answered", |program| (program.sent, program.received) == (messages, messages))
    }

    /// Commands messages, and posts them; how many sends the device has got with the post of each, before its doorbell is rung.
    fn post(&mut self, messages: u32) -> Result<Vec<u64>, Failure> {
        for _ in 0..messages {
            self.connection.send(self.end.now(), LEN, None)?;
        }
        let mut handed_over = Vec::new();
        loop {
            let action = self.connection.poll_action();
            match action {
                Action::Wait(_) => break,
                Action::Notify(event) => self.program.event(&mut self.connection, &mut self.end, event),
                ref action => {
                    let before = self.end.counters().sends;
                    if let Some(operation) = BackendOp::of(action, &self.connection, &self.program)? {
                        self.end.execute(operation);
                    }
                    if let Action::PostSend { body: Some(_), .. } = action {
                        handed_over.push(self.end.counters().sends - before);
                    }
                }
            }
        }
        self.end.ring_doorbell();
        Ok(handed_over)
    }
}

/// A message that is alone is handed over with its post; of two, none is before the doorbell.
pub(super) fn alone(context: &Context) -> Outcome {
    let (at, config) = (ports::fresh(context), Config::try_from(settings::windows())?);
    let serving = Serving::start(at, &config, ListenOptions::default())?;
    let end = VerbsConnection::connect(at, None, &config, Clock::start())?;
    let connection = Connection::new(Role::Initiator, &config, end.now());
    let mut side = Side { connection, end, program: Program::default() };
    side.until("established", |program| program.established)?;
    let mut tries = 0;
    // Grants of the beginning may still be on the send queue.
    while side.post(1)? != [1] {
        tries += 1;
        holds(tries < TRIES, || format!("none of {tries} messages was handed over with its post"))?;
        side.answered(tries)?;
    }
    let sent = tries + 1;
    side.answered(sent)?;
    same("two messages, handed over with the post of each", side.post(2)?, vec![0, 0])?;
    side.answered(sent + 2)?;
    side.connection.close(side.end.now(), Close::Abort);
    side.until("drained", |program| program.drained)?;
    serving.ended(PATIENCE)?;
    serving.stop()?;
    Ok(format!("the first handed over with its post is message {sent}"))
}
