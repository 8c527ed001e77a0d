//! What shows that a statement can be broken: `requirements/breaks.toml`.
//!
//! A verdict that cannot be red says nothing. For each covered statement there is a row, a subject that is wrong in one thing, which
//! breaks it; or a patch of the core that does (`mutants`); or a reason why nothing does.

mod change;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use thiserror::Error;

pub use change::{Act, Asked, Bytes, Change, Command, Event, Extra, Field, Invalidated, Telling, Which};

use super::{Catalogue, Coverage, StatementId, UnderTest};

const BREAKS: &str = include_str!("../../../requirements/breaks.toml");

/// A subject that is wrong in one thing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What is wrong with it: "CreditsGranted of the response is 0". No two rows have the same.
    pub wrong: String,
    /// What is done to it.
    pub does: Vec<Change>,
    /// The cases that find it, and that are played.
    pub cases: Vec<String>,
    /// All that it breaks as acceptor. It is not played as acceptor if that is nothing.
    #[serde(default)]
    pub acceptor: Vec<StatementId>,
    /// The same as initiator.
    #[serde(default)]
    pub initiator: Vec<StatementId>,
}

impl Row {
    /// What it breaks in this role.
    #[must_use]
    pub fn broken(&self, role: UnderTest) -> &[StatementId] {
        match role {
            UnderTest::Acceptor => &self.acceptor,
            UnderTest::Initiator => &self.initiator,
            UnderTest::Both => &[],
        }
    }
}

/// A patch of the core that breaks a statement; the only thing that does, where no row can express it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// Its name in `conformance/mutants`.
    pub patch: String,
    /// What the suite has to name.
    pub statement: StatementId,
}

/// A statement that nothing breaks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotShown {
    /// The statement.
    pub statement: StatementId,
    /// Why.
    pub reason: String,
}

/// All rows, patches and reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breaks {
    /// The table.
    #[serde(rename = "row", default)]
    pub rows: Vec<Row>,
    /// What breaks the core itself.
    #[serde(rename = "mutant", default)]
    pub mutants: Vec<Mutant>,
    /// What is left.
    #[serde(rename = "not_shown", default)]
    pub not_shown: Vec<NotShown>,
}

/// What shows that a statement can be broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breakable<'a> {
    /// These rows break it.
    Rows(Vec<&'a Row>),
    /// This patch of the core does, and no row.
    Mutant(&'a str),
    /// Nothing does, for this reason.
    Not(&'a str),
    /// Nothing is known: a fault of the file.
    Unknown,
}

/// Something that the file must not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BreaksFault {
    /// Neither broken nor excused.
    #[error("statement {0} is covered, and nothing breaks it")]
    Missing(StatementId),
    /// Broken and excused.
    #[error("statement {0} is broken, and said not to be")]
    Excused(StatementId),
    /// Something is there twice.
    #[error("{0} is there twice")]
    Twice(String),
    /// It has no case, or is not in the catalogue.
    #[error("statement {0} is covered by no case")]
    NotCovered(StatementId),
    /// A row with a case that does not exist.
    #[error("'{row}' names case {case}, which does not exist")]
    UnknownCase {
        /// The row.
        row: String,
        /// The case.
        case: String,
    },
    /// A row that does, plays or breaks nothing.
    #[error("'{0}' does nothing, plays nothing, or breaks nothing")]
    Idle(String),
}

impl Breaks {
    /// The file that this program was built with.
    ///
    /// # Errors
    /// Where it is not what [`Self::parse`] takes.
    pub fn load() -> Result<Self, toml::de::Error> {
        Self::parse(BREAKS)
    }

    /// Reads a file from its text.
    ///
    /// # Errors
    /// What is no TOML, misses a field or has an unknown one, with its line.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// What shows that a statement can be broken.
    #[must_use]
    pub fn of(&self, id: &StatementId) -> Breakable<'_> {
        let breaks = |row: &&Row| row.acceptor.contains(id) || row.initiator.contains(id);
        let rows: Vec<_> = self.rows.iter().filter(breaks).collect();
        if !rows.is_empty() {
            return Breakable::Rows(rows);
        }
        if let Some(mutant) = self.mutants.iter().find(|mutant| mutant.statement == *id) {
            return Breakable::Mutant(&mutant.patch);
        }
        let reason = self.not_shown.iter().find(|not| not.statement == *id);
        reason.map_or(Breakable::Unknown, |not| Breakable::Not(&not.reason))
    }

    /// The patches of the core that break a statement.
    pub fn patches<'a>(&'a self, id: &'a StatementId) -> impl Iterator<Item = &'a str> {
        self.mutants.iter().filter(move |mutant| mutant.statement == *id).map(|mutant| mutant.patch.as_str())
    }

    /// All faults, given the catalogue.
    #[must_use]
    pub fn faults(&self, catalogue: &Catalogue) -> Vec<BreaksFault> {
        let mut faults = Vec::new();
        let covered: BTreeSet<_> = catalogue
            .statements
            .iter()
            .filter(|statement| matches!(statement.coverage, Coverage::Cases(_)))
            .map(|statement| &statement.id)
            .collect();
        for id in &covered {
            if self.of(id) == Breakable::Unknown {
                faults.push(BreaksFault::Missing((*id).clone()));
            }
        }
        let mut times = BTreeMap::new();
        for row in &self.rows {
            *times.entry(row.wrong.clone()).or_insert(0) += 1;
            if row.does.is_empty() || row.cases.is_empty() || self.named_by(row).next().is_none() {
                faults.push(BreaksFault::Idle(row.wrong.clone()));
            }
            let unknown = row.cases.iter().filter(|name| catalogue.case(name).is_none());
            faults.extend(
                unknown.map(|case| BreaksFault::UnknownCase { row: row.wrong.clone(), case: case.clone() }),
            );
        }
        for not in &self.not_shown {
            *times.entry(not.statement.to_string()).or_insert(0) += 1;
            let broken = self.rows.iter().any(|row| self.named_by(row).any(|id| *id == not.statement))
                || self.mutants.iter().any(|mutant| mutant.statement == not.statement);
            if broken {
                faults.push(BreaksFault::Excused(not.statement.clone()));
            }
        }
        for mutant in &self.mutants {
            *times.entry(mutant.patch.clone()).or_insert(0) += 1;
        }
        faults.extend(
            times.into_iter().filter(|(_, count)| *count > 1).map(|(what, _)| BreaksFault::Twice(what)),
        );
        let named: BTreeSet<_> = self.rows.iter().flat_map(|row| self.named_by(row)).collect();
        let others = self.mutants.iter().map(|mutant| &mutant.statement);
        let all = named.into_iter().chain(others).chain(self.not_shown.iter().map(|not| &not.statement));
        faults.extend(all.filter(|id| !covered.contains(id)).cloned().map(BreaksFault::NotCovered));
        faults
    }

    /// All that a row breaks, in either role.
    fn named_by<'a>(&self, row: &'a Row) -> impl Iterator<Item = &'a StatementId> {
        row.acceptor.iter().chain(&row.initiator)
    }
}

#[cfg(test)]
mod tests;
