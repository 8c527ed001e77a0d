//! What is noted of a run.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use smbd_link::Failure;

/// Nothing is left to happen that would end a wait, or far too much has happened, or a law is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody goes on")]
pub struct Stuck;

/// What came of a run.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) sent: Vec<Bytes>,
    pub(super) back: Vec<Bytes>,
    /// The buffer came back, whole and changed.
    pub(super) moved: Option<bool>,
    /// The initiator has come to its end.
    pub(super) over: bool,
    /// A loop says that its connection or its backend broke a contract.
    pub(super) broken: Option<String>,
}

pub(super) type Notes = Rc<RefCell<Seen>>;

/// The value of a call; of what ends a connection, only a broken contract is noted.
pub(super) fn noted<T>(notes: &Notes, result: Result<T, Failure<Stuck>>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(failure) => {
            if matches!(failure, Failure::Drive(_)) {
                notes.borrow_mut().broken.get_or_insert_with(|| failure.to_string());
            }
            None
        }
    }
}
