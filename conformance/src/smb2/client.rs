//! An SMB2 client on one connection: gets credits, a session as a guest and a file, as far as it wants them, and then makes
//! requests. It counts MessageIds and credits; what the answers mean is for its owner.

mod ntlm;

use smbd_smb2::wire::header::field;
use smbd_smb2::wire::{
    AccessMask, Capabilities, Command, CommandBody, CreateDisposition, CreateOptions, CreateRequest,
    CreateResponse, Dialect, EchoRequest, Element, Elements, FileId, Guid, HashAlgorithm, Header,
    ImpersonationLevel, NegotiateContext, NegotiateRequest, NegotiateResponse, NtStatus, ReadRequest,
    SecurityMode, SessionId, SessionSecurityMode, SessionSetupRequest, ShareAccess, Target, Text,
    TreeConnectRequest, TreeId, WireError, WriteRequest, write_element,
};

/// Credits that a client has at least, if the server grants them.
const CREDITS_WANTED: u64 = 512;
/// Bytes that a credit pays for (3.2.4.1.5).
const CREDIT_BYTES: u64 = 65_536;
/// The name of the file that is opened.
pub const FILE: &str = "smbd-conformance.tmp";
/// Of no session: a request with it is refused as such (3.3.5.2.9).
const NO_SESSION: SessionId = SessionId(0x736d_6264);

/// What a client is to get before it makes requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// `\\server\share`: a session as a guest, and a file there.
    pub share: Option<String>,
    /// More credits than the one that NEGOTIATE brings, by an ECHO without a session.
    pub echo: bool,
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
#[derive(Clone, Debug)]
pub struct Client {
    wants: Wants,
    step: Step,
    /// The MessageId of the step's request, if that was made.
    awaited: Option<u64>,
    next_id: u64,
    credits: u64,
    dialect: Dialect,
    session: SessionId,
    tree: TreeId,
    file: Option<FileId>,
    refused: Option<Refused>,
}

