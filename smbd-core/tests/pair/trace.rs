//! What happened between two sides, as text.

use std::fmt::Write;

use smbd_core::wire::{DataTransfer, NegotiateRequest, NegotiateResponse};
use smbd_core::{Action, Role};

use super::Side;

pub fn action(trace: &mut String, side: &Side, action: &Action) {
    match action {
        Action::PostSend { .. } => writeln!(trace, "{:9} {}", side.name, message(side)).unwrap(),
        Action::Notify(event) => writeln!(trace, "{:9} {event:?}", side.name).unwrap(),
        _ => {}
    }
}

pub fn data(trace: &mut String, side: &Side) {
    let (first, len, remaining) = side.data.last().unwrap();
    writeln!(trace, "{:9} Data first={first} length={len} remaining={remaining}", side.name).unwrap();
}

/// The message just sent.
fn message(side: &Side) -> String {
    let message = side.sent.last().unwrap();
    let bytes = message.head.as_bytes();
    if side.sent.len() == 1 {
        return match side.connection.role() {
            Role::Initiator => format!("{:?}", NegotiateRequest::parse(bytes).unwrap()),
            Role::Acceptor => format!("{:?}", NegotiateResponse::parse(bytes).unwrap()),
        };
    }
    let DataTransfer {
        credits_requested,
        credits_granted,
        flags,
        remaining_data_length,
        data_offset,
        data_length,
    } = DataTransfer::parse(bytes).unwrap();
    format!(
        "data requested={credits_requested} granted={credits_granted} flags={:#x} remaining={remaining_data_length} \
         offset={data_offset} length={data_length} ({} bytes)",
        flags.0, message.len
    )
}
