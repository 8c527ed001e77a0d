//! What answers of a broker are to an owner, whoever waits for them.

use std::os::fd::OwnedFd;

use super::error::CallError;
use super::slots::Slots;
use crate::owner::{Calls, News};
use crate::wire::{Reply, Welcome};

/// The answer of a call, and what came with it.
pub(crate) type Answer = Result<(Reply, Option<OwnedFd>), CallError>;

/// That of HELLO, which is the first packet of a broker.
pub(crate) fn welcome(calls: &mut Calls, packet: &[u8]) -> Result<Welcome, CallError> {
    let news = calls.received(packet).map_err(|_| CallError::Answer)?;
    match news.into_iter().next() {
        Some(News::Answer { result: Ok(Reply::Welcome(welcome)), .. }) => Ok(welcome),
        Some(News::Answer { result: Err(refusal), .. }) => Err(refusal.into()),
        _ => Err(CallError::Answer),
    }
}

/// That of a call that has nothing to return.
pub(crate) fn done(answer: Answer) -> Result<(), CallError> {
    match answer? {
        (Reply::Done, _) => Ok(()),
        _ => Err(CallError::Answer),
    }
}

/// That of GET_MEM_PARAMS: there may be more slots.
pub(crate) fn memory(answer: Answer, slots: &Slots) -> Result<(), CallError> {
    match answer? {
        (Reply::Memory(memory), Some(file)) => {
            slots.add(memory, file);
            Ok(())
        }
        (Reply::Memory(_), None) => Ok(()),
        _ => Err(CallError::Answer),
    }
}

/// That of ATTACH: the new socket of the connection.
pub(crate) fn attached(answer: Answer) -> Result<OwnedFd, CallError> {
    match answer? {
        (Reply::Attached { .. }, Some(socket)) => Ok(socket),
        _ => Err(CallError::Answer),
    }
}
