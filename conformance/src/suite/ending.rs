//! The end of a connection, where there should be one.

use std::time::Duration;

use smbd_core::Instant;
use smbd_core::wire::DataTransfer;

use super::basis::Basis;
use super::outcome::Stop;
use super::peer::{Next, Peer};
use super::script::Data;
use super::seen::{Message, payload_of};
use super::trace::By;
use super::upper;
use super::waiting::{ANSWER_WITHIN, END};
use super::words::Words;

/// `ends`: the connection is down after this time.
const ENDS_WITHIN: Duration = Duration::from_secs(12);
/// What became of a connection that should end.
struct End {
    down: bool,
    /// Messages that came meanwhile.
    came: u64,
    text: String,
}

/// Whether it says no more than that a server is at work.
fn is_interim(message: &Message) -> bool {
    DataTransfer::parse(&message.bytes)
        .is_ok_and(|header| upper::is_interim(payload_of(&header, &message.bytes)))
}

impl Peer<'_> {
    fn end(&mut self) -> End {
        let (id, begin) = (self.id, self.play.now());
        let before = self.play.states[id].came;
        let until = begin.saturating_add(ENDS_WITHIN);
        let down = self.play.wait_for(END, until, |play| play.states[id].link.is_over());
        // A probe may follow, which is not what this is about.
        self.play.blamed = self.play.record.trace.last_message(id, By::Script).cloned();
        let state = &mut self.play.states[id];
        let interim = state.inbox.iter().filter(|message| is_interim(message)).count();
        let came = state.came.saturating_sub(before).saturating_sub(interim as u64);
        let last = state.inbox.drain(..).rfind(|message| !is_interim(message));
        let after = self.play.now().saturating_since(begin).words();
        let state =
            if down { format!("it went down after {after}") } else { format!("after {after} it is up") };
        let messages = match came {
            0 => "nothing came".into(),
            1 => last.words() + " came",
            _ => format!("{came} messages came, the last was {}", last.words()),
        };
        let text =
            format!("the connection should end, and no message come any more: {state}, and {messages}");
        if self.play.states[id].unsent {
            let because = "the connection went down before the message was sent that should end it".into();
            let why = self.play.unjudged(Basis::Echo(usize::MAX), because);
            self.play.cannot_judge(why);
        }
        End { down, came, text }
    }

    /// The connection ends, as `statements` say that it does.
    pub fn must_end(&mut self, statements: &str) -> bool {
        let End { down, came, text } = self.end();
        let ended = down && came == 0;
        if !self.play.states[self.id].unsent {
            self.check(statements, ended, || text);
        }
        self.play.blamed = None;
        ended
    }

    /// `ends`: no message of the subject comes any more, and the connection is down 12 s later at the latest. Messages that
    /// had come before are passed over. A subject that says nothing any more and ends no connection whatsoever is judged elsewhere.
    pub fn ends(&mut self, statements: &str) -> bool {
        let End { down, came, text } = self.end();
        let ended = down && came == 0;
        if self.play.states[self.id].unsent {
            return false;
        }
        let silent = !down && came == 0 && !self.is_alive().unwrap_or_default();
        let lost = self.all_received().err();
        let stop = lost.or_else(|| silent.then(|| self.play.lacks(Basis::End, &text)).flatten());
        match stop {
            Some(stop) => self.play.set_aside(stop),
            None => drop(self.check(statements, ended, || text)),
        }
        self.play.blamed = None;
        ended
    }

    /// `ends`, because of a message that breaks a rule, for which `ending` says that the connection ends and nothing else
    /// happens. A subject that goes on as if the message was good breaks `rule`; one that does something else, `ending`.
    ///
    /// # Errors
    /// The script's device cannot ask whether it goes on.
    pub fn ends_by(&mut self, rule: &str, ending: &str) -> Result<bool, Stop> {
        let End { down, came, text } = self.end();
        if self.play.states[self.id].unsent {
            return Ok(false);
        }
        if down && came == 0 {
            self.play.blamed = None;
            return Ok(self.check(&format!("{rule} {ending}"), true, String::new));
        }
        let goes_on = !down && (came > 0 || self.is_alive()?);
        let (broken, what) = if goes_on { (rule, ", as if the message was good") } else { (ending, "") };
        self.check(broken, false, || format!("{text}{what}"));
        self.play.blamed = None;
        Ok(false)
    }

    /// The connection is down when `time` has passed since `begin`, which `what` names. Messages are passed over.
    pub(super) fn goes_down(&mut self, statements: &str, begin: Instant, what: &str, time: Duration) {
        let down = self.down_within(begin, time);
        let since = self.since(begin, what);
        self.check(statements, down, || {
            format!("the connection should be down {} after {what}, {since}", time.words())
        });
    }

    /// Whether a connection that should be down goes on: a probe is answered. Where none would be, being up is going on.
    fn is_alive(&mut self) -> Result<bool, Stop> {
        if self.play.rig.usual().is_some_and(|usual| usual.answers_no_probe) {
            return Ok(true);
        }
        if self.credits() <= 0 {
            return Ok(false);
        }
        self.send_now(&Data::probe())?;
        let answered = matches!(self.next(ANSWER_WITHIN), Next::Message(_));
        Ok(answered || self.play.lacks(Basis::Answer, "").is_some())
    }
}
