//! A session of SMB2 that a case has in its hands: each request is as the case makes it, and each answer is looked at.

mod content;
mod opening;
mod over_tcp;
mod requests;
mod secured;
mod transforms;

use std::time::Duration;

use smbd_core::Token;
use smbd_smb2::wire::{Channel, Elements, Header, NtStatus};

use super::basis::Basis;
use super::outcome::{Stop, Unjudged};
use super::peer::{Next, Peer};
use super::seen::Whole;
use super::waiting::{ANSWER_WITHIN, PATIENCE};
use crate::smb2::client::Client;

use content::different;
pub(super) use opening::{V3, V302};
pub(super) use requests::{Asked, Bend, Buffer};
pub(super) use secured::How;

/// A session of a guest or a user, with a file that is open.
#[derive(Debug)]
pub(super) struct Session<'p> {
    pub(super) peer: Peer<'p>,
    client: Client,
}

/// An answer of the server.
#[derive(Clone, Debug)]
pub(super) struct Response {
    pub(super) header: Header,
    /// The element, from its header on.
    pub(super) bytes: Vec<u8>,
    /// What its messages have invalidated, one entry for each that has.
    pub(super) invalidated: Vec<Token>,
}

impl Response {
    pub(super) const fn status(&self) -> NtStatus {
        self.header.status
    }
}

/// What comes of a request.
#[derive(Clone, Debug)]
pub(super) enum Came {
    Response(Response),
    /// The connection went down.
    Down,
    /// No answer, for as long as anybody waits.
    Nothing,
}

impl Came {
    fn words(&self) -> String {
        match self {
            Self::Response(response) => format!("the answer is {}", response.status()),
            Self::Down => "the connection went down".into(),
            Self::Nothing => "no answer came".into(),
        }
    }

    /// The status, if there is an answer.
    pub(super) const fn status(&self) -> Option<NtStatus> {
        match self {
            Self::Response(response) => Some(response.status()),
            Self::Down | Self::Nothing => None,
        }
    }
}

impl Session<'_> {
    /// What comes of the request with this MessageId. Interim answers, and those to others, are passed over.
    pub(super) fn comes(&mut self, id: u64) -> Result<Came, Stop> {
        let until = self.peer.play.now().saturating_add(PATIENCE + ANSWER_WITHIN);
        let mut whole = Whole::default();
        loop {
            let left = until.saturating_since(self.peer.play.now());
            let message = match self.peer.next(left) {
                Next::Message(message) => message,
                Next::Down => return Ok(Came::Down),
                Next::Nothing => return Ok(Came::Nothing),
            };
            let seen = self.peer.as_data(message)?;
            if !whole.take(seen) {
                self.peer.keep_granting()?;
                continue;
            }
            let message = std::mem::take(&mut whole);
            if let Some(response) = self.response(id, &message)? {
                return Ok(Came::Response(response));
            }
        }
    }

    /// The answer to a request, if it is in this message.
    fn response(&mut self, id: u64, message: &Whole) -> Result<Option<Response>, Stop> {
        let not_smb2 = |error| Stop::NotJudged(Unjudged::alone(format!("an answer is no SMB2: {error}")));
        let payload = self.opened(message.payload.clone())?;
        self.client.take(&payload).map_err(not_smb2)?;
        for element in Elements::new(&payload) {
            let element = element.map_err(not_smb2)?;
            let Header { message_id, status, .. } = element.header;
            if element.header.is_response() && message_id.0 == id && status != NtStatus::PENDING {
                let all = message.fragments.iter().chain(&message.empties);
                let invalidated = all.filter_map(|seen| seen.message.invalidated).collect();
                let (header, bytes) = (element.header, element.bytes.to_vec());
                return Ok(Some(Response { header, bytes, invalidated }));
            }
        }
        Ok(None)
    }

    /// The answer that should come to this request.
    pub(super) fn answer(&mut self, statements: &str, id: u64, what: &str) -> Result<Response, Stop> {
        let came = self.comes(id)?;
        if let Came::Response(response) = came {
            return Ok(response);
        }
        let text = format!("{what} should be answered, {}", came.words());
        if let Some(stop) = self.peer.play.lacks(Basis::Echo(1), &text) {
            return Err(stop);
        }
        self.peer.require(statements, false, || text)?;
        Err(Stop::Failed)
    }

    /// A request that is refused as the statements have it.
    pub(super) fn is_refused(
        &mut self,
        statements: &str,
        asked: &Asked<'_>,
        what: &str,
        status: NtStatus,
    ) -> Result<(), Stop> {
        let id = self.ask(asked)?;
        let came = self.comes(id)?;
        self.peer.require(statements, came.status() == Some(status), || {
            format!("{what} should be refused with {status}, {}", came.words())
        })
    }

    /// A request that should not succeed, however it ends.
    pub(super) fn does_not_succeed(
        &mut self,
        statements: &str,
        asked: &Asked<'_>,
        what: &str,
    ) -> Result<(), Stop> {
        let id = self.ask(asked)?;
        let came = self.comes(id)?;
        self.peer.check(statements, came.status() != Some(NtStatus::SUCCESS), || {
            format!("{what} should not succeed, it does")
        });
        Ok(())
    }

    /// The answer to a READ or WRITE by a channel invalidates the first token with RDMA_V1_INVALIDATE, and with RDMA_V1 none.
    pub(super) fn invalidates(&mut self, statements: &str, response: &Response, buffer: &Buffer) {
        use super::rig::Ability;
        if !self.peer.play.can(Ability::Invalidation) {
            return;
        }
        let first = buffer.descriptors.first().map(|first| first.token);
        let wanted: Vec<_> =
            first.filter(|_| buffer.channel == Channel::RDMA_V1_INVALIDATE).into_iter().collect();
        self.peer.check(statements, response.invalidated == wanted, || {
            let words = |tokens: &[Token]| match tokens {
                [] => "no token".to_owned(),
                some => some.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and "),
            };
            format!(
                "the answer should invalidate {}, it does {}",
                words(&wanted),
                words(&response.invalidated)
            )
        });
    }

    /// Lets what is under way come to its end.
    pub(super) fn settle(&mut self) {
        self.peer.play.pass(Duration::from_millis(200));
    }
}
