//! A session that begins over direct TCP, and has a second connection over SMB Direct (3.2.4.20.10, 3.3.5.5).

use std::net::IpAddr;

use smbd_smb2::wire::{
    Capabilities, CloseRequest, Command, ControlCode, Dialect, Elements, FileId, Header,
    InterfaceCapabilities, IoctlFlags, IoctlRequest, IoctlResponse, LogoffRequest, NetworkInterface,
    NetworkInterfaces, NtStatus, ReadRequest, ReadResponse, TreeDisconnectRequest, WireError, WriteRequest,
};

use super::super::outcome::{Stop, Unjudged};
use super::super::play::Play;
use super::super::rig::{Adapter, Heard, Streams};
use super::super::script::Terms;
use super::super::upper::Upper;
use super::super::waiting::{ANSWER_WITHIN, PATIENCE};
use super::opening::{broken, is_there};
use super::{Came, Response, Session, different};
use crate::smb2::client::{Client, Opened, Protection, Requests, Secured, Wants};

/// Bytes of a WRITE in a message.
const PIECE: usize = 65_536;
/// Room for the interfaces of a server.
const INTERFACES_MAX: u32 = 65_536;
const NO_TCP: &str = "the peer is reached over SMB Direct alone, and the case begins over TCP (--tcp)";

/// A session of a user with a file that is open, over direct TCP.
#[derive(Debug)]
pub(in super::super) struct OverTcp {
    client: Client,
    stream: usize,
}

impl Play {
    fn streams(&mut self) -> Result<&mut dyn Streams, Stop> {
        self.rig.streams().ok_or_else(|| Stop::NotApplicable(NO_TCP.into()))
    }

    /// A session over direct TCP, by this adapter of the server's. The dialect is 3.0 or 3.0.2.
    ///
    /// # Errors
    /// There is no such way, the server lets in no user, or its sessions have one connection: not applicable.
    pub(in super::super) fn session_over_tcp(
        &mut self,
        by: Adapter,
        dialect: Dialect,
    ) -> Result<OverTcp, Stop> {
        let (share, user) = match &self.upper {
            Upper::Server(facts) => (facts.share.clone(), facts.user.clone()),
            _ => return Err(Stop::NotApplicable("the case is about an SMB2 server".into())),
        };
        let stream = self.streams()?.dial(by)?;
        let Some(user) = user else {
            let why =
                "no user of the server with a password is known, and sessions of guests have one connection";
            return Err(Stop::NotApplicable(why.into()));
        };
        self.step("over TCP: a session of the user, and a file");
        let (ciphers, signing, protection) = (Vec::new(), Vec::new(), Protection::AsAsked);
        let secured = Secured { user, ciphers, signing, protection };
        let (dialects, file) = (vec![dialect], Opened::Emptied);
        let wants =
            Wants { share, dialects, file, secured: Some(secured), channels: true, ..Wants::default() };
        let mut session = OverTcp { client: Client::new(wants), stream };
        while session.advances(self)? {}
        session.can_have_another()?;
        Ok(session)
    }
}

impl OverTcp {
    /// The next request on the way to the session, and its answer; whether there was one.
    fn advances(&mut self, play: &mut Play) -> Result<bool, Stop> {
        let Some(message) = self.client.next_request().map_err(broken)? else { return Ok(false) };
        self.say(play, message)?;
        let awaited = self.client.awaits();
        while self.client.awaits().is_some() && self.client.awaits() == awaited && !self.client.has_next() {
            match self.hear(play)? {
                Ok(message) => self.client.take(&message).map_err(no_smb2)?,
                Err(came) => {
                    let because =
                        format!("over TCP, {} is awaited: {}", awaited.unwrap_or_default(), came.words());
                    return Err(Stop::NotJudged(Unjudged::alone(because)));
                }
            }
        }
        Ok(true)
    }

    /// What keeps the session from having a second connection.
    fn can_have_another(&mut self) -> Result<(), Stop> {
        is_there(&self.client, &self.client.wants().dialects)?;
        let why = if !self.client.negotiated().capabilities.contains(Capabilities::MULTI_CHANNEL) {
            "the server has no sessions of several connections"
        } else if self.client.keys().is_none() {
            "the server takes the user for a guest, whose sessions have one connection"
        } else if self.client.protection() != Some(Protection::AsAsked) {
            "the server wants all messages to be signed, and before 3.1.1 no data go by RDMA then (3.2.4.6)"
        } else {
            return Ok(());
        };
        Err(Stop::NotApplicable(why.into()))
    }

