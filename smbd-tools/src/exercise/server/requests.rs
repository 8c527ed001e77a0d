//! Handles requests.

use std::fmt;

use bytes::Bytes;
use smbd_core::backend::HostMemory;
use smbd_core::error::{CommandError, RegisterError};
use smbd_core::{Access, Endpoint, Instant, RdmaVerb, RegId};

use super::memory::{self, Offer, Transfer};
use super::outbox::{Item, Source};
use super::{Answer, Count, Request, Server, Status};

impl<M: Clone + fmt::Debug> Server<M> {
    /// Returns an ordinary message.
    pub(super) fn give_back<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        bytes: Bytes,
    ) {
        if let Err(failure) = self.check_message(endpoint, bytes.len() as u64) {
            return self.answer(endpoint, backend, 0, &failure);
        }
        self.enqueue(endpoint, backend, Item::Message { bytes, invalidate: None });
    }

    pub(super) fn request<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        tag: u32,
        request: Request,
    ) {
        self.counting = false;
        let answer = match request {
            Request::Hello => Ok(Answer::Hello(self.limits)),
            Request::Count { hash } => {
                self.counting = true;
                self.count = Count { hash, ..Count::default() };
                Ok(Answer::Done)
            }
            Request::Report => Ok(Answer::Report(self.count.report())),
            Request::Source { messages, size, seed } => {
                self.begin_source(endpoint, Source { left: messages, size, seed })
            }
            Request::Offer { length, access, seed } => {
                match self.offer(endpoint, backend, tag, (length, seed), access) {
                    // Answered when it is registered.
                    Ok(()) => return,
                    Err(failure) => Err(failure),
                }
            }
            Request::Hash { id, offset, length } => self.hash(backend, id, offset, length),
            Request::Withdraw { id } => match self.withdraw(endpoint, endpoint.now(), tag, id) {
                Ok(()) => return,
                Err(failure) => Err(failure),
            },
            Request::Read { offset, length, descriptors } => {
                let (verb, remote) = (RdmaVerb::Read, descriptors);
                let transfer =
                    Transfer { tag, verb, seed: 0, offset, length, invalidate: None, remote, buffer: None };
                return self.transfer(endpoint, backend, transfer);
            }
            Request::Write { seed, offset, length, invalidate, descriptors } => {
                let (verb, remote) = (RdmaVerb::Write, descriptors);
                let transfer = Transfer { tag, verb, seed, offset, length, invalidate, remote, buffer: None };
                return self.transfer(endpoint, backend, transfer);
            }
        };
        let answer = answer.unwrap_or_else(|failure| failure);
        self.answer(endpoint, backend, tag, &answer);
    }

    fn check_message(&self, endpoint: &Endpoint, len: u64) -> Result<(), Answer> {
        let connection =
            endpoint.connection().negotiated().map_or(0, |settled| settled.max_fragmented_send_size);
        let max = self.limits.message.min(connection);
        if (1..=u64::from(max)).contains(&len) {
            return Ok(());
        }
        let text = format!("a message of {len} bytes; 1 to {max} can be sent to you");
        Err(Answer::failed(Status::TooLarge, text))
    }

    fn begin_source(&mut self, endpoint: &Endpoint, source: Source) -> Result<Answer, Answer> {
        self.check_message(endpoint, u64::from(source.size))?;
        if let Some(Source { left, .. }) = self.source {
            let text = format!("{left} messages of an earlier request are still to be sent");
            return Err(Answer::failed(Status::NoRoom, text));
        }
        self.source = (source.left > 0).then_some(source);
        Ok(Answer::Done)
    }

    fn check_buffer(&self, length: u32) -> Result<(), Answer> {
        let max = self.limits.buffer;
        if length <= max {
            return Ok(());
        }
        Err(Answer::failed(Status::TooLarge, format!("a buffer of {length} bytes; {max} bytes are allowed")))
    }

    fn offer<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        tag: u32,
        (length, seed): (u32, u64),
        access: Access,
    ) -> Result<(), Answer> {
        self.check_buffer(length)?;
        if length == 0 {
            return Err(Answer::failed(Status::TooLarge, "a buffer of 0 bytes has nothing to access"));
        }
        let buffer = self.allocate(backend, length)?;
        let filled = memory::fill(backend, &buffer, (seed, 0), length)
            .map_err(|error| Answer::failed(Status::Failed, error.to_string()));
        match filled.and_then(|()| register(endpoint, endpoint.now(), access)) {
            Ok(registration) => {
                let id = self.memory.next_id;
                self.memory.next_id = id.wrapping_add(1);
                self.memory.offers.insert(id, Offer { registration, buffer, length, asked: tag });
                Ok(())
            }
            Err(failure) => {
                self.memory.bytes -= u64::from(length);
                Err(failure)
            }
        }
    }

    fn hash<B: HostMemory<Buffer = M>>(
        &self,
        backend: &B,
        id: u32,
        offset: u32,
        length: u32,
    ) -> Result<Answer, Answer> {
        let offer = self.memory.offers.get(&id).ok_or_else(|| no_such_buffer(id))?;
        if offset.checked_add(length).is_none_or(|end| end > offer.length) {
            let text = format!("{length} bytes from {offset} on; buffer {id} has {} bytes", offer.length);
            return Err(Answer::failed(Status::NotFound, text));
        }
        memory::hash(backend, &offer.buffer, offset, length)
            .map(Answer::Hash)
            .map_err(|error| Answer::failed(Status::Failed, error.to_string()))
    }

    fn withdraw(&mut self, endpoint: &mut Endpoint, now: Instant, tag: u32, id: u32) -> Result<(), Answer> {
        let offer = self.memory.offers.get_mut(&id).ok_or_else(|| no_such_buffer(id))?;
        endpoint.deregister(now, offer.registration).map_err(|error| match error {
            RegisterError::NotRegistered => Answer::failed(Status::NotFound, format!("buffer {id}: {error}")),
            _ => refused(&error),
        })?;
        offer.asked = tag;
        Ok(())
    }

    fn transfer<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        transfer: Transfer<M>,
    ) {
        match self.check_buffer(transfer.length) {
            Ok(()) => self.enqueue(endpoint, backend, Item::Transfer(transfer)),
            Err(failure) => self.answer(endpoint, backend, transfer.tag, &failure),
        }
    }
}

fn no_such_buffer(id: u32) -> Answer {
    Answer::failed(Status::NotFound, format!("there is no buffer {id}"))
}

fn refused(error: &RegisterError) -> Answer {
    match error {
        RegisterError::Command(CommandError::NoRoom { what }) => {
            Answer::failed(Status::NoRoom, format!("all {what} are taken"))
        }
        _ => Answer::failed(Status::Refused, error.to_string()),
    }
}

/// Registers with a fair share of the segments, or as many as the device has room for at a time.
fn register(endpoint: &mut Endpoint, now: Instant, access: Access) -> Result<RegId, Answer> {
    let config = endpoint.connection().config();
    let share = config.segments_max.checked_div(config.registrations).unwrap_or(0).max(1);
    match endpoint.register(now, access, share) {
        Err(RegisterError::Segments { max, .. }) if max > 0 => endpoint.register(now, access, max),
        result => result,
    }
    .map_err(|error| refused(&error))
}
