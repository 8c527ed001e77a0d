//! The answer to a READ whose data came by RDMA: what the server says, and what the client gets.

use crate::relay::Reason;
use crate::relay::answer::{self, Place, place};
use crate::relay::element::Element;
use crate::relay::request::ANSWER_LEN;
use crate::wire::read::response;
use crate::wire::{NtStatus, WireError};

/// How many bytes have come by RDMA, by the answer in `element`, of which the first [`ANSWER_LEN`] bytes are there; `None` if it passes
/// as it is. `asked` were asked for.
pub(super) fn moved(element: &Element, held: &[u8], asked: u32) -> Result<Option<u32>, Reason> {
    let (status, message_id) = (element.header.status, element.header.message_id);
    if status != NtStatus::SUCCESS && status != NtStatus::BUFFER_OVERFLOW {
        return Ok(None);
    }
    let Some(Place { len: inline, .. }) = place(held, status, element.len).map_err(Reason::BrokenAnswer)?
    else {
        return Ok(None);
    };
    let len = response::DATA_REMAINING.get(held).map_err(Reason::BrokenAnswer)?;
    if len == 0 {
        // A server may answer without its channel. A client over TCP reads that.
        return Ok(None);
    }
    if inline > 0 {
        return Err(Reason::DataTwice { message_id });
    }
    if len > asked {
        return Err(Reason::TooMuchData { message_id, len, asked });
    }
    if element.is_signed() {
        return Err(Reason::SignedAnswer { message_id });
    }
    Ok(Some(len))
}

/// The answer with `len` bytes of data behind it (2.2.20), in the place of the answer that came.
pub(super) fn inline(element: &[u8], len: u32) -> Result<[u8; ANSWER_LEN], WireError> {
    let mut out = [0; ANSWER_LEN];
    answer::moved(element, 0, &mut out)?;
    response::DATA_LENGTH.set(&mut out, len)?;
    Ok(out)
}
