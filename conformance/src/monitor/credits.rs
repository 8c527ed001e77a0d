//! The send credits of both sides.

use smbd_core::wire::{DataTransfer, Flags, NegotiateResponse};
use smbd_sim::decode::Direction;

use super::data::is_empty;
use super::rules::credits as rules;
use super::verdict::{At, Journal, Ledger, reversed, sender};

/// Nobody has more receives posted.
const HELD_MAX: i64 = 65_535;
/// A window that is smaller cannot keep two sides going (CR-5 in `docs/spec-issues.md`).
const WINDOW_MIN: u16 = 3;
/// Messages in a row that only grant, each the answer to the one before, that are no coincidence.
const ANSWERS_MAX: u32 = 8;

/// What is known of one side.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    ledger: Ledger,
    /// Credits it holds.
    held: i64,
    /// The most it has asked for.
    asked: u16,
}

impl Account {
    fn keep_lowest(&mut self) {
        let lowest = self.ledger.lowest.unwrap_or(self.held);
        self.ledger.lowest = Some(lowest.min(self.held));
    }
}

/// Both sides: initiator, acceptor.
#[derive(Debug, Default)]
pub(super) struct Credits {
    accounts: [Account; 2],
    /// What both hold is known.
    known: bool,
    /// The last messages only granted, each from the other side than the one before.
    answers: Option<(Direction, u32)>,
}

impl Credits {
    /// A side asked for credits in the negotiation.
    pub(super) fn asked(&mut self, direction: Direction, credits: u16) {
        self.accounts[sender(direction)].asked = credits;
    }

    /// The negotiation succeeded.
    pub(super) fn begin(&mut self, direction: Direction, response: &NegotiateResponse) {
        self.known = true;
        let (own, peer) = (sender(direction), sender(reversed(direction)));
        self.accounts[own].ledger.granted_negotiating = response.credits_granted.into();
        self.asked(direction, response.credits_requested);
        self.accounts[peer].held = response.credits_granted.into();
        self.accounts[peer].ledger.lowest = Some(response.credits_granted.into());
    }

    /// A message is not in the capture: it may have spent and granted anything.
    pub(super) fn lost(&mut self) {
        self.known = false;
        for account in &mut self.accounts {
            account.ledger.lowest = None;
        }
        self.answers = None;
    }

    /// A message that costs a credit and of which nothing else can be used.
    pub(super) fn spend_only(&mut self, direction: Direction) {
        let known = self.known;
        let account = &mut self.accounts[sender(direction)];
        account.ledger.spent += 1;
        account.held -= 1;
        if known {
            account.keep_lowest();
        }
    }

    /// Whether the receiver of `direction` can surely send: it may keep its last credit, if it has none to give.
    pub(super) const fn may_answer(&self, direction: Direction) -> Option<bool> {
        if self.known { Some(self.accounts[sender(reversed(direction))].held >= 2) } else { None }
    }

    pub(super) fn ledgers(&self) -> [Ledger; 2] {
        self.accounts.map(|account| account.ledger)
    }

    pub(super) fn data(&mut self, at: At, header: &DataTransfer, journal: &mut Journal) {
        let (own, peer) = (sender(at.direction), sender(reversed(at.direction)));
        self.spend(at, header, journal);
        self.accounts[own].asked = self.accounts[own].asked.max(header.credits_requested);
        self.accounts[own].ledger.granted_later += u64::from(header.credits_granted);
        self.accounts[peer].held += i64::from(header.credits_granted);
        if self.known && header.credits_granted > 0 {
            self.accounts[peer].keep_lowest();
        }
        if header.credits_granted > 0 {
            self.grant(at, header, journal);
        }
        self.answer(at, header, journal);
    }

    fn spend(&mut self, at: At, header: &DataTransfer, journal: &mut Journal) {
        if self.known {
            let held = self.accounts[sender(at.direction)].held;
            if held <= 0 {
                let seen = format!("sent with {held} send credits");
                journal.broken(&rules::SEND_WITHOUT_CREDIT, at, seen, "at least 1");
            } else if held == 1 && header.credits_granted == 0 {
                let seen = "the last send credit, CreditsGranted 0";
                journal.broken(&rules::LAST_CREDIT, at, seen, "CreditsGranted at least 1");
            }
        } else {
            journal.not_judged(&rules::SEND_WITHOUT_CREDIT);
            journal.not_judged(&rules::LAST_CREDIT);
        }
        self.spend_only(at.direction);
    }

    fn grant(&self, at: At, header: &DataTransfer, journal: &mut Journal) {
        if !self.known {
            journal.not_judged(&rules::OVERFLOW);
            journal.not_judged(&rules::ABOVE_REQUESTED);
            return;
        }
        let Account { held, asked, .. } = self.accounts[sender(reversed(at.direction))];
        let most = i64::from(asked.max(WINDOW_MIN)) + 1;
        let seen = || format!("CreditsGranted {}, {held} held with them", header.credits_granted);
        if held > HELD_MAX {
            journal.broken(&rules::OVERFLOW, at, seen(), format!("at most {HELD_MAX} held"));
        } else if held > most {
            let expected = format!("at most {most} held, {asked} being asked for");
            journal.broken(&rules::ABOVE_REQUESTED, at, seen(), expected);
        }
    }

    fn answer(&mut self, at: At, header: &DataTransfer, journal: &mut Journal) {
        let only_grants = is_empty(header)
            && header.credits_granted > 0
            && !header.flags.contains(Flags::RESPONSE_REQUESTED);
        self.answers = match self.answers {
            _ if !only_grants => None,
            Some((last, count)) if last != at.direction => Some((at.direction, count.saturating_add(1))),
            _ => Some((at.direction, 1)),
        };
        if self.answers.is_some_and(|(_, count)| count == ANSWERS_MAX) {
            let seen = format!("{ANSWERS_MAX} messages that only grant, by turns");
            journal.broken(&rules::GRANTS_ANSWER_GRANTS, at, seen, "an end of it");
        }
    }
}
