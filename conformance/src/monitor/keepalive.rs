//! Keepalive probes and their responses.

use super::rules::behaviour as rules;
use super::verdict::{At, Journal, reversed, sender};

/// How long whoever asked waits (3.1.5.1, note 3).
const ANSWER_NS: u64 = 5_000_000_000;

/// A request that is not answered.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: At,
    /// It has no payload: it is nothing but a probe.
    empty: bool,
    /// Since when the other side has had the credits for an answer; `None` if it has not, or that is unknown.
    able_ns: Option<u64>,
}

impl Asked {
    /// Whether an answer should have come by now. Without the credits for one it cannot; then nothing is judged, but
    /// that is counted.
    fn is_due(&self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.able_ns.unwrap_or(self.at.time_ns)) > ANSWER_NS
    }
}

/// What each side (initiator, acceptor) waits for.
#[derive(Debug, Default)]
pub(super) struct Keepalive {
    asked: [Option<Asked>; 2],
    /// A message of this side that came as the first after a request of the other, empty and with a request of its own.
    ///
    /// It may also have crossed the other one; then a true answer follows.
    back: [Option<At>; 2],
}

impl Keepalive {
    pub(super) fn message(
        &mut self,
        at: At,
        asks: bool,
        empty: bool,
        may_answer: Option<bool>,
        journal: &mut Journal,
    ) {
        let (own, peer) = (sender(at.direction), sender(reversed(at.direction)));
        if let Some(suspect) = self.back[own].take()
            && ((asks && empty) || after(suspect, at.time_ns))
        {
            asks_back(suspect, journal);
        }
        if let Some(probe) = self.asked[peer].take() {
            if probe.is_due(at.time_ns) {
                late(probe, at, journal);
            }
            if asks && empty && probe.empty {
                self.back[own] = Some(at);
            }
        }
        if asks && self.asked[own].is_none() {
            self.asked[own] = Some(Asked { at, empty, able_ns: None });
        }
        if let Some(probe) = &mut self.asked[own]
            && may_answer == Some(true)
        {
            probe.able_ns.get_or_insert(at.time_ns);
        }
    }

    /// A message is not in the capture; it may have been an answer.
    pub(super) fn lost(&mut self) {
        *self = Self::default();
    }

    /// The connection or the capture ends.
    pub(super) fn finish(&mut self, end_ns: u64, journal: &mut Journal) {
        for suspect in self.back.iter_mut().filter_map(Option::take) {
            if after(suspect, end_ns) {
                asks_back(suspect, journal);
            }
        }
        for probe in self.asked.iter_mut().filter_map(Option::take) {
            if probe.is_due(end_ns) {
                unanswered(probe, end_ns, journal);
            }
        }
    }
}

/// Whether it is longer ago than whoever asks waits.
const fn after(at: At, now_ns: u64) -> bool {
    now_ns.saturating_sub(at.time_ns) > ANSWER_NS
}

fn asks_back(at: At, journal: &mut Journal) {
    journal.broken(&rules::KEEPALIVE_ASKS_BACK, at, "an empty answer with Flags 0x0001", "Flags 0x0000");
}

fn late(probe: Asked, at: At, journal: &mut Journal) {
    let Some(able) = probe.able_ns else {
        journal.not_judged(&rules::KEEPALIVE_LATE);
        return;
    };
    let waited = at.time_ns.saturating_sub(able) / 1_000_000;
    let seen = format!("{waited} ms later than it could answer frame {}, which asks", probe.at.frame);
    journal.broken(&rules::KEEPALIVE_LATE, at, seen, "5000 ms at most");
}

fn unanswered(probe: Asked, end_ns: u64, journal: &mut Journal) {
    let Some(able) = probe.able_ns else {
        journal.not_judged(&rules::KEEPALIVE_UNANSWERED);
        return;
    };
    let waited = end_ns.saturating_sub(able) / 1_000_000;
    let silent = At { direction: reversed(probe.at.direction), ..probe.at };
    let seen = format!("no message in {waited} ms after this request for one");
    journal.broken(&rules::KEEPALIVE_UNANSWERED, silent, seen, "one within 5000 ms");
}
