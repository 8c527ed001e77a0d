//! A message of requests in the form that the server gets: each READ and WRITE with a channel is replaced.

use super::config::MESSAGE_MAX;
use super::element::Element;
use super::pending::{Data, Request};
use super::queue::Queue;
use super::reason::{Reason, Refusal};
use super::request::{
    ChannelRequest, FRAME_LEN, FRAMED_LEN, Form, HEAD_LEN, Order, STRIPPED_LEN, Verb, lower_read, strip,
};
use super::session;
use super::shared::{Shared, add};
use super::statistics::SessionKind;
use crate::wire::WireError;

/// Replaces a message that is a READ or WRITE with a channel. `bytes` has all of it, or its first `held_max`
/// bytes.
#[inline]
pub(super) fn rewrite_one(
    only: &Element,
    verb: Verb,
    bytes: &[u8],
    framed: &mut [u8; FRAMED_LEN],
    shared: &mut Shared,
) -> Result<Replaced, Reason> {
    session::count(bytes, Some(&only.header), &mut shared.statistics);
    let replaced = replace(only, verb, bytes, None, framed, shared)?;
    let len = replaced.len();
    if len > MESSAGE_MAX as usize {
        return Err(Reason::RequestTooLarge { len: len as u64, max: MESSAGE_MAX });
    }
    if let Some(frame) = framed.first_chunk_mut() {
        *frame = (len as u32).to_be_bytes();
    }
    Ok(replaced)
}

/// Appends a compound to the queue that has a READ or WRITE with a channel. `held` has all of it, or its first `held_max` bytes;
/// `remaining` is its length.
pub(super) fn rewrite(
    held: &[u8],
    remaining: usize,
    len: u32,
    queue: &mut Queue,
    shared: &mut Shared,
) -> Result<(), Reason> {
    let header = queue.push_header(0);
    let mut compound = Compound { queue, shared, written: 0 };
    let (mut held, mut remaining) = (held, remaining);
    loop {
        let element = Element::read(held, remaining).map_err(Reason::BrokenCompound)?;
        let Some((bytes, rest)) = held.split_at_checked(element.len) else {
            return Err(Reason::CompoundTooLong { len, max: compound.shared.config.params().held_max });
        };
        compound.element(&element, bytes)?;
        if element.is_last {
            break;
        }
        (held, remaining) = (rest, remaining.saturating_sub(element.len));
    }
    let Some(written) = u32::try_from(compound.written).ok().filter(|written| *written <= MESSAGE_MAX) else {
        return Err(Reason::RequestTooLarge { len: compound.written as u64, max: MESSAGE_MAX });
    };
    queue.set_len(header, written);
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

/// What a READ or WRITE with a channel has become.
pub(super) struct Replaced {
    /// Its length in bytes without data, which begin where the one byte of Buffer would be.
    pub(super) front: usize,
    /// The data behind it.
    pub(super) order: Option<Order>,
}

impl Replaced {
    #[inline]
    fn len(&self) -> usize {
        self.front.saturating_add(self.order.as_ref().map_or(0, |order| order.len as usize))
    }
}

/// Writes an element in the form that the server gets, behind room for the header of direct TCP. `bytes` is all of it, or as much as is
/// looked at, but the fixed part at least. In a compound it goes to `at`.
#[inline]
fn replace(
    element: &Element,
    verb: Verb,
    bytes: &[u8],
    at: Option<usize>,
    framed: &mut [u8; FRAMED_LEN],
    shared: &mut Shared,
) -> Result<Replaced, Reason> {
    let (command, message_id) = (element.header.command, element.header.message_id);
    if element.is_signed() {
        return Err(Reason::SignedChannel { command, message_id });
    }
    shared.statistics.sessions.count(element.header.session_id, SessionKind::Rdma);
    let request = ChannelRequest::read(verb, bytes).map_err(Reason::BrokenCompound)?;
    let order =
        if element.len <= bytes.len() { order(verb, &request, at, shared) } else { Err(Refusal::TooLong) };
    let form = match &order {
        Ok(order) => Form::Inline(order.len),
        Err(refusal) => {
            shared.statistics.refusals.count(*refusal);
            Form::Refused
        }
    };
    let (data, order) = match (order, verb) {
        (Ok(Order { len, remote }), Verb::Read) => (Data::Read { length: len, remote }, None),
        (Ok(order), Verb::Write) => (Data::None, Some(order)),
        (Err(_), _) => (Data::None, None),
    };
    let invalidate = request.invalidate();
    if invalidate.is_some() || matches!(data, Data::Read { .. }) {
        shared.pending.insert(message_id, Request { invalidate, data })?;
    }
    let replaced = Replaced { front: if order.is_some() { HEAD_LEN } else { STRIPPED_LEN }, order };
    let next = if element.is_last { 0 } else { u32::try_from(padded(replaced.len())).unwrap_or_default() };
    strip(request.head, verb, form, next, framed).map_err(Reason::BrokenCompound)?;
    Ok(replaced)
}

/// What a request orders, if there is room for it.
#[inline]
fn order(
    verb: Verb,
    request: &ChannelRequest<'_>,
    at: Option<usize>,
    shared: &mut Shared,
) -> Result<Order, Refusal> {
    let (config, pending) = (&shared.config, &mut shared.pending);
    let (len, descriptors) = request.order(config.params().max_read_write_size)?;
    if !pending.has_room(descriptors.len()) {
        return Err(Refusal::TableFull);
    }
    if let Some(at) = at.filter(|_| verb == Verb::Write) {
        // 2.1: what follows is not longer than what is kept of a message, and an eighth.
        let rest = config.queue_max();
        if at.saturating_add(len as usize).saturating_add(rest) > MESSAGE_MAX as usize {
            return Err(Refusal::TooLong);
        }
    }
    Ok(Order { len, remote: pending.remote(descriptors) })
}

/// Where the next element of a compound begins (3.2.4.1.4).
fn padded(len: usize) -> usize {
    len.checked_next_multiple_of(8).unwrap_or(len)
}

/// A compound while it is rewritten.
struct Compound<'m> {
    queue: &'m mut Queue,
    shared: &'m mut Shared,
    /// Its bytes so far, data of WRITEs included.
    written: usize,
}

