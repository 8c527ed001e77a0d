//! Small elements that many parts of the page use.

use maud::{Markup, html};
use smbd_core::wire::NtStatus;

use crate::suite::outcome::Outcome;
use crate::suite::report::{CaseResult, Verdict};
use crate::suite::trace::{Packet, shown};

/// How a case ended, in words.
pub(super) const fn result(result: CaseResult) -> &'static str {
    match result {
        CaseResult::Passed => "passed",
        CaseResult::Failed => "failed",
        CaseResult::Known => "known",
        CaseResult::NotJudged => "not judged",
        CaseResult::NotApplicable => "not applicable",
        CaseResult::LeftOut => "left out",
    }
}

/// As the filter and the style sheet know it.
pub(super) const fn result_class(result: CaseResult) -> &'static str {
    match result {
        CaseResult::Passed => "passed",
        CaseResult::Failed => "failed",
        CaseResult::Known => "known",
        CaseResult::NotJudged => "unjudged",
        CaseResult::NotApplicable | CaseResult::LeftOut => "unplayed",
    }
}

/// The same of a play.
pub(super) const fn outcome_class(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Failed => "failed",
        Outcome::Known => "known",
        Outcome::NotJudged(_) => "unjudged",
        Outcome::NotApplicable(_) | Outcome::LeftOut(_) => "unplayed",
    }
}

/// What a run says about a statement, in words.
pub(super) const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "passed",
        Verdict::Broken => "failed",
        Verdict::Known => "known",
        Verdict::DoesNot => "does not",
        Verdict::NotAsserted => "not asserted",
        Verdict::Excepted => "excepted",
    }
}

/// As the filter and the style sheet know it.
pub(super) const fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "passed",
        Verdict::Broken => "failed",
        Verdict::Known => "known",
        Verdict::NotAsserted => "unplayed",
        Verdict::DoesNot | Verdict::Excepted => "excepted",
    }
}

/// A number and what it counts.
pub(super) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A text of the catalogue, in which names of code are between backticks.
pub(super) fn prose(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Nanoseconds, in the unit that suits them.
pub(super) fn time(nanos: u64) -> String {
    let (micros, millis) = (nanos / 1000, nanos / 1_000_000);
    match millis {
        0 => format!("{micros} µs"),
        1..1000 => format!("{millis}.{:03} ms", micros % 1000),
        _ => format!("{}.{:03} s", millis / 1000, millis % 1000),
    }
}

/// The value of a field, as people write it.
pub(super) fn value(name: &str, value: u64) -> String {
    match name {
        "Status" => {
            u32::try_from(value).map_or_else(|_| value.to_string(), |code| NtStatus(code).to_string())
        }
        _ => shown(name, value),
    }
}

/// `of`, for a message of which only the first bytes are kept.
pub(super) fn kept(packet: &Packet) -> String {
    if packet.bytes.len() < packet.len {
        format!("the first {} of {} bytes", packet.bytes.len(), packet.len)
    } else {
        counted(packet.len, "byte")
    }
}

/// A text in lines of at most `width` characters, at most `lines` of them. Words that are longer are cut.
pub(super) fn wrapped(text: &str, width: usize, lines: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let mut rest: Vec<char> = word.chars().collect();
        while !rest.is_empty() {
            let gap = usize::from(used > 0);
            if used > 0 && used + gap + rest.len() > width {
                if all.len() == lines {
                    if let Some(last) = all.last_mut() {
                        last.push_str(" …");
                    }
                    return all;
                }
                all.push(String::new());
                used = 0;
                continue;
            }
            let piece = rest.len().min(width);
            if let Some(last) = all.last_mut() {
                last.extend(std::iter::repeat_n(' ', gap).chain(rest.drain(..piece)));
            }
            used += gap + piece;
        }
    }
    all
}
