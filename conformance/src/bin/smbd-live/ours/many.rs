//! Many connections at once, engines on both sides.

use std::time::Duration;

use smbd_core::error::CloseReason;
use smbd_core::{Close, Config, Endpoint, Instant, Params, Role};
use smbd_verbs::{Clock, Engine, ListenOptions, VerbsConnection};

use super::ports;
use super::serving::{How, Serving};
use super::worker::Worker;
use crate::case::{Context, Failure, Outcome};
use crate::device;
use crate::patience::PATIENCE;
use crate::settings;

const CONNECTIONS: u64 = 64;
/// How many of them are set up at a time: siw gives an attempt up after 10 s, and on a busy host the server, which works for
/// those before it, has needed more than one for each.
const CONNECTING: usize = 2;
/// Longest time for all of them together.
const LIMIT: Duration = Duration::from_secs(240);

/// Between them the 64 connections of both sides map more than the 144 pages at which siw's provider stumbles.
pub(super) fn at_once(context: &Context) -> Outcome {
    // How fast a host is that sets up 128 connections at once is not what is looked at.
    let passive_negotiation_timeout = LIMIT;
    let params = Params {
        receive_credit_max: 32,
        borrowed_max: 4,
        send_slots: 32,
        passive_negotiation_timeout,
        ..settings::windows()
    };
    let config = Config::try_from(params)?;
    let options = ListenOptions { max_pending: 64, ..ListenOptions::default() };
    let serving = Serving::start(ports::fresh(context), &config, options)?;
    let clock = Clock::start();
    let mut engine: Engine<Worker> = Engine::new(clock)?;
    let until = clock.now().saturating_add(LIMIT);
    for seed in 0..CONNECTIONS {
        while connecting(&engine) >= CONNECTING && clock.now() < until {
            engine.poll(Some(until))?;
        }
        let end = VerbsConnection::connect(serving.at, None, &config, clock)?;
        let endpoint = Endpoint::new(Role::Initiator, &config, clock.now());
        engine.add(endpoint, end, Worker::new(10_000 * seed)?)?;
        // Those that are there should not wait for the others.
        engine.poll(Some(clock.now()))?;
    }
    work(&mut engine, until).map_err(|failure| format!("{failure}; the server: {}", serving.story()))?;
    // Nobody has left: all were there at the same time.
    close_all(&mut engine, clock)?;
    let told = device::told_of_a_close(device::quirks(context.address)?);
    for _ in 0..CONNECTIONS {
        let ended = serving.ended(PATIENCE)?;
        if ended.how != Some(How::Closed(told)) {
            return Err(format!("at the server a connection ended as {ended:?}").into());
        }
    }
    serving.stop()?;
    Ok(format!("{CONNECTIONS} connections, {} bytes each", Worker::bytes()))
}

/// How many are not established yet.
fn connecting(engine: &Engine<Worker>) -> usize {
    let is_connecting =
        |key: &_| engine.get(*key).is_some_and(|(endpoint, ..)| endpoint.connection().negotiated().is_none());
    engine.keys().filter(is_connecting).count()
}

/// Until all have done everything.
fn work(engine: &mut Engine<Worker>, until: Instant) -> Result<(), Failure> {
    while !all_done(engine)? {
        if engine.clock().now() >= until {
            return Err(format!("not all was done within {} s", LIMIT.as_secs()).into());
        }
        engine.poll(Some(until))?;
    }
    Ok(())
}

fn all_done(engine: &mut Engine<Worker>) -> Result<bool, Failure> {
    if let Some(finished) = engine.finished() {
        let wrong = finished.upper.wrong.unwrap_or_default();
        return Err(format!("a connection ended early: {:?} {wrong}", finished.upper.ended).into());
    }
    let keys: Vec<_> = engine.keys().collect();
    for key in keys {
        let Some((.., worker)) = engine.get(key) else { continue };
        if let Some(wrong) = &worker.wrong {
            return Err(wrong.clone().into());
        }
        if !worker.is_done {
            return Ok(false);
        }
    }
    Ok(true)
}

fn close_all(engine: &mut Engine<Worker>, clock: Clock) -> Result<(), Failure> {
    let until = clock.now().saturating_add(PATIENCE);
    let keys: Vec<_> = engine.keys().collect();
    for key in keys {
        if let Some((endpoint, ..)) = engine.get_mut(key) {
            endpoint.close(clock.now(), Close::Flush { until });
        }
    }
    while !engine.is_empty() {
        engine.poll(Some(until))?;
        while let Some(finished) = engine.finished() {
            finished.result?;
            if finished.upper.ended != Some(CloseReason::Local) {
                return Err(format!("a closed connection says {:?}", finished.upper.ended).into());
            }
        }
        if clock.now() >= until && !engine.is_empty() {
            return Err(format!("{} connections did not end", engine.len()).into());
        }
    }
    Ok(())
}
