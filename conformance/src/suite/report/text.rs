//! A report as text: findings, the matrix by section, cases without a verdict, and counts.

use std::fmt;

use super::{CaseReport, CaseResult, Counts, Report, SectionReport, Totals};
use crate::suite::outcome::{Finding, Outcome, Played};
use crate::suite::{KnownFinding, Lost};

/// The page.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// What it is about.
    pub report: &'a Report,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { target, variants, totals, cases, .. } = self.report;
        writeln!(f, "target {target}: {}", variants.join(", "))?;
        for (name, text) in self.report.origin() {
            writeln!(f, "{name}: {text}")?;
        }
        for fact in &self.report.peer {
            writeln!(f, "\n{fact}")?;
        }
        for case in cases.iter().filter(|case| case.result == CaseResult::Failed) {
            failed_case(f, self.report, case)?;
        }
        for case in cases.iter().filter(|case| case.result == CaseResult::Known) {
            known_case(f, case)?;
        }
        no_longer_found(f, self.report)?;
        matrix(f, self.report)?;
        what_is_not_done(f, cases)?;
        for (title, result) in [("not judged", CaseResult::NotJudged), ("left out", CaseResult::LeftOut)] {
            not_played(f, title, cases.iter().filter(|case| case.result == result))?;
        }
        // A peer without the other role or without a device has dozens of these.
        if totals.cases.not_applicable > 0 {
            let count = totals.cases.not_applicable;
            writeln!(f, "\nnot applicable: {count}; formats html, json and junit have the reason of each")?;
        }
        write!(f, "\n{totals}")
    }
}

/// A table for each document, and the sum of all.
fn matrix(f: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
    // What is known of a product is counted where something is; and what need not be done, where it is not.
    let columns =
        Columns { known: report.profile.is_some(), does_not: report.totals.statements.does_not > 0 };
    for sections in report.documents() {
        let document = sections.first().map_or("", |section| section.document.as_str());
        write!(
            f,
            "\n{document:<11} {:>10} {:>8} {:>8} {:>9} {:>6} {:>7}",
            "statements", "covered", "excepted", "asserted", "held", "broken"
        )?;
        write!(f, "{}", if columns.known { "  known" } else { "" })?;
        writeln!(f, "{}", if columns.does_not { "  does not" } else { "" })?;
        for section in sections {
            row(f, &section.section, section, columns)?;
        }
    }
    writeln!(f)?;
    row(f, "all", &report.totals.statements, columns)
}

/// The columns of the matrix that are not always there.
#[derive(Clone, Copy)]
struct Columns {
    known: bool,
    does_not: bool,
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, section: &SectionReport, columns: Columns) -> fmt::Result {
    let SectionReport {
        title, statements, covered, excepted, asserted, held, broken, known, does_not, ..
    } = section;
    write!(f, "{name:<11} {statements:>10} {covered:>8} {excepted:>8} {asserted:>9} {held:>6} {broken:>7}")?;
    if columns.known {
        write!(f, " {known:>6}")?;
    }
    if columns.does_not {
        write!(f, " {does_not:>9}")?;
    }
    writeln!(f, "{}{title}", if title.is_empty() { "" } else { "  " })
}

/// What the subject may do and does not.
fn what_is_not_done(f: &mut fmt::Formatter<'_>, cases: &[CaseReport]) -> fmt::Result {
    let plays = cases.iter().flat_map(|case| &case.plays).filter(|played| !played.does_not.is_empty());
    let mut plays = plays.peekable();
    if plays.peek().is_some() {
        writeln!(f, "\ndoes not, and need not:")?;
    }
    for Played { case, role, variant, does_not, .. } in plays {
        for fact in does_not {
            writeln!(f, "  {case}, {role}, {variant}: {} ({})", fact.text, fact.statements.join(" "))?;
        }
    }
    Ok(())
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "plays: {}", Line(self.plays))?;
        write!(f, "cases: {}", Line(self.cases))?;
        match self.not_reached {
            0 => writeln!(f)?,
            left => writeln!(f, ", {left} not reached: the run was ended")?,
        }
        let SectionReport { statements, covered, excepted, .. } = self.statements;
        writeln!(f, "requirements: {statements} ({covered} covered, {excepted} excepted)")
    }
}

