//! What a message says of its session: whether it is encrypted, or signed.

use super::element::Front;
use super::shared::add;
use super::statistics::{SessionKind, Statistics};
use crate::wire::{Command, Flags, MessageId, Transform, transform};

/// Counts an element of a request, by its header, or an encrypted message, by its first bytes.
#[inline]
pub(super) fn count(front: &[u8], header: Option<&Front>, statistics: &mut Statistics) {
    let Some(header) = header else {
        if front.starts_with(&transform::PROTOCOL_ID) {
            add(&mut statistics.encrypted_messages, 1);
            if let Ok(transform) = Transform::parse(front) {
                statistics.sessions.count(transform.session_id, SessionKind::Encrypted);
            }
        }
        return;
    };
    statistics.requests.count(header.command);
    statistics.asked(header.command);
    if header.flags.contains(Flags::SIGNED) {
        add(&mut statistics.signed_elements, 1);
        // A session that does not sign signs single messages: TREE_CONNECT, a session's binding.
        if header.command == Command::READ || header.command == Command::WRITE {
            statistics.sessions.count(header.session_id, SessionKind::Signed);
        }
    }
}

/// Counts an element of a response, by its header, or an encrypted message, by its first bytes.
#[inline]
pub(super) fn count_response(front: &[u8], header: Option<&Front>, statistics: &mut Statistics) {
    let Some(header) = header else {
        if front.starts_with(&transform::PROTOCOL_ID) {
            add(&mut statistics.encrypted_messages, 1);
        }
        return;
    };
    count_answer(header, header.is_interim(), statistics);
}

/// Counts an element of a response by its header.
#[inline]
pub(super) fn count_answer(header: &Front, is_interim: bool, statistics: &mut Statistics) {
    if header.is_signed() {
        add(&mut statistics.signed_elements, 1);
    }
    // A break is no answer (3.3.4.6).
    if !is_interim && header.message_id != MessageId::UNSOLICITED {
        statistics.answered(header.command);
    }
}
