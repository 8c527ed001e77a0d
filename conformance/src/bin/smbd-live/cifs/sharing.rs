//! A file server for the kernel's client, on a thread: smbd below, the suite's SMB2 server above.

use std::net::IpAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use smbd_conformance::smb2::server::{
    Options, Read, ReadAnswer, Served, Server, Transfer, Write, WriteAnswer,
};
use smbd_core::error::CloseReason;
use smbd_core::{Config, Params, RdmaVerb, Token, Tolerances};
use smbd_smb2::wire::{Channel, NtStatus};
use smbd_verbs::blocking::{Connection, Failure as CallFailure};
use smbd_verbs::{Buffer, Listener};

use super::server::listen;
use crate::case::Failure;
use crate::kernel_log::Log;
use crate::patience::PATIENCE;

/// How many bytes a READ is answered with at most; with none STATUS_END_OF_FILE.
pub(super) type Limit = fn(&Read) -> u32;

/// A READ or WRITE that was answered with success.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) is_write: bool,
    pub(super) name: String,
    pub(super) offset: u64,
    pub(super) channel: Channel,
    /// What was transferred.
    pub(super) data: Vec<u8>,
}

/// What is left when the client has gone.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) server: Server,
    /// In the order of their answers.
    pub(super) seen: Vec<Seen>,
    pub(super) end: CloseReason,
    /// What of the client's SMB Direct was overlooked.
    pub(super) tolerances: Tolerances,
}

/// Serves one connection until it ends.
#[derive(Debug)]
pub(super) struct Sharing {
    thread: JoinHandle<Result<Shared, Failure>>,
}

impl Sharing {
    /// Listens, and serves whoever comes first.
    pub(super) fn begin(address: IpAddr, options: Options, limit: Limit) -> Result<Self, Failure> {
        let listener = listen(address)?;
        let serve = move || {
            let shared = serve(listener, options, limit);
            // A client that hangs keeps the test from saying why.
            Log::note(&match &shared {
                Ok(shared) => format!("the server's connection ended: {}", shared.end),
                Err(error) => format!("the server ended: {error}"),
            })?;
            shared
        };
        Ok(Self { thread: thread::spawn(serve) })
    }

    /// Waits until the client has gone.
    pub(super) fn end(self) -> Result<Shared, Failure> {
        self.thread.join().map_err(|_| "the server's thread ended by a panic")?
    }
}

fn serve(mut listener: Listener, options: Options, limit: Limit) -> Result<Shared, Failure> {
    let incoming = listener.wait(PATIENCE)?.ok_or("cifs did not connect")?;
    let config = Config::try_from(Params::linux_server())?;
    let mut connection = Connection::accept(incoming, &config)?;
    let (mut server, mut seen) = (Server::new(options), Vec::new());
    loop {
        let message = match connection.recv(PATIENCE) {
            Ok(message) => message,
            Err(CallFailure::Closed(end)) => {
                let tolerances = connection.endpoint().connection().stats().tolerances;
                return Ok(Shared { server, seen, end, tolerances });
            }
            Err(other) => return Err(other.into()),
        };
        for served in server.take(&message)? {
            match served {
                Served::Answer(answer) => send(&mut connection, answer, None)?,
                Served::Read(read) => seen.extend(self::read(&mut connection, &mut server, &read, limit)?),
                Served::Write(write) => seen.extend(self::write(&mut connection, &mut server, &write)?),
            }
        }
    }
}

fn send(connection: &mut Connection, answer: Vec<u8>, token: Option<Token>) -> Result<(), Failure> {
    match token {
        Some(token) => connection.send_invalidating(answer.into(), token)?,
        None => connection.send(answer.into())?,
    };
    Ok(())
}

fn seen(transfer: &Transfer, is_write: bool, data: Vec<u8>) -> Seen {
    Seen {
        is_write,
        name: transfer.name.clone().unwrap_or_default(),
        offset: transfer.offset,
        channel: transfer.channel,
        data,
    }
}

fn read(
    connection: &mut Connection,
    server: &mut Server,
    read: &Read,
    limit: Limit,
) -> Result<Option<Seen>, Failure> {
    let transfer = &read.transfer;
    let max = limit(read);
    let contents = if max == 0 { Err(NtStatus::END_OF_FILE) } else { server.serve_read(read) };
    let mut data = match contents {
        Ok(data) => data,
        Err(status) => {
            let answer = server.answer_read(read, ReadAnswer::Failed(status));
            send(connection, answer, transfer.invalidates())?;
            return Ok(None);
        }
    };
    data.truncate(max as usize);
    let answer = if transfer.has_channel() {
        let len = u32::try_from(data.len())?;
        let buffer = Buffer::new(len.max(1))?;
        buffer.fill(0, &data)?;
        let remote = Arc::from(transfer.descriptors.as_slice());
        connection.rdma(RdmaVerb::Write, &buffer, &remote, 0, len)?;
        server.answer_read(read, ReadAnswer::Written(len))
    } else {
        server.answer_read(read, ReadAnswer::Inline(&data))
    };
    send(connection, answer, transfer.invalidates())?;
    Ok(Some(seen(transfer, false, data)))
}

fn write(connection: &mut Connection, server: &mut Server, write: &Write) -> Result<Option<Seen>, Failure> {
    let transfer = &write.transfer;
    let mut data = write.data.clone();
    if transfer.has_channel() && transfer.refusal().is_none() {
        let buffer = Buffer::new(transfer.length)?;
        let remote = Arc::from(transfer.descriptors.as_slice());
        connection.rdma(RdmaVerb::Read, &buffer, &remote, 0, transfer.length)?;
        data = vec![0; transfer.length as usize];
        buffer.read(0, &mut data)?;
    }
    let (answer, is_good) = match server.serve_write(write, &data) {
        Ok(count) => (WriteAnswer::Count(count), true),
        Err(status) => (WriteAnswer::Failed(status), false),
    };
    let answer = server.answer_write(write, answer);
    send(connection, answer, transfer.invalidates())?;
    Ok(is_good.then(|| seen(transfer, true, data)))
}
