//! Cases: results, steps, expectations, and messages.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::book::Book;
use super::{diagram, findings, words};
use crate::suite::outcome::{Outcome, Played};
use crate::suite::report::{CaseReport, CaseResult};

/// Message sequences drawn of one case.
pub const DRAWN_MAX: usize = 4;

/// All cases, by group.
pub(super) fn section(book: &Book<'_>) -> Markup {
    let cases: Vec<_> = book.report.cases.iter().enumerate().collect();
    html! {
        section #cases {
            h2 { "Cases" }
            @for group in cases.chunk_by(|(_, one), (_, next)| one.group == next.group) {
                @let name = group.first().map_or("", |(_, case)| case.group.as_str());
                div.group data-group="" {
                    h3 { (name) " " span.quiet { (words::counted(group.len(), "case")) } }
                    @let is_out = |case: &CaseReport| case.result == CaseResult::NotApplicable;
                    @for (index, case) in group.iter().filter(|(_, case)| !is_out(case)) { (one(book, *index, case)) }
                    @let out = group.iter().filter(|(_, case)| is_out(case)).count();
                    @if out > 0 {
                        details.out data-group="" {
                            summary { (words::counted(out, "case")) " not applicable" }
                            @for (index, case) in group.iter().filter(|(_, case)| is_out(case)) { (one(book, *index, case)) }
                        }
                    }
                }
            }
        }
    }
}

fn one(book: &Book<'_>, index: usize, case: &CaseReport) -> Markup {
    let class = words::result_class(case.result);
    html! {
        details.case id=(format!("case-{}", case.name)) data-result=(class) {
            summary {
                span class=(format!("verdict {class}")) { (words::result(case.result)) } " "
                span.name { (case.name) } " "
                span.plays aria-hidden="true" {
                    @for played in &case.plays {
                        @let title = format!("{}, {}: {}", played.role, played.variant, played.outcome);
                        i class=(words::outcome_class(&played.outcome)) title=(title) {}
                    }
                }
            }
            div.inside {
                @let numbers = numbers(book, index, case);
                @if !numbers.is_empty() {
                    p { "Findings: " @for number in &numbers {
                        a.number href=(format!("#finding-{number}")) { (number) } " "
                    } }
                }
                (results(case))
                div.plan {
                    (list("Steps", &case.steps))
                    (list("Expected", &case.expected))
                }
                details.asserts {
                    summary { (words::counted(case.statements.len(), "statement")) " asserted" }
                    (findings::requirements(book, &case.statements))
                }
                (sequences(book, index, case))
            }
        }
    }
}