    fn say(&mut self, play: &mut Play, message: Vec<u8>) -> Result<(), Stop> {
        let wrong = |error| Stop::Broken(format!("a request cannot be protected: {error}"));
        let message = self.client.protect(message).map_err(wrong)?;
        Ok(play.streams()?.tell(self.stream, &message)?)
    }

    /// The next message of the server, decrypted; or why there is none.
    fn hear(&mut self, play: &mut Play) -> Result<Result<Vec<u8>, Came>, Stop> {
        play.watch.set("an answer over TCP");
        let until = play.now().saturating_add(PATIENCE + ANSWER_WITHIN);
        let until = play.limit.map_or(until, |limit| limit.min(until));
        let message = match play.streams()?.hear(self.stream, until) {
            Heard::Message(message) => message,
            Heard::Down => return Ok(Err(Came::Down)),
            Heard::Nothing => return Ok(Err(Came::Nothing)),
        };
        let wrong = |error| format!("an answer is not protected with the keys of the session: {error}");
        self.client.open(message).map(Ok).map_err(|error| Stop::NotJudged(Unjudged::alone(wrong(error))))
    }

    /// A request, and what comes of it. Interim answers, and those to others, are passed over.
    fn asks(
        &mut self,
        play: &mut Play,
        ask: impl FnOnce(&mut Requests<'_>) -> Result<(), WireError>,
    ) -> Result<Came, Stop> {
        let mut requests = Requests::new(&mut self.client);
        ask(&mut requests).map_err(broken)?;
        let (message, id) = requests.finish();
        self.say(play, message)?;
        loop {
            let message = match self.hear(play)? {
                Ok(message) => message,
                Err(came) => return Ok(came),
            };
            self.client.take(&message).map_err(no_smb2)?;
            for element in Elements::new(&message) {
                let element = element.map_err(no_smb2)?;
                let Header { message_id, status, .. } = element.header;
                if element.header.is_response() && message_id.0 == id && status != NtStatus::PENDING {
                    let (header, bytes) = (element.header, element.bytes.to_vec());
                    return Ok(Came::Response(Response { header, bytes, invalidated: Vec::new() }));
                }
            }
        }
    }

    /// The file begins with these bytes.
    ///
    /// # Errors
    /// They cannot be written: the case can say nothing.
    pub(in super::super) fn file_has(&mut self, play: &mut Play, content: &[u8]) -> Result<(), Stop> {
        play.step("over TCP: WRITE");
        let file_id = self.client.file().unwrap_or_default();
        let size = PIECE.min(usize::try_from(self.client.negotiated().max_write_size).unwrap_or(PIECE));
        for (index, data) in content.chunks(size.max(1)).enumerate() {
            let offset = (index * size) as u64;
            let write = WriteRequest { offset, file_id, data, ..WriteRequest::default() };
            let came = self.asks(play, |requests| requests.any(&write, data.len() as u64))?;
            if came.status() != Some(NtStatus::SUCCESS) {
                let because = format!("the file cannot be written over TCP: {}", came.words());
                return Err(Stop::NotJudged(Unjudged::alone(because)));
            }
        }
        Ok(())
    }

    /// The server tells of an interface that can do RDMA, with the address at which it is reached over SMB Direct.
    pub(in super::super) fn is_told_of_rdma(&mut self, play: &mut Play) -> Result<(), Stop> {
        play.step("over TCP: FSCTL_QUERY_NETWORK_INTERFACE_INFO");
        let ioctl = IoctlRequest {
            control_code: ControlCode::QUERY_NETWORK_INTERFACE_INFO,
            file_id: FileId::RELATED,
            max_output_response: INTERFACES_MAX,
            flags: IoctlFlags::IS_FSCTL,
            ..IoctlRequest::default()
        };
        let came = self.asks(play, |requests| requests.any(&ioctl, INTERFACES_MAX.into()))?;
        let told = interfaces(&came);
        let wanted = play.streams()?.rdma_address();
        let has = told.iter().flatten().any(|one| {
            one.address.map(|address| address.to_canonical()) == Some(wanted.to_canonical())
                && one.capabilities.contains(InterfaceCapabilities::RDMA_CAPABLE)
        });
        play.check("3.3.5.15.11-01", has, || {
            let found = told
                .map_or_else(|| came.words(), |told| told.iter().map(words).collect::<Vec<_>>().join("; "));
            format!("the server should tell of an interface that can do RDMA, at {wanted}: {found}")
        });
        Ok(())
    }

    /// The session gets a second connection, over SMB Direct.
    pub(in super::super) fn is_bound<'p>(&mut self, play: &'p mut Play) -> Result<Session<'p>, Stop> {
        const BOUND: &str = "3.3.5.5-01";
        let bound = self.client.for_another();
        let bound =
            bound.ok_or_else(|| Stop::Broken("the session has no key for another connection".into()))?;
        let client = Client::binding(self.client.wants().clone(), bound);
        let peer = play.established_on(&Terms::credit_cases().credits(255))?;
        let mut session = Session { peer, client };
        while session.advances()? {}
        let refused = session.client.refused().filter(|refused| refused.command == Command::SESSION_SETUP);
        let refused = refused.map(|refused| refused.status);
        session.peer.require(BOUND, refused.is_none(), || {
            let status = refused.unwrap_or(NtStatus::SUCCESS);
            format!("SESSION_SETUP should bind the connection to the session, it is refused with {status}")
        })?;
        session.is_there(&self.client.wants().dialects)?;
        Ok(session)
    }

    /// The file begins with what was written over SMB Direct.
    pub(in super::super) fn has_written(
        &mut self,
        play: &mut Play,
        statements: &str,
        wanted: &[u8],
    ) -> Result<(), Stop> {
        play.step("over TCP: READ");
        let file_id = self.client.file().unwrap_or_default();
        for (index, part) in wanted.chunks(PIECE).enumerate() {
            let (offset, length) = ((index * PIECE) as u64, u32::try_from(part.len()).unwrap_or(u32::MAX));
            let read = ReadRequest { padding: 80, length, offset, file_id, ..ReadRequest::default() };
            let came = self.asks(play, |requests| requests.any(&read, length.into()))?;
            let Some(found) = data(&came) else {
                let because = format!("what was written cannot be read over TCP: {}", came.words());
                return Err(Stop::NotJudged(Unjudged::alone(because)));
            };
            let place = different(&found, part);
            play.require(statements, place.is_none(), || {
                let at = index * PIECE + place.unwrap_or_default();
                format!("{} bytes were written, the file differs from byte {at} of them on", wanted.len())
            })?;
        }
        Ok(())
    }

    /// Closes all that there is. Only of the file is an answer expected that says success.
    pub(in super::super) fn ends(mut self, play: &mut Play) -> Result<(), Stop> {
        play.step("over TCP: CLOSE, TREE_DISCONNECT, LOGOFF");
        let file_id = self.client.file().unwrap_or_default();
        let came = self.asks(play, |all| all.any(&CloseRequest { file_id, ..CloseRequest::default() }, 0))?;
        play.require("", came.status() == Some(NtStatus::SUCCESS), || {
            format!("CLOSE over TCP, with FileId of both connections, should succeed: {}", came.words())
        })?;
        self.asks(play, |all| all.any(&TreeDisconnectRequest::default(), 0))?;
        self.asks(play, |all| all.any(&LogoffRequest::default(), 0))?;
        Ok(())
    }
}

fn no_smb2(error: WireError) -> Stop {
    Stop::NotJudged(Unjudged::alone(format!("an answer over TCP is no SMB2: {error}")))
}

/// What a server has told of; nothing if that is none.
fn interfaces(came: &Came) -> Option<Vec<NetworkInterface>> {
    let Came::Response(response) = came else { return None };
    if response.status() != NtStatus::SUCCESS {
        return None;
    }
    let ioctl = IoctlResponse::parse(&response.bytes).ok()?;
    NetworkInterfaces::from(ioctl.output).iter().collect::<Result<_, _>>().ok()
}

/// What a READ has brought; nothing if it was refused.
fn data(came: &Came) -> Option<Vec<u8>> {
    let Came::Response(response) = came else { return None };
    let read = ReadResponse::parse(&response.bytes).ok()?;
    (response.status() == NtStatus::SUCCESS).then(|| read.data.to_vec())
}

fn words(interface: &NetworkInterface) -> String {
    let at = interface.address.map_or_else(|| "no address".to_owned(), |at: IpAddr| at.to_string());
    format!("{at} ({})", interface.capabilities)
}
