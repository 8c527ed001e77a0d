//! One connection of a case: the steps of the script.

use std::time::Duration;

use smbd_core::{Instant, Limits};

use super::basis::Basis;
use super::outcome::Stop;
use super::play::Play;
use super::rig::{Order, UpperHand};
use super::script::{Data, Grant};
use super::seen::Message;
use super::state::{Announced, State};
use super::trace::{By, Kind, Packet, What};
use super::words::Words;

/// The least MaxReceiveSize and MaxFragmentedSize that anybody may have.
pub(super) const MESSAGE_MIN: u32 = 128;
const FRAGMENTED_MIN: u32 = 131_072;

/// How often, 1 ms apart, it is tried to post a send for which there is no room.
const ROOM_TRIES: u32 = 1000;

/// A connection to the subject. Made by [`Play::connect`] and its like; [`Play::peer`] finds it again by its number.
#[derive(Debug)]
pub struct Peer<'p> {
    pub(super) play: &'p mut Play,
    pub(super) id: usize,
}

/// What the next thing was that happened on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// A message came.
    Message(Message),
    /// The connection went down.
    Down,
    /// Nothing happened.
    Nothing,
}

impl Words for Next {
    fn words(&self) -> String {
        match self {
            Self::Message(message) => format!("{} came", message.words()),
            Self::Down => "the connection went down".into(),
            Self::Nothing => "nothing came".into(),
        }
    }
}

impl<'p> Peer<'p> {
    pub(super) fn state(&mut self) -> &mut State {
        &mut self.play.states[self.id]
    }

    pub(super) const fn new(play: &'p mut Play, id: usize) -> Self {
        Self { play, id }
    }

    /// Its number, for [`Play::peer`].
    #[must_use]
    pub const fn id(&self) -> usize {
        self.id
    }

    /// The play it is part of.
    pub const fn play(&mut self) -> &mut Play {
        self.play
    }

    /// What the subject announced.
    ///
    /// # Errors
    /// It has not yet, or not in a form that can be read.
    pub fn announced(&self) -> Result<Announced, Stop> {
        let broken = || Stop::Broken("the case asks for what the subject has not announced".into());
        self.play.states[self.id].announced.ok_or_else(broken)
    }

    /// What the script's device and the connection settled on.
    #[must_use]
    pub fn limits(&self) -> Option<Limits> {
        self.play.states[self.id].limits
    }

    /// The private data of the subject's request or consent; `None` where the network has none.
    pub fn private_data(&mut self) -> Option<Vec<u8>> {
        self.play.rig.private_data(self.id)
    }

    /// Messages the script may send.
    #[must_use]
    pub fn credits(&self) -> i64 {
        self.play.states[self.id].credits
    }

    /// Messages the subject may send.
    #[must_use]
    pub fn granted(&self) -> i64 {
        self.play.states[self.id].granted
    }

