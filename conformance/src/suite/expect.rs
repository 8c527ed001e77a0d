//! Expectations of a case: ends, goes on, quiet, echoed, basic check.

use std::ops::Range;
use std::time::Duration;

use smbd_core::Instant;
use smbd_core::wire::{DataTransfer, NegotiateResponse};

use super::outcome::Stop;
use super::peer::{Next, Peer};
use super::play::Play;
use super::script::{Data, Request};
use super::seen::{Message, Seen, Whole};
use super::trace::hex;
use super::waiting::{ANSWER_WITHIN, PATIENCE};

/// `ends`: the connection is down after this time.
const ENDS_WITHIN: Duration = Duration::from_secs(12);
/// `goes on`, where probes are not answered: the connection is up after this time.
const UP_FOR: Duration = Duration::from_secs(1);
/// `quiet`: for so long.
const QUIET: Duration = Duration::from_secs(3);
/// What [`Play::wait_for`] waits for where it is the end of a connection.
const END: &str = "the end of the connection";
/// More than these come from nobody who was given nothing to say.
const MESSAGES_MAX: usize = 1000;
/// What the three version fields of an accepting response show.
const VERSIONS: &str = "1.7-01 1.7-02 2.2.2-02 2.2.2-03 2.2.2-04 2.2.2-05 2.2.2-06 2.2.2-07 2.2.2-08 2.2.2-09 \
    3.1.5.3-02 3.1.5.3-03 3.1.5.3-09 3.1.5.6-03 3.1.5.6-05";
