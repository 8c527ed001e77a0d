//! Negotiation as the script does it.

use std::time::Duration;

use smbd_core::wire::{NegotiateRequest, NegotiateResponse};

use super::basis::Basis;
use super::outcome::Stop;
use super::peer::{MESSAGE_MIN, Peer};
use super::rig::UpperHand;
use super::script::{Request, Response, Terms};
use super::seen::Message;
use super::state::NEGOTIATION_LEN;
use super::waiting::PATIENCE;
use super::words::Words;

impl Peer<'_> {
    /// Sends a Negotiate Request.
    ///
    /// # Errors
    /// The script's device cannot.
    pub fn request(&mut self, request: &Request) -> Result<(), Stop> {
        let request = self.as_sent(request);
        let state = &mut self.play.states[self.id];
        state.terms.request = request;
        state.receive_len = request.max_receive_size.min(state.receive_len_max);
        self.say_invalidating(&request.encode(), None)
    }

    /// A Negotiate Request as it is sent: with what the target needs instead of the usual values.
    #[must_use]
    pub fn as_sent(&self, request: &Request) -> Request {
        self.play.rig.usual().map_or(*request, |usual| request.with(usual))
    }

    /// Sends a Negotiate Response, after posting the receives it grants, as many as there is room for.
    ///
    /// # Errors
    /// The subject's request cannot be read.
    pub fn respond(&mut self, response: &Response) -> Result<(), Stop> {
        self.respond_and_more(response, &[])
    }

    /// The same with more bytes behind the response, in the same message.
    ///
    /// # Errors
    /// As [`respond`](Self::respond).
    pub fn respond_and_more(&mut self, response: &Response, more: &[u8]) -> Result<(), Stop> {
        let announced = self.announced()?.max_receive_size();
        self.play.states[self.id].terms.response = *response;
        let state = &self.play.states[self.id];
        let granted = u32::from(response.credits_granted);
        let receives = granted.min(state.receives_max.saturating_sub(state.posted));
        // A response that has to be refused promises nothing: what comes nevertheless is to be seen, and not lost.
        let len = match response.max_receive_size {
            size if size < MESSAGE_MIN => NEGOTIATION_LEN,
            size => size,
        };
        self.play.post_receives(self.id, receives, len)?;
        let state = &mut self.play.states[self.id];
        state.receive_len = len.min(state.receive_len_max);
        state.granted += i64::from(granted);
        let mut bytes = response.encode(announced);
        bytes.extend_from_slice(more);
        self.say_invalidating(&bytes, None)
    }

    /// The Negotiate Request that should come within 120 s.
    ///
    /// # Errors
    /// None came, or it is too short; a finding about `statements`.
    pub fn asked(&mut self, statements: &str) -> Result<(NegotiateRequest, Message), Stop> {
        let message = self.expect_with(statements, PATIENCE, Some(Basis::Negotiation))?;
        match NegotiateRequest::parse(&message.bytes) {
            Ok(request) => Ok((request, message)),
            Err(_) => Err(self.cannot_be_read("2.2.1-01", "a Negotiate Request has 20 bytes", &message)),
        }
    }

    /// The Negotiate Response that should come within 120 s.
    ///
    /// # Errors
    /// None came, or it is too short; a finding about `statements`.
    pub fn response(&mut self, statements: &str) -> Result<(NegotiateResponse, Message), Stop> {
        let message = self.expect_with(statements, PATIENCE, Some(Basis::Negotiation))?;
        match NegotiateResponse::parse(&message.bytes) {
            Ok(response) => Ok((response, message)),
            Err(_) => Err(self.cannot_be_read("2.2.2-01", "a Negotiate Response has 32 bytes", &message)),
        }
    }

    /// A negotiation message that is too short breaks its layout, whatever the case is about.
    fn cannot_be_read(&mut self, layout: &str, rule: &str, message: &Message) -> Stop {
        let text = format!("{rule}, {} came", message.words());
        if let Some(stop) = self.play.lacks(Basis::Negotiation, &text) {
            return stop;
        }
        let id = self.id;
        self.play.shared(id, layout, false, || text);
        Stop::Failed
    }

    /// A request that breaks no rule should be accepted. If it is not, `statements` are broken.
    ///
    /// # Errors
    /// It is not; or a usual request is not, either.
    pub fn accepted(&mut self, statements: &str, response: &NegotiateResponse) -> Result<(), Stop> {
        let status = response.status;
        if status.is_success() {
            return self.require(statements, true, String::new);
        }
        let text = format!("the request breaks no rule and should be accepted, Status is {status}");
        if let Some(stop) = self.play.lacks(Basis::Negotiation, &text) {
            return Err(stop);
        }
        self.require(statements, false, || text)
    }

    /// Does what is left of a negotiation with these terms.
    ///
    /// # Errors
    /// It fails, which is a finding.
    pub fn negotiate(&mut self, terms: &Terms) -> Result<(), Stop> {
        self.play.states[self.id].terms = *terms;
        if self.play.subject_accepts() {
            self.request(&terms.request)?;
            let (response, _) = self.response("")?;
            self.accepted("", &response)?;
            if response.credits_granted == 0 {
                let because = "the response grants no credits".into();
                return Err(self.play.without(Basis::Negotiation, because));
            }
            self.post_receives(terms.receives)
        } else {
            self.asked("")?;
            self.respond(&terms.response)?;
            self.let_it_arrive();
            Ok(())
        }
    }

    /// The subject's upper layer can be given commands from here on, where it can be looked at.
    fn let_it_arrive(&mut self) {
        for _ in 0..100 {
            let settled = |upper: &mut dyn UpperHand| upper.endpoint().connection().negotiated().is_some();
            if self.upper_if_seen().is_none_or(settled) || self.is_down() {
                return;
            }
            self.play.pass(Duration::from_micros(10));
        }
    }
}
