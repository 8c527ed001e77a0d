//! Credit arithmetic (3.1.5.9, with the algorithm of CR-1 to CR-17 in docs/spec-issues.md).

use crate::error::Violation;

/// Least number of receives kept for an established peer, whatever it asks for (CR-5).
const WINDOW_MIN: u16 = 3;

/// The credits of both directions (3.1.5.9). No count exceeds 65,535. Receives are *posted*; those that are granted to
/// the peer are *outstanding*, the others are *ungranted*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Credits {
    /// At most what the window has been and one reserve that was granted; the ungranted are among them.
    posted: u16,
    ungranted: u16,
    /// One more is posted: it takes the place of the next that is used (CR-17), or is granted with the last credit (CR-5).
    has_reserve: bool,
    send: u16,
    target: u16,
    max: u16,
    /// Least window: 0 while negotiating, when it is exactly what was asked for (NE-9).
    floor: u16,
    window: u16,
}

impl Credits {
    pub(crate) const fn new(max: u16) -> Self {
        Self { posted: 0, ungranted: 0, has_reserve: false, send: 0, target: 0, max, floor: 0, window: 0 }
    }

    /// Receives posted for data and not yet used, without the [`reserve`](Self::reserve).
    #[must_use]
    pub const fn posted(&self) -> u32 {
        self.posted as u32
    }

    /// Those of them that are not granted to the peer yet.
    #[must_use]
    pub const fn ungranted(&self) -> u32 {
        self.ungranted as u32
    }

    /// Receives posted beyond the window, 0 or 1. It takes the place of the next one that is used, so the message that grants it need not
    /// wait for a receive, or it is granted with the last credit.
    #[must_use]
    pub const fn reserve(&self) -> u32 {
        self.has_reserve as u32
    }

    /// Those of them that the peer may use (Connection.ReceiveCredits).
    #[must_use]
    pub const fn outstanding(&self) -> u32 {
        self.posted.wrapping_sub(self.ungranted) as u32
    }

    /// Connection.SendCredits: messages this side may send.
    #[must_use]
    pub const fn send(&self) -> u32 {
        self.send as u32
    }

    /// Connection.ReceiveCreditTarget: the credits that the peer last requested.
    #[must_use]
    pub const fn target(&self) -> u16 {
        self.target
    }

    /// Credit window: how many receives are kept posted for the peer. It is what the peer requests, within the own
    /// limits (CR-5).
    #[must_use]
    pub const fn window(&self) -> u32 {
        self.window as u32
    }

    fn aim(&mut self, target: u16) {
        self.target = target;
        self.window = target.min(self.max).max(self.floor);
    }

    /// The peer's CreditsRequested from the negotiation, and its first grant.
    pub(crate) fn start(&mut self, target: u16, granted: u16) {
        self.send = granted;
        self.aim(target);
    }

    /// From here on the window has its floor.
    pub(crate) fn establish(&mut self) {
        self.floor = WINDOW_MIN;
        self.aim(self.target);
    }

    /// Whether a receive is missing that the next message has to grant.
    pub(crate) const fn wants_receive(&self) -> bool {
        self.posted < self.window
    }

    /// Whether there is no reserve, and nothing else is missing (CR-17). While negotiating there is none.
    pub(crate) const fn wants_reserve(&self) -> bool {
        !self.has_reserve && self.posted == self.window && self.floor > 0
    }

    /// 3.1.5.1: the last credit is spent only on a message that grants. `true`: a receive must be posted first, beyond the
    /// window if need be (CR-5). There is never more than one such: the last credit is spent on the message that grants it,
    /// and another comes only with a message that uses a receive.
    pub(crate) const fn needs_reserve(&self) -> bool {
        self.send == 1 && self.ungranted == 0 && !self.has_reserve
    }

    pub(crate) const fn on_posted(&mut self) {
        self.posted = self.posted.wrapping_add(1);
        self.ungranted = self.ungranted.wrapping_add(1);
    }

    pub(crate) const fn on_reserve_posted(&mut self) {
        self.has_reserve = true;
    }

    /// The reserve, if there is one, is one of those that can be granted.
    const fn take_reserve(&mut self) {
        if self.has_reserve {
            self.has_reserve = false;
            self.on_posted();
        }
    }

    /// Whether a message with nothing but a grant is due. A rule on what is posted, not on the window: with slots
    /// held by slow upper layers, two peers would otherwise answer each other's grants for ever.
    pub(crate) const fn owes_grant(&self) -> bool {
        self.posted >= 2 && self.ungranted() > self.outstanding()
    }

    /// CreditsGranted of the message leaving now: all there is (CR-1).
    pub(crate) const fn grant(&mut self) -> u16 {
        core::mem::replace(&mut self.ungranted, 0)
    }

    /// The same of a message for which there is a credit. The last one is for a message that grants (CR-4).
    #[inline]
    pub(crate) fn spend_and_grant(&mut self) -> u16 {
        self.spend();
        if self.send == 0 {
            self.find_a_grant();
        }
        self.grant()
    }

    #[cold]
    #[inline(never)]
    fn find_a_grant(&mut self) {
        if self.ungranted == 0 {
            self.take_reserve();
        }
    }

    /// For a message that grants nothing.
    pub(crate) const fn spend(&mut self) {
        self.send = self.send.wrapping_sub(1);
    }

    /// Whether `check` has nothing to say.
    pub(crate) const fn allow(&self, granted: u16) -> bool {
        self.posted != self.ungranted && self.send.checked_add(granted).is_some()
    }

    /// Checks the credits of a Data Transfer message of the peer (3.1.5.8).
    pub(crate) const fn check(&self, granted: u16) -> Result<(), Violation> {
        if self.posted == self.ungranted {
            return Err(Violation::NoCredit);
        }
        // More credits than any receive queue holds (CR-11).
        if self.send.checked_add(granted).is_none() {
            return Err(Violation::CreditOverflow { credits: self.send(), granted });
        }
        Ok(())
    }

    /// Records a checked message: one receive used, a new target, new credits (3.1.5.8).
    #[inline]
    pub(crate) fn on_message(&mut self, requested: u16, granted: u16) {
        self.posted = self.posted.wrapping_sub(1);
        self.send = self.send.wrapping_add(granted);
        if requested != self.target {
            self.aim(requested);
        }
        // CR-17: in place of the one that was used.
        if self.posted < self.window {
            self.take_reserve();
        }
    }
}
