//! A connection is lost (3.3.7.1).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::action::{Action, Done, LinkId, OperationId};
use super::command::directory;
use super::inner::Inner;
use super::pending::{Pending, WaitsFor, What};
use super::reason::Reason;
use super::session::Session;
use crate::wire::{NtStatus, SessionId};

/// Ends the connection on which something happens now. Sessions that have another go on.
pub(super) fn lose(inner: &mut Inner, reason: Reason) {
    if inner.link.is_over {
        return;
    }
    let link = inner.link.id;
    inner.link.is_over = true;
    inner.link.deadline = None;
    inner.link.bindings.clear();
    // With the last connection all ends, and the driver closes all files.
    if !inner.has_ended() {
        requests(inner, link);
        sessions(inner, link);
    }
    inner.push(Action::Close(reason));
}

/// Its requests are answered by nobody. What the driver has begun goes on.
fn requests(inner: &mut Inner, link: LinkId) {
    let own = inner.pending.iter().filter(|(_, pending)| pending.asked.link == link);
    let own: Vec<_> = own.map(|(id, pending)| (*id, pending.waits_for)).collect();
    for (id, waits_for) in own {
        match waits_for {
            WaitsFor::File => inner.push(Action::Cancel(id)),
            // A CLOSE closes.
            WaitsFor::Others => {}
            WaitsFor::Change => drop(inner.take(id)),
            WaitsFor::Turn | WaitsFor::Rdma | WaitsFor::Transform => {
                if waits_for != WaitsFor::Turn {
                    inner.lost.insert(id, link);
                }
                let handle = inner.take(id).and_then(|pending| pending.handle);
                handle.into_iter().for_each(|handle| inner.close_if_idle(handle));
            }
        }
    }
    let writing = core::mem::take(&mut inner.writing);
    let (own, others) = writing.into_iter().partition(|(_, on)| *on == link);
    inner.writing = others;
    let own: BTreeMap<OperationId, LinkId> = own;
    inner.lost.extend(own);
}

/// Its sessions lose a channel, and end with the last.
fn sessions(inner: &mut Inner, link: LinkId) {
    let mut over = Vec::new();
    for (id, session) in &mut inner.sessions {
        let has_none = match session {
            Session::InProgress(login) => login.on == link,
            Session::Valid(valid) => valid.channels.lose(link),
            Session::Ended(channels) => channels.lose(link),
        };
        if has_none {
            over.push(SessionId(*id));
        }
    }
    over.into_iter().for_each(|id| inner.end_session(id));
}

/// What a request waited for is there, and nobody hears of it. The file does.
pub(super) fn complete(inner: &mut Inner, id: OperationId, done: Result<Done, NtStatus>) {
    let Some(Pending { asked, what, handle, .. }) = inner.take(id) else { return };
    match (what, done) {
        // Nobody knows its FileId.
        (What::Create(creating), Ok(Done::Opened { .. })) => {
            inner.on_opened(creating.handle, &asked);
            inner.close_silently(creating.handle);
        }
        (What::List(enumeration), _) => directory::leave(inner, &asked, enumeration),
        (What::Plain { file_id, kept: Some(kept) }, Ok(_)) => inner.keep(&asked, file_id, kept),
        _ => {}
    }
    handle.into_iter().for_each(|handle| inner.close_if_idle(handle));
}
