//! A server of files, which carries out READs and WRITEs with a channel by RDMA.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use smbd_core::backend::HostMemory;
use smbd_core::error::{CommandError, OpError, RdmaError};
use smbd_core::{Endpoint, OpId, RdmaVerb};
use smbd_smb2::wire::header::field;
use smbd_smb2::wire::{Elements, NtStatus};

use super::Outgoing;
use crate::smb2::client::FILE;
use crate::smb2::server::{Read, ReadAnswer, Served, Server, Transfer, Write, WriteAnswer};
use crate::smb2::{announced, share_to_copy};
use crate::suite::upper::content;

/// An RDMA operation that has begun.
#[derive(Debug)]
struct Operation<M> {
    buffer: M,
    /// What is to be done when it ends. To a READ all is said when its data are on their way.
    write: Option<Box<Write>>,
}

/// Why an operation does not begin.
enum Refused {
    /// It may later.
    Later,
    /// The request is answered with this.
    With(NtStatus),
}

/// The server of one connection. `M` is a buffer of the backend.
#[derive(Debug)]
pub(super) struct Serving<M> {
    server: Server,
    /// Requests with a channel that have not begun.
    waiting: VecDeque<Served>,
    operations: BTreeMap<OpId, Operation<M>>,
    /// It says of each request that it is under way, before it answers.
    is_late: bool,
}

impl<M: Clone + fmt::Debug> Serving<M> {
    pub(super) fn new(is_late: bool) -> Self {
        let mut options = share_to_copy();
        // Each connection has a server of its own; what cases read is in the file of all of them.
        let put = options.files.put(FILE, &content());
        debug_assert_eq!(put, Ok(()), "there is room for it");
        Self { server: Server::new(options), waiting: VecDeque::new(), operations: BTreeMap::new(), is_late }
    }

    pub(super) fn operation(&self, op: OpId) -> Option<&M> {
        self.operations.get(&op).map(|operation| &operation.buffer)
    }

    /// Takes a message: answers what needs no RDMA, with one message.
    pub(super) fn take(&mut self, message: &[u8], out: &mut VecDeque<Outgoing>) {
        let Ok(all) = self.server.take(message) else { return };
        let mut answers = Vec::new();
        for served in all {
            match served {
                Served::Answer(bytes) => answers.push(bytes),
                Served::Read(read) if !read.transfer.has_channel() => answers.push(self.read(&read)),
                Served::Write(write) if !write.transfer.has_channel() => answers.push(self.write(&write)),
                Served::Read(_) | Served::Write(_) => self.waiting.push_back(served),
            }
        }
        if let Some(answer) = answers.into_iter().reduce(joined) {
            self.put(Outgoing::of(answer), out);
        }
    }

    fn put(&self, answer: Outgoing, out: &mut VecDeque<Outgoing>) {
        if !self.is_late {
            return out.push_back(answer);
        }
        out.extend(announced(answer.bytes.into()).into_iter().map(Outgoing::of));
        if let Some(last) = out.back_mut() {
            last.invalidate = answer.invalidate;
        }
    }

    fn read(&mut self, read: &Read) -> Vec<u8> {
        match self.server.serve_read(read) {
            Ok(bytes) => self.server.answer_read(read, ReadAnswer::Inline(&bytes)),
            Err(status) => self.server.answer_read(read, ReadAnswer::Failed(status)),
        }
    }

    fn write(&mut self, write: &Write) -> Vec<u8> {
        let answer = match self.server.serve_write(write, &write.data) {
            Ok(count) => WriteAnswer::Count(count),
            Err(status) => WriteAnswer::Failed(status),
        };
        self.server.answer_write(write, answer)
    }