    /// Whether the connection is down.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.play.states[self.id].link.is_over()
    }

    /// When it was noticed that the connection is down.
    #[must_use]
    pub fn down_at(&self) -> Option<Instant> {
        self.play.states[self.id].down_at
    }

    /// When the script sent its last message.
    #[must_use]
    pub fn last_said(&self) -> Instant {
        self.play.states[self.id].last_said
    }

    /// The first bytes of the script's last message.
    #[must_use]
    pub fn last_sent(&self) -> &[u8] {
        self.play.record.trace.last_message(self.id, By::Script).map_or(&[], |packet| &packet.bytes)
    }

    /// Failures of the script's own work, flushes apart: a message that met no receive, for example.
    #[must_use]
    pub fn failures(&self) -> &[smbd_core::error::WorkError] {
        &self.play.states[self.id].failures
    }

    /// The subject's upper layer.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn upper(&mut self) -> Result<&mut dyn UpperHand, Stop> {
        let none = || Stop::NotApplicable("the subject's upper layer cannot be looked at".into());
        self.play.rig.upper(self.id).ok_or_else(none)
    }

    /// As [`upper`](Self::upper), `None` where it cannot be looked at.
    pub fn upper_if_seen(&mut self) -> Option<&mut dyn UpperHand> {
        self.play.rig.upper(self.id)
    }

    /// Whether receives are posted again as soon as they were used, which they are unless this says otherwise.
    pub fn repost(&mut self, reposts: bool) {
        self.play.states[self.id].reposts = reposts;
    }

    /// Posts receives of the negotiated size that no message has granted yet.
    ///
    /// # Errors
    /// No room for them.
    pub fn post_receives(&mut self, count: u16) -> Result<(), Stop> {
        let len = self.play.states[self.id].receive_len;
        self.play.post_receives(self.id, u32::from(count), len)?;
        self.play.states[self.id].ungranted += u32::from(count);
        Ok(())
    }

    /// Sends any bytes, now. They cost a credit if there is one.
    ///
    /// # Errors
    /// The script's device has no room for another send.
    pub fn say(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        self.play.states[self.id].raw = true;
        self.say_invalidating(bytes, None)
    }

    pub(super) fn say_invalidating(
        &mut self,
        bytes: &[u8],
        token: Option<smbd_core::Token>,
    ) -> Result<(), Stop> {
        let now = self.play.now();
        let state = &mut self.play.states[self.id];
        let kind = state.kind(By::Script, state.said);
        if state.said > 0 || kind == Kind::DataTransfer {
            state.credits -= 1;
        }
        state.said += 1;
        state.last_said = now;
        let packet = Packet::of(kind, bytes, token.map(|token| token.0));
        self.play.note(self.id, By::Script, What::Message(packet));
        // Sends that are complete make room for others.
        for _ in 0..ROOM_TRIES {
            if self.play.rig.order(self.id, Order::Send(bytes, token)).is_ok() {
                return Ok(());
            }
            self.play.pass(Duration::from_millis(1));
        }
        self.play.order(self.id, Order::Send(bytes, token)).map(|_| ())
    }

    /// Sends the message now, credit or not.
    ///
    /// # Errors
    /// The script's device has no room for it or for the receives it grants.
    pub fn send_now(&mut self, data: &Data) -> Result<(), Stop> {
        let granted = self.grant(data)?;
        self.state().asking = data.credits_requested;
        let terms = &self.play.states[self.id].terms;
        let usual = if self.play.subject_accepts() {
            terms.request.credits_requested
        } else {
            terms.response.credits_requested
        };
        let bytes = data.encode(data.credits_requested.unwrap_or(usual), granted);
        self.say_invalidating(&bytes, data.invalidate)
    }

    /// What the message grants; receives for it are posted.
    fn grant(&mut self, data: &Data) -> Result<u16, Stop> {
        let state = &self.play.states[self.id];
        let ungranted = state.ungranted;
        let room = state.receives_max.saturating_sub(state.posted);
        let wanted = match data.grant {
            Grant::Standing if data.length > 0 => ungranted.max(room.min(1)),
            Grant::Standing | Grant::Used => ungranted,
            Grant::Posted(count) => u32::from(count),
            Grant::Claimed(count) => {
                self.book_grant(u32::from(count));
                return Ok(count);
            }
        };
        let missing = wanted.saturating_sub(ungranted);
        let len = state.receive_len;
        self.play.post_receives(self.id, missing, len)?;
        self.play.states[self.id].ungranted += missing;
        self.book_grant(wanted);
        Ok(u16::try_from(wanted).unwrap_or(u16::MAX))
    }

    fn book_grant(&mut self, count: u32) {
        let state = &mut self.play.states[self.id];
        state.ungranted = state.ungranted.saturating_sub(count);
        state.granted += i64::from(count);
    }

    /// `fragments(N)`: the payload in messages as long as the subject takes and the script offered to send.
    ///
    /// # Errors
    /// The subject has not announced how much it takes, or takes less than anybody may.
    pub fn fragments(&self, payload: &[u8]) -> Result<Vec<Data>, Stop> {
        let most = self.announced()?.max_fragmented_size();
        if payload.len() as u64 > most.into() && most < FRAGMENTED_MIN {
            let because =
                format!("MaxFragmentedSize of the subject is {most}, {} bytes are needed", payload.len());
            return Err(Stop::NotJudged(self.play.unjudged(Basis::Sizes, because)));
        }
        Ok(Data::fragments(payload, self.send_size()?))
    }

    /// Longest message the script sends: what the subject takes, and not more than the script offered.
    ///
    /// # Errors
    /// The subject has not announced how much it takes.
    pub fn send_size(&self) -> Result<u32, Stop> {
        let terms = &self.play.states[self.id].terms;
        let own = if self.play.subject_accepts() {
            terms.request.preferred_send_size
        } else {
            terms.response.preferred_send_size.unwrap_or(1024)
        };
        let takes = self.announced()?.max_receive_size();
        if takes < MESSAGE_MIN {
            let because = format!("MaxReceiveSize of the subject is {takes}, which no message fits into");
            return Err(Stop::NotJudged(self.play.unjudged(Basis::Sizes, because)));
        }
        Ok(takes.min(own))
    }

    /// Longest message the subject sends (its MaxSendSize): what it offered to send, and not more than the script takes.
    ///
    /// # Errors
    /// The subject has not announced what it sends.
    pub fn subject_send_size(&self) -> Result<u32, Stop> {
        let terms = &self.play.states[self.id].terms;
        let taken = if self.play.subject_accepts() {
            terms.request.max_receive_size
        } else {
            terms.response.max_receive_size
        };
        // NE-3: whoever prefers less than anybody may has expressed no preference that counts.
        Ok(self.announced()?.preferred_send_size().max(MESSAGE_MIN).min(taken))
    }

    /// Waits for a credit; whether there is one within `time`. Messages that come stay to be read.
    pub fn credit_within(&mut self, time: Duration) -> bool {
        let (id, until) = (self.id, self.play.now().saturating_add(time));
        let ready = |play: &Play| play.states[id].credits > 0 || play.states[id].link.is_over();
        self.play.wait_for("a credit", until, ready) && self.credits() > 0
    }

    /// Sends a payload as `fragments(N)`.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn send_fragments(&mut self, payload: &[u8]) -> Result<(), Stop> {
        for fragment in self.fragments(payload)? {
            self.send(&fragment)?;
        }
        Ok(())
    }

    /// Lets what is under way arrive: 200 ms, or 1 s where the subject's upper layer may be about to say something by itself.
    /// Messages that came are passed over.
    pub fn settle(&mut self) {
        let speaks = self.play.subject_speaks();
        self.play.pass(Duration::from_millis(if speaks { 1000 } else { 200 }));
        self.play.states[self.id].inbox.clear();
    }

    /// Ends the transport connection.
    ///
    /// # Errors
    /// The script's device cannot.
    pub fn disconnect(&mut self) -> Result<(), Stop> {
        self.play.note(self.id, By::Script, What::Disconnect);
        self.play.order(self.id, Order::Disconnect)?;
        Ok(())
    }

    /// Drops the connection without a farewell.
    ///
    /// # Errors
    /// That cannot be brought about on this target.
    pub fn cut(&mut self) -> Result<(), Stop> {
        self.play.step("the connection is dropped without a farewell");
        Ok(self.play.rig.cut(self.id)?)
    }
}
