//! Answers (3.3.4.3, 3.3.4.4).

use bytes::BytesMut;
use smbd_core::endpoint::Chunks;

use super::action::FRONT;
use super::chain::{Answer, Asked, Sign};
use super::pending::Outcome;
use crate::wire::{
    Body, Dialect, ErrorContext, ErrorId, ErrorResponse, FileId, NtStatus, Records, write_element,
};

/// An answer with this body.
pub(super) fn answer(room: &mut Chunks, asked: &Asked, status: NtStatus, body: &impl Body) -> Answer {
    let (bytes, status) = room.write(|bytes| {
        bytes.resize(FRONT, 0);
        if write_element(bytes, &asked.response(status), body).is_ok() {
            return status;
        }
        // A part is longer than its field can say, which the limits rule out.
        let _ = write_element(bytes, &asked.response(NtStatus::INTERNAL_ERROR), &ErrorResponse::default());
        NtStatus::INTERNAL_ERROR
    });
    of_bytes(asked, status, bytes)
}

/// An answer that is written.
pub(super) const fn of_bytes(asked: &Asked, status: NtStatus, bytes: BytesMut) -> Answer {
    Answer {
        bytes,
        status,
        session_id: asked.session_id,
        tree_id: asked.tree_id,
        file: asked.file,
        hash: None,
        sign: Sign::AsAsked,
    }
}

/// Success, with this body.
pub(super) fn success(room: &mut Chunks, asked: &Asked, body: &impl Body) -> Outcome {
    Outcome::Answer(answer(room, asked, NtStatus::SUCCESS, body))
}

/// Success of what was done with a file.
pub(super) fn of_file(
    room: &mut Chunks,
    asked: &Asked,
    file_id: FileId,
    status: NtStatus,
    body: &impl Body,
) -> Outcome {
    Outcome::Answer(Answer { file: Some(Ok(file_id)), ..answer(room, asked, status, body) })
}

/// A failure.
pub(super) fn failure(room: &mut Chunks, asked: &Asked, status: NtStatus) -> Outcome {
    Outcome::Answer(answer(room, asked, status, &ErrorResponse::default()))
}

/// A failure of what was to be done with a file: what follows may still use it.
pub(super) fn failure_of_file(
    room: &mut Chunks,
    asked: &Asked,
    file_id: FileId,
    status: NtStatus,
) -> Outcome {
    of_file(room, asked, file_id, status, &ErrorResponse::default())
}

/// A failure with data, which 3.1.1 has in a context (2.2.2).
pub(super) fn failure_with(
    room: &mut Chunks,
    asked: &Asked,
    file_id: FileId,
    status: NtStatus,
    dialect: Dialect,
    data: &[u8],
) -> Outcome {
    let contexts = [ErrorContext { error_id: ErrorId::DEFAULT, data }];
    let body = if dialect == Dialect::SMB_3_1_1 {
        ErrorResponse::Contexts(Records::from(&contexts))
    } else {
        ErrorResponse::Data(data)
    };
    of_file(room, asked, file_id, status, &body)
}

/// An outcome, or a failure.
pub(super) fn or_failure(room: &mut Chunks, asked: &Asked, result: Result<Outcome, NtStatus>) -> Outcome {
    result.unwrap_or_else(|status| failure(room, asked, status))
}
