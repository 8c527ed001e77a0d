//! Negotiation as the script does it.

use std::time::Duration;

use smbd_core::wire::{NegotiateRequest, NegotiateResponse};

use super::outcome::Stop;
use super::peer::Peer;
use super::rig::UpperHand;
use super::script::{Request, Response, Terms};
use super::seen::Message;
use super::waiting::PATIENCE;

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
        self.play.post_receives(self.id, receives, response.max_receive_size)?;
        let state = &mut self.play.states[self.id];
        state.receive_len = response.max_receive_size.min(state.receive_len_max);
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
        let message = self.expect(statements, PATIENCE)?;
        let parsed = NegotiateRequest::parse(&message.bytes);
        self.require(statements, parsed.is_ok(), || {
            format!("a Negotiate Request has 20 bytes, {} came", message.bytes.len())
        })?;
        parsed.map(|request| (request, message)).map_err(|_| Stop::Failed)
    }

    /// The Negotiate Response that should come within 120 s.
    ///
    /// # Errors
    /// None came, or it is too short; a finding about `statements`.
    pub fn response(&mut self, statements: &str) -> Result<(NegotiateResponse, Message), Stop> {
        let message = self.expect(statements, PATIENCE)?;
        let parsed = NegotiateResponse::parse(&message.bytes);
        let id = self.id;
        let holds = parsed.is_ok();
        self.play.about(id, statements, holds, || {
            format!("a Negotiate Response has 32 bytes, {} came", message.bytes.len())
        })?;
        parsed.map(|response| (response, message)).map_err(|_| Stop::Failed)
    }

    /// Does what is left of a negotiation with these terms.
    ///
    /// # Errors
    /// It fails, which is a finding.
    pub fn negotiate(&mut self, terms: &Terms) -> Result<(), Stop> {
        self.play.states[self.id].terms = *terms;
        let id = self.id;
        if self.play.subject_accepts() {
            self.request(&terms.request)?;
            let (response, _) = self.response("")?;
            let good = response.status.is_success();
            self.play.about(id, "", good, || format!("negotiation is refused with {}", response.status))?;
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
