//! Which messages a change is about.

use std::time::Duration;

use smbd_conformance::catalogue::Which;
use smbd_core::Instant;

use super::act::{Kind, field};
use crate::tampered::word;

/// What is known of one side by what it and the other have said.
#[derive(Debug, Default)]
pub struct Listener {
    /// When it heard something last.
    heard: Option<Instant>,
    /// It was asked for an answer, and has said nothing since.
    asked: bool,
    /// Messages it may send.
    credits: i64,
    /// The last fragment of its message is missing.
    unfinished: bool,
    /// The other side has said something.
    spoken_to: bool,
}

/// A message, and what its sender knows.
#[derive(Debug)]
pub struct At<'a> {
    index: u64,
    bytes: &'a [u8],
    answers: bool,
    left: i64,
    continues: bool,
    silence: Duration,
    pub kind: Kind,
}

impl Listener {
    pub fn at<'a>(&self, now: Instant, index: u64, bytes: &'a [u8]) -> At<'a> {
        At {
            index,
            bytes,
            answers: self.asked,
            left: self.credits - i64::from(index > 0),
            continues: self.unfinished,
            kind: Kind::of(index, self.spoken_to),
            silence: self.heard.map_or(Duration::ZERO, |heard| now.saturating_since(heard)),
        }
    }

    /// It has said this.
    pub fn said(&mut self, index: u64, bytes: &[u8]) {
        self.asked = false;
        self.credits -= i64::from(index > 0);
        if index > 0 && word(bytes, 16, 4) > 0 {
            self.unfinished = word(bytes, 8, 4) > 0;
        }
    }

    /// It has heard this.
    pub fn heard(&mut self, now: Instant, index: u64, bytes: &[u8]) {
        self.heard = Some(now);
        self.spoken_to = true;
        self.asked |= index > 0 && word(bytes, 4, 2) & 1 == 1;
        self.credits += match (index, bytes.len()) {
            (0, 32..) => i64::from(word(bytes, 10, 2)),
            (0, _) => 0,
            _ => i64::from(word(bytes, 2, 2)),
        };
    }
}

/// A [`Which`] that counts.
#[derive(Debug)]
pub struct Picks {
    which: Option<Which>,
    /// How many there were so far, for each that counts, in order.
    counts: Vec<u32>,
}

impl Picks {
    pub fn new(which: &Which) -> Self {
        Self { which: Some(which.clone()), counts: Vec::new() }
    }

    pub const fn none() -> Self {
        Self { which: None, counts: Vec::new() }
    }

    /// Whether it is this one; asked once for each message.
    pub fn pick(&mut self, at: &At<'_>) -> bool {
        let mut next = 0;
        self.which.as_ref().is_some_and(|which| is(which, at, &mut self.counts, &mut next))
    }
}

fn is(which: &Which, at: &At<'_>, counts: &mut Vec<u32>, next: &mut usize) -> bool {
    let transfer = at.index > 0;
    let (length, remaining) = (word(at.bytes, 16, 4), word(at.bytes, 8, 4));
    let data = transfer && length > 0;
    let kind = at.kind;
    match which {
        Which::First => at.index == 0,
        Which::Refusal => kind == Kind::Response && word(at.bytes, 12, 4) != 0,
        Which::Transfer => transfer,
        Which::Data => data,
        Which::Empty => transfer && length == 0,
        Which::Asking => transfer && word(at.bytes, 4, 2) & 1 == 1,
        Which::Answer => transfer && at.answers,
        Which::Last => data && remaining == 0 && at.continues,
        Which::Unfinished => data && remaining > 0,
        Which::LastCredit => transfer && at.left == 0,
        Which::Longer(len) => at.bytes.len() > *len,
        Which::Bytes(len) => at.bytes.len() == *len,
        Which::Has(name, value) => field(kind, *name, at.bytes) == Some(*value),
        Which::After(time) => at.silence >= Duration::from_millis(*time),
        Which::Nth(number, which) => nth(which, at, counts, next) == Some(*number),
        Which::Since(number, which) => nth(which, at, counts, next).is_some_and(|count| count >= *number),
        Which::All(all) => {
            // Each is asked, so that each counts.
            let each: Vec<_> = all.iter().map(|which| is(which, at, counts, next)).collect();
            each.into_iter().all(|is| is)
        }
        Which::Not(which) => !is(which, at, counts, next),
    }
}

/// Which of such messages it is, from 1 on, if it is one.
fn nth(which: &Which, at: &At<'_>, counts: &mut Vec<u32>, next: &mut usize) -> Option<u32> {
    let own = *next;
    *next += 1;
    if counts.len() <= own {
        counts.resize(own + 1, 0);
    }
    if !is(which, at, counts, next) {
        return None;
    }
    counts[own] += 1;
    Some(counts[own])
}
