//! What was found out about the peer that weighs more than any finding: that it was gone.

use maud::{Markup, html};

use super::bytes;
use crate::suite::report::{Fact, Report};

/// Each time that it was gone, or nothing.
pub(super) fn section(report: &Report) -> Markup {
    let gone: Vec<_> = report.peer.iter().filter(|fact| matches!(fact, Fact::Gone(_))).collect();
    html! {
        @if !gone.is_empty() {
            section #peer data-group="" {
                h2 { "The peer was gone" }
                @for fact in gone { (one(fact)) }
            }
        }
    }
}

fn one(fact: &Fact) -> Markup {
    let Fact::Gone(gone) = fact else { return html! {} };
    html! {
        article.finding data-result="failed" {
            h3 { span.told { "The peer: " (fact.in_short()) } }
            p.where { a href=(format!("#case-{}", gone.after.case)) { (gone.after.case) } }
            @if !gone.seen.is_empty() {
                p.quiet { "Behind the last message of the script:" }
                ul { @for event in &gone.seen { li { (event) } } }
            }
            div.messages {
                @for packet in &gone.sent { (bytes::message("Sent by the script", Some(packet))) }
            }
        }
    }
}
