//! The page: the subject of the run, its result, and all sections.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::book::Book;
use super::words::counted;
use super::{case, findings, matrix, peer};
use crate::suite::report::{Counts, Report, SectionReport};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Nothing is loaded from anywhere, nothing is sent anywhere.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    base-uri 'none'; form-action 'none'";

/// All of it.
pub(super) fn page(report: &Report) -> Markup {
    let book = Book::of(report);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "SMB Direct conformance of " (report.target) ": " (verdict(report)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(&book))
                (filter(&book))
                main {
                    (peer::section(report))
                    (findings::section(&book))
                    (findings::no_longer_found(&book))
                    (matrix::section(&book))
                    (case::section(&book))
                }
                footer { p.quiet { "smbd-conformance: the statements of MS-SMBD, and cases that show whether a peer meets them." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// In one sentence.
fn verdict(report: &Report) -> String {
    let Counts { passed, failed, known, not_judged, .. } = report.totals.cases;
    let unjudged = match not_judged {
        0 => String::new(),
        _ => format!(", {not_judged} not judged"),
    };
    verdict_of(passed, failed, known) + &unjudged
}

fn verdict_of(passed: usize, failed: usize, known: usize) -> String {
    match (passed, failed) {
        (_, 0) if known > 0 => {
            format!("of {} cases played {known} failed, each as known", passed.saturating_add(known))
        }
        (_, failed) if known > 0 => {
            let played = passed.saturating_add(failed).saturating_add(known);
            format!("{failed} of {played} cases played failed, {known} more as known")
        }
        (0, 0) => "no case was played".into(),
        (1, 0) => "the only case played passed".into(),
        (_, 0) => format!("all {passed} cases played passed"),
        (_, failed) => format!("{failed} of {} cases played failed", passed.saturating_add(failed)),
    }
}

fn head(book: &Book<'_>) -> Markup {
    let Report { target, variants, totals, .. } = book.report;
    let class = match (book.report.passed(), totals.cases.passed) {
        (false, _) => "failed",
        (true, 0) => "unjudged",
        (true, _) if !book.report.judged() => "unjudged",
        (true, _) => "passed",
    };
    html! {
        header class=(class) {
            p.kind { "SMB Direct conformance" }
            h1 { (capital(&verdict(book.report))) }
            dl.about {
                dt { "target" } dd { (target) }
                dt { "variants" } dd { (variants.join(", ")) }
                @for (name, text) in book.report.origin() {
                    dt { (name) } dd { (text) }
                }
                @if let Some(profile) = &book.report.profile {
                    dt { "profile" } dd {
                        (profile.name)
                        @if !profile.no_longer_found.is_empty() {
                            ", " a href="#no-longer-found" { (profile.no_longer_found.len()) " no longer found" }
                        }
                    }
                }
                @for fact in &book.report.peer {
                    dt { "peer" } dd { (fact.in_short()) }
                }
                @if !book.findings.is_empty() {
                    dt { "findings" } dd { a href="#findings" { (book.findings.len()) } }
                }
                @if totals.not_reached > 0 {
                    dt { "not reached" } dd { (counted(totals.not_reached, "case")) ": the run was ended" }
                }
            }
            div.totals {
                (statements(&totals.statements))
                (counts("cases", totals.cases))
                (counts("plays", totals.plays))
            }
        }
    }
}

fn statements(counts: &SectionReport) -> Markup {
    let SectionReport { statements, covered, excepted, asserted, held, broken, known, does_not, .. } =
        *counts;
    let parts = [
        ("passed", "passed", held),
        ("failed", "failed", broken),
        ("known", "known", known),
        ("excepted", "not done, and need not be", does_not),
        ("unplayed", "not asserted", covered.saturating_sub(asserted)),
        ("excepted", "excepted", excepted),
    ];
    total("requirements", statements, &format!("{covered} covered, {excepted} excepted"), &parts)
}

fn counts(name: &str, counts: Counts) -> Markup {
    let Counts { passed, failed, known, not_judged, not_applicable, left_out } = counts;
    let parts = [
        ("passed", "passed", passed),
        ("failed", "failed", failed),
        ("known", "known", known),
        ("unjudged", "not judged", not_judged),
        ("unplayed", "not applicable", not_applicable),
        ("excepted", "left out", left_out),
    ];
    let note = if name == "plays" { "one for each role and variant" } else { "chosen for this run" };
    total(name, passed + failed + known + not_judged + not_applicable + left_out, note, &parts)
}

/// A sum with its parts: class, name and number of each.
fn total(name: &str, sum: usize, note: &str, parts: &[(&str, &str, usize)]) -> Markup {
    let bar: Vec<_> = parts.iter().map(|(class, _, count)| (*class, *count)).collect();
    html! {
        div.total {
            p.sum { strong { (sum) } " " (name) }
            p.quiet { (note) }
            (matrix::parts_bar(&bar))
            ul {
                @for (class, what, count) in parts.iter().filter(|(_, what, count)| *count > 0 || *what == "failed") {
                    li class=(class) { strong { (count) } " " (what) }
                }
            }
        }
    }
}

/// Where to go, and what to see; the script shows the second half.
fn filter(book: &Book<'_>) -> Markup {
    html! {
        nav {
            span.links {
                @if !book.findings.is_empty() {
                    a href="#findings" { "Findings " span.number { (book.findings.len()) } }
                }
                a href="#matrix" { "Requirements" }
                a href="#cases" { "Cases" }
            }
            form #filter hidden {
                input type="search" name="text" placeholder="Filter by text" aria-label="Filter by text" autocomplete="off";
                select name="result" aria-label="Filter by result" {
                    option value="" { "any result" }
                    option value="failed" { "failed" }
                    option value="known" { "known" }
                    option value="passed" { "passed" }
                    option value="unjudged" { "not judged" }
                    option value="unplayed" { "not played or asserted" }
                    option value="excepted" { "excepted" }
                }
                button type="button" name="open" { "Open all" }
                button type="button" name="close" { "Close all" }
                output aria-live="polite" {}
            }
        }
    }
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

#[cfg(test)]
pub(super) const fn assets() -> [&'static str; 2] {
    [STYLE, SCRIPT]
}
