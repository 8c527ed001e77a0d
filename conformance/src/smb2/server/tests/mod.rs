//! The server, asked by messages that are built here.

mod commands;
mod compounds;
mod limits;
mod secured;
mod sessions;
mod transfers;

use smbd_smb2::wire::*;

use super::{Files, Options, Served, Server};

/// NTLMSSP messages as short as they can be: NEGOTIATE and AUTHENTICATE (MS-NLMP 2.2.1).
const FIRST: &[u8] = b"NTLMSSP\0\x01\0\0\0\x05\x82\x08\xe2";
const LAST: &[u8] = b"NTLMSSP\0\x03\0\0\0";
const GUID: Guid = Guid([7; 16]);

/// A client that asks one thing after the other, and keeps the ids it is given.
struct Client {
    server: Server,
    header: Header,
}

/// An answer of one element.
struct Answer {
    header: Header,
    bytes: Vec<u8>,
}

impl Answer {
    fn status(&self) -> NtStatus {
        self.header.status
    }
}

fn options() -> Options {
    let mut files = Files::new();
    files.put("hello", b"hello, world").unwrap();
    files.put_zeros("zeros", 1 << 40).unwrap();
    Options { files, ..Options::default() }
}

fn negotiate_request<'a>(
    dialects: &'a [Dialect],
    contexts: &'a [NegotiateContext<'a>],
) -> NegotiateRequest<'a> {
    NegotiateRequest {
        security_mode: SecurityMode::SIGNING_ENABLED,
        capabilities: Capabilities::LARGE_MTU,
        client_guid: GUID,
        dialects: dialects.into(),
        contexts: contexts.into(),
    }
}

fn preauth() -> NegotiateContext<'static> {
    const HASHES: &[HashAlgorithm] = &[HashAlgorithm::SHA_512];
    NegotiateContext::PreauthIntegrity { hash_algorithms: HASHES.into(), salt: &[1; 32] }
}

impl Client {
    /// On which nothing was said.
    fn new(options: Options) -> Self {
        let header = Header { credit_charge: 1, credits: 32, ..Header::default() };
        Self { server: Server::new(options), header }
    }

    /// With a dialect, a session and the share.
    fn mounted_with(options: Options, dialect: Dialect) -> Self {
        let mut client = Self::new(options);
        assert_eq!(client.ask(&negotiate_request(&[dialect], &[preauth()])).status(), NtStatus::SUCCESS);
        client.log_on();
        client.connect("\\\\server\\share");
        client
    }

    fn mounted() -> Self {
        Self::mounted_with(options(), Dialect::SMB_3_1_1)
    }

    fn log_on(&mut self) {
        self.header.session_id = SessionId::NONE;
        let first = SessionSetupRequest { security_buffer: FIRST, ..SessionSetupRequest::default() };
        let answer = self.ask(&first);
        assert_eq!(answer.status(), NtStatus::MORE_PROCESSING_REQUIRED);
        self.header.session_id = answer.header.session_id;
        let last = SessionSetupRequest { security_buffer: LAST, ..SessionSetupRequest::default() };
        assert_eq!(self.ask(&last).status(), NtStatus::SUCCESS);
    }

    fn connect(&mut self, path: &str) -> Answer {
        let answer = self.ask(&TreeConnectRequest { path: path.into(), ..TreeConnectRequest::default() });
        if answer.status() == NtStatus::SUCCESS {
            self.header.target = answer.header.target;
        }
        answer
    }

    /// The next header for a message of this kind.
    fn next<B: CommandBody>(&mut self) -> Header {
        self.header.message_id.0 += 1;
        Header { command: B::COMMAND, ..self.header }
    }

    fn message<B: CommandBody>(&mut self, body: &B) -> Vec<u8> {
        let header = self.next::<B>();
        let mut message = Vec::new();
        write_element(&mut message, &header, body).unwrap();
        message
    }

    fn serve<B: CommandBody>(&mut self, body: &B) -> Vec<Served> {
        let message = self.message(body);
        self.server.take(&message).unwrap()
    }

    /// What is answered to something that is answered at once.
    fn ask<B: CommandBody>(&mut self, body: &B) -> Answer {
        let mut served = self.serve(body);
        assert_eq!(served.len(), 1, "{served:?}");
        let Some(Served::Answer(bytes)) = served.pop() else { panic!("not answered") };
        let header = Header::parse(&bytes).unwrap();
        assert_eq!((header.command, header.message_id), (B::COMMAND, self.header.message_id));
        assert!(header.is_response());
        Answer { header, bytes }
    }

    fn create(
        &mut self,
        name: &str,
        how: CreateDisposition,
        options: CreateOptions,
    ) -> Result<FileId, NtStatus> {
        let answer = self.ask(&CreateRequest {
            name: name.into(),
            create_disposition: how,
            create_options: options,
            desired_access: AccessMask::MAXIMUM_ALLOWED,
            ..CreateRequest::default()
        });
        if answer.status() != NtStatus::SUCCESS {
            return Err(answer.status());
        }
        Ok(CreateResponse::parse(&answer.bytes).unwrap().file_id)
    }

    fn open(&mut self, name: &str) -> FileId {
        self.create(name, CreateDisposition::OPEN, CreateOptions::NONE).unwrap()
    }

    fn close(&mut self, file_id: FileId) -> NtStatus {
        self.ask(&CloseRequest { flags: CloseFlags::NONE, file_id }).status()
    }
}
