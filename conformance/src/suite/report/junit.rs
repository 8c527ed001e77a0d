//! A report as JUnit XML: a test suite for each group, a test case for each play.

use std::io::{self, Write};
use std::time::Duration;

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::{CaseReport, Fact, Report};
use crate::suite::outcome::{Finding, Outcome, Played};

/// Writes it. Of a run that was ended, the cases it did not come to are skipped, and the run itself is an error: whoever
/// looks at failures only must not take it for one that went well.
///
/// # Errors
/// Those of `out`.
pub fn write(report: &Report, out: impl Write) -> io::Result<()> {
    let mut document = quick_junit::Report::new(format!("smbd-conformance, target {}", report.target));
    let mut suites = Suites { of: report, all: Vec::new() };
    for case in &report.cases {
        suites.group(&case.group).add_test_cases(case.plays.iter().map(|played| test_case(case, played)));
    }
    for case in &report.not_reached {
        let plays =
            case.roles.iter().flat_map(|role| report.variants.iter().map(move |variant| (role, variant)));
        suites.group(&case.group).add_test_cases(plays.map(|(role, variant)| {
            let mut status = TestCaseStatus::skipped();
            status.set_message("not reached: the run was ended");
            test(&case.name, &case.group, (role, variant), status)
        }));
    }
    for fact in &report.peer {
        // Whoever looks at failures only learns of a peer that is gone, and of it first.
        if let Fact::Gone(gone) = fact {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(fact.in_short());
            status.set_description(fact.to_string());
            let mut whole = TestCase::new(format!("the peer lives after {}", gone.after), status);
            whole.set_classname("run");
            suites.group("run").add_test_case(whole);
        }
    }
    if !report.not_reached.is_empty() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_message(format!("the run was ended: {} cases not reached", report.not_reached.len()));
        let mut whole = TestCase::new("the run comes to its end", status);
        whole.set_classname("run");
        suites.group("run").add_test_case(whole);
    }
    document.add_test_suites(suites.all);
    document.serialize(out).map_err(io::Error::other)
}

/// A suite for each group, in the order of the catalogue. Each has where the report comes from: JUnit has no place for that
/// above them.
struct Suites<'a> {
    of: &'a Report,
    all: Vec<TestSuite>,
}

impl Suites<'_> {
    fn group(&mut self, name: &str) -> &mut TestSuite {
        let at = self.all.iter().position(|suite| suite.name.as_str() == name).unwrap_or_else(|| {
            let mut suite = TestSuite::new(name);
            if let Some(about) = &self.of.about {
                suite.extra.insert("timestamp".into(), about.date.as_str().into());
            }
            for property in self.of.origin() {
                suite.add_property(property);
            }
            for fact in &self.of.peer {
                suite.add_property(("peer", fact.in_short().as_str()));
            }
            self.all.push(suite);
            self.all.len() - 1
        });
        &mut self.all[at]
    }
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
        Outcome::NotJudged(_) | Outcome::NotApplicable(_) | Outcome::LeftOut(_) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(outcome.to_string());
            status
        }
    };
    let mut test = test(&case.name, &case.group, (role, variant), status);
    test.set_time(Duration::from_nanos(*time));
    test
}

fn test(case: &str, group: &str, (role, variant): (&str, &str), status: TestCaseStatus) -> TestCase {
    let mut test = TestCase::new(format!("{case} ({role}, {variant})"), status);
    test.set_classname(group);
    test
}

fn one_line(finding: &Finding) -> String {
    let known = if finding.known.is_some() { format!("; known: {}", known(finding)) } else { String::new() };
    format!("{} ({}){known}", finding.text, finding.statements.join(" "))
}

fn known(finding: &Finding) -> &str {
    finding.known.as_ref().map_or("", |known| &known.does)
}
