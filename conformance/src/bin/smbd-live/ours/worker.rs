//! A client in an engine: messages and RDMA with content of its own, step by step.

use std::sync::Arc;

use bytes::Bytes;
use smbd_core::backend::{Backend, BufferLookup, Handler, ReceiveMemory};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::{CloseReason, ConnectError};
use smbd_core::{Access, BufferDescriptorV1, Endpoint, OpId, RdmaVerb};
use smbd_tools::exercise::{Answer, Request, digest, pattern};
use smbd_verbs::{Buffer, VerbsConnection};

use super::pair::{buffer_of, contents};
use crate::case::Failure;

/// Bytes of a buffer.
const LEN: u32 = 100_001;
/// Ordinary messages, of these sizes.
const MESSAGES: [usize; 6] = [1, 1340, 1341, 20_000, 77, 131_072];

/// Writes its content to the server, has it hashed there, reads it back, sends messages.
#[derive(Debug)]
pub(super) struct Worker {
    seed: u64,
    source: Buffer,
    sink: Buffer,
    remote: Arc<[BufferDescriptorV1]>,
    buffer_id: u32,
    writing: bool,
    returned: usize,
    /// All is done and was right.
    pub(super) is_done: bool,
    /// Why it was not.
    pub(super) wrong: Option<String>,
    pub(super) ended: Option<CloseReason>,
}

impl Worker {
    pub(super) fn new(seed: u64) -> Result<Self, Failure> {
        Ok(Self {
            seed,
            source: buffer_of(seed, LEN)?,
            sink: Buffer::new(LEN)?,
            remote: Arc::new([]),
            buffer_id: 0,
            writing: false,
            returned: 0,
            is_done: false,
            wrong: None,
            ended: None,
        })
    }

    /// Bytes that it moves, both ways.
    pub(super) fn bytes() -> u64 {
        2 * (u64::from(LEN) + MESSAGES.iter().sum::<usize>() as u64)
    }

    fn message(&self, index: usize) -> Bytes {
        pattern(self.seed.wrapping_mul(1000).wrapping_add(index as u64), MESSAGES[index])
    }

    fn ask(endpoint: &mut Endpoint, end: &VerbsConnection, request: &Request) -> Result<(), Failure> {
        Ok(endpoint.send(end.now(), request.encode(1), None).map(|_| ())?)
    }

    fn rdma(
        &mut self,
        endpoint: &mut Endpoint,
        end: &VerbsConnection,
        verb: RdmaVerb,
    ) -> Result<(), Failure> {
        self.writing = verb == RdmaVerb::Write;
        endpoint.rdma(end.now(), verb, LEN, Arc::clone(&self.remote), 0)?;
        Ok(())
    }

    fn step(
        &mut self,
        endpoint: &mut Endpoint,
        end: &mut VerbsConnection,
        event: EndpointEvent,
    ) -> Result<(), Failure> {
        match event {
            EndpointEvent::Established(_) => {
                let offer = Request::Offer { length: LEN, access: Access::ReadWrite, seed: self.seed + 1 };
                Self::ask(endpoint, end, &offer)
            }
            EndpointEvent::RdmaDone { result, .. } => {
                result?;
                if self.writing {
                    let hash = Request::Hash { id: self.buffer_id, offset: 0, length: LEN };
                    return Self::ask(endpoint, end, &hash);
                }
                self.check("what was read", digest(&contents(&self.sink)?))?;
                for index in 0..MESSAGES.len() {
                    endpoint.send(end.now(), self.message(index), None)?;
                }
                Ok(())
            }
            EndpointEvent::Message(message) => {
                let bytes = match message {
                    Message::Owned(bytes) => bytes.freeze(),
                    Message::Borrowed(fragment) => {
                        let bytes = Bytes::copy_from_slice(end.fragment(&fragment)?);
                        endpoint.release(end.now(), fragment)?;
                        bytes
                    }
                };
                self.message_came(endpoint, end, &bytes)
            }
            EndpointEvent::ConnectFailed(error) => Err(ConnectError::into(error)),
            EndpointEvent::Closed(reason) => {
                self.ended = Some(reason);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn message_came(
        &mut self,
        endpoint: &mut Endpoint,
        end: &VerbsConnection,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        match Answer::parse(bytes)?.map(|answer| answer.what) {
            Some(Answer::Offered { id, descriptors }) => {
                self.buffer_id = id;
                self.remote = descriptors.into();
                self.rdma(endpoint, end, RdmaVerb::Write)
            }
            Some(Answer::Hash(hash)) => {
                self.check("what was written", hash)?;
                self.rdma(endpoint, end, RdmaVerb::Read)
            }
            Some(other) => Err(format!("unexpected answer {other:?}").into()),
            None if self.returned < MESSAGES.len() && bytes == self.message(self.returned) => {
                self.returned += 1;
                self.is_done = self.returned == MESSAGES.len();
                Ok(())
            }
            None => Err(format!("message {} came back as {} other bytes", self.returned, bytes.len()).into()),
        }
    }

    fn check(&self, what: &str, hash: u64) -> Result<(), Failure> {
        let expected = digest(&contents(&self.source)?);
        if hash == expected {
            return Ok(());
        }
        Err(format!("{what} has the hash {hash:016x}, expected {expected:016x}").into())
    }
}

impl BufferLookup<Buffer> for Worker {
    fn operation(&self, _op: OpId) -> Option<&Buffer> {
        Some(if self.writing { &self.source } else { &self.sink })
    }
}

impl Handler<VerbsConnection, Endpoint> for Worker {
    fn event(&mut self, endpoint: &mut Endpoint, end: &mut VerbsConnection, event: EndpointEvent) {
        if let Err(failure) = self.step(endpoint, end, event) {
            self.wrong.get_or_insert(failure.to_string());
        }
    }
}
