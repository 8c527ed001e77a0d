//! How a session comes about.

use smbd_smb2::wire::{Command, Dialect, NtStatus, RdmaTransformId, WireError};

use super::super::basis::Basis;
use super::super::outcome::{Stop, Unjudged};
use super::super::play::Play;
use super::super::script::{Data, Terms};
use super::super::state::Announced;
use super::super::upper::Upper;
use super::Session;
use crate::smb2::client::{Client, Opened, Wants};

/// All of 3.
pub(in super::super) const V3: &[Dialect] = &[Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];
/// Those that have RDMA_V1_INVALIDATE.
pub(in super::super) const V302: &[Dialect] = &[Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];

/// No case moves more bytes with one request.
const BYTES_MAX: u32 = 8 << 20;
/// The same where the script has keys: all is encrypted or signed by it, and takes its time.
const SECURED_MAX: u32 = 1 << 20;
/// Bytes that a credit is good for (3.2.4.1.5).
const CREDIT_BYTES: u64 = 65_536;

impl Play {
    /// A session as a guest, in one of these dialects.
    ///
    /// # Errors
    /// The server has none of them, or no guests: not applicable.
    pub(in super::super) fn session(&mut self, dialects: &[Dialect]) -> Result<Session<'_>, Stop> {
        self.session_if_spoken(dialects)?.map_err(Stop::NotApplicable)
    }

    /// The same, where the case goes on without these dialects: why, if the server has none of them.
    ///
    /// # Errors
    /// The server has no guests: not applicable.
    pub(in super::super) fn session_if_spoken(
        &mut self,
        dialects: &[Dialect],
    ) -> Result<Result<Session<'_>, String>, Stop> {
        let Upper::Server(facts) = &self.upper else {
            return Err(Stop::NotApplicable("the case is about an SMB2 server".into()));
        };
        let wants = Wants {
            share: facts.share.clone(),
            dialects: dialects.to_vec(),
            file: Opened::Emptied,
            ..Wants::default()
        };
        let mut session = self.begin(wants)?;
        while session.advances()? {}
        let refused = session.client.refused().map(|refused| refused.command);
        let is_spoken = refused != Some(Command::NEGOTIATE) && dialects.contains(&session.client.dialect());
        match session.is_there(dialects) {
            Err(Stop::NotApplicable(why)) if !is_spoken => Ok(Err(why)),
            there => there.map(|()| Ok(session)),
        }
    }

    /// A connection on which nothing of SMB2 was said.
    pub(super) fn begin(&mut self, wants: Wants) -> Result<Session<'_>, Stop> {
        let peer = self.established_on(&Terms::credit_cases().credits(255))?;
        Ok(Session { peer, client: Client::new(wants) })
    }
}

pub(super) fn broken(error: WireError) -> Stop {
    Stop::Broken(format!("a request cannot be made: {error}"))
}

/// The server has refused nothing, and chosen one of these dialects.
pub(super) fn is_there(client: &Client, dialects: &[Dialect]) -> Result<(), Stop> {
    if let Some(refused) = client.refused() {
        let of = match (refused.command, refused.status) {
            (Command::NEGOTIATE, NtStatus::NOT_SUPPORTED) => {
                let names: Vec<_> = dialects.iter().map(ToString::to_string).collect();
                format!(" with dialect {}", names.join(", "))
            }
            _ => String::new(),
        };
        let why = format!("the server refuses SMB2 {}{of}: {}", refused.command, refused.status);
        return Err(Stop::NotApplicable(why));
    }
    let chosen = client.dialect();
    if dialects.contains(&chosen) {
        return Ok(());
    }
    Err(Stop::NotApplicable(format!("the server chooses dialect {chosen}, which was not offered")))
}

impl Session<'_> {
    /// The next request on the way to a session, and its answer; whether there was one.
    pub(super) fn advances(&mut self) -> Result<bool, Stop> {
        let Some(message) = self.client.next_request().map_err(broken)? else { return Ok(false) };
        self.say(message)?;
        self.step_is_answered()?;
        Ok(true)
    }

    pub(super) fn say(&mut self, message: Vec<u8>) -> Result<(), Stop> {
        let message = self.client.protect(message);
        let message =
            message.map_err(|error| Stop::Broken(format!("a request cannot be protected: {error}")))?;
        for fragment in self.peer.fragments(&message)? {
            self.peer.send(&Data { ..fragment })?;
        }
        Ok(())
    }

    /// The answer to a request on the way to a session.
    fn step_is_answered(&mut self) -> Result<(), Stop> {
        let awaited = self.client.awaits();
        while self.client.awaits().is_some() && self.client.awaits() == awaited && !self.client.has_next() {
            let whole = self.peer.whole_with("", Basis::Echo(1))?;
            let message = self.opened(whole.payload)?;
            self.client.take(&message).map_err(|error| {
                Stop::NotJudged(Unjudged::alone(format!(
                    "an answer on the way to a session is no SMB2: {error}"
                )))
            })?;
        }
        Ok(())
    }

    /// The elements of a message of the server.
    pub(super) fn opened(&self, message: Vec<u8>) -> Result<Vec<u8>, Stop> {
        let wrong = |error| format!("an answer is not protected with the keys of the session: {error}");
        self.client.open(message).map_err(|error| Stop::NotJudged(Unjudged::alone(wrong(error))))
    }

    pub(super) fn is_there(&self, dialects: &[Dialect]) -> Result<(), Stop> {
        is_there(&self.client, dialects)
    }

    /// The dialect.
    pub(in super::super) const fn dialect(&self) -> Dialect {
        self.client.dialect()
    }

    /// The transforms that were negotiated.
    pub(in super::super) fn transforms(&self) -> &[RdmaTransformId] {
        &self.client.negotiated().transforms
    }

    /// MaxReadSize, as far as it can be used.
    pub(in super::super) fn max_read(&self) -> u32 {
        self.usable(self.client.negotiated().max_read_size)
    }

    /// MaxWriteSize, as far as it can be used.
    pub(in super::super) fn max_write(&self) -> u32 {
        self.usable(self.client.negotiated().max_write_size)
    }

    /// MaxWriteSize.
    pub(in super::super) const fn stated_max_write(&self) -> u32 {
        self.client.negotiated().max_write_size
    }

    fn usable(&self, stated: u32) -> u32 {
        let direct = match self.peer.announced() {
            Ok(Announced::Response(response)) => response.max_read_write_size,
            _ => u32::MAX,
        };
        let paid = u32::try_from(self.client.credits().saturating_mul(CREDIT_BYTES)).unwrap_or(u32::MAX);
        let most = if self.client.is_secured() { SECURED_MAX } else { BYTES_MAX };
        stated.min(direct).min(paid).min(most)
    }
}
