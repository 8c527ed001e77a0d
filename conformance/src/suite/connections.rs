//! Makes the connections of a case.

use std::time::Duration;

use super::basis::Basis;
use super::outcome::Stop;
use super::peer::Peer;
use super::play::Play;
use super::rig::{Opening, Order};
use super::script::{Data, Terms};
use super::state::Link;
use super::words::Words;

/// Transport connections come up within this time.
const CONNECT_TIME: Duration = Duration::from_secs(12);
/// Requests of the subject for one connection that come to nothing, at most: another one behind each.
const WITHDRAWN_MAX: usize = 3;
/// Without the first message of a subject that connects the script may not send.
const FIRST_MESSAGE: Duration = Duration::from_secs(5);

impl Play {
    /// A transport connection, with nothing said.
    ///
    /// # Errors
    /// It did not come up, which is a finding.
    pub fn connect(&mut self) -> Result<Peer<'_>, Stop> {
        self.connect_as("", &Opening::default())
    }

    /// A transport connection of which the script's end is not the usual one; that it comes up is what `statements` say.
    ///
    /// # Errors
    /// It did not come up, which is a finding.
    pub fn connect_as(&mut self, statements: &str, opening: &Opening) -> Result<Peer<'_>, Stop> {
        let id = self.open(opening)?;
        self.await_link(id)?;
        let link = self.states[id].link;
        let wrong = match link {
            _ if link.was_up() => {
                self.about(id, statements, true, String::new)?;
                return Ok(Peer::new(self, id));
            }
            Link::Failed(reason) => format!("the transport connection failed: {reason}"),
            _ => format!("the transport connection should come up, it did not for {}", CONNECT_TIME.words()),
        };
        if statements.is_empty() {
            return Err(self.without(Basis::Transport, wrong));
        }
        if let Some(stop) = self.lacks(Basis::Transport, &wrong) {
            return Err(stop);
        }
        self.about(id, statements, false, || wrong)?;
        Err(Stop::Failed)
    }

    /// Until the transport connection is up, or failed. A request that the subject has withdrawn is not the connection that it
    /// was asked for.
    pub(super) fn await_link(&mut self, id: usize) -> Result<(), Stop> {
        for withdrawn in 0..=WITHDRAWN_MAX {
            let until = self.now().saturating_add(CONNECT_TIME);
            self.wait_for("the transport connection", until, |play| {
                !matches!(play.states[id].link, Link::Opening)
            });
            let has_failed = matches!(self.states[id].link, Link::Failed(_));
            if !has_failed || withdrawn == WITHDRAWN_MAX || !self.rig.await_another(id)? {
                break;
            }
            self.step("the subject has asked for the connection again");
            let state = &mut self.states[id];
            (state.link, state.down_at) = (Link::Opening, None);
            self.order(id, Order::Accept)?;
        }
        Ok(())
    }

    /// A connection on which negotiation is done with the usual values.
    ///
    /// # Errors
    /// It did not come about, which is a finding.
    pub fn established(&mut self) -> Result<Peer<'_>, Stop> {
        self.established_on(&Terms::default())
    }

    /// A connection on which negotiation is done with these values.
    ///
    /// # Errors
    /// It did not come about, which is a finding.
    pub fn established_on(&mut self, terms: &Terms) -> Result<Peer<'_>, Stop> {
        self.established_as(terms, &Opening::default())
    }

    /// The same where the script's end is not the usual one, either.
    ///
    /// # Errors
    /// It did not come about, which is a finding.
    pub fn established_as(&mut self, terms: &Terms, opening: &Opening) -> Result<Peer<'_>, Stop> {
        let id = self.connect_as("", opening)?.id();
        let mut peer = Peer::new(self, id);
        peer.negotiate(terms)?;
        Ok(Peer::new(self, id))
    }

    /// `established; the subject has N credits`: none but these, with negotiation done with these values. It had one to
    /// connect with, if it did, and has spent it on its first message. What it uses is posted again and not granted.
    ///
    /// # Errors
    /// It did not come about, which is a finding.
    pub fn established_with(&mut self, terms: &Terms, credits: u16) -> Result<Peer<'_>, Stop> {
        let mut terms = *terms;
        terms.response.credits_granted = 1;
        let connects = !self.subject_accepts();
        let mut peer = self.established_on(&terms)?;
        if connects {
            peer.initiators_message(FIRST_MESSAGE)?;
        }
        peer.prepare_upper_sparingly()?;
        let missing = i64::from(credits).saturating_sub(peer.granted());
        if let Ok(missing @ 1..) = u16::try_from(missing) {
            peer.send(&Data::empty().granting(missing))?;
            peer.settle();
        }
        Ok(peer)
    }

    /// A connection made before.
    pub const fn peer(&mut self, id: usize) -> Peer<'_> {
        Peer::new(self, id)
    }
}
