//! Reports as a table.

use std::fmt::Write as _;

use super::explore::{Report, Verdict};

/// A table in Markdown, one row for each report.
#[must_use]
pub fn table(reports: &[Report]) -> String {
    let mut text = String::from(
        "| configuration | what is in it | states | steps | longest shortest way | states of one side | ends | result |\n\
         |---|---|---:|---:|---:|---:|---:|---|\n",
    );
    for report in reports {
        let result = match &report.verdict {
            Verdict::Holds => "holds".to_owned(),
            Verdict::Unfinished => "stopped".to_owned(),
            Verdict::Broken(finding) => format!("{}, {} steps", finding.what, finding.steps.len()),
        };
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} | {} | {result} |",
            report.name,
            report.about,
            grouped(report.progress.states),
            grouped(report.progress.steps),
            report.progress.depth,
            grouped(report.locals),
            grouped(report.ends),
        );
    }
    text
}

/// With a comma between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
