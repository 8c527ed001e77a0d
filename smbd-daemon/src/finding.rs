//! What was found, and how it is told.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;
use smbd_program::output;

/// Exit status when something was found, and when it could not be looked.
const EXIT_FOUND: u8 = 1;
const EXIT_FAILED: u8 = 2;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// No client gets through, or none uses RDMA.
    Error,
    /// Some clients do not use RDMA, or something is at risk.
    Warning,
    /// It may be as it should.
    Advice,
}

impl Severity {
    const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Advice => "advice",
        }
    }
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: PathBuf,
    /// From 1 on.
    pub line: u32,
}

/// Something that keeps clients from RDMA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A name that stays the same, for programs.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    /// Why it matters.
    pub why: String,
    /// What to do about it.
    pub cure: String,
}

impl Finding {
    /// A finding that is in no file.
    pub fn new(
        severity: Severity,
        id: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        cure: impl Into<String>,
    ) -> Self {
        let (what, why, cure) = (what.into(), why.into(), cure.into());
        Self { id, severity, what, file: None, line: None, why, cure }
    }

    /// The same, in a line of a file.
    #[must_use]
    pub fn at(mut self, place: &Place) -> Self {
        (self.file, self.line) = (Some(place.file.clone()), Some(place.line));
        self
    }

    /// The same, if there is such a line.
    #[must_use]
    pub fn maybe_at(self, place: Option<&Place>) -> Self {
        match place {
            Some(place) => self.at(place),
            None => self,
        }
    }
}

/// For a person.
#[must_use]
pub fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { id, severity, what, file, line, why, cure } in findings {
        // Text can be written to a text.
        let _ = write!(text, "{}: ", severity.word());
        if let Some(file) = file {
            let line = line.map_or_else(String::new, |line| format!(":{line}"));
            let _ = write!(text, "{}{line}: ", file.display());
        }
        let _ = writeln!(text, "{what} [{id}]\n  why:  {why}\n  cure: {cure}\n");
    }
    text
}

/// For a program: an array.
///
/// # Errors
/// None that is known.
pub fn json(findings: &[Finding]) -> serde_json::Result<String> {
    serde_json::to_string_pretty(findings)
}

/// How many there are of each kind, such as "1 error, 2 warnings".
#[must_use]
pub fn sum(findings: &[Finding]) -> String {
    let count = |severity: Severity, word: &str| {
        let number = findings.iter().filter(|finding| finding.severity == severity).count();
        let plural = if number == 1 || severity == Severity::Advice { "" } else { "s" };
        (number > 0).then(|| format!("{number} {word}{plural}"))
    };
    let counts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Advice]
        .into_iter()
        .filter_map(|severity| count(severity, severity.word()))
        .collect();
    if counts.is_empty() { "nothing found".to_owned() } else { counts.join(", ") }
}

/// The command `doctor` of `program`: prints what it looked at and found, or why it could not look. Exit status: 0 nothing found, 1 something
/// found, 2 it could not look.
#[must_use]
pub fn report(program: &str, is_json: bool, looked: Result<(String, Vec<Finding>), String>) -> ExitCode {
    let done = looked.and_then(|(subjects, findings)| {
        tell(is_json, &subjects, &findings)?;
        Ok(findings.is_empty())
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(EXIT_FOUND),
        Err(why) => {
            // Nobody reads it.
            let _ = writeln!(io::stderr(), "{program}: {why}");
            ExitCode::from(EXIT_FAILED)
        }
    }
}

fn tell(is_json: bool, subjects: &str, findings: &[Finding]) -> Result<(), String> {
    let text = if is_json {
        json(findings).map_err(|error| error.to_string())? + "\n"
    } else {
        format!("{}looked at: {subjects}\n{}\n", text(findings), sum(findings))
    };
    output::write(&text)
}

/// What was looked at, so that it is known what was not: such as "listener 10.9.0.1:445", or "no listener".
#[must_use]
pub fn subjects(what: &str, all: impl IntoIterator<Item = impl ToString>) -> String {
    let all: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    if all.is_empty() { format!("no {what}") } else { format!("{what} {}", all.join(" ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings() -> Vec<Finding> {
        let place = Place { file: "/etc/samba/smb.conf".into(), line: 12 };
        vec![
            Finding::new(
                Severity::Error,
                "no-device",
                "there is no RDMA device",
                "without it nothing",
                "add one",
            ),
            Finding::new(Severity::Warning, "signing", "signing is \"required\"", "no RDMA", "auto")
                .at(&place),
        ]
    }

    #[test]
    fn a_person_reads_what_where_why_and_the_cure() {
        insta::assert_snapshot!(text(&findings()));
        assert_eq!(sum(&findings()), "1 error, 1 warning");
        assert_eq!(sum(&[]), "nothing found");
    }

    #[test]
    fn a_program_reads_an_array() {
        insta::assert_snapshot!(json(&findings()).unwrap());
        assert_eq!(json(&[]).unwrap(), "[]");
    }
}
