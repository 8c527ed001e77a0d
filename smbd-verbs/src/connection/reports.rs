//! Inputs of a connection that do not follow from completions.

use std::collections::VecDeque;

use smbd_core::{Input, RegId};

/// Something for the connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Report {
    /// As it is.
    Input(Input<'static>),
    /// A valid registration; its segments are with the registrations.
    Registered {
        /// Its name.
        id: RegId,
        /// Whether nothing of it is on the send queue.
        bind_complete: bool,
    },
}

/// Reports that wait to be asked for.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// In any order with completions.
    ready: VecDeque<Report>,
    /// Not before the completions that the device held when they were made: up to that many have been polled, or there
    /// are none left.
    held: VecDeque<(u64, Report)>,
    polled: u64,
}

impl Reports {
    pub(super) fn push(&mut self, report: Report) {
        self.ready.push_back(report);
    }

    /// A report that has to come behind the completions the device holds now, at most `entries`.
    pub(super) fn push_behind(&mut self, entries: u32, report: Report) {
        self.held.push_back((self.polled.saturating_add(entries.into()), report));
    }

    /// A completion was polled.
    pub(super) const fn polled(&mut self) {
        self.polled = self.polled.saturating_add(1);
    }

    pub(super) fn pop(&mut self) -> Option<Report> {
        self.ready.pop_front().or_else(|| match self.held.front() {
            Some(&(from, _)) if from <= self.polled => self.pop_held(),
            _ => None,
        })
    }

    /// To be asked when the device has no completion left.
    pub(super) fn pop_held(&mut self) -> Option<Report> {
        self.held.pop_front().map(|(_, report)| report)
    }

    pub(super) fn is_ready(&self) -> bool {
        !self.ready.is_empty() || !self.held.is_empty()
    }
}
