//! What all tasks of a program that serves share.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

use crate::admission::Admission;
use crate::log::{Format, Log};
use crate::refusals::Refusals;

/// Settings of a program, as far as each program has them.
pub trait Basic {
    /// How log lines look.
    fn format(&self) -> Format;

    /// Has admission keep to their limits.
    fn limit(&self, admission: &Admission);
}

/// Settings that may change, who is let in and who was not, and the end.
#[derive(Debug)]
pub struct Core<S> {
    settings: watch::Sender<Arc<S>>,
    /// Who counts clients.
    pub admission: Arc<Admission>,
    /// Whether the program stops. Each connection has a receiver, so that it is known when all are over.
    pub stop: watch::Sender<bool>,
    refusals: Refusals,
    refused: AtomicU64,
}

impl<S: Basic> Core<S> {
    /// Of a program that begins with these settings.
    #[must_use]
    pub fn new(settings: S, admission: Arc<Admission>) -> Self {
        Self {
            settings: watch::Sender::new(Arc::new(settings)),
            admission,
            stop: watch::Sender::new(false),
            refusals: Refusals::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// The settings of now. A connection may keep those of its beginning.
    #[must_use]
    pub fn settings(&self) -> Arc<S> {
        Arc::clone(&self.settings.borrow())
    }

    /// The settings, as they are and as they change.
    #[must_use]
    pub fn follow_settings(&self) -> watch::Receiver<Arc<S>> {
        self.settings.subscribe()
    }

    /// Takes new settings. What is there stays: connections beyond limits, too.
    pub fn set_settings(&self, settings: S) {
        settings.limit(&self.admission);
        self.settings.send_replace(Arc::new(settings));
    }

    /// Where lines are written.
    #[must_use]
    pub fn log(&self) -> Log {
        Log::new(self.settings.borrow().format())
    }

    /// A client was refused.
    pub fn refused(&self, client: SocketAddr, why: impl Display) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.refusals.tell(self.log(), client, why);
    }

    /// How many were.
    #[must_use]
    pub fn refused_count(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}
