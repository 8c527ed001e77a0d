//! Anchors for links in the report: names of cases, ids of statements, numbers of findings.

use std::collections::BTreeMap;

use crate::suite::outcome::{Finding, Played};
use crate::suite::report::{CaseReport, Report, StatementReport};

/// A report with what is needed to find things in it.
pub(super) struct Book<'a> {
    pub(super) report: &'a Report,
    pub(super) findings: Vec<Found<'a>>,
    cases: BTreeMap<&'a str, &'a CaseReport>,
    statements: BTreeMap<&'a str, &'a StatementReport>,
    /// By case, play and finding: the place in `findings`.
    places: BTreeMap<(usize, usize, usize), usize>,
}

/// A finding, and the variants in which text and statements were the same. It is that of the first of them.
pub(super) struct Found<'a> {
    pub(super) case: &'a CaseReport,
    pub(super) role: &'a str,
    pub(super) variants: Vec<&'a str>,
    pub(super) finding: &'a Finding,
    /// The messages were not the same each time.
    pub(super) differs: bool,
}

impl<'a> Book<'a> {
    pub(super) fn of(report: &'a Report) -> Self {
        let mut findings = Vec::new();
        let mut places = BTreeMap::new();
        for (case_at, case) in report.cases.iter().enumerate() {
            let first = findings.len();
            for (play_at, played) in case.plays.iter().enumerate() {
                for (finding_at, finding) in played.findings.iter().enumerate() {
                    let place = place_of(&mut findings, first, case, played, finding);
                    places.insert((case_at, play_at, finding_at), place);
                }
            }
        }
        Self {
            report,
            findings,
            cases: report.cases.iter().map(|case| (case.name.as_str(), case)).collect(),
            statements: report.statements.iter().map(|known| (known.id.as_str(), known)).collect(),
            places,
        }
    }

    /// The case, if it was chosen.
    pub(super) fn case(&self, name: &str) -> Option<&'a CaseReport> {
        self.cases.get(name).copied()
    }

    /// The statement, if there is one.
    pub(super) fn statement(&self, id: &str) -> Option<&'a StatementReport> {
        self.statements.get(id).copied()
    }

    /// Numbers, from 1, of the findings of a play, in its order.
    pub(super) fn numbers(&self, case: usize, play: usize) -> Vec<usize> {
        let of_play = self.places.range((case, play, 0)..(case, play + 1, 0));
        of_play.map(|(_, place)| place + 1).collect()
    }
}

fn place_of<'a>(
    findings: &mut Vec<Found<'a>>,
    first: usize,
    case: &'a CaseReport,
    played: &'a Played,
    finding: &'a Finding,
) -> usize {
    let same = |found: &Found<'_>| {
        let Finding { statements, text, .. } = found.finding;
        found.role == played.role && (statements, text) == (&finding.statements, &finding.text)
    };
    if let Some(at) = findings.iter().skip(first).position(same) {
        let found = &mut findings[first + at];
        found.differs |= (&found.finding.sent, &found.finding.came) != (&finding.sent, &finding.came);
        if found.variants.last() != Some(&played.variant.as_str()) {
            found.variants.push(&played.variant);
        }
        return first + at;
    }
    findings.push(Found {
        case,
        role: &played.role,
        variants: vec![&played.variant],
        finding,
        differs: false,
    });
    findings.len() - 1
}
