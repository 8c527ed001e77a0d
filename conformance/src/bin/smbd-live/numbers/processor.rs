//! The processor time of a process.

use std::fs;

use crate::case::Failure;

/// Units of the times in `/proc/PID/stat` for each second (USER_HZ), on all architectures that the lab has.
const TICKS: f64 = 100.0;
/// Where utime and stime are, counted from the field behind the name (proc_pid_stat(5): fields 14 and 15, the name is the second).
const USER: usize = 11;
const SYSTEM: usize = 12;

/// Seconds of processor time that a process and its threads have had.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Processor {
    pub(super) user: f64,
    pub(super) system: f64,
}

impl Processor {
    /// What process `pid` has had so far.
    pub(super) fn of(pid: u32) -> Result<Self, Failure> {
        let path = format!("/proc/{pid}/stat");
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        Self::read(&text).ok_or_else(|| format!("{path}: {text}").into())
    }

    /// The name of a process may have spaces and brackets in it; what follows has none.
    fn read(text: &str) -> Option<Self> {
        let (_, behind) = text.rsplit_once(')')?;
        let fields: Vec<_> = behind.split_whitespace().collect();
        let seconds = |at: usize| Some(fields.get(at)?.parse::<f64>().ok()? / TICKS);
        Some(Self { user: seconds(USER)?, system: seconds(SYSTEM)? })
    }

    /// What it has had since `before`.
    pub(super) fn since(self, before: Self) -> Self {
        Self { user: self.user - before.user, system: self.system - before.system }
    }
}

#[cfg(test)]
mod tests {
    use super::Processor;

    #[test]
    fn times_are_found_behind_a_name_with_brackets() {
        let text = "71 (a) b) S 1 71 71 0 -1 4194560 1 2 3 4 250 175 7 8 20 0 4 0 99 1 2";
        assert_eq!(Processor::read(text), Some(Processor { user: 2.5, system: 1.75 }));
        assert_eq!(Processor::read("71 (a"), None);
    }
}
