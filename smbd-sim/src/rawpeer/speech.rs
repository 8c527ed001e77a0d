//! The messages that the script sends and receives.

use smbd_core::Role;
use smbd_core::wire::DataTransfer;

use super::RawPeer;
use super::script::{Said, Target, greeting};
use crate::oracle::Rule;

impl RawPeer {
    pub(super) fn before_request(&self) -> bool {
        self.target == Target::Negotiation(Rule::BeforeRequest)
    }

    /// The script's turn to say something, if it may.
    pub(super) fn speak(&mut self, ripe: bool) {
        if self.line.linked.is_none() {
            return;
        }
        if !self.greeted {
            return self.greet();
        }
        if !self.reader.established && self.voice.max_send == 128 && self.heads == 0 {
            return self.pass_time();
        }
        match self.target {
            Target::Silence if ripe => return self.pass_time(),
            Target::Noise if ripe && self.credits > 0 => {
                let said = self.voice.noise(&mut self.rng);
                return self.say(&said);
            }
            Target::Data(Rule::NoCredit) if ripe => {
                if self.credits == 0 && !self.line.recvs.is_empty() {
                    self.done = true;
                    self.credits = 1;
                    let said = self.voice.valid(0, &mut self.rng);
                    return self.say(&said);
                }
                if self.credits == 0 {
                    return self.pass_time();
                }
            }
            Target::Data(rule) if ripe && self.credits > 0 && self.voice.is_ripe(rule) => {
                let said = self.voice.broken(rule, &mut self.rng);
                // Two of them are needed to have too many.
                self.done = rule != Rule::CreditOverflow;
                return self.say(&said);
            }
            _ => {}
        }
        if self.credits == 0 || self.line.recvs.is_empty() {
            return self.pass_time();
        }
        let stingy = ripe && matches!(self.target, Target::NoGrants | Target::Data(Rule::NoCredit));
        let granted = if stingy { 0 } else { u16::try_from(self.rng.below(4)).unwrap_or(0) };
        let said = self.voice.valid(granted, &mut self.rng);
        self.say(&said);
    }

    fn greet(&mut self) {
        let early = self.before_request();
        let asked =
            self.role == Role::Acceptor || early || (self.line.linked == Some(true) && self.heads > 0);
        if self.target == Target::Silence && self.rng.chance(1, 2) {
            return self.pass_time();
        }
        if !asked || (early && self.line.linked == Some(true)) {
            return self.complete();
        }
        self.greeted = true;
        self.heads = 0;
        self.done = matches!(self.target, Target::Negotiation(_));
        let bytes = greeting(self.role, &self.config, self.target, self.asked, &mut self.rng);
        self.deliver(&Said { bytes, invalidates: None });
        if let Some(negotiated) = self.driven.connection().negotiated() {
            self.voice.max_send = negotiated.max_receive_size;
            self.heads = 1;
        }
    }

    fn say(&mut self, said: &Said) {
        if self.line.recvs.is_empty() {
            return;
        }
        self.credits -= 1;
        self.deliver(said);
    }

    fn deliver(&mut self, said: &Said) {
        if self.line.deliver(said) {
            self.drive();
        }
    }

    /// The script hears a message: credits, above all.
    pub(super) fn hear(&mut self, head: &[u8]) {
        let negotiation = self.heads == 0 && !self.greeted || (self.greeted && self.asked == 0);
        self.heads += 1;
        match (self.role, head) {
            (Role::Initiator, [_, _, _, _, _, _, low, high, ..]) if negotiation => {
                self.asked = u16::from_le_bytes([*low, *high]);
            }
            (Role::Acceptor, [_, _, _, _, _, _, _, _, a, b, c, d, ..]) if self.asked == 0 => {
                self.asked = u16::from_le_bytes([*a, *b]);
                self.credits += u32::from(u16::from_le_bytes([*c, *d]));
            }
            _ => {
                if let Ok(header) = DataTransfer::parse(head) {
                    self.credits += u32::from(header.credits_granted);
                }
            }
        }
    }
}
