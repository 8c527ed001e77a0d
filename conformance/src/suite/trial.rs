//! Whether what a case takes for granted is there: a usual connection shows it, on which nothing is judged.

use std::time::Duration;

use super::basis::Basis;
use super::outcome::{Stop, Unjudged};
use super::peer::Next;
use super::play::Play;
use super::script::{Data, Response};
use super::waiting::{ANSWER_WITHIN, USUAL_WITHIN};

/// Most messages sent at once.
const MOST: i64 = 300;
/// A listener that refuses a connection is asked again after this time.
const LISTENS_AGAIN: Duration = Duration::from_secs(1);
/// The case that sends messages of all lengths and nothing else.
const USUAL_MESSAGES: &str = "fragments::the_next_message_starts_from_nothing";

impl Play {
    /// Why nothing is known of what the case is about.
    pub(super) fn unjudged(&self, basis: Basis, because: String) -> Unjudged {
        Unjudged::stated(because, basis.case(self.subject_accepts()))
    }

    /// If something that came to nothing does so on a usual connection as well: why the case stops. Not in the case that is
    /// about it.
    pub(in crate::suite) fn lacks(&mut self, basis: Basis, because: &str) -> Option<Stop> {
        if self.is_trying() || self.is_late() {
            return None;
        }
        if let Some(stop) = basis.below().and_then(|below| self.lacks(below, because)) {
            return Some(stop);
        }
        if self.is(basis.case(self.subject_accepts())) {
            return None;
        }
        let because = if basis.is_soon_seen() {
            let up = self.states.iter().rposition(|state| state.link.was_up());
            let wrong = self.usually(basis)?;
            if let (Basis::Transport, Some(id)) = (basis, up) {
                self.judge(Some(id), "", false, || {
                    format!("the peer accepts no new connections any more: {wrong}")
                });
                return Some(Stop::Failed);
            }
            format!("{because}; on a usual connection: {wrong}")
        } else {
            because.to_owned()
        };
        Some(Stop::NotJudged(self.unjudged(basis, because)))
    }

    /// Something is missing that the case takes for granted: why it stops.
    pub(super) fn without(&mut self, basis: Basis, because: String) -> Stop {
        if let Some(stop) = self.lacks(basis, &because) {
            return stop;
        }
        let accepts = self.subject_accepts();
        let statements = if self.is(basis.case(accepts)) { basis.statements(accepts) } else { "" };
        self.judge(None, statements, false, || because);
        Stop::Failed
    }

    /// What is wrong with it on a usual connection; tried once.
    pub(super) fn usually(&mut self, basis: Basis) -> Option<String> {
        let known = self.tried.iter().position(|(tried, _)| *tried == basis);
        let index = known.unwrap_or_else(|| {
            self.step("the same on a usual connection");
            let mut wrong = self.on_trial(|play| play.usual(basis)).err();
            if wrong.is_some() && basis == Basis::Transport {
                // A listener may be busy with the end of the connection before.
                self.pass(LISTENS_AGAIN);
                wrong = self.on_trial(|play| play.usual(basis)).err();
            }
            self.tried.push((basis, wrong));
            self.tried.len() - 1
        });
        self.tried[index].1.clone()
    }

    /// A usual connection, on which it should be there.
    fn usual(&mut self, basis: Basis) -> Result<(), Stop> {
        match basis {
            Basis::Transport => {
                let id = self.connect()?.id();
                self.leave_nobody_waiting(id)
            }
            Basis::Echo(len) => {
                let mut peer = self.established()?;
                let question = peer.message_for(7, len, len)?;
                peer.send_fragments(&question)?;
                peer.answered("", &question).map(|_| ())
            }
            Basis::Answer => {
                let mut peer = self.established()?;
                peer.settle();
                peer.send(&Data::probe())?;
                let next = peer.next(USUAL_WITHIN);
                peer.require("", matches!(next, Next::Message(_)), || "a probe is not answered".into())
            }
            Basis::Credits => {
                let mut peer = self.established()?;
                peer.settle();
                for _ in 0..3 {
                    for _ in 0..peer.credits().min(MOST) {
                        peer.send_now(&Data::empty())?;
                    }
                    let came = peer.credit_within(USUAL_WITHIN);
                    peer.require("", came, || "no credit comes when all are spent".into())?;
                }
                peer.settle();
                peer.nothing_lost("");
                Ok(())
            }
            Basis::End => {
                let mut peer = self.established()?;
                peer.settle();
                peer.say(&[0; 19])?;
                peer.must_end("");
                Ok(())
            }
            _ => self.established().map(|_| ()),
        }
    }

    /// A client that is to make another connection is ended before. It may take that badly while it negotiates: its request is
    /// answered.
    fn leave_nobody_waiting(&mut self, id: usize) -> Result<(), Stop> {
        if self.keeps_connections() {
            return Ok(());
        }
        let mut peer = self.peer(id);
        if matches!(peer.next(ANSWER_WITHIN), Next::Message(_)) && peer.announced().is_ok() {
            peer.respond(&Response::default())?;
            peer.settle();
        }
        Ok(())
    }

    /// Something the case takes for granted is not there. It goes on, and says nothing of its statements unless something
    /// else is found.
    pub(super) fn cannot_judge(&mut self, why: Unjudged) {
        if self.judges() && self.record.unjudged.is_none() {
            self.record.unjudged = Some(why);
        }
    }

    /// Does something without judging it, and says what was wrong with it.
    pub(super) fn on_trial(
        &mut self,
        what: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), String> {
        let before = self.trial.replace(String::new());
        let result = what(self);
        let wrong = std::mem::replace(&mut self.trial, before).unwrap_or_default();
        match result {
            Ok(()) if wrong.is_empty() => Ok(()),
            Ok(()) | Err(Stop::Failed) => Err(wrong),
            Err(Stop::NotJudged(why)) => Err(why.because),
            Err(Stop::NotApplicable(why) | Stop::Broken(why)) => Err(why),
        }
    }

    /// A stop that is no finding leaves the case without a verdict.
    pub(super) fn set_aside(&mut self, stop: Stop) {
        if let Stop::NotJudged(why) = stop {
            self.cannot_judge(why);
        }
    }

    /// The play is over: what could not be sent has shown nothing.
    pub(super) fn look_back(&mut self) {
        if self.states.iter().any(|state| state.unsent) {
            let because = "the connection went down while the script was sending".into();
            self.cannot_judge(Unjudged::stated(because, USUAL_MESSAGES));
        }
    }

    /// Whether that is being done.
    pub(super) const fn is_trying(&self) -> bool {
        self.trial.is_some()
    }
}
