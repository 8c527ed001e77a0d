//! Messages of the script, sent when there is a credit for them.

use super::basis::Basis;
use super::outcome::Stop;
use super::peer::Peer;
use super::play::Play;
use super::script::Data;
use super::waiting::{LITTLE_PATIENCE, PATIENCE, USUAL_WITHIN};
use super::words::Words;

impl Peer<'_> {
    /// Sends the message as soon as there is a credit for it, which has to be within 120 s. If the connection has gone down
    /// before, nothing is sent: what is waited for next says so.
    ///
    /// # Errors
    /// There was no credit: the case can say nothing.
    pub fn send(&mut self, data: &Data) -> Result<(), Stop> {
        self.play.states[self.id].unsent |= !self.try_send(data)?;
        Ok(())
    }

    /// The same; whether it was sent.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn try_send(&mut self, data: &Data) -> Result<bool, Stop> {
        let (id, begin) = (self.id, self.play.now());
        let ready = |play: &Play| play.states[id].credits > 0 || play.states[id].link.is_over();
        // Of a subject that is known to give none the case that is about that waits nevertheless.
        let judges = self.play.is(Basis::Credits.case(self.play.subject_accepts()));
        let known = self.play.no_credits.clone().filter(|_| !judges);
        let patience = match known {
            Some(_) => LITTLE_PATIENCE,
            None if self.play.is_trying() => USUAL_WITHIN,
            None => PATIENCE,
        };
        self.play.wait_for("a credit", begin.saturating_add(patience), ready);
        if self.credits() <= 0 {
            let waited = self.play.now().saturating_since(begin).words();
            self.no_credit(&waited, known)?;
        }
        if self.is_down() {
            return Ok(false);
        }
        self.send_now(data)?;
        Ok(true)
    }

    /// There is no credit, and the connection may be down.
    fn no_credit(&mut self, waited: &str, known: Option<String>) -> Result<(), Stop> {
        let down = self.is_down();
        if !self.play.subject_accepts() && self.play.states[self.id].came <= 1 {
            let state = if down { "the connection went down" } else { "nothing came" };
            let because = format!("a first message that grants should come, {state} after {waited}");
            return Err(self.play.without(Basis::FirstMessage, because));
        }
        let state = if down { "the connection went down" } else { "none came" };
        let because = format!("the script waited for a credit, {state} after {waited}");
        if !self.play.judges() {
            return if down { Ok(()) } else { Err(self.play.without(Basis::Credits, because)) };
        }
        if let Some(first) = known.filter(|_| !down) {
            let because = format!("{because}; {first} has waited for one in vain for {}", PATIENCE.words());
            return Err(Stop::NotJudged(self.play.unjudged(Basis::Credits, because)));
        }
        // 3.1.5.9: whoever has no credit cannot send the message that grants one.
        self.play.record.signs.without_credit |= !down && self.granted() > 0;
        if let Some(stop) = self.play.lacks(Basis::Echo(1), &because) {
            return Err(stop);
        }
        if let Some(stop) = self.play.lacks(Basis::Credits, &because) {
            return Err(stop);
        }
        if down { Ok(()) } else { Err(self.play.without(Basis::Credits, because)) }
    }
}
