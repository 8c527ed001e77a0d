//! The file with the numbers that hold.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use super::{Failure, Suite};

/// A number may rise by this factor before it counts as worse.
const TOLERANCE: f64 = 1.02;

/// Numbers, and what they were measured with.
#[derive(Default)]
pub(super) struct Record {
    rustc: String,
    target: String,
    instructions: BTreeMap<String, f64>,
}

pub(super) fn path(suite: &Suite) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/benchmarks")).join(suite.file)
}

impl Record {
    /// The committed record; an empty one if there is none.
    pub(super) fn read(suite: &Suite) -> Result<Self, Failure> {
        let path = path(suite);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let mut record = Self::default();
        let lines = text.lines().map(str::trim).zip(1..).filter(|(line, _)| !is_decoration(line));
        for (line, number) in lines {
            let wrong = || format!("{}: line {number}: {line:?} is no known setting", path.display());
            let (name, value) = line.split_once('=').ok_or_else(wrong)?;
            let (name, value) = (name.trim(), value.trim());
            match name {
                "rustc" => value.trim_matches('"').clone_into(&mut record.rustc),
                "target" => value.trim_matches('"').clone_into(&mut record.target),
                _ => record.set(name, value.parse().map_err(|_| wrong())?),
            }
        }
        Ok(record)
    }

    /// A record without numbers yet.
    pub(super) fn of_this_machine() -> Result<Self, Failure> {
        let output = Command::new("rustc")
            .arg("-vV")
            .output()
            .map_err(|error| format!("rustc -vV cannot be run: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name));
            value.map(str::to_owned).ok_or_else(|| format!("rustc -vV does not say {name}"))
        };
        Ok(Self { rustc: field("release: ")?, target: field("host: ")?, instructions: BTreeMap::new() })
    }

    pub(super) fn get(&self, name: &str) -> Option<f64> {
        self.instructions.get(name).copied()
    }

    pub(super) fn set(&mut self, name: &str, instructions: f64) {
        self.instructions.insert(name.to_owned(), instructions);
    }

    pub(super) fn write(&self, suite: &Suite) -> Result<(), Failure> {
        let mut text = format!(
            "# Written by `SMBD_BENCH_UPDATE=1 cargo bench -p {} --bench {}`; see ../benchmarks.md.\n\
             rustc = \"{}\"\ntarget = \"{}\"\n\n# Each is one repetition.\n[instructions]\n",
            suite.package, suite.bench, self.rustc, self.target
        );
        for (name, instructions) in &self.instructions {
            writeln!(text, "{name} = {instructions:.1}").map_err(|error| error.to_string())?;
        }
        let path = path(suite);
        let failed = |error| format!("{}: {error}", path.display());
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
        std::fs::write(&path, text).map_err(failed)
    }

    /// Every number that is worse than in `committed`, or not in it.
    pub(super) fn complaints(&self, committed: &Self) -> Vec<String> {
        let complain = |(name, now): (&String, &f64)| match committed.get(name) {
            None => Some(format!("{name}: no number is recorded")),
            // The file holds one decimal.
            Some(before) if *now > before * TOLERANCE + 0.05 => {
                Some(format!("{name}: {now:.1} instructions, recorded are {before:.1}"))
            }
            Some(_) => None,
        };
        self.instructions.iter().filter_map(complain).collect()
    }

    /// Why the numbers may differ although the code does not.
    pub(super) fn difference(&self, committed: &Self) -> Option<String> {
        let (own, theirs) = ((&self.rustc, &self.target), (&committed.rustc, &committed.target));
        (own != theirs).then(|| {
            format!(
                "the recorded numbers are of rustc {} on {}, not {} on {}",
                theirs.0, theirs.1, own.0, own.1
            )
        })
    }
}

/// Empty lines, comments and the table's name.
fn is_decoration(line: &str) -> bool {
    line.is_empty() || line.starts_with(['#', '['])
}
