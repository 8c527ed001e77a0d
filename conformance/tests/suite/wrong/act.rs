//! What is done to a message.

use std::time::Duration;

use smbd_conformance::catalogue::{Act, Field};

use super::asked::ask;
use crate::tampered::{Later, word};

/// Which message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Request,
    Response,
    Transfer,
}

impl Kind {
    /// Of the first message of a side, whoever speaks first asks.
    pub const fn of(index: u64, other_has_spoken: bool) -> Self {
        match (index, other_has_spoken) {
            (0, false) => Self::Request,
            (0, true) => Self::Response,
            _ => Self::Transfer,
        }
    }
}

/// What a field holds, if there is one.
pub fn field(kind: Kind, name: Field, bytes: &[u8]) -> Option<u32> {
    let (at, len) = place(kind, name)?;
    (at + len <= bytes.len()).then(|| word(bytes, at, len))
}

fn place(kind: Kind, name: Field) -> Option<(usize, usize)> {
    let [request, response, transfer] = name.places();
    match kind {
        Kind::Request => request,
        Kind::Response => response,
        Kind::Transfer => transfer,
    }
}

/// Writes a number into a field.
fn set(kind: Kind, name: Field, bytes: &mut [u8], value: u32) {
    let place = place(kind, name).and_then(|(at, len)| bytes.get_mut(at..at + len));
    if let Some(to) = place {
        let len = to.len();
        to.copy_from_slice(&value.to_le_bytes()[..len]);
    }
}

/// Carries out what is done to messages, and keeps those that come behind others.
#[derive(Debug, Default)]
pub struct Acting {
    /// Of the subject, and of the script; each with how many messages come before it.
    kept: [Vec<(usize, Later)>; 2],
}

impl Acting {
    /// What comes of these messages of the script, or of the subject.
    pub fn on(&mut self, act: &Act, kind: Kind, script: bool, all: Vec<Later>) -> Vec<Later> {
        let mut out = Vec::new();
        for (late, mut bytes) in all {
            match act {
                Act::Drop => continue,
                Act::Repeat => out.push((late, bytes.clone())),
                Act::Late(time) => {
                    out.push((late + Duration::from_millis(*time), bytes));
                    continue;
                }
                Act::Behind(others) => {
                    self.kept[usize::from(script)].push((*others, (late, bytes)));
                    continue;
                }
                Act::Halve => {
                    out.extend(halves(&bytes).map(|half| (late, half)));
                    continue;
                }
                _ => change(act, kind, &mut bytes),
            }
            out.push((late, bytes));
        }
        out
    }

    /// Another message comes: what was kept until behind it.
    pub fn released(&mut self, script: bool) -> Vec<Later> {
        let kept = &mut self.kept[usize::from(script)];
        kept.iter_mut().for_each(|(before, _)| *before = before.saturating_sub(1));
        let (due, rest) = std::mem::take(kept).into_iter().partition(|(before, _)| *before == 0);
        *kept = rest;
        let due: Vec<(usize, Later)> = due;
        due.into_iter().map(|(_, message)| message).collect()
    }
}

fn change(act: &Act, kind: Kind, bytes: &mut Vec<u8>) {
    let number = |name| field(kind, name, bytes);
    match *act {
        Act::Set(name, value) => set(kind, name, bytes, value),
        Act::Add(name, more) => {
            let more = u32::try_from(more.rem_euclid(1 << 32)).unwrap_or_default();
            let value = number(name).unwrap_or_default().wrapping_add(more);
            set(kind, name, bytes, value);
        }
        Act::AtMost(name, most) => {
            let value = number(name).unwrap_or_default().min(most);
            set(kind, name, bytes, value);
        }
        Act::Reverse(name) => {
            if let Some(field) = place(kind, name).and_then(|(at, len)| bytes.get_mut(at..at + len)) {
                field.reverse();
            }
        }
        Act::Exchange(one, other) => {
            let (first, second) = (number(one).unwrap_or_default(), number(other).unwrap_or_default());
            set(kind, one, bytes, second);
            set(kind, other, bytes, first);
        }
        Act::FlipPayload(at, mask) => {
            let (offset, length) = (word(bytes, 12, 4) as usize, word(bytes, 16, 4) as usize);
            let from = if at < 0 { offset + length } else { offset };
            let place = i64::try_from(from).unwrap_or_default() + at;
            if length > 0 && offset >= 20 {
                flip(bytes, usize::try_from(place).unwrap_or(usize::MAX), mask);
            }
        }
        Act::Cut(len) => bytes.truncate(len),
        Act::Grow(len, byte) => bytes.resize(bytes.len() + len, byte),
        Act::Pad => {
            if word(bytes, 16, 4) > 0 && bytes.len() >= 24 {
                bytes.splice(24..24, [0; 4]);
                set(kind, Field::DataOffset, bytes, 28);
            }
        }
        Act::Unpad => {
            if word(bytes, 16, 4) > 0 && bytes.len() >= 24 {
                bytes.drain(20..24);
            }
        }
        Act::Ask(asked) => ask(asked, bytes),
        Act::Halve | Act::Drop | Act::Repeat | Act::Late(_) | Act::Behind(_) => {}
    }
}

fn flip(bytes: &mut [u8], at: usize, mask: u8) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= mask;
    }
}

/// A message with payload as two; any other as it is.
fn halves(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + use<> {
    let length = word(bytes, 16, 4);
    if length < 2 || bytes.len() < 26 || word(bytes, 12, 4) != 24 {
        return vec![bytes.to_vec()].into_iter();
    }
    let (first, second) = (length / 2, length - length / 2);
    let (mut one, mut other) = (bytes[..24 + first as usize].to_vec(), bytes[..24].to_vec());
    other.extend_from_slice(&bytes[24 + first as usize..]);
    set(Kind::Transfer, Field::DataLength, &mut one, first);
    set(Kind::Transfer, Field::RemainingDataLength, &mut one, word(bytes, 8, 4) + second);
    set(Kind::Transfer, Field::DataLength, &mut other, second);
    set(Kind::Transfer, Field::CreditsGranted, &mut other, 0);
    vec![one, other].into_iter()
}
