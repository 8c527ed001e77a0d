//! Carries out the changes of `requirements/breaks.toml`.

mod act;
mod asked;
mod telling;
mod which;

use std::rc::Rc;
use std::time::Duration;

use smbd_conformance::catalogue::{Bytes, Change, Command, Extra, Invalidated};
use smbd_conformance::suite::rig::Told;
use smbd_conformance::suite::{Request, Response};
use smbd_core::wire::NtStatus;
use smbd_core::{Instant, Token};

use crate::tampered::{Heard, Later, Makes, Tamper, Up};
use act::Acting;
use which::{Listener, Picks};

/// What is done to each connection of a subject.
#[derive(Clone)]
pub struct Does(pub Rc<[Change]>);

impl Makes for Does {
    fn make(&self, connection: usize) -> Box<dyn Tamper> {
        let changes = self.0.iter().filter_map(|change| of(change, connection)).collect();
        Box::new(Doing::new(changes))
    }
}

/// What a change is on this connection.
fn of(change: &Change, connection: usize) -> Option<Change> {
    match change {
        Change::From(first, change) if connection >= *first => of(change, connection),
        Change::Only(only, change) if connection == *only => of(change, connection),
        Change::From(..) | Change::Only(..) => None,
        other => Some(other.clone()),
    }
}

