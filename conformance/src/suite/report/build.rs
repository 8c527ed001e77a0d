//! Makes a report from plays.

use std::collections::{BTreeMap, BTreeSet};

use super::{CaseReport, CaseResult, Counts, Report, SectionReport, StatementReport, Totals, Verdict};
use crate::catalogue::{Case, Catalogue, Coverage, Level, Section, Statement};
use crate::suite::outcome::{Outcome, Played, Tally};
use crate::suite::trace::Trace;

impl Counts {
    const fn add(&mut self, result: CaseResult) {
        let count = match result {
            CaseResult::Passed => &mut self.passed,
            CaseResult::Failed => &mut self.failed,
            CaseResult::Known => &mut self.known,
            CaseResult::NotJudged => &mut self.not_judged,
            CaseResult::NotApplicable => &mut self.not_applicable,
            CaseResult::LeftOut => &mut self.left_out,
        };
        *count = count.saturating_add(1);
    }
}

impl Outcome {
    const fn result(&self) -> CaseResult {
        match self {
            Self::Passed => CaseResult::Passed,
            Self::Failed => CaseResult::Failed,
            Self::Known => CaseResult::Known,
            Self::NotJudged(_) => CaseResult::NotJudged,
            Self::NotApplicable(_) => CaseResult::NotApplicable,
            Self::LeftOut(_) => CaseResult::LeftOut,
        }
    }
}

impl CaseResult {
    /// What comes of all plays of a case.
    #[must_use]
    pub fn of(plays: &[Played]) -> Self {
        let any = |result| plays.iter().any(|played| played.outcome.result() == result);
        let order = [Self::Failed, Self::Known, Self::NotJudged, Self::Passed, Self::LeftOut];
        order.into_iter().find(|result| any(*result)).unwrap_or(Self::NotApplicable)
    }
}

impl CaseReport {
    /// Why there is no verdict, in the words of the first play that says so.
    pub(super) fn reason(&self) -> Option<String> {
        let alike = self.plays.iter().filter(|played| played.outcome.result() == self.result);
        alike.filter_map(|played| played.outcome.reason()).next()
    }

    fn new(case: &Case, mut plays: Vec<Played>) -> Self {
        let first = plays.first().map(|played| played.variant.clone());
        for played in &mut plays {
            let is_plain = !played.outcome.has_findings() && !matches!(played.outcome, Outcome::NotJudged(_));
            if is_plain && Some(&played.variant) != first.as_ref() {
                played.trace = Trace::default();
            }
        }
        Self {
            name: case.name.clone(),
            group: case.group.clone(),
            result: CaseResult::of(&plays),
            statements: case.statements.iter().map(ToString::to_string).collect(),
            steps: case.steps.clone(),
            expected: case.expected.clone(),
            plays,
        }
    }
}

impl Report {
    /// A report of these plays, in which those of one case follow each other.
    #[must_use]
    pub fn new(target: String, variants: Vec<String>, catalogue: &Catalogue, played: Vec<Played>) -> Self {
        let devices: BTreeSet<_> = played.iter().filter_map(|played| played.device.clone()).collect();
        let mut by_case: BTreeMap<String, Vec<Played>> = BTreeMap::new();
        for played in played {
            by_case.entry(played.case.clone()).or_default().push(played);
        }
        let chosen = catalogue.cases.iter().filter_map(|case| Some((case, by_case.remove(&case.name)?)));
        let cases: Vec<_> = chosen.map(|(case, plays)| CaseReport::new(case, plays)).collect();
        let mut totals = Totals::default();
        let mut asserted: BTreeMap<&str, Tally> = BTreeMap::new();
        let mut news: BTreeSet<&str> = BTreeSet::new();
        for case in &cases {
            totals.cases.add(case.result);
            for played in &case.plays {
                totals.plays.add(played.outcome.result());
                let unknown = played.findings.iter().filter(|finding| finding.known.is_none());
                news.extend(unknown.flat_map(|finding| &finding.statements).map(String::as_str));
                for (id, tally) in &played.asserted {
                    let sum = asserted.entry(id).or_default();
                    sum.held = sum.held.saturating_add(tally.held);
                    sum.failed = sum.failed.saturating_add(tally.failed);
                }
            }
        }
        let statements: Vec<_> =
            catalogue.statements.iter().map(|statement| judge(statement, &asserted, &news)).collect();
        let mut sections: Vec<_> = catalogue.sections.iter().map(SectionReport::of).collect();
        for (statement, known) in statements.iter().zip(&catalogue.statements) {
            if let Some(section) = sections.iter_mut().find(|section| section.section == known.id.section()) {
                section.add(statement.verdict);
            }
            totals.statements.add(statement.verdict);
        }
        Self {
            about: None,
            target,
            variants,
            upper_layers: Vec::new(),
            devices: devices.into_iter().collect(),
            profile: None,
            peer: Vec::new(),
            totals,
            sections,
            statements,
            cases,
            not_reached: Vec::new(),
        }
    }
}

impl SectionReport {
    fn of(section: &Section) -> Self {
        let Section { document, number, title } = section.clone();
        Self { document, section: number, title, ..Self::default() }
    }

    const fn add(&mut self, verdict: Verdict) {
        self.statements += 1;
        match verdict {
            Verdict::Excepted => {
                self.excepted += 1;
                return;
            }
            Verdict::NotAsserted => {}
            Verdict::Held => (self.asserted, self.held) = (self.asserted + 1, self.held + 1),
            Verdict::Known => (self.asserted, self.known) = (self.asserted + 1, self.known + 1),
            Verdict::DoesNot => (self.asserted, self.does_not) = (self.asserted + 1, self.does_not + 1),
            Verdict::Broken => (self.asserted, self.broken) = (self.asserted + 1, self.broken + 1),
        }
        self.covered += 1;
    }
}

/// `news`: the statements of which something is broken that is not known.
fn judge(statement: &Statement, asserted: &BTreeMap<&str, Tally>, news: &BTreeSet<&str>) -> StatementReport {
    let id = statement.id.to_string();
    let verdict = match (&statement.coverage, asserted.get(id.as_str())) {
        (Coverage::Exception(_), _) => Verdict::Excepted,
        (Coverage::Cases(_), None) => Verdict::NotAsserted,
        (Coverage::Cases(_), Some(tally)) if tally.failed > 0 && statement.level == Level::May => {
            Verdict::DoesNot
        }
        (Coverage::Cases(_), Some(tally)) if tally.failed > 0 && !news.contains(id.as_str()) => {
            Verdict::Known
        }
        (Coverage::Cases(_), Some(tally)) if tally.failed > 0 => Verdict::Broken,
        (Coverage::Cases(_), Some(_)) => Verdict::Held,
    };
    StatementReport {
        id,
        level: statement.level.to_string(),
        role: statement.role.to_string(),
        text: statement.text.clone(),
        verdict,
        cases: statement.coverage.cases().to_vec(),
        exception: statement.coverage.exception().map(ToString::to_string),
    }
}
