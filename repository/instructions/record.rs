//! The file with the numbers that hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::commit::Commit;
use super::{Failure, Suite};

/// Numbers, what they are of, and what they were counted with.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record {
    /// What counts and records them.
    pub(super) command: String,
    /// None if it was no checkout of git.
    pub(super) commit: Option<Commit>,
    pub(super) rustc: String,
    pub(super) target: String,
    pub(super) instructions: BTreeMap<String, f64>,
    /// Of operations whose bytes are counted.
    pub(super) bytes: BTreeMap<String, f64>,
    /// Earlier numbers to compare with, by hand, and their commit.
    pub(super) before: BTreeMap<String, f64>,
    pub(super) before_commit: Option<Commit>,
    pub(super) goal: BTreeMap<String, f64>,
    /// Whose number is shown beside that of an operation.
    pub(super) beside: BTreeMap<String, String>,
    /// All operations, in their order.
    pub(super) what: Vec<(String, String)>,
}

/// The root of the repository.
pub(super) fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

pub(super) fn path(suite: &Suite) -> PathBuf {
    root().join("docs/benchmarks").join(suite.file)
}

impl Record {
    /// The one in a file; an empty one if there is none.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|failure| format!("{}: {failure}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let mut record = Self::default();
        let mut section = "";
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                section = name;
                continue;
            }
            let setting = line.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            let known = setting.and_then(|(name, value)| record.set(section, name, value));
            known.ok_or_else(|| format!("line {number}: {line:?} is no known setting"))?;
        }
        Ok(record)
    }

    /// None if there is no such setting, or none of that kind.
    fn set(&mut self, section: &str, name: &str, value: &str) -> Option<()> {
        let text = || Some(value.strip_prefix('"')?.strip_suffix('"')?.to_owned());
        match (section, name) {
            ("", "command") => self.command = text()?,
            ("", "commit") => self.commit = Some(Commit { name: text()?, date: String::new() }),
            ("", "date") => self.commit.as_mut()?.date = text()?,
            ("", "before_commit") => self.before_commit = Some(Commit { name: text()?, date: String::new() }),
            ("", "before_date") => self.before_commit.as_mut()?.date = text()?,
            ("", "rustc") => self.rustc = text()?,
            ("", "target") => self.target = text()?,
            ("instructions", _) => {
                self.instructions.insert(name.to_owned(), value.parse().ok()?);
            }
            ("bytes", _) => {
                self.bytes.insert(name.to_owned(), value.parse().ok()?);
            }
            ("before", _) => {
                self.before.insert(name.to_owned(), value.parse().ok()?);
            }
            ("goal", _) => {
                self.goal.insert(name.to_owned(), value.parse().ok()?);
            }
            ("beside", _) => {
                self.beside.insert(name.to_owned(), text()?);
            }
            ("what", _) => self.what.push((name.to_owned(), text()?)),
            _ => return None,
        }
        Some(())
    }

    /// That of a suite without numbers yet, on this machine and in this checkout.
    pub(super) fn of(suite: &Suite) -> Result<Self, Failure> {
        let output = Command::new("rustc")
            .arg("-vV")
            .output()
            .map_err(|error| format!("rustc -vV cannot be run: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name));
            value.map(str::to_owned).ok_or_else(|| format!("rustc -vV does not say {name}"))
        };
        let operations = || suite.operations.iter().map(|operation| (operation.name.to_owned(), operation));
        Ok(Self {
            command: suite.command(),
            commit: Commit::of(root()),
            rustc: field("release: ")?,
            target: field("host: ")?,
            goal: operations().filter_map(|(name, of)| Some((name, f64::from(of.goal?)))).collect(),
            beside: operations().filter_map(|(name, of)| Some((name, of.beside?.to_owned()))).collect(),
            what: operations().map(|(name, of)| (name, of.what.to_owned())).collect(),
            ..Self::default()
        })
    }

    /// The number of an operation.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.instructions.get(name).or_else(|| self.bytes.get(name)).copied()
    }

    /// All numbers, with the names of operations and units.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (&String, f64, &'static str)> {
        let of = |unit| move |(name, number): (_, &f64)| (name, *number, unit);
        self.instructions.iter().map(of("instructions")).chain(self.bytes.iter().map(of("bytes")))
    }

    /// With the earlier numbers of another one, as far as there are such operations.
    pub(super) fn keep_before(&mut self, other: &Self) {
        let is_there = |name: &String| self.what.iter().any(|(known, _)| known == name);
        self.before = other.before.clone();
        self.before.retain(|name, _| is_there(name));
        self.before_commit.clone_from(&other.before_commit);
    }

    /// As it is in a file.
    pub(super) fn text(&self) -> String {
        let mut text =
            "# Written by the command below, with the table of ../benchmarks.md. Only `before` is kept.\n"
                .to_owned();
        let commit = |prefix: &str, commit: &Option<Commit>| match commit {
            Some(Commit { name, date }) => {
                quoted(&format!("{prefix}commit"), name) + &quoted(&format!("{prefix}date"), date)
            }
            None => String::new(),
        };
        text += &quoted("command", &self.command);
        text += &commit("", &self.commit);
        text += &(quoted("rustc", &self.rustc) + &quoted("target", &self.target));
        text += &commit("before_", &self.before_commit);
        let numbers = |numbers: &BTreeMap<String, f64>, decimals: usize| {
            numbers.iter().map(|(name, number)| format!("{name} = {number:.decimals$}\n")).collect()
        };
        let beside = self.beside.iter().map(|(name, other)| quoted(name, other)).collect();
        let what = self.what.iter().map(|(name, what)| quoted(name, what)).collect();
        let sections: [(&str, &str, String); 6] = [
            ("Each is one repetition.", "instructions", numbers(&self.instructions, 1)),
            ("Of one repetition.", "bytes", numbers(&self.bytes, 1)),
            ("By hand, to compare with.", "before", numbers(&self.before, 1)),
            ("What was aimed at.", "goal", numbers(&self.goal, 0)),
            ("Whose number is shown beside it.", "beside", beside),
            ("All operations, in their order.", "what", what),
        ];
        for (about, name, lines) in sections.into_iter().filter(|(_, _, lines)| !lines.is_empty()) {
            text += &format!("\n# {about}\n[{name}]\n{lines}");
        }
        text
    }
}

