//! An SMB2 client on one connection: gets credits, a session as a guest and a file, as far as it wants them, and then makes
//! requests. It counts MessageIds and credits; what the answers mean is for its owner.

mod bound;
mod ntlm;
mod requests;
mod security;

use smbd_smb2::security::{SecurityError, SessionKeys};
use smbd_smb2::wire::{
    Capabilities, Command, CommandBody, CreateResponse, Dialect, Element, Elements, FileId, Header,
    NegotiateContext, NegotiateResponse, NtStatus, RdmaTransformId, SessionId, SessionSetupResponse, Target,
    TreeId, WireError,
};

pub use bound::Bound;
pub use requests::{By, Requests};
use security::Security;
pub use security::{ENTROPY, Protection, Secured, User};

/// Credits that a client has at least, if the server grants them.
const CREDITS_WANTED: u64 = 512;
/// Bytes that a credit pays for (3.2.4.1.5).
const CREDIT_BYTES: u64 = 65_536;
/// The name of the file that is opened.
pub const FILE: &str = "smbd-conformance.tmp";
/// The same of one that is emptied.
const EMPTY_FILE: &str = "smbd-conformance-channel.tmp";
/// Of no session: a request with it is refused as such (3.3.5.2.9).
const NO_SESSION: SessionId = SessionId(0x736d_6264);

/// What a client is to get before it makes requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// `\\server\share`: a session as a guest, and a file there.
    pub share: Option<String>,
    /// More credits than the one that NEGOTIATE brings, by an ECHO without a session.
    pub echo: bool,
    /// The dialects that are offered; none: 2.1 and all of 3.
    pub dialects: Vec<Dialect>,
    /// Transforms of RDMA that are offered with 3.1.1.
    pub transforms: Vec<RdmaTransformId>,
    /// The file that is opened.
    pub file: Opened,
    /// A session as a user in the place of a guest's.
    pub secured: Option<Secured>,
    /// The session may have other connections.
    pub channels: bool,
}

/// The file that a client opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opened {
    /// [`FILE`].
    #[default]
    Usual,
    /// One of its own, which is empty then.
    Emptied,
    /// The same, with what is in it.
    Kept,
}

/// What a server has said of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Negotiated {
    /// The dialect that it chose.
    pub dialect: Dialect,
    /// What it can do.
    pub capabilities: Capabilities,
    /// The most bytes of a READ.
    pub max_read_size: u32,
    /// The most bytes of a WRITE.
    pub max_write_size: u32,
    /// Transforms of RDMA that it has chosen.
    pub transforms: Vec<RdmaTransformId>,
}

impl From<&NegotiateResponse<'_>> for Negotiated {
    fn from(response: &NegotiateResponse<'_>) -> Self {
        let transforms = response.contexts.iter().flatten().find_map(|context| match context {
            NegotiateContext::RdmaTransform(ids) => Some(ids.iter().collect()),
            _ => None,
        });
        Self {
            dialect: response.dialect,
            capabilities: response.capabilities,
            max_read_size: response.max_read_size,
            max_write_size: response.max_write_size,
            transforms: transforms.unwrap_or_default(),
        }
    }
}

/// A step on the way to what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Negotiate,
    Echo,
    Challenge,
    Login,
    Tree,
    Open,
    Ready,
}

impl Step {
    /// Whether its request belongs to the preauthentication hash (3.2.5.2, 3.2.5.3.1).
    const fn is_hashed(self) -> bool {
        matches!(self, Self::Negotiate | Self::Challenge | Self::Login)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Negotiate => "the response to SMB2 NEGOTIATE",
            Self::Echo => "the response to SMB2 ECHO",
            Self::Challenge | Self::Login => "the response to SMB2 SESSION_SETUP",
            Self::Tree => "the response to SMB2 TREE_CONNECT",
            Self::Open => "the response to SMB2 CREATE",
            Self::Ready => "nothing",
        }
    }
}

/// A client that the server refused something that it cannot go on without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The request.
    pub command: Command,
    /// What the server says.
    pub status: NtStatus,
}