impl Compound<'_> {
    fn element(&mut self, element: &Element, bytes: &[u8]) -> Result<(), Reason> {
        session::count(bytes, Some(&element.header), &mut self.shared.statistics);
        if let Some(verb) = Verb::with_channel(element, bytes) {
            return self.replace(element, verb, bytes);
        }
        // The server verifies its signature with NextCommand and the padding, and these may stay. But the answers are sent one by one.
        if element.is_signed() {
            return Err(Reason::SignedInCompound { message_id: element.header.message_id });
        }
        let verb = Verb::of(element.header.command);
        if let (Some(verb), Some((head, rest))) = (verb, bytes.split_first_chunk::<HEAD_LEN>()) {
            let mut head = *head;
            lower(verb, &mut head, self.shared).map_err(Reason::BrokenCompound)?;
            self.push(&head);
            self.push(rest);
        } else {
            self.push(bytes);
        }
        Ok(())
    }

    fn replace(&mut self, element: &Element, verb: Verb, bytes: &[u8]) -> Result<(), Reason> {
        let (at, mut framed) = (Some(self.written), [0; FRAMED_LEN]);
        let replaced = replace(element, verb, bytes, at, &mut framed, self.shared)?;
        let (len, front) = (replaced.len(), FRAME_LEN.saturating_add(replaced.front));
        self.push(framed.get(FRAME_LEN..front).unwrap_or_default());
        if let Some(order) = replaced.order {
            self.written = self.written.saturating_add(order.len as usize);
            self.queue.push_write(&[], order, &mut self.shared.pending);
        }
        let padding = if element.is_last { 0 } else { padded(len).saturating_sub(len) };
        self.push([0; 8].get(..padding).unwrap_or_default());
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) {
        self.queue.push(bytes);
        self.written = self.written.saturating_add(bytes.len());
    }
}