impl Client {
    /// A client that has said nothing.
    #[must_use]
    pub const fn new(wants: Wants) -> Self {
        Self {
            wants,
            step: Step::Negotiate,
            awaited: None,
            next_id: 0,
            credits: 1,
            dialect: Dialect(0),
            session: SessionId::NONE,
            tree: TreeId::NONE,
            file: None,
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
        let mut requests = Requests::new(self);
        match requests.client.step {
            Step::Negotiate => requests.negotiate()?,
            Step::Echo => requests.echo()?,
            Step::Challenge => requests.session_setup(&ntlm::negotiate())?,
            Step::Login => requests.session_setup(&ntlm::authenticate_as_guest())?,
            Step::Tree => requests.tree_connect()?,
            Step::Open => requests.create()?,
            Step::Ready => {}
        }
        Ok(Some(requests.message))
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
        self.dialect
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
        match self.step {
            Step::Negotiate => self.dialect = NegotiateResponse::parse(element.bytes)?.dialect,
            Step::Challenge => self.session = element.header.session_id,
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

/// A message of requests that is being made.
#[derive(Debug)]
pub struct Requests<'c> {
    client: &'c mut Client,
    message: Vec<u8>,
    last_id: u64,
    last: usize,
    count: usize,
}

impl<'c> Requests<'c> {
    /// A message without requests.
    pub const fn new(client: &'c mut Client) -> Self {
        Self { client, message: Vec::new(), last_id: 0, last: 0, count: 0 }
    }

    /// An ECHO, which needs no session.
    ///
    /// # Errors
    /// None that a caller could bring about.
    pub fn echo(&mut self) -> Result<(), WireError> {
        let header = self.client.header::<EchoRequest>(0);
        // With the session that may not be there yet the server would look for one.
        self.add(&Header { session_id: SessionId::NONE, ..header }, &EchoRequest::default())
    }

    /// A WRITE to the file, or without one a WRITE of nobody, which is refused for want of a session.
    ///
    /// # Errors
    /// More than 4 GiB.
    pub fn write(&mut self, data: &[u8], offset: u64) -> Result<(), WireError> {
        let header = self.client.header::<WriteRequest<'_>>(data.len() as u64);
        let header = match self.client.file {
            Some(_) => header,
            None => Header { session_id: NO_SESSION, ..header },
        };
        let file_id = self.client.file.unwrap_or_default();
        self.add(&header, &WriteRequest { offset, file_id, data, ..WriteRequest::default() })
    }

    /// A READ of the file.
    ///
    /// # Errors
    /// None that a caller could bring about.
    pub fn read(&mut self, length: u32, offset: u64) -> Result<(), WireError> {
        let header = self.client.header::<ReadRequest<'_>>(length.into());
        let file_id = self.client.file.unwrap_or_default();
        self.add(&header, &ReadRequest { padding: 80, length, offset, file_id, ..ReadRequest::default() })
    }

    /// How many requests the message has.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Bytes of the message so far.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.message.len()
    }

    /// Whether there is no request in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.message.is_empty()
    }

    /// Zeros behind the last request, as clients have them that make all parts of a compound a multiple of 8.
    pub fn pad(&mut self, len: usize) {
        self.message.resize(self.message.len().max(len), 0);
    }

    /// The message, and the MessageId of its last request.
    #[must_use]
    pub fn finish(self) -> (Vec<u8>, u64) {
        (self.message, self.last_id)
    }

    /// A NEGOTIATE, which is what a connection begins with. A second one is against the rules (3.3.5.4).
    ///
    /// # Errors
    /// None that a caller could bring about.
    pub fn negotiate(&mut self) -> Result<(), WireError> {
        let header = self.client.header::<NegotiateRequest<'_>>(0);
        // NEGOTIATE charges nothing, and grants one credit whatever is asked for.
        let header = Header { credit_charge: 0, ..header };
        let dialects = [Dialect::SMB_2_1, Dialect::SMB_3_0, Dialect::SMB_3_0_2, Dialect::SMB_3_1_1];
        let hash_algorithms = [HashAlgorithm::SHA_512];
        let contexts = [NegotiateContext::PreauthIntegrity {
            hash_algorithms: (&hash_algorithms).into(),
            salt: &[0x5a; 32],
        }];
        self.add(
            &header,
            &NegotiateRequest {
                security_mode: SecurityMode::SIGNING_ENABLED,
                capabilities: Capabilities::LARGE_MTU,
                client_guid: Guid(*b"smbd-conformance"),
                dialects: (&dialects).into(),
                contexts: (&contexts).into(),
            },
        )
    }

    fn session_setup(&mut self, token: &[u8]) -> Result<(), WireError> {
        let header = self.client.header::<SessionSetupRequest<'_>>(0);
        let security_mode = SessionSecurityMode::SIGNING_ENABLED;
        self.add(
            &header,
            &SessionSetupRequest { security_mode, security_buffer: token, ..SessionSetupRequest::default() },
        )
    }

    fn tree_connect(&mut self) -> Result<(), WireError> {
        let header = self.client.header::<TreeConnectRequest<'_>>(0);
        let share = self.client.wants.share.clone().unwrap_or_default();
        self.add(&header, &TreeConnectRequest { path: Text::from(&*share), ..TreeConnectRequest::default() })
    }

    fn create(&mut self) -> Result<(), WireError> {
        let header = self.client.header::<CreateRequest<'_>>(0);
        let access = AccessMask::READ_DATA.with(AccessMask::WRITE_DATA, true);
        let share = ShareAccess::READ.with(ShareAccess::WRITE, true).with(ShareAccess::DELETE, true);
        self.add(
            &header,
            &CreateRequest {
                impersonation_level: ImpersonationLevel::IMPERSONATION,
                desired_access: access
                    .with(AccessMask::READ_ATTRIBUTES, true)
                    .with(AccessMask::SYNCHRONIZE, true),
                share_access: share,
                create_disposition: CreateDisposition::OPEN_IF,
                create_options: CreateOptions::NON_DIRECTORY_FILE,
                name: Text::from(FILE),
                ..CreateRequest::default()
            },
        )
    }

    fn add<M: CommandBody>(&mut self, header: &Header, body: &M) -> Result<(), WireError> {
        // Each request begins at a multiple of 8 (3.2.4.1.4).
        let begin = self.message.len().next_multiple_of(8);
        self.message.resize(begin, 0);
        write_element(&mut self.message, header, body)?;
        if begin > 0 {
            let next = u32::try_from(begin - self.last).unwrap_or(u32::MAX);
            field::NEXT_COMMAND.set(self.message.get_mut(self.last..).unwrap_or_default(), next)?;
        }
        (self.last, self.last_id) = (begin, header.message_id.0);
        self.count += 1;
        Ok(())
    }
}