/// Longer than any message that the script lets the subject send.
const UPPER_MAX: usize = 16 << 20;

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
        let next = self.next(time);
        let text = match &next {
            Next::Message(_) => "",
            Next::Down => ", the connection went down",
            Next::Nothing => "",
        };
        let came = matches!(next, Next::Message(_));
        self.require(statements, came, || format!("no message came within {} s{text}", time.as_secs_f64()))?;
        if let Next::Message(message) = next { Ok(message) } else { Err(Stop::Failed) }
    }

    /// The Data Transfer message that should come within `time`.
    ///
    /// # Errors
    /// None came, or it is shorter than its header; a finding about `statements`.
    pub fn expect_data(&mut self, statements: &str, time: Duration) -> Result<Seen, Stop> {
        let message = self.expect(statements, time)?;
        self.as_data(statements, message)
    }

    /// A message taken as Data Transfer.
    ///
    /// # Errors
    /// It is shorter than its header; a finding about `statements`.
    pub fn as_data(&mut self, statements: &str, message: Message) -> Result<Seen, Stop> {
        let parsed = DataTransfer::parse(&message.bytes);
        self.require(statements, parsed.is_ok(), || {
            format!("a Data Transfer message has 20 bytes at least, {} came", message.bytes.len())
        })?;
        parsed.map(|header| Seen { message, header }).map_err(|_| Stop::Failed)
    }

    /// `ends`: no message of the subject comes any more, and the connection is down 12 s later at the latest. Messages that
    /// had come before are passed over.
    pub fn ends(&mut self, statements: &str) -> bool {
        let (id, begin) = (self.id, self.play.now());
        let before = self.play.states[id].came;
        let until = begin.saturating_add(ENDS_WITHIN);
        let down = self.play.wait_for(END, until, |play| play.states[id].link.is_over());
        let came = self.play.states[id].came.saturating_sub(before);
        self.play.states[id].inbox.clear();
        let quiet = self.check(statements, came == 0, || {
            format!("no message should come any more, {came} came before the connection went down")
        });
        let ended = self.check(statements, down, || {
            format!("the connection should be down, it is still up after {} s", ENDS_WITHIN.as_secs())
        });
        quiet && ended
    }

    /// `goes on`: a probe gets a message within 5 s. Messages that had come before are passed over. Where probes are
    /// not answered, the connection is still up 1 s after an empty message.
    ///
    /// # Errors
    /// There is no credit for the probe.
    pub fn goes_on(&mut self, statements: &str) -> Result<(), Stop> {
        self.play.states[self.id].inbox.clear();
        if self.play.rig.usual().is_some_and(|usual| usual.answers_no_probe) {
            self.send(&Data::empty())?;
            let (id, until) = (self.id, self.play.now().saturating_add(UP_FOR));
            let down = self.play.wait_for(END, until, |play| play.states[id].link.is_over());
            return self.require(statements, !down, || {
                format!("the connection should be up after {} s, it went down", UP_FOR.as_secs())
            });
        }
        self.send(&Data::probe())?;
        self.expect(statements, ANSWER_WITHIN).map(|_| ())
    }

    /// `quiet`: no message comes for 3 s.
    pub fn quiet(&mut self, statements: &str) -> bool {
        self.quiet_for(statements, QUIET)
    }

    /// No message comes for so long, and the connection stays up.
    pub fn quiet_for(&mut self, statements: &str, time: Duration) -> bool {
        let next = self.next(time);
        self.check(statements, next == Next::Nothing, || match next {
            Next::Message(message) => {
                format!(
                    "nothing should come for {} s, a message of {} bytes came",
                    time.as_secs(),
                    message.bytes.len()
                )
            }
            _ => format!("nothing should happen for {} s, the connection went down", time.as_secs()),
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
            None => format!("{name} is at {at:?} of a message of {} bytes", bytes.len()),
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
    /// One is shorter than its header, or there is no end of them; a finding about `statements`.
    pub fn all_within(&mut self, statements: &str, time: Duration) -> Result<Vec<Seen>, Stop> {
        let until = self.play.now().saturating_add(time);
        let mut all = Vec::new();
        while let Next::Message(message) = self.next(until.saturating_since(self.play.now())) {
            all.push(self.as_data(statements, message)?);
            self.require(statements, all.len() <= MESSAGES_MAX, || {
                format!("more than {MESSAGES_MAX} messages come within {} s", time.as_secs_f64())
            })?;
        }
        Ok(all)
    }

    /// Nothing of the script's own work failed, and the connection is up: each message met a receive long enough.
    pub fn nothing_lost(&mut self, statements: &str) -> bool {
        let (failures, down) = (self.failures().to_vec(), self.is_down());
        self.check(statements, failures.is_empty() && !down, || {
            let state = if down { "down" } else { "up" };
            format!("no message should be lost, failures are {failures:?}, the connection is {state}")
        })
    }

    /// Lets time pass until the connection is down, but not beyond `time` after `from`. Messages are passed over.
    pub fn down_within(&mut self, from: Instant, time: Duration) -> bool {
        let id = self.id;
        self.play.wait_for(END, from.saturating_add(time), |play| play.states[id].link.is_over())
    }

    /// The next upper-layer message of the subject, for whose fragments the script grants credits as they are used.
    ///
    /// # Errors
    /// It does not come, or not whole, within 125 s; a finding about `statements`.
    pub fn whole_message(&mut self, statements: &str) -> Result<Whole, Stop> {
        let mut whole = Whole::default();
        let time = PATIENCE + ANSWER_WITHIN;
        loop {
            let seen = self.expect_data(statements, time)?;
            if whole.take(seen) {
                return Ok(whole);
            }
            let long = whole.payload.len() > UPPER_MAX || whole.empties.len() > 100_000;
            self.require(statements, !long, || "a message without end comes".into())?;
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
    /// No message came, a finding.
    pub fn echoed(&mut self, statements: &str, payload: &[u8]) -> Result<Whole, Stop> {
        let whole = self.whole_message(statements)?;
        let same = whole.payload == payload;
        self.check(statements, same, || {
            let wrong = whole.payload.iter().zip(payload).position(|(came, sent)| came != sent);
            let place = wrong.unwrap_or_else(|| whole.payload.len().min(payload.len()));
            format!(
                "{} bytes should come back as they were sent, {} came, different from byte {place} on",
                payload.len(),
                whole.payload.len()
            )
        });
        Ok(whole)
    }

    /// `basic check of a response` to `request`. Counted for the statements that the case lists.
    pub fn basic_check(&mut self, request: &Request, response: &NegotiateResponse, bytes: &[u8]) {
        let (id, request) = (self.id, self.as_sent(request));
        let mut field = |statements: &str, holds: bool, text: String| {
            self.play.shared(id, statements, holds, || text);
        };
        let versions = [response.min_version, response.max_version, response.negotiated_version];
        field(
            VERSIONS,
            versions == [0x0100; 3],
            format!(
                "MinVersion, MaxVersion and NegotiatedVersion should be 0x0100, they are {versions:04x?}"
            ),
        );
        let reserved = bytes.get(6..8).unwrap_or_default();
        field(
            "2.2.2-10 2.2.2-11 2.2-06 3.1.5.3-04",
            reserved == [0, 0],
            format!("Reserved should be 0, it is {reserved:02x?}"),
        );
        let status = response.status;
        field(
            "2.2.2-15 2.2.2-16 3.1.5.3-05 3.1.5.3-16 3.1.5.6-18",
            status.is_success(),
            format!("Status should be 0, it is {status}"),
        );
        let (granted, asked) = (response.credits_granted, request.credits_requested);
        field(
            "2.2.2-14 3.1.5.3-11 3.1.5.6-13",
            (1..=asked).contains(&granted),
            format!("CreditsGranted should be 1 to {asked}, which was asked for, it is {granted}"),
        );
        let requested = response.credits_requested;
        field(
            "2.2.2-13 3.1.5.3-10",
            requested >= 1,
            format!("CreditsRequested should be 1 at least, it is {requested}"),
        );
        let rdma = response.max_read_write_size;
        field(
            "2.2.2-17",
            rdma >= 1 << 20,
            format!("MaxReadWriteSize should be 1048576 at least, it is {rdma}"),
        );
        let (receives, preferred) = (response.max_receive_size, request.preferred_send_size);
        if preferred >= 128 {
            field(
                "2.2.2-20 3.1.5.3-14 3.1.5.6-10",
                (128..=preferred).contains(&receives),
                format!("MaxReceiveSize should be 128 to {preferred}, which was preferred, it is {receives}"),
            );
        }
        let (sends, most) = (response.preferred_send_size, request.max_receive_size);
        field(
            "2.2-04 2.2-05 2.2.2-18 2.2.2-19 3.1.5.3-13 3.1.5.6-14",
            (128..=most).contains(&sends),
            format!("PreferredSendSize should be 128 to {most}, which is taken, it is {sends}"),
        );
        let fragmented = response.max_fragmented_size;
        field(
            "2.2.2-21 3.1.5.3-15",
            fragmented >= 131_072,
            format!("MaxFragmentedSize should be 131072 at least, it is {fragmented}"),
        );
    }
}