/// Numbers of all findings of a case, each once.
fn numbers(book: &Book<'_>, index: usize, case: &CaseReport) -> Vec<usize> {
    let mut all: Vec<_> = (0..case.plays.len()).flat_map(|play| book.numbers(index, play)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Results by role and variant, and why it was not played.
fn results(case: &CaseReport) -> Markup {
    let variants: Vec<_> = unique(case.plays.iter().map(|played| played.variant.as_str()));
    let roles: Vec<_> = unique(case.plays.iter().map(|played| played.role.as_str()));
    let not_played = unique(case.plays.iter().filter_map(|played| match &played.outcome {
        Outcome::NotApplicable(reason) | Outcome::LeftOut(reason) => Some(reason.as_str()),
        Outcome::Passed | Outcome::Failed | Outcome::Known | Outcome::NotJudged(_) => None,
    }));
    let unjudged: BTreeSet<_> = case.plays.iter().filter_map(unjudged).collect();
    let facts = case.plays.iter().flat_map(|played| &played.does_not);
    let facts: BTreeSet<_> = facts.map(|fact| (fact.text.as_str(), fact.statements.join(" "))).collect();
    html! {
        @if !matches!(case.result, CaseResult::NotApplicable | CaseResult::LeftOut) {
            div.scroll {
                table.results {
                    thead { tr { th scope="col" { "under test" } @for variant in &variants { th scope="col" { (variant) } } } }
                    tbody {
                        @for role in &roles {
                            tr {
                                th scope="row" { (role) }
                                @for variant in &variants {
                                    td { @for played in case.plays.iter().filter(|p| p.role == *role && p.variant == *variant) {
                                        (play_result(played)) " "
                                    } }
                                }
                            }
                        }
                    }
                }
            }
        }
        @for (because, by) in unjudged {
            p { "Not judged: " (because) "." @if let Some(by) = by {
                " " a href=(format!("#case-{by}")) { (by) } " is about that."
            } }
        }
        @for reason in not_played { p.quiet { "Not played: " (reason) } }
        @for (text, statements) in facts { p.quiet { "Does not, and need not (" (statements) "): " (text) } }
    }
}

/// Why a play says nothing of what its case is about, and the case that does, if there is one.
fn unjudged(played: &Played) -> Option<(&str, Option<&str>)> {
    match &played.outcome {
        Outcome::NotJudged(why) => Some((&why.because, why.case.as_deref())),
        _ => None,
    }
}

fn play_result(played: &Played) -> Markup {
    let class = words::outcome_class(&played.outcome);
    html! {
        @match played.outcome {
            Outcome::Passed => span class=(format!("verdict {class}")) { "passed" },
            Outcome::Failed => span class=(format!("verdict {class}")) { "failed" },
            Outcome::Known => span class=(format!("verdict {class}")) { "known" },
            Outcome::NotJudged(_) => span class=(format!("verdict {class}")) { "not judged" },
            Outcome::NotApplicable(_) => span class=(format!("verdict {class}")) { "not applicable" },
            Outcome::LeftOut(_) => span class=(format!("verdict {class}")) { "left out" },
        }
        @if class != "unplayed" { " " span.quiet { (words::time(played.time)) } }
    }
}

fn unique<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

fn list(title: &str, lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            div { h4 { (title) } ul { @for line in lines { li { (words::prose(line)) } } } }
        }
    }
}

fn sequences(book: &Book<'_>, index: usize, case: &CaseReport) -> Markup {
    let chosen = drawn(book, index, case);
    html! {
        @for play in chosen.iter().take(DRAWN_MAX) {
            @let played = &case.plays[*play];
            figure {
                figcaption {
                    (played.role) " under test, " (played.variant) ": "
                    span class=(format!("verdict {}", words::outcome_class(&played.outcome))) {
                        (words::outcome_class(&played.outcome))
                    }
                }
                // Whoever has no pointer scrolls with keys.
                div.scroll tabindex="0" role="region" aria-label="Messages" {
                    (diagram::diagram(played, &book.numbers(index, *play)))
                }
            }
        }
        @if chosen.len() > DRAWN_MAX {
            p.quiet { (chosen.len() - DRAWN_MAX) " more recordings are not drawn; --format json has them." }
        }
    }
}

/// The plays that are drawn: for each role those that failed in a way of their own, or else one that was recorded.
fn drawn(book: &Book<'_>, index: usize, case: &CaseReport) -> Vec<usize> {
    let mut chosen = Vec::new();
    for role in unique(case.plays.iter().map(|played| played.role.as_str())) {
        let of_role = case.plays.iter().enumerate().filter(|(_, played)| played.role == role);
        let recorded: Vec<_> = of_role.filter(|(_, played)| played.trace.events().next().is_some()).collect();
        let mut told: Vec<Vec<usize>> = Vec::new();
        for (play, _) in recorded.iter().filter(|(_, played)| played.outcome.has_findings()) {
            let numbers = book.numbers(index, *play);
            if !told.contains(&numbers) {
                told.push(numbers);
                chosen.push(*play);
            }
        }
        if told.is_empty() {
            chosen.extend(recorded.first().map(|(play, _)| *play));
        }
    }
    chosen
}
