//! Findings: section and requirement, expected and actual values, and the bytes.

use maud::{Markup, html};

use super::book::{Book, Found};
use super::{bytes, words};
use crate::suite::{KnownFinding, Lost};

/// All findings, or nothing.
pub(super) fn section(book: &Book<'_>) -> Markup {
    html! {
        @if !book.findings.is_empty() {
            section #findings data-group="" {
                h2 { "Findings" }
                @for (index, found) in book.findings.iter().enumerate() {
                    (finding(book, index + 1, found))
                }
            }
        }
    }
}

/// What the profile knows and was not found, or nothing.
pub(super) fn no_longer_found(book: &Book<'_>) -> Markup {
    let lost = book.report.profile.iter().flat_map(|profile| &profile.no_longer_found);
    let lost: Vec<_> = lost.collect();
    html! {
        @if !lost.is_empty() {
            section #no-longer-found data-group="" {
                h2 { "Known and no longer found" }
                @for Lost { case, role, text, known } in lost {
                    article.finding data-result="known" {
                        h3 { span.told { (text) } }
                        p.where { a href=(format!("#case-{case}")) { (case) } " · " (role) " under test" }
                        (what_is_known(known))
                    }
                }
            }
        }
    }
}

/// What a profile says about a finding.
fn what_is_known(known: &KnownFinding) -> Markup {
    let KnownFinding { issue, does, evidence } = known;
    html! {
        p { span.verdict.known { "known" @if let Some(issue) = issue { " " (issue) } } " " (words::prose(does)) }
        p.quiet { "Evidence: " (words::prose(evidence)) }
    }
}

fn finding(book: &Book<'_>, number: usize, found: &Found<'_>) -> Markup {
    let Found { case, role, variants, finding, differs } = found;
    let result = if finding.known.is_some() { "known" } else { "failed" };
    html! {
        article.finding id=(format!("finding-{number}")) data-result=(result) {
            h3 { span.number { (number) } " " span.told { (finding.text) } }
            p.where {
                a href=(format!("#case-{}", case.name)) { (case.name) }
                " · " (role) " under test · " (variants.join(", ")) " · at " (words::time(finding.at))
                @if let Some(connection) = finding.connection.filter(|number| *number > 0) {
                    " · connection " (connection + 1)
                }
            }
            @if finding.statements.is_empty() {
                p.quiet { "About no statement: about the play as a whole." }
            }
            @if let Some(known) = &finding.known { (what_is_known(known)) }
            (requirements(book, &finding.statements))
            @if finding.sent.is_some() || finding.came.is_some() {
                @if *differs { p.quiet { "The messages of " (variants.first().copied().unwrap_or_default()) "; elsewhere they differ." } }
                div.messages {
                    (bytes::message("Last sent by the script", finding.sent.as_ref()))
                    (bytes::message("Last come from the subject", finding.came.as_ref()))
                }
            }
        }
    }
}

/// Statements with section, level and text.
pub(super) fn requirements(book: &Book<'_>, ids: &[String]) -> Markup {
    html! {
        @if !ids.is_empty() {
            ul.requirements {
                @for id in ids {
                    li {
                        a.id href=(format!("#statement-{id}")) { (id) }
                        @if let Some(known) = book.statement(id) { " " (level(&known.level)) " " span { (words::prose(&known.text)) } }
                    }
                }
            }
        }
    }
}

/// How binding a statement is.
pub(super) fn level(level: &str) -> Markup {
    html! { span class=(format!("level {}", level.to_lowercase())) { (level) } }
}