    /// Begins what waits, as far as there is room.
    pub(super) fn go_on<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        out: &mut VecDeque<Outgoing>,
    ) {
        while let Some(served) = self.waiting.pop_front() {
            let begun = match &served {
                Served::Read(read) => self.begin_read(endpoint, backend, read).map(Some),
                Served::Write(write) => self.begin_write(endpoint, backend, write),
                Served::Answer(_) => Ok(None),
            };
            let Ok(answer) = begun else { return self.waiting.push_front(served) };
            if let Some(answer) = answer {
                self.put(answer, out);
            }
        }
    }

    /// The data and the answer behind them (3.3.5.12).
    fn begin_read<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        read: &Read,
    ) -> Result<Outgoing, ()> {
        let begun = self.server.serve_read(read).map_err(Refused::With).and_then(|bytes| {
            let (op, buffer) =
                begin(endpoint, backend, RdmaVerb::Write, Content::Of(&bytes), &read.transfer)?;
            self.operations.insert(op, Operation { buffer, write: None });
            Ok(u32::try_from(bytes.len()).unwrap_or(u32::MAX))
        });
        let answer = match begun {
            Ok(len) => ReadAnswer::Written(len),
            Err(Refused::With(status)) => ReadAnswer::Failed(status),
            Err(Refused::Later) => return Err(()),
        };
        let bytes = self.server.answer_read(read, answer).into();
        Ok(Outgoing { bytes, invalidate: read.transfer.invalidates() })
    }

    /// The data are fetched; the answer comes when they are there (3.3.5.13).
    fn begin_write<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        write: &Write,
    ) -> Result<Option<Outgoing>, ()> {
        let transfer = &write.transfer;
        let judged = transfer.refusal().map_or(Ok(()), |status| Err(Refused::With(status)));
        let begun = judged.and_then(|()| {
            begin(endpoint, backend, RdmaVerb::Read, Content::Empty(transfer.length), transfer)
        });
        match begun {
            Ok((op, buffer)) => {
                let write = Some(Box::new(write.clone()));
                self.operations.insert(op, Operation { buffer, write });
                Ok(None)
            }
            Err(Refused::With(status)) => Ok(Some(self.answer(write, WriteAnswer::Failed(status)))),
            Err(Refused::Later) => Err(()),
        }
    }

    fn answer(&mut self, write: &Write, answer: WriteAnswer) -> Outgoing {
        let bytes = self.server.answer_write(write, answer).into();
        Outgoing { bytes, invalidate: write.transfer.invalidates() }
    }

    /// An operation ended. One that fails has ended its connection, too.
    pub(super) fn rdma_done<B: HostMemory<Buffer = M>>(
        &mut self,
        backend: &B,
        op: OpId,
        result: Result<(), OpError>,
        out: &mut VecDeque<Outgoing>,
    ) {
        let Some(Operation { buffer, write: Some(write) }) = self.operations.remove(&op) else { return };
        if result.is_err() {
            return;
        }
        let mut bytes = vec![0; usize::try_from(write.transfer.length).unwrap_or_default()];
        let answer = match backend.read(&buffer, 0, &mut bytes) {
            Ok(()) => match self.server.serve_write(&write, &bytes) {
                Ok(count) => WriteAnswer::Count(count),
                Err(status) => WriteAnswer::Failed(status),
            },
            Err(_) => WriteAnswer::Failed(NtStatus::INTERNAL_ERROR),
        };
        let answer = self.answer(&write, answer);
        self.put(answer, out);
    }
}

/// What a local buffer holds at first.
enum Content<'b> {
    Of(&'b [u8]),
    Empty(u32),
}

/// Begins an RDMA operation between a new buffer and those of the client.
fn begin<B: HostMemory>(
    endpoint: &mut Endpoint,
    backend: &mut B,
    verb: RdmaVerb,
    content: Content<'_>,
    transfer: &Transfer,
) -> Result<(OpId, B::Buffer), Refused> {
    let full = Refused::With(NtStatus::INSUFFICIENT_RESOURCES);
    let len = match content {
        Content::Of(bytes) => u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        Content::Empty(len) => len,
    };
    let Ok(buffer) = backend.allocate(len.max(1)) else { return Err(full) };
    if let Content::Of(bytes) = content
        && backend.fill(&buffer, 0, bytes).is_err()
    {
        return Err(full);
    }
    match endpoint.rdma(backend.now(), verb, len, transfer.descriptors.clone().into(), 0) {
        Ok(op) => Ok((op, buffer)),
        Err(RdmaError::Command(CommandError::NoRoom { .. })) => Err(Refused::Later),
        // The descriptors are shorter, or the client does not offer so much.
        Err(_) => Err(Refused::With(NtStatus::INVALID_PARAMETER)),
    }
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
