//! A report as JUnit XML: a test suite for each group, a test case for each play.

use std::io::{self, Write};
use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::{CaseReport, Report};
use crate::suite::outcome::{Finding, Outcome, Played};

/// Writes it.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &Report, out: impl Write) -> io::Result<()> {
    let mut document = quick_junit::Report::new(format!("smbd-conformance, target {}", report.target));
    let mut suites: Vec<TestSuite> = Vec::new();
    for case in &report.cases {
        if suites.last().is_none_or(|suite| suite.name.as_str() != case.group) {
            suites.push(TestSuite::new(case.group.as_str()));
        }
        if let Some(suite) = suites.last_mut() {
            suite.add_test_cases(case.plays.iter().map(|played| test_case(case, played)));
        }
    }
    document.add_test_suites(suites);
    document.serialize(out).map_err(io::Error::other)
}

fn test_case(case: &CaseReport, played: &Played) -> TestCase {
    let Played { role, variant, outcome, findings, time, trace, .. } = played;
    let status = match outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::Failed => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let texts: Vec<_> = findings.iter().map(one_line).collect();
            status.set_message(findings.first().map_or("", |finding| &finding.text));
            status.set_description(format!("{}\n\n{trace}", texts.join("\n")));
            status
        }
        Outcome::Known => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("known: {}", findings.first().map_or("", known)));
            let texts: Vec<_> = findings.iter().map(one_line).collect();
            status.set_description(texts.join("\n"));
            status
        }
        Outcome::NotApplicable(_) | Outcome::LeftOut(_) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(outcome.to_string());
            status
        }
    };
    let mut test = TestCase::new(format!("{} ({role}, {variant})", case.name), status);
    test.set_classname(case.group.as_str()).set_time(Duration::from_nanos(*time));
    test
}

fn one_line(finding: &Finding) -> String {
    let known = if finding.known.is_some() { format!("; known: {}", known(finding)) } else { String::new() };
    format!("{} ({}){known}", finding.text, finding.statements.join(" "))
}

fn known(finding: &Finding) -> &str {
    finding.known.as_ref().map_or("", |known| &known.does)
}
