//! Expectations of a case: ends, goes on, quiet, echoed.

use std::ops::Range;
use std::time::Duration;

use smbd_core::Instant;
use smbd_core::wire::DataTransfer;

use super::basis::Basis;
use super::outcome::Stop;
use super::peer::{Next, Peer};
use super::play::Play;
use super::script::Data;
use super::seen::{Message, Seen, Whole};
use super::trace::hex;
use super::upper::different;
use super::waiting::{ANSWER_WITHIN, END, PATIENCE, QUIET, USUAL_WITHIN};
use super::words::Words;

/// `goes on`, where probes are not answered: the connection is up after this time.
const UP_FOR: Duration = Duration::from_secs(1);
/// More than these come from nobody who was given nothing to say.
const MESSAGES_MAX: usize = 1000;
/// Longer than any message that the script lets the subject send.
const UPPER_MAX: usize = 16 << 20;
/// Bytes of the header of a Data Transfer message, and what fills the gap behind it.
const HEADER: usize = 20;
const PADDING: &str = "2.2.3-18";
/// What is no Data Transfer message came where nothing else may.
const DATA_ALONE: &str = "3.1.5.4-01";

impl Peer<'_> {
    /// Asserts something, as [`Play::check`].
    pub fn check(&mut self, statements: &str, holds: bool, text: impl FnOnce() -> String) -> bool {
        self.play.judge(Some(self.id), statements, holds, text);
        holds
    }

    /// Asserts what the case cannot go on without.
    ///
    /// # Errors
    /// It does not hold.
    pub fn require(
        &mut self,
        statements: &str,
        holds: bool,
        text: impl FnOnce() -> String,
    ) -> Result<(), Stop> {
        self.play.about(self.id, statements, holds, text)
    }

    /// The next thing that happens within `time`.
    pub fn next(&mut self, time: Duration) -> Next {
        let (id, until) = (self.id, self.play.now().saturating_add(time));
        let ready = |play: &Play| !play.states[id].inbox.is_empty() || play.states[id].link.is_over();
        self.play.wait_for("a message", until, ready);
        let state = &mut self.play.states[id];
        match state.inbox.pop_front() {
            Some(message) => Next::Message(message),
            None if state.link.is_over() => Next::Down,
            None => Next::Nothing,
        }
    }

    /// The message that should come within `time`.
    ///
    /// # Errors
    /// None came; a finding about `statements`.
    pub fn expect(&mut self, statements: &str, time: Duration) -> Result<Message, Stop> {
        self.expect_with(statements, time, None)
    }

    /// The same for a message that comes on a usual connection, too.
    ///
    /// # Errors
    /// None came: a finding about `statements`, unless none comes on a usual connection, either.
    pub(super) fn expect_with(
        &mut self,
        statements: &str,
        time: Duration,
        basis: Option<Basis>,
    ) -> Result<Message, Stop> {
        let begin = self.play.now();
        self.expect_since(statements, begin, time, basis)
    }

    /// The same within `time` from `begin` on.
    fn expect_since(
        &mut self,
        statements: &str,
        begin: Instant,
        time: Duration,
        basis: Option<Basis>,
    ) -> Result<Message, Stop> {
        let time = if self.play.is_trying() { time.min(USUAL_WITHIN) } else { time };
        let next = self.next(begin.saturating_add(time).saturating_since(self.play.now()));
        if let Next::Message(message) = next {
            self.require(statements, true, String::new)?;
            return Ok(message);
        }
        self.all_received()?;
        let waited = self.play.now().saturating_since(begin).words();
        let text = match next {
            Next::Down => format!("the connection went down after {waited}"),
            _ => format!("none came for {waited}"),
        };
        let text = format!("a message should come within {}, {text}", time.words());
        if let Some(stop) = basis.and_then(|basis| self.play.lacks(basis, &text)) {
            return Err(stop);
        }
        self.require(statements, false, || text)?;
        Err(Stop::Failed)
    }

    /// The Data Transfer message that should come within `time`.
    ///
    /// # Errors
    /// None came; a finding about `statements`. Or what came is shorter than its header.
    pub fn expect_data(&mut self, statements: &str, time: Duration) -> Result<Seen, Stop> {
        let message = self.expect(statements, time)?;
        self.as_data(message)
    }

    /// The message that a subject sends when it has connected.
    ///
    /// # Errors
    /// None came: the case can say nothing.
    pub fn initiators_message(&mut self, time: Duration) -> Result<Seen, Stop> {
        let message = self.expect_with("", time, Some(Basis::FirstMessage))?;
        self.as_data(message)
    }

    /// A message of what is returned of `len` bytes, which should come within `time`.
    ///
    /// # Errors
    /// None came: a finding about `statements`, unless so much does not come back on a usual connection, either.
    pub fn back(&mut self, statements: &str, len: usize, time: Duration) -> Result<Seen, Stop> {
        let message = self.expect_with(statements, time, Some(Basis::Echo(len)))?;
        self.as_data(message)
    }

    /// The answer to a probe, which should come within `time`.
    ///
    /// # Errors
    /// None came: a finding about `statements`, unless none comes on a usual connection, either.
    pub fn answer(&mut self, statements: &str, time: Duration) -> Result<Seen, Stop> {
        let message = self.expect_with(statements, time, Some(Basis::Answer))?;
        self.as_data(message)
    }

    /// A message taken as Data Transfer.
    ///
    /// # Errors
    /// It is shorter than its header, which is a finding of its own, whatever the case is about.
    pub fn as_data(&mut self, message: Message) -> Result<Seen, Stop> {
        let id = self.id;
        match DataTransfer::parse(&message.bytes) {
            Ok(header) => Ok(Seen { message, header }),
            Err(_) => {
                self.play.shared(id, DATA_ALONE, false, || {
                    format!("a Data Transfer message has 20 bytes at least, {} came", message.words())
                });
                Err(Stop::Failed)
            }
        }
    }

    /// `goes on`: a probe gets a message within 5 s. Messages that had come before are passed over. Where probes are
    /// not answered, the connection is still up 1 s after an empty message.
    ///
    /// # Errors
    /// It does not, a finding about `statements`; or probes are not answered on usual connections, or there is no credit.
    pub fn goes_on(&mut self, statements: &str) -> Result<(), Stop> {
        self.play.states[self.id].inbox.clear();
        if self.play.rig.usual().is_some_and(|usual| usual.answers_no_probe) {
            self.send(&Data::empty())?;
            let (id, begin) = (self.id, self.play.now());
            let down =
                self.play.wait_for(END, begin.saturating_add(UP_FOR), |play| play.states[id].link.is_over());
            let after = self.play.now().saturating_since(begin);
            return self.require(statements, !down, || {
                format!(
                    "the connection should be up for {}, it went down after {}",
                    UP_FOR.words(),
                    after.words()
                )
            });
        }
        let (id, until) = (self.id, self.play.now().saturating_add(ANSWER_WITHIN));
        let ready = |play: &Play| play.states[id].credits > 0 || play.states[id].link.is_over();
        self.play.wait_for("a credit", until, ready);
        if self.is_down() {
            // It has left before it could be asked, which is no answer either.
            self.is_usable(1)?;
            return self.require(statements, false, || "the connection should go on, it went down".into());
        }
        self.send(&Data::probe())?;
        self.answer(statements, ANSWER_WITHIN).map(|_| ())
    }

    /// `quiet`: no message comes for 3 s.
    pub fn quiet(&mut self, statements: &str) -> bool {
        self.quiet_for(statements, QUIET)
    }

    /// No message comes for so long, and the connection stays up.
    pub fn quiet_for(&mut self, statements: &str, time: Duration) -> bool {
        let begin = self.play.now();
        let next = self.next(time);
        let after = self.play.now().saturating_since(begin).words();
        self.check(statements, next == Next::Nothing, || {
            format!("nothing should happen for {}, after {after} {}", time.words(), next.words())
        })
    }

    /// The bytes of a field, as a number with the least significant byte first, should have this value.
    pub fn field(
        &mut self,
        statements: &str,
        bytes: &[u8],
        (name, at): (&str, Range<usize>),
        wanted: u32,
    ) -> bool {
        let field = bytes.get(at.clone());
        let found =
            field.map(|field| field.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)));
        self.check(statements, found == Some(wanted), || match found {
            Some(found) => format!("{name} should be 0x{wanted:x}, it is 0x{found:x}"),
            None => format!("{name} begins at byte {} of a message of {} bytes", at.start, bytes.len()),
        })
    }

    /// A message should be these bytes.
    pub fn same(&mut self, statements: &str, came: &[u8], wanted: &[u8]) -> bool {
        self.check(statements, came == wanted, || {
            format!("the message should be {}, it is {}", hex(wanted), hex(came))
        })
    }

    /// The Data Transfer messages that come within `time`.
    ///
    /// # Errors
    /// There is no end of them, a finding about `statements`; or one is shorter than its header.
    pub fn all_within(&mut self, statements: &str, time: Duration) -> Result<Vec<Seen>, Stop> {
        let until = self.play.now().saturating_add(time);
        let mut all = Vec::new();
        while let Next::Message(message) = self.next(until.saturating_since(self.play.now())) {
            all.push(self.as_data(message)?);
            self.require(statements, all.len() <= MESSAGES_MAX, || {
                format!("more than {MESSAGES_MAX} messages come within {}", time.words())
            })?;
        }
        Ok(all)
    }

    /// Lets time pass until the connection is down, but not beyond `time` after `from`. Messages are passed over.
    pub fn down_within(&mut self, from: Instant, time: Duration) -> bool {
        let id = self.id;
        self.play.wait_for(END, from.saturating_add(time), |play| play.states[id].link.is_over())
    }

    /// How the connection is, and since when: `up 12 s after the script's last message`.
    pub fn since(&mut self, from: Instant, what: &str) -> String {
        let (state, at) = match self.down_at() {
            Some(at) => ("went down", at),
            None => ("is up", self.play.now()),
        };
        format!("it {state} {} after {what}", at.saturating_since(from).words())
    }

    /// The next upper-layer message of the subject, for whose fragments the script grants credits as they are used.
    ///
    /// # Errors
    /// It does not come, or not whole, within 125 s; a finding about `statements`.
    pub fn whole_message(&mut self, statements: &str) -> Result<Whole, Stop> {
        self.rest_of(Whole::default(), statements)
    }

    /// The same of a message of which some fragments may have come.
    ///
    /// # Errors
    /// As [`whole_message`](Self::whole_message).
    pub fn rest_of(&mut self, begun: Whole, statements: &str) -> Result<Whole, Stop> {
        self.rest_with(begun, statements, Basis::Echo(1))
    }

    /// The same of a message that comes on a usual connection, too.
    pub(super) fn whole_with(&mut self, statements: &str, basis: Basis) -> Result<Whole, Stop> {
        self.rest_with(Whole::default(), statements, basis)
    }

    fn rest_with(&mut self, mut whole: Whole, statements: &str, basis: Basis) -> Result<Whole, Stop> {
        let mut begin = self.play.now();
        loop {
            let message = self.expect_since(statements, begin, PATIENCE + ANSWER_WITHIN, Some(basis))?;
            let seen = self.as_data(message)?;
            // Messages without data do not put off the end of the wait.
            if seen.header.data_length > 0 {
                begin = self.play.now();
            }
            if whole.take(seen) {
                return Ok(whole);
            }
            let long = whole.payload.len() > UPPER_MAX || whole.empties.len() > 100_000;
            self.require(statements, !long, || {
                let (bytes, empties) = (whole.payload.len(), whole.empties.len());
                format!("a message should come, there is no end of what comes: {bytes} bytes, and {empties} messages without data")
            })?;
            self.keep_granting()?;
        }
    }

    /// Grants with an empty message what the subject has used, when half of its credits are gone.
    ///
    /// # Errors
    /// The script's device has no room.
    pub fn keep_granting(&mut self) -> Result<(), Stop> {
        let state = &self.play.states[self.id];
        let half = i64::from(state.terms.receives / 2);
        if state.granted <= half && state.ungranted > 0 && state.credits > 0 {
            self.send_now(&Data::empty())?;
        }
        Ok(())
    }

    /// `echoed`: the payload of the subject's next message, its fragments put together, is `payload`.
    ///
    /// # Errors
    /// No message came, a finding; or such a message does not come back on a usual connection, either.
    pub fn echoed(&mut self, statements: &str, payload: &[u8]) -> Result<Whole, Stop> {
        let basis = Basis::Echo(payload.len());
        let whole = self.whole_with(statements, basis)?;
        if whole.payload == payload {
            self.require(statements, true, String::new)?;
            return Ok(whole);
        }
        self.has_padding(payload, &whole)?;
        let text = different(payload, &whole.payload);
        if let Some(stop) = self.play.lacks(basis, &text) {
            return Err(stop);
        }
        self.check(statements, false, || text);
        Ok(whole)
    }

    /// A payload directly behind the header, where DataOffset says that there is padding, is a fault of its own: nobody can read it.
    ///
    /// # Errors
    /// It is so: a finding, whatever the case is about.
    pub(super) fn has_padding(&mut self, payload: &[u8], whole: &Whole) -> Result<(), Stop> {
        let Some(seen) = whole.fragments.first() else { return Ok(()) };
        let begin = &payload[..payload.len().min(8)];
        let there = |at: usize| seen.message.bytes.get(at..).is_some_and(|from| from.starts_with(begin));
        let at = seen.header.data_offset as usize;
        if begin.is_empty() || at <= HEADER || !there(HEADER) || there(at) {
            return Ok(());
        }
        let id = self.id;
        self.play.shared(id, PADDING, false, || {
            format!(
                "the payload should begin at {at}, behind padding, it begins at {HEADER}: {}",
                seen.words()
            )
        });
        Err(Stop::Failed)
    }
}
