//! The steps of a case that are about the subject's upper layer.

use std::time::Duration;

use bytes::Bytes;

use super::basis::Basis;
use super::outcome::Stop;
use super::peer::Peer;
use super::script::{Data, Grant};
use super::seen::{Seen, Whole};
use super::state::State;
use super::upper::{self, Match, Question};

/// A client that works through a file asks for more of it within this time.
const NEXT_REQUEST: Duration = Duration::from_secs(10);
/// One that has other requests under way, within this time.
const LAST_REQUEST: Duration = Duration::from_secs(1);
/// Whoever may have no credit for its answer is given one after this time.
const CREDIT_LATER: Duration = Duration::from_millis(200);

impl Peer<'_> {
    /// A message of `len` bytes which the subject's upper layer answers; longer, if there is none so short. What has to be said
    /// before it is said now.
    ///
    /// # Errors
    /// The upper layer has none so long: not applicable. It does not do what is due before: a finding.
    pub fn message(&mut self, seed: u64, len: usize) -> Result<Question, Stop> {
        self.message_for(seed, len, 1)
    }

    /// The same, with an answer of `answer` bytes at least.
    ///
    /// # Errors
    /// As [`message`](Self::message).
    pub fn message_for(&mut self, seed: u64, len: usize, answer: usize) -> Result<Question, Stop> {
        self.prepare_upper()?;
        self.let_it_ask()?;
        let terms = &self.play.states[self.id].terms;
        let room = if self.play.subject_accepts() {
            terms.request.max_fragmented_size
        } else {
            terms.response.max_fragmented_size
        };
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let question = self.state().dialogue.question(seed, (len, answer), room);
        question.map_err(|why| Stop::NotApplicable(why.0))
    }

    /// What the upper layer has to hear first on a new connection; of one that speaks first, or hears anything, a
    /// [`message`](Self::message).
    ///
    /// # Errors
    /// As [`message`](Self::message).
    pub fn first_message(&mut self, seed: u64, len: usize) -> Result<Bytes, Stop> {
        if let Some(first) = self.state().dialogue.due() {
            return Ok(first);
        }
        self.message(seed, len).map(|question| question.bytes())
    }

    /// An SMB2 NEGOTIATE for a server that has answered one: with the next MessageId, or with that of the first.
    ///
    /// # Errors
    /// The upper layer is no SMB2 server: not applicable.
    pub fn smb2_negotiate(&mut self, next: bool) -> Result<Bytes, Stop> {
        self.state().dialogue.smb2_negotiate(next).map_err(|why| Stop::NotApplicable(why.0))
    }

    /// Whether a message of the subject is an SMB2 NEGOTIATE Response with success.
    #[must_use]
    pub fn is_smb2_negotiated(&self, message: &[u8]) -> bool {
        upper::is_negotiated(message)
    }

    /// Says to the upper layer all that comes before questions, and waits for its part. What it says is passed over.
    ///
    /// # Errors
    /// It does not do its part: a finding about no statement.
    pub fn prepare_upper(&mut self) -> Result<(), Stop> {
        self.prepare(Grant::Standing)
    }

    /// The same with no more credits than the subject needs for it: it has none left, or what it saved.
    pub(super) fn prepare_upper_sparingly(&mut self) -> Result<(), Stop> {
        self.prepare(Grant::Posted(0))
    }

    fn prepare(&mut self, grant: Grant) -> Result<(), Stop> {
        let before = self.state().inbox.len();
        while self.state().dialogue.has_due() || self.state().dialogue.waits().is_some() {
            while let Some(message) = self.state().dialogue.due() {
                self.say_to_upper(&message, grant)?;
            }
            if let Some(awaited) = self.state().dialogue.waits() {
                self.wait_for_upper(awaited, grant)?;
            }
            self.state().inbox.truncate(before);
        }
        Ok(())
    }

    /// A client that has several things under way may be about to say the next one.
    pub(super) fn let_it_ask(&mut self) -> Result<(), Stop> {
        let (id, until) = (self.id, self.play.now().saturating_add(LAST_REQUEST));
        while self.state().dialogue.may_ask_for_more() && !self.is_down() {
            let came = self.play.wait_for("another request of the client", until, |play| {
                let state = &play.states[id];
                !state.dialogue.may_ask_for_more() || state.dialogue.has_due() || state.link.is_over()
            });
            if !came {
                return Ok(());
            }
            self.prepare_upper()?;
        }
        Ok(())
    }

    /// As many credits are asked for as the case asks for.
    pub(super) fn say_to_upper(&mut self, message: &[u8], grant: Grant) -> Result<(), Stop> {
        let asking = self.state().asking;
        for fragment in self.fragments(message)? {
            // Behind the script's last credit nobody could go on without one.
            let stuck = self.credits() <= 1 && self.granted() <= 0;
            let grant = if stuck && grant != Grant::Standing { Grant::Posted(1) } else { grant };
            self.send(&Data { grant, credits_requested: asking, ..fragment })?;
        }
        Ok(())
    }

    /// Until the upper layer has done its part, or there is something else to say to it.
    fn wait_for_upper(&mut self, awaited: &'static str, grant: Grant) -> Result<(), Stop> {
        let (id, from) = (self.id, self.play.now());
        let until = from.saturating_add(NEXT_REQUEST);
        loop {
            let spares = self.granted() <= 0;
            let step = if spares { self.play.now().saturating_add(CREDIT_LATER).min(until) } else { until };
            let is_done = |state: &State| state.dialogue.waits().is_none() || state.dialogue.has_due();
            let uses_its_last = |state: &State| !spares && state.granted <= 0;
            self.play.wait_for(awaited, step, |play| {
                let state = &play.states[id];
                is_done(state) || uses_its_last(state) || state.link.is_over()
            });
            if is_done(self.state()) && !self.is_down() {
                return Ok(());
            }
            let goes_on = !self.is_down() && self.play.now() < until;
            if spares && goes_on {
                let empty = Data::empty();
                self.send(&if grant == Grant::Standing { empty } else { empty.granting(1) })?;
            }
            if goes_on {
                continue;
            }
            let waited = self.play.now().saturating_since(from);
            let end = if self.is_down() { "the connection went down" } else { "it did not" };
            return self.play.about(id, "", false, || {
                format!("the upper layer should send {awaited}, {end} within {:.1} s", waited.as_secs_f64())
            });
        }
    }

    /// Whether the upper layer answers messages in their order.
    pub fn answers_in_order(&mut self) -> bool {
        self.state().dialogue.keeps_order()
    }

    /// Whether a message of the subject is the answer to this one, as it should be.
    pub fn is_answer(&mut self, question: &Question, message: &[u8]) -> bool {
        self.state().dialogue.judge(question, message) == Match::Answer
    }

    /// Takes in the next message; whether it was the last fragment of the answer to one of these messages, or of what is in its place. Any
    /// other message of the subject is passed over: that a request is under way, for example.
    pub fn take_answer(&mut self, whole: &mut Whole, seen: Seen, questions: &[Question]) -> bool {
        whole.take(seen) && !self.passes_over(whole, questions)
    }

    /// Passes over a message that has nothing to do with these.
    pub fn passes_over(&mut self, whole: &mut Whole, questions: &[Question]) -> bool {
        let dialogue = &self.state().dialogue;
        let is_other = |question| dialogue.judge(question, &whole.payload) == Match::Other;
        let passes = !questions.is_empty() && questions.iter().all(is_other);
        if passes {
            whole.pass_over();
        }
        passes
    }

    /// The rest of the answer to one of these messages, or of what is in its place.
    ///
    /// # Errors
    /// As [`rest_of`](Self::rest_of).
    pub fn rest_of_answer(
        &mut self,
        mut begun: Whole,
        statements: &str,
        questions: &[Question],
    ) -> Result<Whole, Stop> {
        loop {
            begun = self.rest_of(begun, statements)?;
            if !self.passes_over(&mut begun, questions) {
                return Ok(begun);
            }
        }
    }

    /// `answered`: the answer to a message, its fragments put together. Other messages of the subject are passed over.
    ///
    /// # Errors
    /// None came, a finding about `statements`; or such a message is not answered on a usual connection, either.
    pub fn answered(&mut self, statements: &str, question: &Question) -> Result<Whole, Stop> {
        let state = self.state();
        let kept = |whole: &Whole| state.dialogue.judge(question, &whole.payload) == Match::Answer;
        if let Some(at) = state.early.iter().position(kept) {
            let whole = state.early.swap_remove(at);
            self.check(statements, true, String::new);
            return Ok(whole);
        }
        let basis = Basis::Echo(question.len());
        loop {
            let whole = self.whole_with(statements, basis)?;
            match self.state().dialogue.judge(question, &whole.payload) {
                Match::Answer => {
                    self.check(statements, true, String::new);
                    return Ok(whole);
                }
                Match::Wrong(text) => {
                    self.has_padding(question, &whole)?;
                    if let Some(stop) = self.play.lacks(basis, &text) {
                        return Err(stop);
                    }
                    self.check(statements, false, || text);
                    return Ok(whole);
                }
                Match::Other => {
                    self.keep(whole);
                    self.keep_granting()?;
                }
            }
        }
    }

    /// Keeps a message that something else may wait for.
    pub(super) fn keep(&mut self, whole: Whole) {
        const MOST: usize = 1000;
        let early = &mut self.state().early;
        if early.len() < MOST {
            early.push(whole);
        }
    }

    /// The case is about an upper layer that returns messages.
    ///
    /// # Errors
    /// It is another: not applicable.
    pub fn needs_echo(&mut self) -> Result<(), Stop> {
        if self.state().dialogue.keeps_order() {
            return Ok(());
        }
        Err(Stop::NotApplicable("the case is about an upper layer that returns any message".into()))
    }

    /// Sends a message whole and waits for its answer.
    ///
    /// # Errors
    /// As [`message`](Self::message) and [`answered`](Self::answered).
    pub fn exchange(&mut self, statements: &str, seed: u64, len: usize) -> Result<Whole, Stop> {
        let question = self.message(seed, len)?;
        self.send(&Data::of(&question))?;
        self.answered(statements, &question)
    }
}
