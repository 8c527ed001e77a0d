//! A message of requests in the form that the server gets: each READ and WRITE with a channel is replaced.

use alloc::boxed::Box;

use super::config::MESSAGE_MAX;
use super::element::{Element, Front};
use super::pending::{Data, Request};
use super::queue::Queue;
use super::reason::{Reason, Refusal};
use super::request::{
    ChannelRequest, FRAME_LEN, FRAMED_HEAD_LEN, FRAMED_LEN, Form, HEAD_LEN, Order, STRIPPED_LEN, Verb,
    lower_read, strip,
};
use super::session;
use super::shared::{Shared, add};
use super::statistics::SessionKind;
use crate::wire::WireError;

/// Appends a compound to the queue that has a READ or WRITE with a channel. `held` has all of it, or its first `held_max` bytes;
/// `remaining` is its length.
pub(super) fn rewrite(
    held: &[u8],
    remaining: usize,
    len: u32,
    queue: &mut Queue,
    shared: &mut Shared,
) -> Result<(), Box<Reason>> {
    let header = queue.push_header(0);
    let mut compound = Compound { queue, shared, written: 0 };
    let (mut held, mut remaining) = (held, remaining);
    loop {
        let element = Element::read(held, remaining).map_err(Reason::BrokenCompound)?;
        let Some((bytes, rest)) = held.split_at_checked(element.len) else {
            let max = compound.shared.config.params().held_max;
            return Err(Reason::CompoundTooLong { len, max }.into());
        };
        compound.element(&element, bytes)?;
        if element.is_last {
            break;
        }
        (held, remaining) = (rest, remaining.saturating_sub(element.len));
    }
    let Some(written) = u32::try_from(compound.written).ok().filter(|written| *written <= MESSAGE_MAX) else {
        return Err(Reason::RequestTooLarge { len: compound.written as u64, max: MESSAGE_MAX }.into());
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

/// Length of an element in the form that the server gets, in bytes.
#[inline]
fn len_of(order: Option<&Order>) -> usize {
    order.map_or(STRIPPED_LEN, |order| HEAD_LEN.saturating_add(order.len as usize))
}

/// Where an element is in a compound.
pub(super) struct Within {
    /// Bytes before it.
    at: usize,
    is_last: bool,
}

/// Writes a READ or WRITE with a channel, of `len` bytes, in the form that the server gets, behind the header of direct TCP if it is
/// alone, or room for it. `bytes` is all of it, or as much as is looked at, but the fixed part at least. Returns what a WRITE orders: that
/// goes in the place of the one byte of Buffer.
#[inline(never)]
pub(super) fn replace(
    verb: Verb,
    bytes: &[u8],
    len: usize,
    within: Option<&Within>,
    framed: &mut [u8; FRAMED_LEN],
    shared: &mut Shared,
) -> Result<Option<Order>, Box<Reason>> {
    let mut header = Front::read(bytes).map_err(Reason::BrokenMessage)?;
    // It has this value already; said again, counting need not find out which of all commands it is.
    header.command = verb.command();
    session::count(bytes, Some(&header), &mut shared.statistics);
    let Front { command, message_id, session_id, .. } = header;
    if header.is_signed() {
        return Err(Reason::SignedChannel { command, message_id }.into());
    }
    shared.statistics.sessions.count(session_id, SessionKind::Rdma);
    let request = ChannelRequest::read(verb, bytes).map_err(Reason::BrokenCompound)?;
    let order =
        if len <= bytes.len() { order(verb, &request, within, shared) } else { Err(Refusal::TooLong) };
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
    let invalidate = request.invalidate(shared.may_invalidate());
    if invalidate.is_some() || matches!(data, Data::Read { .. }) {
        shared.pending.insert(message_id, Request { invalidate, data })?;
    }
    let all = len_of(order.as_ref());
    let next = match within {
        None if all > MESSAGE_MAX as usize => {
            return Err(Reason::RequestTooLarge { len: all as u64, max: MESSAGE_MAX }.into());
        }
        None | Some(Within { is_last: true, .. }) => 0,
        Some(Within { is_last: false, .. }) => u32::try_from(padded(all)).unwrap_or_default(),
    };
    strip(request.head, verb, form, next, framed).map_err(Reason::BrokenCompound)?;
    if let (None, Some(frame)) = (within, framed.first_chunk_mut()) {
        *frame = (all as u32).to_be_bytes();
    }
    Ok(order)
}

/// What a request orders, if there is room for it.
#[inline]
fn order(
    verb: Verb,
    request: &ChannelRequest<'_>,
    within: Option<&Within>,
    shared: &mut Shared,
) -> Result<Order, Refusal> {
    let may_invalidate = shared.may_invalidate();
    let (config, pending) = (&shared.config, &mut shared.pending);
    let max = config.params().max_read_write_size;
    let (len, descriptors) = request.order(max, may_invalidate)?;
    if !pending.has_room(descriptors.len()) {
        return Err(Refusal::TableFull);
    }
    if let Some(Within { at, .. }) = within.filter(|_| verb == Verb::Write) {
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
    fn element(&mut self, element: &Element, bytes: &[u8]) -> Result<(), Box<Reason>> {
        if let Some(verb) = Verb::with_channel(element, bytes) {
            return self.replace(element, verb, bytes);
        }
        session::count(bytes, Some(&element.header), &mut self.shared.statistics);
        // The server verifies its signature with NextCommand and the padding, and these may stay. But the answers are sent one by one.
        if element.is_signed() {
            return Err(Reason::SignedInCompound { message_id: element.header.message_id }.into());
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

    fn replace(&mut self, element: &Element, verb: Verb, bytes: &[u8]) -> Result<(), Box<Reason>> {
        let within = Within { at: self.written, is_last: element.is_last };
        let mut framed = [0; FRAMED_LEN];
        let order = replace(verb, bytes, element.len, Some(&within), &mut framed, self.shared)?;
        let len = len_of(order.as_ref());
        let end = if order.is_some() { FRAMED_HEAD_LEN } else { FRAMED_LEN };
        self.push(framed.get(FRAME_LEN..end).unwrap_or_default());
        if let Some(order) = order {
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
