//! The measurement.

use std::io::IsTerminal;
use std::rc::Rc;
use std::time::Duration;

use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};
use smbd_core::{Endpoint, Role};
use smbd_tools::load::{Gate, Length, Load, Problem};
use smbd_tools::tool::{ADVICE_ON_DEVICE, advice_on_close, advice_on_connect};
use smbd_verbs::{Clock, Engine, Error, QueueCounters, VerbsConnection};

use crate::measured::Measured;
use crate::options::Settings;
use crate::result::{Measurement, Trouble};

/// How often progress is shown.
const TICK: Duration = Duration::from_millis(100);

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self { what: error.to_string(), advice: Some(ADVICE_ON_DEVICE) }
    }
}

impl From<&Problem> for Trouble {
    fn from(problem: &Problem) -> Self {
        let advice = match problem {
            Problem::Connect(error) => Some(advice_on_connect(error)),
            Problem::Closed(reason) => Some(advice_on_close(reason)),
            Problem::NotOurs(_) => Some("the peer has to be smbd-echo"),
            _ => None,
        };
        Self { what: problem.to_string(), advice }
    }
}

pub(crate) fn run(settings: &Settings) -> Result<Measurement, Trouble> {
    let clock = Clock::start();
    let mut engine: Engine<Measured> = Engine::new(clock)?;
    if let Some(spin) = settings.spin {
        engine.busy_poll_for(spin);
    }
    let gate = Rc::new(Gate::new(settings.connections, settings.warm_up, settings.length));
    for _ in 0..settings.connections {
        let end = VerbsConnection::connect(settings.address, None, &settings.config, clock)?;
        let endpoint = Endpoint::new(Role::Initiator, &settings.config, clock.now());
        engine.add(endpoint, end, Measured::new(Load::new(settings.plan, Rc::clone(&gate))))?;
    }
    let bar = progress(settings);
    let mut finished = Vec::new();
    let mut next_look = clock.now();
    while !engine.is_empty() {
        engine.poll(Some(next_look))?;
        while let Some(over) = engine.finished() {
            if let Err(error) = over.result {
                return Err(Trouble { what: error.to_string(), advice: Some("a fault of this program") });
            }
            finished.push(over.upper);
        }
        if next_look <= engine.now() {
            next_look = engine.now().saturating_add(TICK);
            show(&bar, &engine, &gate, settings);
        }
    }
    bar.finish_and_clear();
    if let Some(problem) = worst(&finished) {
        return Err(problem.into());
    }
    Ok(add_up(settings, &gate, &finished))
}

/// The first cause: connections that were ended because another failed have none of their own.
fn worst(finished: &[Measured]) -> Option<&Problem> {
    finished.iter().find_map(|measured| measured.load.problem())
}

fn add_up(settings: &Settings, gate: &Gate, finished: &[Measured]) -> Measurement {
    let operations: u64 = finished.iter().map(|measured| measured.load.measured()).sum();
    let mut times = Histogram::new(3).expect("three digits are allowed");
    let mut counters = QueueCounters::default();
    for measured in finished {
        // Grows by itself.
        times.add(measured.load.times()).expect("an automatic histogram takes every value");
        let more = measured.counters();
        counters.send_posts += more.send_posts;
        counters.recv_posts += more.recv_posts;
        counters.sends += more.sends;
        counters.recvs += more.recvs;
        counters.polls += more.polls;
        counters.empty_polls += more.empty_polls;
        counters.completions_send += more.completions_send;
        counters.completions_recv += more.completions_recv;
    }
    Measurement {
        device: finished.iter().find_map(|measured| measured.device.clone()),
        operations,
        bytes: operations * u64::from(settings.plan.size),
        elapsed: gate.elapsed(),
        times,
        counters,
    }
}

fn progress(settings: &Settings) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let total = match settings.length {
        Length::Time(time) => u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        Length::Count(count) => count * u64::from(settings.connections),
    };
    let style = ProgressStyle::with_template("{bar:40} {msg}").expect("a valid template");
    ProgressBar::new(total).with_style(style).with_message("connecting")
}

fn show(bar: &ProgressBar, engine: &Engine<Measured>, gate: &Gate, settings: &Settings) {
    let loads = engine.keys().filter_map(|key| engine.get(key)).map(|(_, _, measured)| &measured.load);
    let operations: u64 = loads.map(Load::measured).sum();
    let Some(start) = gate.start() else { return };
    let since = engine.now().saturating_since(start);
    if since.is_zero() {
        return bar.set_message("warming up");
    }
    match settings.length {
        Length::Time(_) => bar.set_position(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
        Length::Count(_) => bar.set_position(operations),
    }
    bar.set_message(format!("{operations} operations"));
}
