//! Names of statements and of issues.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use thiserror::Error;

/// Something that is not written the way it has to be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{got}` is no {wanted}")]
pub struct Malformed {
    /// What was found.
    pub got: String,
    /// What it has to be, with an example.
    pub wanted: &'static str,
}

impl Malformed {
    pub(super) fn new(got: &str, wanted: &'static str) -> Self {
        Self { got: got.to_owned(), wanted }
    }
}

/// A statement: its section and a number of two digits, `3.1.5.8-06`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct StatementId(String);

impl StatementId {
    /// The section, `3.1.5.8`. Those of MS-SMB2 begin with `3.2` and `3.3`, of which MS-SMBD has none.
    #[must_use]
    pub fn section(&self) -> &str {
        self.0.rsplit_once('-').map_or("", |(section, _)| section)
    }

    /// The number within the section, counted from 1.
    #[must_use]
    pub fn number(&self) -> u8 {
        self.0.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
    }
}

impl TryFrom<String> for StatementId {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        let good = text.rsplit_once('-').is_some_and(|(section, number)| {
            section.split('.').all(is_number) && number.len() == 2 && is_number(number) && number != "00"
        });
        if good { Ok(Self(text)) } else { Err(Malformed::new(&text, "statement such as `3.1.5.8-06`")) }
    }
}

impl fmt::Display for StatementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An entry of `docs/spec-issues.md`, `CR-4`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct IssueId(String);

impl TryFrom<String> for IssueId {
    type Error = Malformed;

    fn try_from(text: String) -> Result<Self, Malformed> {
        let good = text.split_once('-').is_some_and(|(chapter, number)| {
            !chapter.is_empty() && chapter.bytes().all(|byte| byte.is_ascii_uppercase()) && is_number(number)
        });
        if good { Ok(Self(text)) } else { Err(Malformed::new(&text, "issue such as `CR-4`")) }
    }
}

impl fmt::Display for IssueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The entries of a register of issues: headings of the form `### CR-4: ...`.
#[must_use]
pub fn issues(register: &str) -> BTreeSet<IssueId> {
    register
        .lines()
        .filter_map(|line| line.strip_prefix("### ")?.split_once(": "))
        .filter_map(|(id, _)| IssueId::try_from(id.to_owned()).ok())
        .collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
