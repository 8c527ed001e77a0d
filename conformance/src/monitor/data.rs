//! Fields of a data message.

use smbd_core::wire::{DATA_OFFSET, DataTransfer, data_transfer};
use smbd_sim::decode::{Direction, Message};

use super::negotiation::Negotiation;
use super::rules::data as rules;
use super::verdict::{At, Journal};

/// A message without payload and outside any sequence: a grant, a probe or an answer.
pub(super) const fn is_empty(header: &DataTransfer) -> bool {
    header.data_length == 0 && header.remaining_data_length == 0
}

/// Rules that need nothing but the message.
pub(super) fn fields(at: At, header: &DataTransfer, message: &Message, journal: &mut Journal) {
    if header.credits_requested == 0 {
        journal.broken(&rules::CREDITS_REQUESTED, at, "CreditsRequested 0", "at least 1");
    }
    if header.flags.unknown() != 0 {
        let seen = format!("Flags {:#06x}", header.flags.0);
        journal.broken(&rules::UNKNOWN_FLAGS, at, seen, "0x0000 or 0x0001");
    }
    reserved(at, header, message, journal);
    offset(at, header, message, journal);
    if is_empty(header) && message.len != DataTransfer::LEN as u64 {
        journal.broken(&rules::EMPTY_LENGTH, at, format!("{} bytes", message.len), "20 bytes");
    }
    padding(at, header, message, journal);
}

fn reserved(at: At, header: &DataTransfer, message: &Message, journal: &mut Journal) {
    let rule = if is_empty(header) { &rules::EMPTY_RESERVED } else { &rules::RESERVED };
    match message.bytes.get(data_transfer::field::RESERVED) {
        Some([0, 0]) => {}
        Some(bytes) => journal.broken(rule, at, format!("Reserved {bytes:02x?}"), "0"),
        None => journal.not_judged(rule),
    }
}

fn offset(at: At, header: &DataTransfer, message: &Message, journal: &mut Journal) {
    let DataTransfer { data_offset, data_length, .. } = *header;
    if !data_offset.is_multiple_of(8) {
        let seen = format!("DataOffset {data_offset}");
        journal.broken(&rules::OFFSET_ALIGNMENT, at, seen, "a multiple of 8");
    }
    if data_length == 0 && data_offset != 0 {
        let seen = format!("DataOffset {data_offset}, DataLength 0");
        journal.broken(&rules::EMPTY_OFFSET, at, seen, "DataOffset 0");
    }
    if data_length > 0 && data_offset < DATA_OFFSET {
        let seen = format!("DataOffset {data_offset}, DataLength {data_length}");
        journal.broken(&rules::OFFSET_IN_HEADER, at, seen, "DataOffset 24 or more");
    }
    if u64::from(data_offset) + u64::from(data_length) > message.len {
        let seen = format!("DataOffset {data_offset}, DataLength {data_length}, {} bytes", message.len);
        journal.broken(&rules::BEYOND_MESSAGE, at, seen, "a sum of at most the length of the message");
    }
}

fn padding(at: At, header: &DataTransfer, message: &Message, journal: &mut Journal) {
    if header.data_length == 0 || header.data_offset < DATA_OFFSET {
        return;
    }
    let end = header.data_offset as usize;
    match message.bytes.get(DataTransfer::LEN..end) {
        Some(padding) if padding.iter().all(|byte| *byte == 0) => {}
        Some(padding) => {
            let shown = &padding[..padding.len().min(8)];
            journal.broken(&rules::PADDING, at, format!("padding {shown:02x?}"), "zeros");
        }
        // Whatever lies outside the message has a rule of its own.
        None if end as u64 > message.len => {}
        None => journal.not_judged(&rules::PADDING),
    }
}

/// Rules on what the negotiation fixed.
pub(super) fn sizes(
    at: At,
    header: &DataTransfer,
    message: &Message,
    negotiation: &Negotiation,
    journal: &mut Journal,
) {
    let request = negotiation
        .request()
        .map(|request| (request.max_receive_size, request.max_fragmented_size, request.preferred_send_size));
    let response = negotiation.response().map(|response| {
        (response.max_receive_size, response.max_fragmented_size, response.preferred_send_size)
    });
    let (own, peer) = match at.direction {
        Direction::ToAcceptor => (request, response),
        Direction::ToInitiator => (response, request),
    };
    match peer {
        Some((receive, fragmented, _)) => {
            over(&rules::OVER_MAX_RECEIVE, at, message.len, receive, journal);
            let total = u64::from(header.data_length) + u64::from(header.remaining_data_length);
            // Payload beyond its message is no length to hold against anything else.
            let inside = u64::from(header.data_offset) + u64::from(header.data_length) <= message.len;
            if inside && total > u64::from(fragmented) {
                let seen = format!(
                    "DataLength {}, RemainingDataLength {}",
                    header.data_length, header.remaining_data_length
                );
                let expected = format!("together at most {fragmented}, MaxFragmentedSize of the receiver");
                journal.broken(&rules::OVER_MAX_FRAGMENTED, at, seen, expected);
            }
        }
        None => {
            journal.not_judged(&rules::OVER_MAX_RECEIVE);
            journal.not_judged(&rules::OVER_MAX_FRAGMENTED);
        }
    }
    match own {
        Some((_, _, preferred)) => over(&rules::OVER_PREFERRED, at, message.len, preferred, journal),
        None => journal.not_judged(&rules::OVER_PREFERRED),
    }
}

fn over(rule: &'static super::rules::Rule, at: At, len: u64, most: u32, journal: &mut Journal) {
    if len > u64::from(most) {
        journal.broken(rule, at, format!("{len} bytes"), format!("at most {most}"));
    }
}
