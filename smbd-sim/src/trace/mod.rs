//! A run as text: one line for each input of a connection, with the actions that followed.
//!
//! ```text
//!        6.000 us init  Received recv0.1 Negotiate Response, 32 B -> [Established, PostRecv recv1.0 1024 B]
//! ```
//!
//! Commands of the upper layer are among the actions, marked `>`. The same seed has the same text, byte for byte, on
//! every machine. [`Trace::digest`] is its hash, for runs that do not keep the text.

mod pcap;
#[cfg(test)]
mod tests;
mod text;

use std::fmt::Write as _;

use smbd_core::{Action, Event, Input, Misuse};

use crate::Side;
use crate::probe::{At, Command, Probe, Whole};
pub use pcap::Pcap;
use text::Words;

/// Writes down what passes the interface of both connections.
#[derive(Clone, Debug)]
pub struct Trace {
    line: String,
    text: Option<String>,
    digest: u64,
    lines: u64,
    /// The side whose actions the open line takes.
    open: Option<Side>,
    /// Whether the open line has an action.
    acted: bool,
    words: [Words; 2],
}

/// FNV-1a, 64 bits.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl Trace {
    fn with(text: Option<String>) -> Self {
        Self {
            line: String::new(),
            text,
            digest: BASIS,
            lines: 0,
            open: None,
            acted: false,
            words: [Words::default(), Words::default()],
        }
    }

    /// Keeps the text.
    #[must_use]
    pub fn kept() -> Self {
        Self::with(Some(String::new()))
    }

    /// Keeps the digest only.
    #[must_use]
    pub fn digest_only() -> Self {
        Self::with(None)
    }

    /// The text so far; empty if it is not kept.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Nothing follows: the last line is finished.
    pub(crate) fn end(&mut self) {
        self.finish();
    }

    /// Sum of all finished lines.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.digest
    }

    /// Finished lines.
    #[must_use]
    pub const fn lines(&self) -> u64 {
        self.lines
    }

    fn begin(&mut self, at: At, what: impl FnOnce(&mut String, &mut Words)) {
        self.finish();
        let nanos = at.now.as_nanos();
        let _ = write!(self.line, "{:>9}.{:03} us {:<4}  ", nanos / 1000, nanos % 1000, at.side.short());
        what(&mut self.line, &mut self.words[at.side.index()]);
        self.open = Some(at.side);
    }

    fn add(&mut self, at: At, what: impl FnOnce(&mut String, &mut Words)) {
        if self.open != Some(at.side) {
            self.begin(at, |line, _| line.push_str("(told)"));
        }
        self.line.push_str(if self.acted { ", " } else { " -> [" });
        self.acted = true;
        what(&mut self.line, &mut self.words[at.side.index()]);
    }

    fn finish(&mut self) {
        if self.open.take().is_none() {
            return;
        }
        self.line.push_str(if std::mem::take(&mut self.acted) { "]\n" } else { "\n" });
        for byte in self.line.bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(PRIME);
        }
        self.lines += 1;
        if let Some(text) = &mut self.text {
            text.push_str(&self.line);
        }
        self.line.clear();
    }
}

impl Probe for Trace {
    fn input(&mut self, at: At, input: &Input<'_>, result: Result<(), Misuse>) {
        self.begin(at, |line, words| {
            words.input(line, input);
            if let Err(misuse) = result {
                let _ = write!(line, " REFUSED: {misuse}");
            }
        });
    }

    fn action(&mut self, at: At, action: &Action) {
        if matches!(action, Action::Wait(_)) {
            self.finish();
        } else {
            self.add(at, |line, words| words.action(line, action));
        }
    }

    fn event(&mut self, at: At, event: &Event) {
        self.add(at, |line, _| text::event(line, event));
    }

    fn whole(&mut self, at: At, message: &Whole<'_>) {
        self.add(at, |line, _| {
            let Whole { len, borrowed } = message;
            let _ = match borrowed {
                None => write!(line, "Message {len} B"),
                Some(fragment) => write!(line, "Message {len} B in {:?}", fragment.recv()),
            };
        });
    }

    fn command(&mut self, at: At, command: &Command<'_>) {
        self.add(at, |line, words| words.command(line, command));
    }
}
