//! A message of requests in the form that the server gets: each READ and WRITE with a channel is replaced.

use super::config::MESSAGE_MAX;
use super::element::Element;
use super::pending::{Data, Request};
use super::queue::{Mark, Queue};
use super::reason::{Reason, Refusal};
use super::request::{
    ChannelRequest, FRAME_LEN, Form, HEAD_LEN, Order, STRIPPED_LEN, Verb, lower_read, stripped,
};
use super::session;
use super::shared::{Shared, add};
use super::statistics::SessionKind;
use crate::wire::{Channel, WireError};

/// Appends the message to the queue. `held` has all of it, or its first `held_max` bytes; `remaining` is its length, `first` its first
/// element.
pub(super) fn rewrite(
    first: Element,
    held: &mut [u8],
    remaining: usize,
    len: u32,
    queue: &mut Queue,
    shared: &mut Shared,
) -> Result<(), Reason> {
    let mut message = Rewriting { queue, shared, header: None, written: 0, is_compound: false };
    let (mut element, mut held, mut remaining) = (first, held, remaining);
    loop {
        message.is_compound |= !element.is_last;
        let is_whole = element.len <= held.len();
        if !is_whole && message.is_compound {
            return Err(Reason::CompoundTooLong { len, max: message.shared.config.params().held_max });
        }
        let (bytes, rest) = held.split_at_mut(element.len.min(held.len()));
        message.element(&element, bytes, is_whole).map_err(|failure| failure.reason())?;
        if element.is_last {
            break;
        }
        (held, remaining) = (rest, remaining.saturating_sub(element.len));
        element = Element::read(held, remaining).map_err(Reason::BrokenCompound)?;
    }
    let (written, header) = (message.written, message.header);
    let Some(written) = u32::try_from(written).ok().filter(|written| *written <= MESSAGE_MAX) else {
        return Err(Reason::RequestTooLarge { len: written as u64, max: MESSAGE_MAX });
    };
    if let Some(header) = header {
        queue.set_len(header, written);
    }
    Ok(())
}

/// Lowers an unsigned READ without a channel whose answer would be too long for the client.
pub(super) fn lower(verb: Verb, element: &mut [u8], shared: &mut Shared) -> Result<(), WireError> {
    let max = shared.config.params().max_fragmented_size;
    if verb == Verb::Read && lower_read(element, max)? {
        add(&mut shared.statistics.lowered_reads, 1);
    }
    Ok(())
}

/// A message while it is rewritten.
struct Rewriting<'m> {
    queue: &'m mut Queue,
    shared: &'m mut Shared,
    /// Where its header is, unless it went with its only element.
    header: Option<Mark>,
    /// Its bytes so far, data of WRITEs included.
    written: usize,
    is_compound: bool,
}

/// What ends a connection while a message is rewritten.
enum Failure {
    Wire(WireError),
    Reason(Reason),
}

impl Failure {
    const fn reason(self) -> Reason {
        match self {
            Self::Wire(error) => Reason::BrokenCompound(error),
            Self::Reason(reason) => reason,
        }
    }
}

impl From<WireError> for Failure {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Self::Reason(reason)
    }
}

impl Rewriting<'_> {
    #[inline]
    fn element(&mut self, element: &Element, bytes: &mut [u8], is_whole: bool) -> Result<(), Failure> {
        session::count(bytes, Some(&element.header), &mut self.shared.statistics);
        let (command, message_id) = (element.header.command, element.header.message_id);
        let verb = Verb::of(command).filter(|_| bytes.len() >= HEAD_LEN);
        let with_channel = verb.filter(|verb| verb.channel(bytes) != Channel::NONE);
        match (with_channel, element.is_signed()) {
            (Some(_), true) => Err(Reason::SignedChannel { command, message_id }.into()),
            // The server verifies its signature with NextCommand and the padding, and these may stay. But the answers are sent
            // one by one.
            (None, true) => Err(Reason::SignedInCompound { message_id }.into()),
            (Some(verb), false) => self.replace(element, verb, bytes, is_whole),
            (None, false) => {
                if let Some(verb) = verb {
                    lower(verb, bytes, self.shared)?;
                }
                self.push(bytes);
                Ok(())
            }
        }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        if self.header.is_none() {
            self.header = Some(self.queue.push_header(0));
        }
        self.queue.push(bytes);
        self.written = self.written.saturating_add(bytes.len());
    }

    #[inline]
    fn replace(
        &mut self,
        element: &Element,
        verb: Verb,
        bytes: &[u8],
        is_whole: bool,
    ) -> Result<(), Failure> {
        let statistics = &mut self.shared.statistics;
        statistics.sessions.count(element.header.session_id, SessionKind::Rdma);
        let request = ChannelRequest::read(verb, bytes)?;
        let order = if is_whole { self.order(verb, &request) } else { Err(Refusal::TooLong) };
        if let Err(refusal) = &order {
            self.shared.statistics.refusals.count(*refusal);
        }
        let form = order.as_ref().map_or(Form::Refused, |order| Form::Inline(order.len));
        let inline = order.as_ref().ok().filter(|_| verb == Verb::Write).cloned();
        let data = match order {
            Ok(Order { len, remote }) if verb == Verb::Read => Data::Read { length: len, remote },
            Ok(_) | Err(_) => Data::None,
        };
        let invalidate = request.invalidate();
        if invalidate.is_some() || data != Data::None {
            self.shared.pending.insert(element.header.message_id, Request { invalidate, data })?;
        }
        // The data begin where the one byte of Buffer would be.
        let (front, data) = match &inline {
            Some(order) => (HEAD_LEN, order.len as usize),
            None => (STRIPPED_LEN, 0),
        };
        let len = front.saturating_add(data);
        let padded = if element.is_last { len } else { len.checked_next_multiple_of(8).unwrap_or(len) };
        let next = if element.is_last { 0 } else { u32::try_from(padded).unwrap_or_default() };
        let mut out = stripped(bytes, verb, form, next)?;
        if self.is_compound {
            self.push(out.get(FRAME_LEN..FRAME_LEN.saturating_add(front)).unwrap_or_default());
        } else {
            if let (Some(frame), Ok(len)) = (out.first_chunk_mut(), u32::try_from(len)) {
                *frame = len.to_be_bytes();
            }
            let framed = out.get(..FRAME_LEN.saturating_add(front)).unwrap_or_default();
            if inline.is_some() {
                self.queue.push_head(framed)
            } else {
                self.queue.push(framed)
            }
            self.written = front;
        }
        if let Some(order) = inline {
            self.queue.push_data(order, &mut self.shared.pending);
            self.written = self.written.saturating_add(data);
        }
        if padded > len {
            self.push([0; 8].get(..padded.saturating_sub(len)).unwrap_or_default());
        }
        Ok(())
    }

    /// What a request orders, if there is room for it.
    #[inline]
    fn order(&mut self, verb: Verb, request: &ChannelRequest<'_>) -> Result<Order, Refusal> {
        let (config, pending) = (&self.shared.config, &mut self.shared.pending);
        let (len, descriptors) = request.order(config.params().max_read_write_size)?;
        if !pending.has_room(descriptors.len()) {
            return Err(Refusal::TableFull);
        }
        // 2.1: what follows is not longer than what is kept of a message, and an eighth.
        let rest = config.queue_max();
        let written = self.written.saturating_add(len as usize).saturating_add(rest);
        if verb == Verb::Write && self.is_compound && written > MESSAGE_MAX as usize {
            return Err(Refusal::TooLong);
        }
        Ok(Order { len, remote: pending.list(descriptors) })
    }
}
