//! What came of tests, and how many of each.

use std::fmt;
use std::process::ExitCode;

use crate::case::{Outcome, Skipped};

/// Exit codes, of a run and of the process of one test.
pub(crate) const PASSED: u8 = 0;
pub(crate) const FAILED: u8 = 1;
pub(crate) const USAGE: u8 = 2;
/// Nothing failed and nothing was played.
pub(crate) const SKIPPED: u8 = 3;

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With what was seen.
    Passed(String),
    /// Why.
    Failed(String),
    /// Why it was not played.
    Skipped(String),
}

impl From<Outcome> for Ended {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Ok(seen) => Self::Passed(seen),
            Err(why) if why.is::<Skipped>() => Self::Skipped(why.to_string()),
            Err(why) => Self::Failed(why.to_string()),
        }
    }
}

impl Ended {
    /// What the process of a test said, and its exit code; `None`: a signal ended it.
    pub(crate) fn of_process(code: Option<i32>, said: &str) -> Self {
        let said = said.trim_end().to_owned();
        match code.map(u8::try_from) {
            Some(Ok(PASSED)) => Self::Passed(said),
            Some(Ok(SKIPPED)) => Self::Skipped(said),
            Some(_) => Self::Failed(said),
            None => Self::Failed(format!("killed by a signal; {said}")),
        }
    }

    /// The exit code of the process of a test.
    pub(crate) const fn code(&self) -> u8 {
        match self {
            Self::Passed(_) => PASSED,
            Self::Failed(_) => FAILED,
            Self::Skipped(_) => SKIPPED,
        }
    }

    /// What was said.
    pub(crate) fn said(&self) -> &str {
        let (Self::Passed(said) | Self::Failed(said) | Self::Skipped(said)) = self;
        said
    }

    /// The line of a test that took so many seconds.
    pub(crate) fn line(&self, name: &str, time: f64) -> String {
        match self {
            Self::Passed(seen) => format!("{name:<44} ok      {time:6.2} s  {seen}"),
            Self::Failed(why) => format!("{name:<44} FAILED  {time:6.2} s  {why}"),
            Self::Skipped(why) => format!("{name:<44} skipped: {why}"),
        }
    }
}

/// How many tests ended in which way. Shown as the line with which a run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) skipped: u32,
}

impl Tally {
    pub(crate) const fn add(&mut self, ended: &Ended) {
        match ended {
            Ended::Passed(_) => self.passed += 1,
            Ended::Failed(_) => self.failed += 1,
            Ended::Skipped(_) => self.skipped += 1,
        }
    }

    /// What was not played has not passed.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self { failed: 1.., .. } => FAILED,
            Self { passed: 1.., .. } => PASSED,
            Self { .. } => SKIPPED,
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

impl From<Tally> for ExitCode {
    fn from(tally: Tally) -> Self {
        Self::from(tally.code())
    }
}

#[cfg(test)]
mod tests {
    use super::{Ended, FAILED, PASSED, SKIPPED, Tally};
    use crate::case::Skipped;

    fn of(all: &[Ended]) -> Tally {
        let mut tally = Tally::default();
        all.iter().for_each(|ended| tally.add(ended));
        tally
    }

    #[test]
    fn a_test_is_skipped_by_its_type_and_not_by_its_words() {
        let why = "skipped: no IPv6";
        assert_eq!(Ended::from(Ok(why.into())), Ended::Passed(why.into()));
        assert_eq!(Ended::from(Err(why.into())), Ended::Failed(why.into()));
        assert_eq!(Ended::from(Err(Skipped::because("no IPv6"))), Ended::Skipped("no IPv6".into()));
    }

    #[test]
    fn what_came_of_a_test_is_the_same_on_both_sides_of_its_process() {
        for ended in [Ended::Passed("a".into()), Ended::Failed("b".into()), Ended::Skipped("c".into())] {
            let said = format!("{}\n", ended.said());
            assert_eq!(Ended::of_process(Some(ended.code().into()), &said), ended);
        }
    }

    #[test]
    fn a_process_that_ends_in_no_known_way_has_failed() {
        for code in [Some(101), Some(-1), Some(256), Some(256 + i32::from(SKIPPED)), None] {
            let ended = Ended::of_process(code, "");
            assert!(matches!(ended, Ended::Failed(_)), "{code:?}: {ended:?}");
        }
    }

    #[test]
    fn a_test_that_was_not_played_counts_as_skipped_and_its_line_says_why() {
        let skipped = Ended::Skipped("no IPv6".into());
        assert!(skipped.line("ours::ipv6", 0.0).ends_with(" skipped: no IPv6"));
        let tally = of(&[Ended::Passed(String::new()), skipped.clone(), skipped]);
        assert_eq!(tally.to_string(), "1 passed, 0 failed, 2 skipped");
    }

    #[test]
    fn a_run_passes_if_something_passed_and_nothing_failed() {
        let (passed, failed, skipped) =
            (Ended::Passed(String::new()), Ended::Failed(String::new()), Ended::Skipped(String::new()));
        assert_eq!(of(&[passed.clone(), skipped.clone()]).code(), PASSED);
        assert_eq!(of(&[passed, failed.clone(), skipped.clone()]).code(), FAILED);
        assert_eq!(of(&[failed, skipped.clone()]).code(), FAILED);
        assert_eq!(of(&[skipped]).code(), SKIPPED);
        assert_eq!(of(&[]).code(), SKIPPED);
    }
}