/// The client.
#[derive(Debug)]
pub struct Client {
    wants: Wants,
    security: Option<Box<Security>>,
    /// The server's last token.
    token: Vec<u8>,
    step: Step,
    /// The MessageId of the step's request, if that was made.
    awaited: Option<u64>,
    next_id: u64,
    credits: u64,
    negotiated: Negotiated,
    session: SessionId,
    tree: TreeId,
    file: Option<FileId>,
    /// The session to which its connection is bound, in the place of one of its own.
    bound: Option<Bound>,
    refused: Option<Refused>,
}

impl Client {
    /// A client that has said nothing.
    #[must_use]
    pub fn new(wants: Wants) -> Self {
        let security = wants.secured.clone().map(|how| Box::new(Security::new(how)));
        Self {
            wants,
            security,
            token: Vec::new(),
            step: Step::Negotiate,
            awaited: None,
            next_id: 0,
            credits: 1,
            negotiated: Negotiated::default(),
            session: SessionId::NONE,
            tree: TreeId::NONE,
            file: None,
            bound: None,
            refused: None,
        }
    }

    /// The next request on the way to what is wanted; `None` while an answer is awaited, and when all is there.
    ///
    /// # Errors
    /// The name of the share is too long.
    pub fn next_request(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        if !self.has_next() {
            return Ok(None);
        }
        self.awaited = Some(self.next_id);
        let step = self.step;
        let token = self.next_token();
        let mut requests = Requests::new(self);
        match step {
            Step::Negotiate => requests.negotiate()?,
            Step::Echo => requests.echo()?,
            Step::Challenge | Step::Login => requests.session_setup(&token)?,
            Step::Tree => requests.tree_connect()?,
            Step::Open => requests.create()?,
            Step::Ready => {}
        }
        let message = requests.finish().0;
        if let Some(security) = self.security.as_mut().filter(|_| step.is_hashed()) {
            security.hash(&message);
        }
        Ok(Some(message))
    }

    /// Whether [`next_request`](Self::next_request) has something.
    #[must_use]
    pub fn has_next(&self) -> bool {
        self.awaited.is_none() && self.step != Step::Ready && self.refused.is_none()
    }