const fn millis(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// What is wrong with one connection.
struct Doing {
    changes: Vec<Change>,
    /// As many as there are changes: which messages of the subject, and of the script, each is about.
    picks: Vec<Picks>,
    acting: Acting,
    /// What is known of what both have said.
    subject: Listener,
    script: Listener,
    /// The token that the last message invalidated, or that the next one does.
    token: Option<Token>,
    up: Option<Instant>,
}

impl Doing {
    fn new(changes: Vec<Change>) -> Self {
        let picks = changes.iter().map(|change| match change {
            Change::Says(which, _)
            | Change::Hears(which, _)
            | Change::Speaks(which, ..)
            | Change::Follows(which, _)
            | Change::Ends(which, _) => Picks::new(which),
            _ => Picks::none(),
        });
        Self {
            picks: picks.collect(),
            changes,
            acting: Acting::default(),
            subject: Listener::default(),
            script: Listener::default(),
            token: None,
            up: None,
        }
    }

    fn any(&self, is: impl Fn(&Change) -> bool) -> bool {
        self.changes.iter().any(is)
    }
}

/// The bytes of a message that no rule asks for.
fn extra(what: Extra) -> Vec<u8> {
    let refusal = Response {
        negotiated_version: 0,
        credits_requested: 0,
        credits_granted: 0,
        status: NtStatus(0xC000_00BB),
        max_read_write_size: 0,
        preferred_send_size: Some(0),
        max_receive_size: 0,
        max_fragmented_size: 0,
        ..Response::default()
    };
    let mut empty = vec![0; 20];
    empty[0] = 255;
    match what {
        Extra::Empty => empty,
        Extra::Probe => {
            empty[4] = 1;
            empty
        }
        Extra::Data => {
            (empty[12], empty[16]) = (24, 1);
            empty.extend([0, 0, 0, 0, 7]);
            empty
        }
        Extra::Request => Request::default().encode(),
        Extra::Response => Response::default().encode(1024),
        Extra::Refusal => refusal.encode(1024),
    }
}

/// Writes a word of private data, if there is one.
fn set_word(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(word) = bytes.get_mut(at..at + 4) {
        word.copy_from_slice(&value.to_be_bytes());
    }
}

impl Tamper for Doing {
    fn hears(&mut self, now: Instant, index: u64, bytes: Vec<u8>) -> Heard {
        let at = self.script.at(now, index, &bytes);
        let kept = self.acting.released(true);
        let mut heard = Heard { gets: vec![(Duration::ZERO, bytes.clone())], ..Heard::default() };
        for (change, picks) in self.changes.iter().zip(&mut self.picks) {
            match change {
                Change::Hears(_, act) if picks.pick(&at) => {
                    heard.gets = self.acting.on(act, at.kind, true, heard.gets)
                }
                Change::Speaks(_, late, what) if picks.pick(&at) => {
                    heard.answers.push((millis(*late), extra(*what)));
                }
                Change::Ends(_, late) if picks.pick(&at) => heard.ends = Some(millis(*late)),
                _ => {}
            }
        }
        heard.gets.extend(kept);
        self.script.said(index, &bytes);
        self.subject.heard(now, index, &bytes);
        heard
    }

    fn says(&mut self, now: Instant, index: u64, bytes: Vec<u8>) -> Vec<Later> {
        let at = self.subject.at(now, index, &bytes);
        let kept = self.acting.released(false);
        let mut all = vec![(Duration::ZERO, bytes.clone())];
        let mut behind = Vec::new();
        for (change, picks) in self.changes.iter().zip(&mut self.picks) {
            match change {
                Change::Says(_, act) if picks.pick(&at) => all = self.acting.on(act, at.kind, false, all),
                Change::Follows(_, what) if picks.pick(&at) => behind.push((Duration::ZERO, extra(*what))),
                _ => {}
            }
        }
        all.extend(kept);
        self.subject.said(index, &bytes);
        self.script.heard(now, index, &bytes);
        all.extend(behind);
        all
    }

    fn up(&mut self, now: Instant) -> Up {
        self.up = Some(now);
        let mut up = Up { refused: self.any(|change| *change == Change::Refuses), ..Up::default() };
        for change in &self.changes {
            match change {
                Change::SpeaksFirst(late, what) => up.says.push((millis(*late), extra(*what))),
                Change::EndsBy(late) => up.ends = Some(millis(*late)),
                _ => {}
            }
        }
        up
    }

    fn stays_up(&self) -> bool {
        self.any(|change| *change == Change::Stays)
    }

    fn ends_late(&self) -> Duration {
        let late =
            |change: &Change| if let Change::EndsLate(late) = change { Some(millis(*late)) } else { None };
        self.changes.iter().find_map(late).unwrap_or_default()
    }

    fn invalidates(&mut self, token: Option<Token>) -> Option<Token> {
        let how = self.changes.iter().find_map(|change| match change {
            Change::Invalidates(how) => Some(*how),
            _ => None,
        });
        let before = std::mem::replace(&mut self.token, token);
        match how {
            None => token,
            Some(Invalidated::Nothing) => None,
            Some(Invalidated::Another) => token.map(|token| Token(token.0 ^ 0x0100)),
            Some(Invalidated::Twice) => token.or(before),
            Some(Invalidated::Later) => before,
        }
    }

    fn wrote(&mut self, filled: &[u8], mut bytes: Vec<u8>) -> Vec<u8> {
        for change in &self.changes {
            let Change::Writes(how) = change else { continue };
            let written = |index: &usize| bytes.get(*index) != filled.get(*index);
            let first = (0..bytes.len()).find(written);
            let last = (0..bytes.len()).rfind(written);
            let (Some(first), Some(last)) = (first, last) else { continue };
            match how {
                Bytes::Later => {
                    bytes.copy_within(first..last, first + 1);
                    bytes[first] = filled[first];
                }
                Bytes::OneOther => bytes[(first + last) / 2] ^= 1,
                Bytes::Fewer => bytes[last] = filled[last],
                Bytes::NotYet => bytes = filled.to_vec(),
            }
        }
        bytes
    }

    fn private(&self, bytes: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let mut bytes = bytes?;
        for change in &self.changes {
            match change {
                Change::NoPrivateData => bytes.clear(),
                Change::PrivateData(at, value) => set_word(&mut bytes, *at, *value),
                _ => {}
            }
        }
        Some(bytes)
    }

    fn hears_private(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for change in &self.changes {
            if let Change::HearsPrivateData(at, value) = change {
                set_word(&mut bytes, *at, *value);
            }
        }
        bytes
    }

    fn read_depth(&self, depth: u16) -> u16 {
        let other = |change: &Change| if let Change::ReadDepth(depth) = change { Some(*depth) } else { None };
        self.changes.iter().find_map(other).unwrap_or(depth)
    }

    fn told(&self, now: Instant, told: &[(Instant, Told)]) -> Vec<(Instant, Told)> {
        let mut told = told.to_vec();
        for change in &self.changes {
            if let Change::Tells(event, telling) = change {
                told = telling::told(now, *event, *telling, told);
            }
        }
        told
    }

    fn commands(&self, command: Command) -> bool {
        self.any(|change| *change == Change::Commands(command))
    }
}
