//! The messages that both upper layers of a run have to send and to receive.

use std::collections::VecDeque;
use std::time::Duration;

use smbd_core::Instant;

use crate::upper::content;

/// One message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptedMessage {
    /// Its length in bytes.
    pub len: u32,
    /// Which bytes it has.
    pub key: u16,
    /// Time to let pass before it is sent.
    pub pause: Duration,
}

impl ScriptedMessage {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &'static [u8] {
        content(self.key, 0, self.len)
    }
}

/// Messages still to be sent, one after the other.
#[derive(Clone, Debug)]
pub(super) struct TransmitScript {
    script: VecDeque<ScriptedMessage>,
    next: Option<Instant>,
    opening: Opening,
}

/// How a conversation begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// Both sides say what they have to say.
    #[default]
    AtOnce,
    /// With one message, as SMB2 does with NEGOTIATE, and nothing else until the answer.
    Asks,
    /// With an answer, and nothing before the question.
    Answers,
}

impl TransmitScript {
    pub(super) fn new(script: &[ScriptedMessage], opening: Opening) -> Self {
        Self { script: script.iter().copied().collect(), next: None, opening }
    }

    /// The connection is up.
    pub(super) fn begin(&mut self, now: Instant) {
        if self.opening != Opening::Answers {
            self.set(now);
        }
    }

    fn set(&mut self, now: Instant) {
        self.next = self.script.front().map(|scripted| now.saturating_add(scripted.pause));
    }

    /// The peer has said something.
    pub(super) fn heard(&mut self, now: Instant) {
        if std::mem::take(&mut self.opening) != Opening::AtOnce {
            self.set(now);
        }
    }

    /// When the next one is to be sent; `None` before the beginning and behind the last one.
    pub(super) const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// The message that is to be sent now.
    pub(super) fn due(&self, now: Instant) -> Option<ScriptedMessage> {
        self.script.front().copied().filter(|_| self.next.is_some_and(|at| at <= now))
    }

    /// It was sent.
    pub(super) fn said(&mut self, now: Instant) {
        self.script.pop_front();
        if self.opening == Opening::Asks {
            self.next = None;
        } else {
            self.set(now);
        }
    }

    pub(super) fn left(&self) -> usize {
        self.script.len()
    }

    /// One more.
    pub(super) fn add(&mut self, scripted: ScriptedMessage, now: Instant) {
        self.script.push_back(scripted);
        if self.next.is_none() {
            self.set(now);
        }
    }
}

/// Messages still to be heard, in order.
#[derive(Clone, Debug)]
pub(super) struct ReceiveScript {
    expected: VecDeque<ScriptedMessage>,
    /// Bytes had of the first of them.
    had: u32,
    /// Messages heard.
    pub(super) count: u32,
    /// The first thing that was wrong.
    pub(super) wrong: Option<String>,
}

impl ReceiveScript {
    pub(super) fn new(script: &[ScriptedMessage]) -> Self {
        Self { expected: script.iter().copied().collect(), had: 0, count: 0, wrong: None }
    }

    pub(super) fn left(&self) -> usize {
        self.expected.len()
    }

    /// One more.
    pub(super) fn add(&mut self, scripted: ScriptedMessage) {
        self.expected.push_back(scripted);
    }

    /// A piece of a message, with the bytes of it that are still to come.
    pub(super) fn hear(&mut self, bytes: &[u8], remaining: u32) {
        let len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let Some(scripted) = self.expected.front().copied() else {
            return self.say(format!("{len} bytes of no message"));
        };
        let left = scripted.len - self.had;
        if len > left || remaining != left - len || bytes != content(scripted.key, self.had, len) {
            return self.say(format!(
                "{len} bytes, {remaining} to come, behind {} of a message of {}: not what was sent",
                self.had, scripted.len
            ));
        }
        self.had += len;
        if remaining == 0 {
            self.had = 0;
            self.count += 1;
            self.expected.pop_front();
        }
    }

    fn say(&mut self, what: String) {
        self.wrong.get_or_insert(what);
    }
}