fn quoted(name: &str, value: &str) -> String {
    format!("{name} = \"{value}\"\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Commit, Record};

    fn record() -> Record {
        let number = |name: &str, number: f64| BTreeMap::from([(name.to_owned(), number)]);
        let commit = |name: &str| Some(Commit { name: name.to_owned(), date: "2026-11-28".to_owned() });
        Record {
            command: "cargo bench -p nothing".to_owned(),
            commit: commit("1a2b3c4d"),
            rustc: "1.95.0".to_owned(),
            target: "anywhere".to_owned(),
            instructions: number("one", 16.5),
            bytes: number("other", 300.0),
            before: number("one", 20.0),
            before_commit: commit("0a0b0c0d-dirty"),
            goal: number("one", 15.0),
            beside: BTreeMap::from([("one".to_owned(), "other".to_owned())]),
            what: vec![
                ("one".to_owned(), "a `call`".to_owned()),
                ("other".to_owned(), "the same".to_owned()),
            ],
        }
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        assert_eq!(Record::parse(&record().text()), Ok(record()));
        let outside = Record { commit: None, before_commit: None, before: BTreeMap::new(), ..record() };
        assert_eq!(Record::parse(&outside.text()), Ok(outside));
        assert_eq!(Record::parse(""), Ok(Record::default()));
    }

    #[test]
    fn a_line_that_is_no_setting_is_named() {
        for line in [
            "ping = 3",
            "[what]\nping = 3",
            "[instructions]\nping = fast",
            "[other]\nping = 3",
            "ping",
            "date = \"x\"",
        ] {
            let failure = Record::parse(&format!("# Numbers\n{line}\n")).expect_err(line);
            assert!(failure.contains("is no known setting"), "{failure}");
        }
    }

    #[test]
    fn earlier_numbers_are_kept_as_long_as_there_is_the_operation() {
        let mut new = Record { what: vec![("other".to_owned(), String::new())], ..Record::default() };
        new.keep_before(&record());
        assert_eq!((new.before.len(), &new.before_commit), (0, &record().before_commit));
        new.what = record().what;
        new.keep_before(&record());
        assert_eq!(new.before, record().before);
    }
}
