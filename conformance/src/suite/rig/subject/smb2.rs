//! SMB2 as the upper layer of a subject: a server of files, or a client that copies one.

use std::collections::VecDeque;

use bytes::Bytes;
use smbd_core::endpoint::NotSent;
use smbd_core::error::{CommandError, SendError};
use smbd_core::{Endpoint, Instant};
use smbd_smb2::wire::header::field;
use smbd_smb2::wire::{Command, Elements, NtStatus, ReadResponse};

use crate::smb2::client::{Client, Requests, Wants};
use crate::smb2::server::{ReadAnswer, Served, Server, WriteAnswer};
use crate::smb2::share_to_copy;

/// The share that a client connects to.
const SHARE: &str = r"\\subject\share";
/// Bytes that the client copies at a time.
const COPIED: u32 = 256 * 1024;

/// An SMB2 program, and what it has to say and had no room for.
#[derive(Debug)]
pub(super) struct Smb2 {
    side: Side,
    backlog: VecDeque<Bytes>,
}

#[derive(Debug)]
enum Side {
    Server(Box<Server>),
    Client { client: Box<Client>, copy: Copy },
}

/// How far a client has come.
#[derive(Debug, Default)]
struct Copy {
    offset: u64,
    /// What was read and not written yet.
    piece: Vec<u8>,
}

impl Smb2 {
    pub(super) fn server() -> Self {
        Self { side: Side::Server(Box::new(Server::new(share_to_copy()))), backlog: VecDeque::new() }
    }

    pub(super) fn client() -> Self {
        let client = Client::new(Wants { share: Some(SHARE.into()), echo: false });
        Self {
            side: Side::Client { client: Box::new(client), copy: Copy::default() },
            backlog: VecDeque::new(),
        }
    }

    /// There is a connection: a client begins.
    pub(super) fn established(&mut self, endpoint: &mut Endpoint, now: Instant) {
        if let Side::Client { client, .. } = &mut self.side
            && let Ok(Some(message)) = client.next_request()
        {
            self.backlog.push_back(message.into());
        }
        self.pump(endpoint, now);
    }

    /// A message came. What is no SMB2 has no answer.
    pub(super) fn message(&mut self, endpoint: &mut Endpoint, now: Instant, message: &[u8]) {
        let answers = match &mut self.side {
            Side::Server(server) => served(server, message),
            Side::Client { client, copy } => copied(client, copy, message),
        };
        self.backlog.extend(answers.map(Bytes::from));
        self.pump(endpoint, now);
    }

    /// Sends as much as there is room for.
    pub(super) fn pump(&mut self, endpoint: &mut Endpoint, now: Instant) {
        while let Some(message) = self.backlog.pop_front() {
            let sent = endpoint.send(now, message, None);
            // Or the peer takes none so long, or there is no connection any more.
            if let Err(NotSent { payload, error: SendError::Command(CommandError::NoRoom { .. }) }) = sent {
                self.backlog.push_front(payload);
                return;
            }
        }
    }
}

/// The responses to one message, as one message.
fn served(server: &mut Server, message: &[u8]) -> Option<Vec<u8>> {
    let all = server.take(message).ok()?;
    let answers = all.into_iter().map(|served| match served {
        Served::Answer(bytes) => bytes,
        Served::Read(read) => match server.serve_read(&read) {
            Ok(bytes) => server.answer_read(&read, ReadAnswer::Inline(&bytes)),
            Err(status) => server.answer_read(&read, ReadAnswer::Failed(status)),
        },
        Served::Write(write) => match server.serve_write(&write, &write.data) {
            Ok(count) => server.answer_write(&write, WriteAnswer::Count(count)),
            Err(status) => server.answer_write(&write, WriteAnswer::Failed(status)),
        },
    });
    answers.reduce(joined)
}

/// The elements of one message behind those of another (3.3.4.1.3).
fn joined(mut message: Vec<u8>, next: Vec<u8>) -> Vec<u8> {
    let last = Elements::new(&message).flatten().last().map(|element| element.offset).unwrap_or_default();
    message.resize(message.len().next_multiple_of(8), 0);
    let distance = u32::try_from(message.len() - last).unwrap_or(u32::MAX);
    let set = field::NEXT_COMMAND.set(message.get_mut(last..).unwrap_or_default(), distance);
    debug_assert_eq!(set, Ok(()), "a message of the server has a header");
    message.extend(next);
    message
}

/// What was read is written, what was written is followed by the next READ. As Linux does, a client that got less than it asked
/// for asks for the rest first.
fn copied(client: &mut Client, copy: &mut Copy, message: &[u8]) -> Option<Vec<u8>> {
    client.take(message).ok()?;
    if let Some(next) = client.next_request().ok()? {
        return Some(next);
    }
    client.file()?;
    let answer = Elements::new(message).flatten().last()?;
    let (command, status) = (answer.header.command, answer.header.status);
    if command == Command::READ && status == NtStatus::SUCCESS {
        copy.piece.extend_from_slice(ReadResponse::parse(answer.bytes).ok()?.data);
    }
    let is_whole = copy.piece.len() >= COPIED as usize;
    let is_all = command == Command::READ && status == NtStatus::END_OF_FILE && !copy.piece.is_empty();
    if status != NtStatus::SUCCESS && !is_all {
        return None;
    }
    let mut requests = Requests::new(client);
    if command == Command::READ && (is_whole || is_all) {
        requests.write(&copy.piece, copy.offset).ok()?;
        copy.offset = copy.offset.saturating_add(copy.piece.len() as u64);
        copy.piece.clear();
    } else {
        let had = u32::try_from(copy.piece.len()).unwrap_or(COPIED);
        requests.read(COPIED.saturating_sub(had), copy.offset.saturating_add(had.into())).ok()?;
    }
    Some(requests.finish().0)
}
