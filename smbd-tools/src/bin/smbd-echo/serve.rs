//! The server: listeners, signals and connections on one thread.

use std::os::fd::AsFd;
use std::time::Duration;

use smbd_core::{Close, Endpoint, Instant, Role};
use smbd_tools::exercise::ServerStats;
use smbd_verbs::{Clock, Engine, Incoming, Listener};

use crate::options::Settings;
use crate::refusals::Refusals;
use crate::room::{Room, allow_descriptors};
use crate::say::say;
use crate::served::{Served, summary};
use crate::signals::Signals;
use crate::trouble::Trouble;

/// How long connections have to end in good order.
const STOP_WITHIN: Duration = Duration::from_secs(3);

/// The server.
pub(crate) struct Echo<'a> {
    settings: &'a Settings,
    engine: Engine<Served>,
    listeners: Vec<Listener>,
    signals: Signals,
    /// Connections taken, over, and refused by listeners that are closed.
    taken: u64,
    over: u64,
    refused: u64,
    refusals: Refusals,
    totals: ServerStats,
    /// Since when there is no connection.
    idle_since: Instant,
    /// When what is left is cut off.
    stop_at: Option<Instant>,
}

type Outcome<T> = Result<T, Trouble>;

impl<'a> Echo<'a> {
    pub(crate) fn listen(settings: &'a Settings) -> Outcome<Self> {
        let mut engine = Engine::new(Clock::start())?;
        if let Some(spin) = settings.spin {
            engine.busy_poll_for(spin);
        }
        let signals = Signals::register()?;
        for fd in signals.fds() {
            engine.watch(fd)?;
        }
        let connections = settings.listen.max_connections;
        if let Some(warning) = allow_descriptors(connections) {
            say(format_args!("{warning}"));
        }
        say(format_args!("{}", Room::of(connections, &settings.config, &settings.limits)));
        let mut listeners = Vec::new();
        for address in &settings.addresses {
            let listener = Listener::bind(*address, settings.listen)
                .map_err(|error| Trouble::listening(*address, &error))?;
            engine.watch(listener.as_fd())?;
            for address in listener.local_addrs() {
                say(format_args!("listening on {address}"));
            }
            listeners.push(listener);
        }
        let idle_since = engine.clock().now();
        Ok(Self {
            settings,
            engine,
            listeners,
            signals,
            taken: 0,
            over: 0,
            refused: 0,
            refusals: Refusals::default(),
            totals: ServerStats::default(),
            idle_since,
            stop_at: None,
        })
    }

    /// Serves until told to stop.
    pub(crate) fn run(mut self) -> Outcome<()> {
        loop {
            let woken = self.engine.poll(self.next_look())?;
            while let Some(finished) = self.engine.finished() {
                if let Err(error) = finished.result {
                    finished.upper.say_engine_error(&error);
                }
                self.over += 1;
                self.book(finished.upper.stats());
                self.idle_since = self.engine.clock().now();
            }
            if woken {
                self.take_requests()?;
            }
            if woken && self.signals.show() {
                self.show();
            }
            let asked = woken && self.signals.stop();
            if asked && self.stop_at.is_some() {
                break;
            }
            if asked || self.is_done() {
                self.stop();
            }
            if self.stop_at.is_some_and(|at| self.engine.is_empty() || at <= self.engine.clock().now()) {
                break;
            }
        }
        self.show();
        Ok(())
    }

    /// When to look at the latest, for what no descriptor tells.
    fn next_look(&self) -> Option<Instant> {
        let idle = self.settings.idle_exit.filter(|_| self.engine.is_empty());
        let idle_over = idle.map(|time| self.idle_since.saturating_add(time));
        self.stop_at.into_iter().chain(idle_over).min()
    }

    fn is_done(&self) -> bool {
        let idle_over = self.engine.is_empty()
            && self
                .settings
                .idle_exit
                .is_some_and(|time| self.idle_since.saturating_add(time) <= self.engine.clock().now());
        self.stop_at.is_none() && (idle_over || self.settings.connections.is_some_and(|max| self.over >= max))
    }

    /// One of each listener: setting a connection up takes time, in which those that are there should not wait.
    fn take_requests(&mut self) -> Outcome<()> {
        for index in 0..self.listeners.len() {
            if let Some(incoming) = self.listeners[index].poll()? {
                self.take(incoming);
            }
            if let Some((peer, reason)) = self.listeners[index].last_refused() {
                self.refusals.note(self.engine.clock().now(), peer, reason, self.refused());
            }
        }
        Ok(())
    }

    fn take(&mut self, incoming: Incoming) {
        let peer = incoming.peer_addr();
        let Settings { config, limits, .. } = self.settings;
        let clock = self.engine.clock();
        let added = incoming.accept(config, clock).and_then(|end| {
            self.taken += 1;
            let endpoint = Endpoint::new(Role::Acceptor, config, clock.now());
            self.engine.add(endpoint, end, Served::new(self.taken, peer.to_string(), *limits))
        });
        if let Err(error) = added {
            say(format_args!("{peer} was refused: {error}"));
        }
    }

    /// Takes no more connections, and ends those there are.
    fn stop(&mut self) {
        let now = self.engine.clock().now();
        let until = now.saturating_add(STOP_WITHIN);
        self.stop_at = Some(until.saturating_add(STOP_WITHIN));
        self.refused = self.refused();
        self.listeners.clear();
        let keys: Vec<_> = self.engine.keys().collect();
        for key in keys {
            if let Some((endpoint, _, served)) = self.engine.get_mut(key) {
                served.stopped = true;
                endpoint.close(now, Close::Flush { until });
            }
        }
    }

    fn show(&self) {
        let mut totals = self.totals;
        for (_, _, served) in self.engine.keys().filter_map(|key| self.engine.get(key)) {
            add(&mut totals, served.stats());
        }
        let (now, taken, refused) = (self.engine.len(), self.taken, self.refused());
        let destroying = match self.engine.destroying() {
            0 => String::new(),
            ends => format!(", being destroyed {ends}"),
        };
        say(format_args!(
            "connections: now {now}, taken {taken}, refused {refused}{destroying}; {}",
            summary(&totals)
        ));
    }

    fn refused(&self) -> u64 {
        self.refused + self.listeners.iter().map(|listener| listener.counters().refused).sum::<u64>()
    }

    fn book(&mut self, stats: &ServerStats) {
        add(&mut self.totals, stats);
    }
}

fn add(totals: &mut ServerStats, stats: &ServerStats) {
    let sums = [
        (&mut totals.returned, stats.returned),
        (&mut totals.returned_bytes, stats.returned_bytes),
        (&mut totals.counted, stats.counted),
        (&mut totals.counted_bytes, stats.counted_bytes),
        (&mut totals.sourced, stats.sourced),
        (&mut totals.sourced_bytes, stats.sourced_bytes),
        (&mut totals.requests, stats.requests),
        (&mut totals.failures, stats.failures),
        (&mut totals.reads, stats.reads),
        (&mut totals.writes, stats.writes),
        (&mut totals.rdma_bytes, stats.rdma_bytes),
        (&mut totals.invalidated, stats.invalidated),
    ];
    for (total, more) in sums {
        *total += more;
    }
    totals.backlog_max = totals.backlog_max.max(stats.backlog_max);
}
