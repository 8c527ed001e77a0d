//! Selects the events of a play that are shown: repeated events become one band, and so does the middle of a long play.

use std::mem::{Discriminant, discriminant};

use crate::suite::outcome::Played;
use crate::suite::trace::{By, Event, Kind, Packet, What};

/// Longest sequences that are recognised when they come again: first short ones, such as a message and the receive posted
/// for the next; then longer ones, of which the folded short ones may be part.
const PERIODS: [usize; 2] = [3, 24];
/// Times a repeated sequence is shown: twice before the band, once behind it.
const TIMES_SHOWN: usize = 3;
/// Fewer events than these are rather shown than folded.
const FOLDED_MIN: usize = 6;
/// Items of a diagram that are all shown.
const ITEMS_MAX: usize = 90;
/// Of more, so many are shown from the beginning,
const SHOWN_FIRST: usize = 45;
/// and so many from the end,
const SHOWN_LAST: usize = 30;
/// and these many findings with what is around them.
const FINDINGS_SHOWN: usize = 8;
/// and these many steps, by which the case says where it is.
const STEPS_SHOWN: usize = 16;
/// Items shown before a finding; one is shown behind it.
const BEFORE_FINDING: usize = 5;

/// Something to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item<'a> {
    Event(&'a Event),
    /// By its place in the play.
    Finding(usize),
    More(More),
}

/// What is not shown, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct More {
    /// Messages of the script.
    pub(super) script: u64,
    /// Messages of the subject.
    pub(super) subject: u64,
    /// Other events.
    pub(super) others: u64,
    pub(super) findings: u64,
    /// Events that the recording does not have.
    pub(super) unkept: u64,
    /// It is like what is shown around it.
    pub(super) alike: bool,
}

impl More {
    pub(super) const fn events(&self) -> u64 {
        self.script + self.subject + self.others + self.findings + self.unkept
    }

    fn add(&mut self, item: &Item<'_>) {
        match item {
            Item::Finding(_) => self.findings += 1,
            Item::More(more) => {
                self.script += more.script;
                self.subject += more.subject;
                self.others += more.others;
                self.findings += more.findings;
                self.unkept += more.unkept;
            }
            Item::Event(Event { what: What::Message(_), by: By::Script, .. }) => self.script += 1,
            Item::Event(Event { what: What::Message(_), by: By::Subject, .. }) => self.subject += 1,
            Item::Event(_) => self.others += 1,
        }
    }

    fn of(items: &[Item<'_>]) -> Self {
        let mut more = Self::default();
        items.iter().for_each(|item| more.add(item));
        more
    }
}

/// What is shown of a play.
pub(super) fn items(played: &Played) -> Vec<Item<'_>> {
    shortened(PERIODS.into_iter().fold(recorded(played), without_repetitions))
}

/// Everything in the recording, and findings that have no place in it where their time is.
fn recorded(played: &Played) -> Vec<Item<'_>> {
    let trace = &played.trace;
    let marked = |index: usize| {
        trace.events().any(|event| matches!(event.what, What::Finding { index: at } if at == index))
    };
    let unmarked = (0..played.findings.len()).filter(|index| !marked(*index));
    let mut unmarked = unmarked.map(|index| (played.findings[index].at, index)).collect::<Vec<_>>();
    unmarked.sort_unstable();
    let mut unmarked = unmarked.into_iter().peekable();
    let mut items = Vec::new();
    for (place, event) in trace.events().enumerate() {
        if place == trace.kept_first() && trace.left_out() > 0 {
            items.push(Item::More(More { unkept: trace.left_out(), ..More::default() }));
        }
        while let Some((_, index)) = unmarked.next_if(|(at, _)| *at < event.at) {
            items.push(Item::Finding(index));
        }
        items.push(match event.what {
            What::Finding { index } => Item::Finding(index),
            _ => Item::Event(event),
        });
    }
    items.extend(unmarked.map(|(_, index)| Item::Finding(index)));
    items
}

