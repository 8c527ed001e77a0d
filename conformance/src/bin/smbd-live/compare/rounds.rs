//! The rounds of one subject.

use std::fmt;

use super::subject::{Measured, Subject};
use super::{Place, median};

/// How often a round is played until all programs have a result. What a program does that does not come up, or measures nothing, is no
/// result of another one.
pub(super) const TRIES: u32 = 3;

/// All rounds of a subject.
pub(super) struct Rounds {
    pub(super) subject: &'static Subject,
    rounds: Vec<Round>,
    /// Rounds that were played again, or have no result at all.
    again: u32,
}

/// What all have done in a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    ours: Measured,
    /// perftest, asked for the same; nothing if it is not installed.
    same: Option<f64>,
    /// perftest, as it comes.
    as_it_comes: Option<f64>,
}

impl Rounds {
    pub(super) const fn new(subject: &'static Subject) -> Self {
        Self { subject, rounds: Vec::new(), again: 0 }
    }

    /// Plays a round, again if a program has no result.
    pub(super) fn play(&mut self, place: &mut Place<'_>) -> Option<Round> {
        let subject = self.subject;
        self.play_with(|| {
            let same = place.perftest(subject, true);
            let as_it_comes = place.perftest(subject, false);
            let port = place.next_port();
            let ours = place.tools.measure(subject, place.address, port);
            let ours = ours.inspect_err(|failure| eprintln!("{}: {failure}", subject.name)).ok();
            if place.has_perftest && (same.is_none() || as_it_comes.is_none()) {
                eprintln!("{}: perftest has measured nothing", subject.name);
                return None;
            }
            Some(Round { ours: ours?, same, as_it_comes })
        })
    }

    /// The same, whatever a round is.
    pub(super) fn play_with(&mut self, mut play: impl FnMut() -> Option<Round>) -> Option<Round> {
        for _ in 0..TRIES {
            if let Some(round) = play() {
                self.rounds.push(round);
                return Some(round);
            }
            self.again += 1;
        }
        None
    }

    fn ratios(&self, bar: fn(&Round) -> Option<f64>) -> Vec<f64> {
        self.rounds.iter().filter_map(|round| Some(round.ours.value / bar(round)?)).collect()
    }

    fn shown(&self, value: impl Fn(&Round) -> Option<f64>) -> String {
        median(self.rounds.iter().filter_map(value).collect())
            .map_or("-".into(), |value| format!("{value:.1}"))
    }

    /// The row of the table, and whether the goal was reached.
    pub(super) fn row(&self, device: &str) -> (String, bool) {
        let Self { subject, again, .. } = self;
        let is_reached =
            median(self.ratios(|round| round.same)).is_some_and(|ratio| subject.reaches(device, ratio));
        let count = |value: fn(&Measured) -> f64| {
            median(self.rounds.iter().map(|round| value(&round.ours)).collect()).unwrap_or(0.0)
        };
        let row = format!(
            "| {} | {} {} | {} | {} | {}{} | {} | {} | {:.3} | {:.3} | {again} |",
            subject.name,
            self.shown(|round| Some(round.ours.value)),
            subject.unit,
            self.shown(|round| round.same),
            told(self.ratios(|round| round.same)),
            subject.goal(device),
            if is_reached { "" } else { " (missed)" },
            self.shown(|round| round.as_it_comes),
            told(self.ratios(|round| round.as_it_comes)),
            count(|ours| ours.posts),
            count(|ours| ours.completions),
        );
        (row, is_reached)
    }

    /// Prints the row; whether the goal was reached.
    pub(super) fn print(&self, device: &str) -> bool {
        let (row, is_reached) = self.row(device);
        println!("{row}");
        is_reached
    }
}

/// The median, and all.
fn told(ratios: Vec<f64>) -> String {
    let all: Vec<_> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    median(ratios).map_or("-".into(), |ratio| format!("{ratio:.2} ({})", all.join(" ")))
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ours: Measured { value, .. }, same, as_it_comes } = self;
        write!(f, "{value:.1}")?;
        for (how, bar) in [("the same", same), ("as it comes", as_it_comes)] {
            if let Some(bar) = bar {
                write!(f, "; perftest, {how} {bar:.1}, ratio {:.2}", value / bar)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
impl Round {
    /// One without posts.
    pub(super) const fn of(value: f64, same: f64, as_it_comes: f64) -> Self {
        let ours = Measured { value, posts: 0.0, completions: 0.0 };
        Self { ours, same: Some(same), as_it_comes: Some(as_it_comes) }
    }
}
