//! The credits of both sides, computed from the bytes on the wire.

use std::hash::{Hash, Hasher};

use super::law::{Law, Verdicts};
use super::rule::{Rule, Rules};

const WINDOW_MIN: u64 = 3;
const CREDITS_MAX: u64 = 65_535;

/// Counts of one side since its connection began; nothing is ever subtracted from them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Credit {
    max: u64,
    target: u64,
    /// The negotiation is over: the window has its floor.
    floor: bool,
    /// Receives posted for data.
    posted: u64,
    /// Receives that came back.
    returned: u64,
    /// Messages of the peer.
    consumed: u64,
    /// Credits given to the peer.
    granted: u64,
    /// Credits had from the peer.
    received: u64,
    /// Data messages sent.
    sent: u64,
    /// Receives with the device when the last message had come.
    before: u64,
    /// One of them is beyond the window, and in no count of what can be granted: it takes the place of the next that is used (CR-17), or goes
    /// with the last credit (CR-5).
    reserve: bool,
}

impl Credit {
    pub(super) fn new(max: u16) -> Self {
        Self { max: u64::from(max), ..Self::default() }
    }

    const fn in_queue(&self) -> u64 {
        self.posted - self.returned
    }

    const fn with_peer(&self) -> u64 {
        self.granted.saturating_sub(self.consumed)
    }

    const fn ungranted(&self) -> u64 {
        // Before anything fails, all that is posted and was never granted.
        self.posted.saturating_sub(self.granted).saturating_sub(self.reserve as u64)
    }

    /// Receives with the device for the window.
    const fn in_window(&self) -> u64 {
        self.in_queue() - self.reserve as u64
    }

    /// Whether the peer has a credit, or gets one with the next message: without one it cannot answer.
    pub(super) const fn lets_peer_speak(&self) -> bool {
        self.in_queue() > 0
    }

    /// Messages that may be sent.
    pub(super) const fn left(&self) -> u64 {
        self.received.saturating_sub(self.sent)
    }

    pub(super) const fn window(&self) -> u64 {
        let window = if self.target < self.max { self.target } else { self.max };
        if self.floor && window < WINDOW_MIN { WINDOW_MIN } else { window }
    }

    /// Whether a receive is missing that the next message has to grant.
    pub(super) const fn wants_receive(&self) -> bool {
        self.in_window() < self.window()
    }

    /// Whether the one beyond is missing, and no other.
    pub(super) const fn wants_reserve(&self) -> bool {
        self.floor && !self.reserve && self.in_queue() == self.window()
    }

    /// Whether the last credit has to wait for a receive to grant.
    pub(super) const fn waits_for_reserve(&self) -> bool {
        self.left() == 1 && self.ungranted() == 0 && !self.reserve
    }

    /// The reserve is one beyond the window. A target that fell may have left more with the device; then it is one for each
    /// message that came, so that there are never more than before.
    const fn ceiling(&self) -> u64 {
        let window = self.window();
        if self.before > window { self.before } else { window }
    }

    /// Whether that receive may be posted.
    pub(super) const fn may_post_reserve(&self) -> bool {
        self.in_queue() <= self.ceiling()
    }

    /// Whether a message with nothing but a grant may go out.
    pub(super) const fn may_only_grant(&self) -> bool {
        self.in_queue() >= 2 && self.ungranted() > self.with_peer()
    }

    pub(super) fn negotiated(&mut self, target: u16, granted: u16, floor: bool) {
        self.target = u64::from(target);
        self.received = u64::from(granted);
        self.floor = floor;
    }

    pub(super) fn on_post(&mut self, v: &mut Verdicts) {
        let (in_queue, window) = (self.in_queue(), self.window());
        if !self.wants_receive() {
            let right = self.wants_reserve() || self.waits_for_reserve() && in_queue == self.ceiling();
            v.check(Law::Window, right, move || {
                format!("a receive posted beyond the window of {window}, {in_queue} are posted")
            });
            self.reserve = true;
        }
        self.posted += 1;
    }

    pub(super) const fn on_receive_failed(&mut self) {
        self.returned += 1;
    }

    /// The acceptor's response leaves.
    pub(super) fn on_response(&mut self, granted: u16, v: &mut Verdicts) {
        let granted = u64::from(granted);
        v.check(Law::Negotiation, (1..=self.target).contains(&granted), || {
            format!("response grants {granted}, asked for were {}", self.target)
        });
        self.grant(granted, v);
        self.floor = true;
    }

    /// A message is about to leave, and there is a slot for a receive.
    pub(super) fn on_send_with_a_slot(&self, v: &mut Verdicts) {
        v.check(Law::Window, !self.wants_receive(), || {
            format!(
                "a message leaves before the receive that it should grant, {} are posted",
                self.in_queue()
            )
        });
    }

    /// A data message leaves.
    pub(super) fn on_send(&mut self, granted: u16, v: &mut Verdicts) {
        let (left, granted) = (self.left(), u64::from(granted));
        v.check(Law::Credits, left > 0, || "a message without a credit".to_owned());
        v.check(Law::Credits, left != 1 || granted > 0, || {
            "the last credit spent on a message that grants nothing".to_owned()
        });
        if left == 1 && self.ungranted() == 0 {
            self.reserve = false;
        }
        self.sent += 1;
        self.grant(granted, v);
    }

    fn grant(&mut self, granted: u64, v: &mut Verdicts) {
        let all = self.ungranted();
        self.granted += granted;
        v.check(Law::Covered, self.with_peer() <= self.in_queue(), || {
            format!("{} granted and not used, {} posted", self.with_peer(), self.in_queue())
        });
        v.check(Law::Order, self.granted <= self.posted, || {
            format!("{} receives granted in all, {} posted", self.granted, self.posted)
        });
        v.check(Law::Window, granted == all.min(CREDITS_MAX), move || {
            format!("{granted} granted, {all} should be")
        });
    }

    /// What can influence a verdict: the counts only grow, and only their differences are ever looked at.
    pub(super) fn fingerprint(&self, into: &mut impl Hasher) {
        (self.max, self.target, self.floor, self.before, self.reserve).hash(into);
        (self.posted.wrapping_sub(self.returned), self.posted.wrapping_sub(self.granted)).hash(into);
        (self.granted.wrapping_sub(self.consumed), self.received.wrapping_sub(self.sent)).hash(into);
    }

    /// Which rules a message of the peer breaks.
    pub(super) const fn judge(&self, granted: u16) -> Rules {
        let mut rules = Rules::none();
        rules.add_if(self.with_peer() == 0, Rule::NoCredit);
        rules.add_if(self.left() + granted as u64 > CREDITS_MAX, Rule::CreditOverflow);
        rules
    }

    /// A valid message of the peer came.
    pub(super) fn on_message(&mut self, requested: u16, granted: u16, v: &mut Verdicts) {
        self.returned += 1;
        self.consumed += 1;
        self.received += u64::from(granted);
        self.target = u64::from(requested);
        self.before = self.in_queue();
        self.reserve &= self.in_window() >= self.window();
        v.check(Law::Covered, self.with_peer() <= self.in_queue(), || {
            format!("{} granted and not used, {} posted", self.with_peer(), self.in_queue())
        });
    }
}
