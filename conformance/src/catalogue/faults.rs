//! Where the statements, the cases and the register of issues disagree.

use std::collections::BTreeSet;

use thiserror::Error;

use super::{
    Case, Catalogue, Coverage, Exception, IssueId, Level, Source, Statement, StatementId, UnderTest,
};

/// At most so many of the MUST statements on the sides of a connection may be exceptions: ten of MS-SMBD, and the four of MS-SMB2
/// that are about connections over TCP.
pub const EXCEPTIONS_MAX: usize = 14;

/// Something the catalogue must not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// Two statements with one id.
    #[error("statement {0} is there twice")]
    StatementTwice(StatementId),
    /// Two cases with one name.
    #[error("case {0} is there twice")]
    CaseTwice(String),
    /// A case without something that every case has.
    #[error("case {case} has no {what}")]
    Incomplete {
        /// Its name.
        case: String,
        /// What is missing.
        what: &'static str,
    },
    /// A statement is covered by a case that does not exist.
    #[error("statement {statement} names case {case}, which does not exist")]
    UnknownCase {
        /// The statement.
        statement: StatementId,
        /// The name.
        case: String,
    },
    /// A statement is covered by a case that asserts nothing about it.
    #[error("statement {statement} names case {case}, which asserts nothing about it")]
    NothingAsserted {
        /// The statement.
        statement: StatementId,
        /// The name of the case.
        case: String,
    },
    /// A case asserts a statement that does not exist.
    #[error("case {case} names statement {statement}, which does not exist")]
    UnknownStatement {
        /// The name of the case.
        case: String,
        /// The id.
        statement: StatementId,
    },
    /// A case asserts a statement that does not name it.
    #[error("case {case} names statement {statement}, which does not name it")]
    NotCounted {
        /// The name of the case.
        case: String,
        /// The statement.
        statement: StatementId,
    },
    /// A side that has to do what a statement says is never under test.
    #[error("statement {statement} is covered by no case against the {side}")]
    SideNotShown {
        /// The statement.
        statement: StatementId,
        /// [`UnderTest::Acceptor`] or [`UnderTest::Initiator`].
        side: UnderTest,
    },
    /// The exception "other product" is for section 7.
    #[error("statement {0} is not about another product")]
    OtherProduct(StatementId),
    /// An issue that is in no register.
    #[error("{by} names issue {issue}, which does not exist")]
    UnknownIssue {
        /// Id of the statement or name of the case.
        by: String,
        /// The issue.
        issue: IssueId,
    },
    /// An issue that no case shows, and nothing says why.
    #[error("issue {0} is shown by no case")]
    IssueNotShown(IssueId),
    /// An issue that is said to be shown by no case, and is.
    #[error("issue {0} is shown by a case")]
    IssueShown(IssueId),
    /// More than [`EXCEPTIONS_MAX`].
    #[error(
        "{got} of the MUST statements on active, passive or both are excepted, {EXCEPTIONS_MAX} at most may be"
    )]
    TooManyExceptions {
        /// How many are.
        got: usize,
    },
}

impl Catalogue {
    /// All faults, given the issues there are.
    #[must_use]
    pub fn faults(&self, issues: &BTreeSet<IssueId>) -> Vec<Fault> {
        let mut faults = self.repeated();
        for statement in &self.statements {
            self.look_at_statement(statement, issues, &mut faults);
        }
        for case in &self.cases {
            self.look_at_case(case, issues, &mut faults);
        }
        self.look_at_issues(issues, &mut faults);
        let excepted = self.statements.iter().filter(|statement| counts(statement)).count();
        if excepted > EXCEPTIONS_MAX {
            faults.push(Fault::TooManyExceptions { got: excepted });
        }
        faults
    }

    fn repeated(&self) -> Vec<Fault> {
        let (mut ids, mut names) = (BTreeSet::new(), BTreeSet::new());
        let statements = self.statements.iter().map(|statement| &statement.id);
        let twice = statements.filter(|id| !ids.insert(*id)).cloned().map(Fault::StatementTwice);
        let cases = self.cases.iter().map(|case| &case.name);
        twice.chain(cases.filter(|name| !names.insert(*name)).cloned().map(Fault::CaseTwice)).collect()
    }

