//! What is said while cases are played, on standard error: a bar on a terminal, otherwise a line for each case, begun when
//! it begins, so that the last one says what a run that was killed was about.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use smbd_conformance::suite::Played;
use smbd_conformance::suite::report::CaseResult;

/// Seconds between two lines about a case that goes on.
const AGAIN: f64 = 10.0;

/// The progress of a run.
#[derive(Debug)]
pub struct Progress {
    /// Hidden where there are lines; keeps the time in any case.
    bar: ProgressBar,
    lines: bool,
    verbose: bool,
    case: String,
    /// When it began, and when it was last said that it goes on.
    began: f64,
    told: f64,
    /// The line of the case was begun and not ended.
    is_open: bool,
}

impl Progress {
    /// Of so many cases. `verbose`: lines on a terminal, too, and more of them.
    pub fn new(cases: usize, verbose: bool) -> Self {
        let lines = verbose || !io::stderr().is_terminal();
        let cases = u64::try_from(cases).unwrap_or(u64::MAX);
        let bar = if lines { ProgressBar::hidden() } else { ProgressBar::new(cases) };
        let style = ProgressStyle::with_template("{pos:>4}/{len} {elapsed} {wide_msg}");
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, lines, verbose, case: String::new(), began: 0.0, told: 0.0, is_open: false }
    }

    /// A case begins.
    pub fn begin(&mut self, case: &str) {
        self.began = self.bar.elapsed().as_secs_f64();
        (self.told, self.case) = (self.began, case.to_owned());
        self.bar.set_message(case.to_owned());
        if self.verbose {
            self.say(&format!("{case}: begins\n"));
        } else {
            self.say(&format!("{case} ... "));
            self.is_open = true;
        }
    }

    /// It goes on, and waits for something.
    pub fn goes_on(&mut self, waits_for: &str) {
        let now = self.bar.elapsed().as_secs_f64();
        let line = going_on(&self.case, now - self.began, waits_for);
        if self.verbose && is_due(&mut self.told, now) {
            self.say(&format!("{line}\n"));
        }
        self.bar.set_message(line);
    }

    /// Something that is to be known at once.
    pub fn note(&mut self, text: &str) {
        if self.lines {
            let end = if self.is_open { "\n" } else { "" };
            self.is_open = false;
            self.say(&format!("{end}    {text}\n"));
        } else {
            self.bar.println(text);
        }
    }

    /// It has been played, in all roles and variants.
    pub fn end(&mut self, plays: &[Played]) {
        let time = self.bar.elapsed().as_secs_f64() - self.began;
        let reason = plays.iter().find_map(|played| played.outcome.reason()).unwrap_or_default();
        let result = match CaseResult::of(plays) {
            CaseResult::Passed => format!("passed, {time:.2} s"),
            CaseResult::Failed => format!("FAILED, {time:.2} s"),
            CaseResult::Known => format!("known, {time:.2} s"),
            CaseResult::NotJudged => format!("not judged, {time:.2} s: {reason}"),
            CaseResult::NotApplicable => format!("not applicable: {reason}"),
            CaseResult::LeftOut => format!("left out: {reason}"),
        };
        self.close(&result);
        for Played { role, variant, findings, .. } in plays {
            for finding in findings {
                let known = finding.known.as_ref().map_or("", |_| " (known)");
                self.say(&format!("    {role}, {variant}: {}{known}\n", finding.text));
            }
        }
        self.bar.inc(1);
    }

    /// The run ends while a case is played.
    pub fn stop(&mut self) {
        self.close("ended by a signal");
    }

    /// The run is over.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }

    /// Ends the line of the case, with its name if it was not begun.
    fn close(&mut self, result: &str) {
        let name = if self.is_open { String::new() } else { format!("{} ... ", self.case) };
        self.is_open = false;
        self.say(&format!("{name}{result}\n"));
    }

    fn say(&self, text: &str) {
        if self.lines {
            // Nobody reads it: the run goes on.
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Whether it is to be told again, which is so every [`AGAIN`] seconds.
fn is_due(told: &mut f64, now: f64) -> bool {
    let is_due = now - *told >= AGAIN;
    if is_due {
        *told = now;
    }
    is_due
}

/// How long a case has gone on, and what it waits for, if that is known.
fn going_on(case: &str, seconds: f64, waits_for: &str) -> String {
    let waits = if waits_for.is_empty() { String::new() } else { format!(", waits for {waits_for}") };
    format!("{case}: {seconds:.0} s{waits}")
}

#[cfg(test)]
mod tests {
    use super::{going_on, is_due};

    #[test]
    fn a_case_that_goes_on_is_told_every_10_s() {
        let mut told = 3.0;
        let seconds = (3..=34).filter(|second| is_due(&mut told, f64::from(*second)));
        assert_eq!(seconds.collect::<Vec<_>>(), [13, 23, 33]);
    }

    #[test]
    fn a_case_that_goes_on_is_told_with_its_time_and_what_it_waits_for() {
        assert_eq!(going_on("a::b", 10.4, "a credit"), "a::b: 10 s, waits for a credit");
        assert_eq!(going_on("a::b", 10.4, ""), "a::b: 10 s");
    }
}
