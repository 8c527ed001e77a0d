//! An attempt to connect that may fail, and what the refusal said.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use smbd_core::backend::{BufferLookup, Handler};
use smbd_core::endpoint::EndpointEvent;
use smbd_core::error::ConnectError;
use smbd_core::{Close, Config, Endpoint, Role};
use smbd_verbs::{Buffer, Clock, Engine, Incoming, Listener, VerbsConnection};

use super::pair::is_readable;
use crate::case::Failure;

/// How often it is looked whether an attempt is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What came of it.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    /// `None` if it succeeded; the connection is closed again then.
    pub(super) error: Option<ConnectError>,
    /// What the acceptor said when it refused.
    pub(super) text: String,
    /// How long it took.
    pub(super) time: Duration,
}

impl Attempt {
    /// The attempt failed, with this text if there is one. A refusal in time is one that is faster than the timer of the
    /// negotiation, whose end is another error.
    pub(super) fn is(&self, error: ConnectError, text: &str) -> Result<(), Failure> {
        if self.error == Some(error) && self.text.starts_with(text) {
            return Ok(());
        }
        Err(format!("expected '{error}', '{text}'; got {self:?}").into())
    }
}

/// Tries, waits for the outcome.
pub(super) fn attempt(to: SocketAddr, config: &Config) -> Result<Attempt, Failure> {
    let clock = Clock::start();
    let mut engine: Engine<Trial> = Engine::new(clock)?;
    let endpoint = Endpoint::new(Role::Initiator, config, clock.now());
    engine.add(endpoint, VerbsConnection::connect(to, None, config, clock)?, Trial(None))?;
    loop {
        engine.poll(None)?;
        let Some(finished) = engine.finished() else { continue };
        finished.result?;
        let data = finished.end.reject_data();
        // InfiniBand pads it.
        let said = data.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = String::from_utf8_lossy(said).into_owned();
        let (time, error) = (clock.now(), finished.upper.0);
        return Ok(Attempt { error, text, time: time.saturating_since(smbd_core::Instant::ORIGIN) });
    }
}

/// Tries while a listener is asked; `answer` gets what the listener lets in.
pub(super) fn attempt_at(
    listener: &mut Listener,
    to: SocketAddr,
    config: &Config,
    mut answer: impl FnMut(Incoming) -> Result<(), Failure>,
) -> Result<Attempt, Failure> {
    thread::scope(|scope| {
        let trial = scope.spawn(|| attempt(to, config));
        while !trial.is_finished() {
            if let Some(incoming) = listener.poll()? {
                answer(incoming)?;
            }
            is_readable(listener, POLL_INTERVAL)?;
        }
        trial.join().map_err(|_| "the attempt panicked")?
    })
}

/// Notes why it failed.
#[derive(Debug)]
struct Trial(Option<ConnectError>);

impl BufferLookup<Buffer> for Trial {}

impl Handler<VerbsConnection, Endpoint> for Trial {
    fn event(&mut self, endpoint: &mut Endpoint, end: &mut VerbsConnection, event: EndpointEvent) {
        match event {
            EndpointEvent::ConnectFailed(error) => self.0 = Some(error),
            EndpointEvent::Established(_) => {
                endpoint.close(smbd_core::backend::Backend::now(end), Close::Abort);
            }
            _ => {}
        }
    }
}