    fn look_at_statement(&self, statement: &Statement, issues: &BTreeSet<IssueId>, faults: &mut Vec<Fault>) {
        let id = &statement.id;
        let mut shown = Vec::new();
        for name in statement.coverage.cases() {
            let Some(case) = self.case(name) else {
                faults.push(Fault::UnknownCase { statement: id.clone(), case: name.clone() });
                continue;
            };
            shown.push(case.role);
            if !case.statements.contains(id) {
                faults.push(Fault::NothingAsserted { statement: id.clone(), case: name.clone() });
            }
        }
        match &statement.coverage {
            Coverage::Cases(_) => {
                let missing = statement
                    .role
                    .sides()
                    .iter()
                    .filter(|side| !shown.iter().any(|case| case.includes(**side)));
                faults.extend(missing.map(|side| Fault::SideNotShown { statement: id.clone(), side: *side }));
            }
            Coverage::Exception(Exception::OtherProduct { .. }) if id.section() != "7" => {
                faults.push(Fault::OtherProduct(id.clone()));
            }
            Coverage::Exception(Exception::DeliberateDeviation { issue, .. }) if !issues.contains(issue) => {
                faults.push(Fault::UnknownIssue { by: id.to_string(), issue: issue.clone() });
            }
            Coverage::Exception(_) => {}
        }
    }

    fn look_at_case(&self, case: &Case, issues: &BTreeSet<IssueId>, faults: &mut Vec<Fault>) {
        let parts = [
            (case.source.is_empty(), "source"),
            (case.statements.is_empty(), "statement"),
            (case.steps.is_empty(), "step"),
            (case.expected.is_empty(), "expectation"),
        ];
        for (_, what) in parts.into_iter().filter(|(missing, _)| *missing) {
            faults.push(Fault::Incomplete { case: case.name.clone(), what });
        }
        for id in &case.statements {
            let fault = match self.statement(id) {
                None => Fault::UnknownStatement { case: case.name.clone(), statement: id.clone() },
                Some(statement) if !statement.coverage.cases().contains(&case.name) => {
                    Fault::NotCounted { case: case.name.clone(), statement: id.clone() }
                }
                Some(_) => continue,
            };
            faults.push(fault);
        }
        let unknown = case.shown_issues().filter(|issue| !issues.contains(issue));
        faults
            .extend(unknown.map(|issue| Fault::UnknownIssue { by: case.name.clone(), issue: issue.clone() }));
    }

    fn look_at_issues(&self, issues: &BTreeSet<IssueId>, faults: &mut Vec<Fault>) {
        let shown: BTreeSet<_> = self.cases.iter().flat_map(Case::shown_issues).collect();
        let excused: BTreeSet<_> = self.unshown.iter().map(|unshown| &unshown.issue).collect();
        for issue in issues {
            match (shown.contains(issue), excused.contains(issue)) {
                (false, false) => faults.push(Fault::IssueNotShown(issue.clone())),
                (true, true) => faults.push(Fault::IssueShown(issue.clone())),
                (true, false) | (false, true) => {}
            }
        }
        let unknown = excused.into_iter().filter(|issue| !issues.contains(issue));
        let by = "without_case";
        faults.extend(unknown.map(|issue| Fault::UnknownIssue { by: by.to_owned(), issue: issue.clone() }));
    }
}

impl Case {
    /// The issues whose decisions it shows.
    fn shown_issues(&self) -> impl Iterator<Item = &IssueId> {
        self.source
            .iter()
            .filter_map(|source| if let Source::Issue(issue) = source { Some(issue) } else { None })
    }
}

/// Whether it is one of the exceptions of which there may be few.
fn counts(statement: &Statement) -> bool {
    statement.level == Level::Must && statement.role.is_peer() && statement.coverage.exception().is_some()
}
