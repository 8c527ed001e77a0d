//! A diagram as SVG.

use maud::{Markup, html};

use super::layout::{self, NAMES, Place, SCRIPT, SUBJECT, WIDTH};
use super::rows::{Look, Row};
use crate::suite::outcome::Played;
use crate::suite::report::html::words;
use crate::suite::trace::By;

/// Between a lifeline and the text of a note.
const GAP: u32 = 12;
/// Half of what a band is wider than the room between the lifelines.
const EDGE: u32 = 8;

pub(super) fn draw(played: &Played, rows: &[Row]) -> Markup {
    let (places, height) = layout::places(rows);
    let view = format!("0 0 {WIDTH} {height}");
    let label = format!("Messages of {}, {} under test, {}", played.case, played.role, played.variant);
    let subject = format!("subject, {}", played.role);
    let times = times(rows);
    html! {
        svg.sequence viewBox=(view) width=(WIDTH) height=(height) role="group" aria-label=(label) {
            path.life d=(format!("M{SCRIPT} {NAMES}V{height}M{SUBJECT} {NAMES}V{height}")) {}
            (name(SCRIPT, "script"))
            (name(SUBJECT, &subject))
            @for ((row, place), time) in rows.iter().zip(&places).zip(times) {
                (one(row, place, time.as_deref()))
            }
        }
    }
}

fn name(middle: u32, name: &str) -> Markup {
    html! {
        rect.name x=(middle - 76) y="4" width="152" height=(NAMES - 8) rx="6" {}
        text.name x=(middle) y=(NAMES - 14) { (name) }
    }
}

/// The time of each row that is not that of the row before.
fn times(rows: &[Row]) -> Vec<Option<String>> {
    let mut last = None;
    let mut new = |row: &Row| {
        let time = row.at.map(words::time)?;
        (last.as_ref() != Some(&time)).then(|| last.insert(time).clone())
    };
    rows.iter().map(&mut new).collect()
}

fn one(row: &Row, place: &Place, time: Option<&str>) -> Markup {
    let (class, drawn) = match row.look {
        Look::Arrow(by, class) => (class, arrow(by, row, place)),
        Look::Note(by, class) => (class, note(by, row, place)),
        Look::Band(class) => (class, band(class, row, place)),
    };
    let first = place.baselines.first().copied().unwrap_or(place.top);
    html! {
        g class=(class) {
            @if let Some(bytes) = &row.bytes { title { (bytes) } }
            @if let Some(time) = time { text.time x=(SCRIPT - GAP) y=(first) { (time) } }
            (drawn)
        }
    }
}

fn arrow(by: By, row: &Row, place: &Place) -> Markup {
    let (from, to, tip) = match by {
        By::Script => (SCRIPT, SUBJECT, "-7-4 7 4-7 4"),
        By::Subject => (SUBJECT, SCRIPT, "7-4-7 4 7 4"),
    };
    let middle = u32::midpoint(SCRIPT, SUBJECT);
    html! {
        path d=(format!("M{from} {}H{to}m{tip}", place.line)) {}
        @for (index, (line, y)) in row.lines.iter().zip(&place.baselines).enumerate() {
            @if index == 0 { text.kind x=(middle) y=(y) { (line) } } @else { text.field x=(middle) y=(y) { (line) } }
        }
    }
}

fn note(by: By, row: &Row, place: &Place) -> Markup {
    let (x, class, text) = match by {
        By::Script => (SCRIPT, "left", SCRIPT + GAP),
        By::Subject => (SUBJECT, "right", SUBJECT - GAP),
    };
    html! {
        circle cx=(x) cy=(place.line) r="3.5" {}
        @for (line, y) in row.lines.iter().zip(&place.baselines) { text class=(class) x=(text) y=(y) { (line) } }
    }
}

fn band(class: &str, row: &Row, place: &Place) -> Markup {
    let (top, height) = (place.top + 3, place.bottom.saturating_sub(place.top + 6));
    let middle = u32::midpoint(SCRIPT, SUBJECT);
    let drawn = html! {
        @if matches!(class, "more" | "finding" | "connection") {
            rect x=(SCRIPT - EDGE) y=(top) width=(SUBJECT - SCRIPT + 2 * EDGE) height=(height) rx="4" {}
        }
        @for (line, y) in row.lines.iter().zip(&place.baselines) { text.across x=(middle) y=(y) { (line) } }
    };
    html! {
        @match row.finding {
            Some(number) => a href=(format!("#finding-{number}")) { (drawn) },
            None => (drawn),
        }
    }
}