fn without_repetitions(items: Vec<Item<'_>>, period_max: usize) -> Vec<Item<'_>> {
    let kinds = kinds(&items);
    let mut shown = Vec::new();
    let mut at = 0;
    while at < items.len() {
        let Some((period, folded)) = repetition(&kinds[at..], period_max) else {
            shown.push(items[at].clone());
            at += 1;
            continue;
        };
        let (from, to) = (at + (TIMES_SHOWN - 1) * period, at + (TIMES_SHOWN - 1) * period + folded);
        shown.extend_from_slice(&items[at..from]);
        shown.push(Item::More(More { alike: true, ..More::of(&items[from..to]) }));
        shown.extend_from_slice(&items[to..to + period]);
        at = to + period;
    }
    shown
}

/// How long the sequence is that begins here and comes again and again, and how many events of it need not be shown.
fn repetition(kinds: &[usize], period_max: usize) -> Option<(usize, usize)> {
    let of = |period: usize| {
        let same = kinds.iter().zip(kinds.get(period..)?).take_while(|(one, next)| one == next).count();
        let times = same / period + 1;
        Some((period, times.saturating_sub(TIMES_SHOWN) * period))
    };
    let all = (1..=period_max).filter_map(of).filter(|(_, folded)| *folded >= FOLDED_MIN);
    all.max_by_key(|(period, folded)| (*folded, period_max - period))
}

fn shortened(items: Vec<Item<'_>>) -> Vec<Item<'_>> {
    let count = items.len();
    if count <= ITEMS_MAX {
        return items;
    }
    let mut keep: Vec<bool> = (0..count).map(|at| at < SHOWN_FIRST || at + SHOWN_LAST >= count).collect();
    let findings = items.iter().enumerate().filter(|(_, item)| matches!(item, Item::Finding(_)));
    for (at, _) in findings.take(FINDINGS_SHOWN) {
        keep[at.saturating_sub(BEFORE_FINDING)..(at + 2).min(count)].fill(true);
    }
    let is_step = |item: &Item<'_>| matches!(item, Item::Event(Event { what: What::Step { .. }, .. }));
    let steps = items.iter().enumerate().filter(|(_, item)| is_step(item));
    for (at, _) in steps.take(STEPS_SHOWN) {
        keep[at] = true;
    }
    let mut shown = Vec::new();
    let mut at = 0;
    for run in keep.chunk_by(|one, next| one == next) {
        let part = &items[at..at + run.len()];
        at += run.len();
        if run[0] || part.len() < FOLDED_MIN {
            shown.extend_from_slice(part);
        } else {
            shown.push(Item::More(More::of(part)));
        }
    }
    shown
}

/// A number for each item, the same for those that are alike.
fn kinds<'a>(items: &[Item<'a>]) -> Vec<usize> {
    let mut known: Vec<Likeness<'a>> = Vec::new();
    let mut kinds = Vec::with_capacity(items.len());
    let mut connection = 0;
    for (at, item) in items.iter().enumerate() {
        let likeness = match item {
            Item::Event(event) => {
                let changes = event.connection != connection;
                connection = event.connection;
                Likeness::of(event, changes)
            }
            Item::More(more) if more.alike => Likeness::More(more.clone()),
            // Findings and gaps are like nothing else.
            Item::Finding(_) | Item::More(_) => {
                kinds.push(usize::MAX - at);
                continue;
            }
        };
        let place = known.iter().position(|one| *one == likeness);
        kinds.push(place.unwrap_or(known.len()));
        if place.is_none() {
            known.push(likeness);
        }
    }
    kinds
}

/// What makes items alike: all that a reader would look at.
#[derive(PartialEq, Eq)]
enum Likeness<'a> {
    Event {
        by: By,
        /// It is on another connection than the event before.
        changes: bool,
        what: Discriminant<What>,
        detail: Detail<'a>,
    },
    More(More),
}

#[derive(PartialEq, Eq)]
enum Detail<'a> {
    None,
    Text(&'a str),
    Negotiate(Kind, &'a [u8]),
    /// Without the sizes, which differ from fragment to fragment.
    Data {
        fields: Vec<u64>,
        invalidates: bool,
    },
}

impl<'a> Likeness<'a> {
    fn of(event: &'a Event, changes: bool) -> Self {
        let detail = match &event.what {
            What::Message(packet) => Detail::message(packet),
            What::ConnectFailed { reason: text }
            | What::WorkFailed { text }
            | What::Upper { text }
            | What::Step { text } => Detail::Text(text),
            _ => Detail::None,
        };
        Self::Event { by: event.by, changes, what: discriminant(&event.what), detail }
    }
}

impl<'a> Detail<'a> {
    fn message(packet: &'a Packet) -> Self {
        if packet.kind != Kind::DataTransfer {
            return Self::Negotiate(packet.kind, &packet.bytes);
        }
        let telling = |(name, value): (&str, u64)| match name {
            "CreditsGranted" => 0,
            "CreditsRequested" | "RemainingDataLength" | "DataLength" => value.min(1),
            _ => value,
        };
        Self::Data {
            fields: packet.fields().map(telling).collect(),
            invalidates: packet.invalidates.is_some(),
        }
    }
}