struct Line(Counts);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { passed, failed, known, not_judged, not_applicable, left_out } = self.0;
        write!(f, "{passed} passed, {failed} failed")?;
        for (count, what) in [
            (known, "known"),
            (not_judged, "not judged"),
            (not_applicable, "not applicable"),
            (left_out, "left out"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

fn failed_case(f: &mut fmt::Formatter<'_>, report: &Report, case: &CaseReport) -> fmt::Result {
    writeln!(f, "\nFAILED {}", case.name)?;
    for played in case.plays.iter().filter(|played| played.outcome == Outcome::Failed) {
        let Played { role, variant, findings, .. } = played;
        writeln!(f, "  {role}, {variant}")?;
        for finding in findings {
            one_finding(f, report, finding)?;
        }
    }
    Ok(())
}

/// In short: what was found, and what is known about it.
fn known_case(f: &mut fmt::Formatter<'_>, case: &CaseReport) -> fmt::Result {
    writeln!(f, "\nknown {}", case.name)?;
    for played in case.plays.iter().filter(|played| played.outcome == Outcome::Known) {
        let Played { role, variant, findings, .. } = played;
        writeln!(f, "  {role}, {variant}")?;
        for finding in findings {
            writeln!(f, "    {} ({})", finding.text, finding.statements.join(" "))?;
            what_is_known(f, finding.known.as_ref())?;
        }
    }
    Ok(())
}

fn what_is_known(f: &mut fmt::Formatter<'_>, known: Option<&KnownFinding>) -> fmt::Result {
    let Some(KnownFinding { issue, does, evidence }) = known else { return Ok(()) };
    let issue = issue.as_ref().map(|issue| format!(" ({issue})")).unwrap_or_default();
    writeln!(f, "      known{issue}: {does}\n      evidence: {evidence}")
}

/// What a profile knows and was not found: the product was mended, or a case no longer sees it.
fn no_longer_found(f: &mut fmt::Formatter<'_>, report: &Report) -> fmt::Result {
    let Some(profile) = report.profile.as_ref().filter(|profile| !profile.no_longer_found.is_empty()) else {
        return Ok(());
    };
    writeln!(f, "\nno longer found, though known of {}:", profile.name)?;
    for Lost { case, role, text, known } in &profile.no_longer_found {
        writeln!(f, "  {case}, {role}: {text}")?;
        what_is_known(f, Some(known))?;
    }
    Ok(())
}

/// A finding with what it is about, what was sent and what came.
fn one_finding(f: &mut fmt::Formatter<'_>, report: &Report, finding: &Finding) -> fmt::Result {
    writeln!(f, "    {}", finding.text)?;
    for id in &finding.statements {
        if let Some(statement) = report.statements.iter().find(|statement| statement.id == *id) {
            writeln!(f, "      {id} ({}): {}", statement.level, statement.text)?;
        }
    }
    what_is_known(f, finding.known.as_ref())?;
    for (what, packet) in [("sent", &finding.sent), ("came", &finding.came)] {
        if let Some(packet) = packet {
            writeln!(f, "      {what}: {packet}\n            {}", packet.hex())?;
        }
    }
    Ok(())
}

fn not_played<'a>(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    cases: impl Iterator<Item = &'a CaseReport>,
) -> fmt::Result {
    let mut cases = cases.peekable();
    if cases.peek().is_some() {
        writeln!(f, "\n{title}:")?;
    }
    for case in cases {
        writeln!(f, "  {}: {}", case.name, case.reason().unwrap_or_default())?;
    }
    Ok(())
}