    /// What the server owes, if it owes anything on the way to what is wanted.
    #[must_use]
    pub fn awaits(&self) -> Option<&'static str> {
        (self.step != Step::Ready && self.refused.is_none()).then(|| self.step.name())
    }

    /// What was refused.
    #[must_use]
    pub const fn refused(&self) -> Option<&Refused> {
        self.refused.as_ref()
    }

    /// The dialect that the server chose.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.negotiated.dialect
    }

    /// What the server has said of itself.
    #[must_use]
    pub const fn negotiated(&self) -> &Negotiated {
        &self.negotiated
    }

    /// The file, once it is open.
    #[must_use]
    pub const fn file(&self) -> Option<FileId> {
        self.file
    }

    /// Requests that may be made, of one credit each.
    #[must_use]
    pub const fn credits(&self) -> u64 {
        self.credits
    }

    /// What SESSION_SETUP says of the client, if that is next.
    fn next_token(&mut self) -> Vec<u8> {
        let from_server = std::mem::take(&mut self.token);
        match (self.step, &mut self.security) {
            (Step::Challenge | Step::Login, Some(security)) => security.token(&from_server),
            (Step::Challenge, None) => ntlm::negotiate(),
            (Step::Login, None) => ntlm::authenticate_as_guest(),
            _ => Vec::new(),
        }
    }

    /// A message of one request as it goes in this session.
    ///
    /// # Errors
    /// A key cannot be used.
    pub fn protect(&mut self, message: Vec<u8>) -> Result<Vec<u8>, SecurityError> {
        match &mut self.security {
            Some(security) => match &mut self.bound {
                Some(bound) if security.keys.is_none() => bound.protect(message),
                _ => security.protect(self.session, message),
            },
            None => Ok(message),
        }
    }

    /// The elements of a message of the server: decrypted, if they were encrypted.
    ///
    /// # Errors
    /// It is not what a server with the session's keys has sent.
    pub fn open(&self, message: Vec<u8>) -> Result<Vec<u8>, SecurityError> {
        match &self.security {
            Some(security) => security.open(message),
            None => Ok(message),
        }
    }

    /// The keys of a user's session.
    pub fn keys(&mut self) -> Option<&mut SessionKeys> {
        self.security.as_mut()?.keys.as_mut()
    }

    /// Whether the session is a user's, whose messages are signed or encrypted.
    #[must_use]
    pub const fn is_secured(&self) -> bool {
        self.security.is_some()
    }

    /// How messages of a user's session are protected; [`Protection::AsAsked`] if the server did not ask for anything.
    #[must_use]
    pub fn protection(&self) -> Option<Protection> {
        self.security.as_ref().map(|security| security.protection())
    }

    /// A cipher or an algorithm that the session needs, and that the server did not choose.
    #[must_use]
    pub fn lacks(&self) -> Option<String> {
        self.security.as_ref()?.lacks()
    }

    /// Takes in a message of the server: credits, and the answer to the step's request.
    ///
    /// # Errors
    /// It is no SMB2 message.
    pub fn take(&mut self, message: &[u8]) -> Result<(), WireError> {
        for element in Elements::new(message) {
            let element = element?;
            if !element.header.is_response() {
                continue;
            }
            self.credits = self.credits.saturating_add(element.header.credits.into());
            let is_final = element.header.status != NtStatus::PENDING;
            if self.awaited == Some(element.header.message_id.0) && is_final {
                self.awaited = None;
                self.answered(&element)?;
            }
        }
        Ok(())
    }

    fn answered(&mut self, element: &Element<'_>) -> Result<(), WireError> {
        let Header { status, command, .. } = element.header;
        let goes_on = self.step == Step::Challenge && status == NtStatus::MORE_PROCESSING_REQUIRED;
        if status != NtStatus::SUCCESS && !goes_on {
            self.refused = Some(Refused { command, status });
            return Ok(());
        }
        if let Some(security) = self.security.as_mut().filter(|_| self.step == Step::Negotiate || goes_on) {
            security.hash(element.bytes);
        }
        match self.step {
            Step::Negotiate => {
                let response = NegotiateResponse::parse(element.bytes)?;
                if let Some(security) = &mut self.security {
                    security.negotiated(&response);
                }
                self.negotiated = (&response).into();
                self.session = self.bound.as_ref().map_or(self.session, |bound| bound.session);
            }
            Step::Challenge => {
                self.session = element.header.session_id;
                self.token = SessionSetupResponse::parse(element.bytes)?.security_buffer.to_vec();
            }
            Step::Login if self.security.is_some() => {
                let response = SessionSetupResponse::parse(element.bytes)?;
                if let Some(security) = &mut self.security {
                    security.token(response.security_buffer);
                    security.established(response.flags);
                }
                if let Some(bound) = &self.bound {
                    (self.tree, self.file) = (bound.tree, bound.file);
                }
            }
            Step::Tree => self.tree = element.header.tree_id().unwrap_or_default(),
            Step::Open => self.file = Some(CreateResponse::parse(element.bytes)?.file_id),
            Step::Echo | Step::Login | Step::Ready => {}
        }
        self.step = self.after(self.step, status);
        Ok(())
    }

    fn after(&self, step: Step, status: NtStatus) -> Step {
        let wants_share = self.wants.share.is_some();
        match step {
            Step::Negotiate if wants_share => Step::Challenge,
            Step::Negotiate if self.wants.echo => Step::Echo,
            // Whoever lets everyone in at once has nothing more to hear.
            Step::Challenge if status == NtStatus::SUCCESS => Step::Tree,
            Step::Challenge => Step::Login,
            Step::Login if self.bound.is_some() => Step::Ready,
            Step::Login => Step::Tree,
            Step::Tree => Step::Open,
            Step::Negotiate | Step::Echo | Step::Open | Step::Ready => Step::Ready,
        }
    }

    /// The header of a request, which takes credits.
    fn header<M: CommandBody>(&mut self, bytes: u64) -> Header {
        let charge = bytes.div_ceil(CREDIT_BYTES).max(1);
        let header = Header::request::<M>(self.next_id);
        self.next_id = self.next_id.saturating_add(charge);
        self.credits = self.credits.saturating_sub(charge);
        let wanted = CREDITS_WANTED.saturating_sub(self.credits).max(charge);
        Header {
            credit_charge: u16::try_from(charge).unwrap_or(u16::MAX),
            credits: u16::try_from(wanted).unwrap_or(u16::MAX),
            session_id: self.session,
            target: Target::Sync { process_id: 0, tree_id: self.tree },
            ..header
        }
    }
}
