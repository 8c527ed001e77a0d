//! Numbers.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::{Catalogue, Coverage, Level, Role, Source, Statement};

/// How many statements are covered, and how many are exceptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Covered by cases.
    pub covered: usize,
    /// Excepted.
    pub excepted: usize,
}

impl Count {
    /// Both.
    #[must_use]
    pub const fn total(self) -> usize {
        self.covered.saturating_add(self.excepted)
    }

    fn add(&mut self, statement: &Statement) {
        match statement.coverage {
            Coverage::Cases(_) => self.covered = self.covered.saturating_add(1),
            Coverage::Exception(_) => self.excepted = self.excepted.saturating_add(1),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} covered, {} excepted)", self.total(), self.covered, self.excepted)
    }
}

/// How many there are of what. Displayed as a page of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// All statements.
    pub statements: Count,
    /// By section, in the order of the specification.
    pub sections: Vec<(String, Count)>,
    /// By level.
    pub levels: BTreeMap<Level, Count>,
    /// By whose duty they are.
    pub roles: BTreeMap<Role, Count>,
    /// The MUST statements on active, passive or both.
    pub peer_musts: Count,
    /// All cases.
    pub cases: usize,
    /// Those of Microsoft's suite.
    pub suite_cases: usize,
    /// How long all cases together wait for time to pass, each role of "both" once.
    pub waiting: Duration,
}

impl Summary {
    pub(super) fn of(catalogue: &Catalogue) -> Self {
        let mut summary = Self {
            statements: Count::default(),
            sections: Vec::new(),
            levels: BTreeMap::new(),
            roles: BTreeMap::new(),
            peer_musts: Count::default(),
            cases: catalogue.cases.len(),
            suite_cases: 0,
            waiting: Duration::ZERO,
        };
        for statement in &catalogue.statements {
            summary.add(statement);
        }
        for case in &catalogue.cases {
            let is_suite = case.source.iter().any(|source| matches!(source, Source::Suite(_)));
            summary.suite_cases = summary.suite_cases.saturating_add(usize::from(is_suite));
            summary.waiting = summary.waiting.saturating_add(case.time.saturating_mul(case.role.sides()));
        }
        summary
    }

    fn add(&mut self, statement: &Statement) {
        self.statements.add(statement);
        self.levels.entry(statement.level).or_default().add(statement);
        self.roles.entry(statement.role).or_default().add(statement);
        if statement.level == Level::Must && statement.role.is_peer() {
            self.peer_musts.add(statement);
        }
        let section = statement.id.section();
        match self.sections.last_mut() {
            Some((last, count)) if last == section => count.add(statement),
            _ => {
                let mut count = Count::default();
                count.add(statement);
                self.sections.push((section.to_owned(), count));
            }
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "requirements: {}", self.statements)?;
        writeln!(f, "  MUST on active, passive or both: {}", self.peer_musts)?;
        for (level, count) in &self.levels {
            writeln!(f, "  level {level:<8} {count}")?;
        }
        for (role, count) in &self.roles {
            writeln!(f, "  role {role:<9} {count}")?;
        }
        for (section, count) in &self.sections {
            writeln!(f, "  section {section:<8} {count}")?;
        }
        let own = self.cases.saturating_sub(self.suite_cases);
        write!(
            f,
            "cases: {} ({} of Microsoft's suite, {own} of our own), {} s of waiting",
            self.cases,
            self.suite_cases,
            self.waiting.as_secs()
        )
    }
}
