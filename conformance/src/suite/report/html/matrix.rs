//! The matrix: statements by section, and the result of each.

use maud::{Markup, html};

use super::book::Book;
use super::{findings, words};
use crate::suite::report::{SectionReport, StatementReport, Verdict};

/// Cases of a statement that are shown at once; more are behind their number.
const CASES_SHOWN: usize = 3;

/// All sections.
pub(super) fn section(book: &Book<'_>) -> Markup {
    let report = book.report;
    html! {
        section #matrix {
            h2 { "Requirements by section" }
            p.quiet { "Each section opens to its statements: how binding each is, what it says, and which cases assert it." }
            div.matrix {
                @for sections in report.documents() {
                    (head(sections.first().map_or("", |section| section.document.as_str())))
                    @for one in sections {
                        details data-group="" id=(format!("section-{}", one.section)) {
                            summary { (row(&one.section, one)) }
                            ul.statements {
                                @for known in statements_of(book, &one.section) { (statement(book, known)) }
                            }
                        }
                    }
                }
                (row("all", &report.totals.statements))
            }
        }
    }
}

fn head(document: &str) -> Markup {
    html! {
        div.row.head {
            span { (document) }
            @for name in ["statements", "covered", "excepted", "asserted", "passed", "failed", "known"] {
                span.count { (name) }
            }
            span.bar {}
        }
    }
}

fn statements_of<'a>(book: &Book<'a>, section: &str) -> impl Iterator<Item = &'a StatementReport> {
    let all = book.report.statements.iter();
    all.filter(move |known| known.id.rsplit_once('-').is_some_and(|(of, _)| of == section))
}

fn row(name: &str, counts: &SectionReport) -> Markup {
    let SectionReport { title, statements, covered, excepted, asserted, held, broken, known, .. } = counts;
    html! {
        div.row.sum[name == "all"] {
            span.name { (name) @if !title.is_empty() { " " span.title { (title) } } }
            @for count in [statements, covered, excepted, asserted] {
                span.count.zero[*count == 0] { (count) }
            }
            span.count.passed.zero[*held == 0] { (held) }
            span.count.failed.zero[*broken == 0] { (broken) }
            span.count.known.zero[*known == 0] { (known) }
            (bar(counts))
        }
    }
}

/// Passed, failed, known, not asserted and excepted as one bar.
pub(super) fn bar(counts: &SectionReport) -> Markup {
    let SectionReport { covered, excepted, asserted, held, broken, known, does_not, .. } = *counts;
    let parts = [
        ("passed", held),
        ("failed", broken),
        ("known", known),
        ("excepted", does_not),
        ("unplayed", covered.saturating_sub(asserted)),
        ("excepted", excepted),
    ];
    parts_bar(&parts)
}

/// A bar of parts by class and count.
pub(super) fn parts_bar(parts: &[(&str, usize)]) -> Markup {
    html! {
        span.bar aria-hidden="true" {
            @for (class, count) in parts.iter().filter(|(_, count)| *count > 0) {
                i class=(class) style=(format!("flex-grow:{count}")) {}
            }
        }
    }
}

fn statement(book: &Book<'_>, known: &StatementReport) -> Markup {
    let StatementReport { id, level, role, text, verdict, cases, exception } = known;
    html! {
        li.statement id=(format!("statement-{id}")) data-result=(words::verdict_class(*verdict)) {
            p {
                a.id href=(format!("#statement-{id}")) { (id) } " "
                (findings::level(level)) " "
                span.role { (role) } " "
                @if *verdict != Verdict::Excepted {
                    span class=(format!("verdict {}", words::verdict_class(*verdict))) { (words::verdict(*verdict)) }
                }
            }
            p { (words::prose(text)) }
            @if let Some(reason) = exception {
                @let (kind, argument) = reason.split_once(": ").unwrap_or(("excepted", reason));
                details.reason {
                    summary { span.verdict.excepted { "excepted" } " " (kind) }
                    p { (words::prose(argument)) }
                }
            }
            (asserting(book, cases))
        }
    }
}

fn asserting(book: &Book<'_>, cases: &[String]) -> Markup {
    html! {
        @if cases.len() > CASES_SHOWN {
            details.by { summary { (words::counted(cases.len(), "case")) } (names(book, cases)) }
        } @else if !cases.is_empty() {
            div.by { (names(book, cases)) }
        }
    }
}

fn names(book: &Book<'_>, cases: &[String]) -> Markup {
    html! {
        ul {
            @for name in cases {
                li {
                    @match book.case(name) {
                        Some(case) => a class=(words::result_class(case.result)) href=(format!("#case-{name}")) { (name) },
                        None => span.absent title="not in this run" { (name) },
                    }
                }
            }
        }
    }
}
