//! What is said while cases are played, on standard error: a bar on a terminal, otherwise a line for each case, begun when
//! it begins, so that the last one says what a run that was killed was about.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use smbd_conformance::suite::report::CaseResult;
use smbd_conformance::suite::{Outcome, Played};

/// The progress of a run.
#[derive(Debug)]
pub struct Progress {
    /// Hidden where there are lines; keeps the time in any case.
    bar: ProgressBar,
    lines: bool,
    began: f64,
}

impl Progress {
    /// Of so many cases. `verbose`: lines on a terminal, too.
    pub fn new(cases: usize, verbose: bool) -> Self {
        let lines = verbose || !io::stderr().is_terminal();
        let cases = u64::try_from(cases).unwrap_or(u64::MAX);
        let bar = if lines { ProgressBar::hidden() } else { ProgressBar::new(cases) };
        let style = ProgressStyle::with_template("{pos:>4}/{len} {elapsed} {wide_msg}");
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, lines, began: 0.0 }
    }

    /// A case begins.
    pub fn begin(&mut self, case: &str) {
        self.began = self.bar.elapsed().as_secs_f64();
        self.bar.set_message(case.to_owned());
        self.say(&format!("{case} ... "));
    }

    /// It has been played, in all roles and variants.
    pub fn end(&mut self, plays: &[Played]) {
        let time = self.bar.elapsed().as_secs_f64() - self.began;
        let reason = plays.iter().find_map(|played| match &played.outcome {
            Outcome::NotApplicable(reason) | Outcome::LeftOut(reason) => Some(reason.as_str()),
            Outcome::Passed | Outcome::Failed | Outcome::Known => None,
        });
        let line = match CaseResult::of(plays) {
            CaseResult::Passed => format!("passed, {time:.2} s\n"),
            CaseResult::Failed => format!("FAILED, {time:.2} s\n"),
            CaseResult::Known => format!("known, {time:.2} s\n"),
            CaseResult::NotApplicable => format!("not applicable: {}\n", reason.unwrap_or_default()),
            CaseResult::LeftOut => format!("left out: {}\n", reason.unwrap_or_default()),
        };
        self.say(&line);
        for Played { role, variant, findings, .. } in plays {
            for finding in findings {
                let known = finding.known.as_ref().map_or("", |_| " (known)");
                self.say(&format!("    {role}, {variant}: {}{known}\n", finding.text));
            }
        }
        self.bar.inc(1);
    }

    /// The run ends while a case is played.
    pub fn stop(&self) {
        self.say("ended by a signal\n");
    }

    /// The run is over.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }

    fn say(&self, text: &str) {
        if self.lines {
            // Nobody reads it: the run goes on.
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}
