//! A message comes in, and its requests are carried out one after the other.

use super::action::{Action, Done, OperationId};
use super::admit::{Standing, admit};
use super::answer::failure;
use super::chain::{Asked, Chain};
use super::command::{cancel, negotiate};
use super::dispatch::{dispatch, resume};
use super::inner::Inner;
use super::lost::lose;
use super::negotiated::Phase;
use super::pending::{Outcome, Pending, Task, WaitsFor, What};
use super::protect::{send, send_interim, settle};
use super::reason::Reason;
use super::refused::Refused;
use super::session::Session;
use crate::wire::{
    Command, Element, Elements, Flags, Header, Message, MessageId, NtStatus, SessionId, header, transform,
};

/// The longest request of a command without data (3.3.5.2).
pub(super) const REQUEST_MAX: usize = 68 * 1024;
/// What a message may have besides data.
const AROUND: usize = 256;

/// 3.3.5.2.
pub(super) fn receive(inner: &mut Inner, message: &mut [u8]) -> Result<(), Reason> {
    let params = inner.params();
    let max = params.max_transact_size.max(params.max_write_size) as usize;
    let max = max.saturating_add(AROUND).saturating_add(transform::LEN);
    if message.len() > max {
        return Err(Reason::TooLong { len: message.len(), max });
    }
    match Message::parse(message)? {
        Message::Smb2(_) => of_elements(inner, message, None),
        Message::Transform(_) => {
            let (front, sealed) = message.split_at_mut_checked(transform::LEN).ok_or(Reason::Protocol)?;
            let session_id = open(inner, front, sealed)?;
            of_elements(inner, sealed, Some(session_id))
        }
        Message::Compressed(_) => Err(Reason::Compressed),
        Message::Smb1Negotiate(request) => {
            let wildcard = crate::wire::Smb1Negotiate::SMB_2_WILDCARD;
            let offers = request.dialects().any(|name| name == wildcard);
            of_smb1(inner, offers)
        }
        Message::Other(_) => Err(Reason::Protocol),
    }
}

/// 3.3.5.2.1.1.
fn open(inner: &mut Inner, front: &[u8], sealed: &mut [u8]) -> Result<SessionId, Reason> {
    let session_id = transform::field::SESSION_ID.get(front)?;
    let session = inner.session_here(session_id).and_then(Session::valid);
    let encryption = session.and_then(|session| session.channels.encryption());
    let Some((_, opener)) = encryption else { return Err(Reason::NoKeys { session_id: session_id.0 }) };
    opener.open_message(front, &mut [sealed])?;
    inner.link.was_encrypted = true;
    Ok(session_id)
}

/// 3.3.5.3.
fn of_smb1(inner: &mut Inner, offers: bool) -> Result<(), Reason> {
    match inner.link.phase {
        Phase::Start => {}
        Phase::Smb1Answered | Phase::Negotiated(_) => return Err(Reason::OutOfOrder(Command::NEGOTIATE)),
    }
    if !offers {
        inner.push(Action::Refused(Refused::Dialects { offered: "SMB1".into() }));
        return Err(Reason::NoDialect);
    }
    // 3.3.5.2.3: it counts as one with the id 0.
    take(inner, &Header { message_id: MessageId(0), ..Header::default() })?;
    let header = Header { command: Command::NEGOTIATE, credits: 1, ..Header::default() };
    let standing = Standing { is_encrypted: false, is_alone: true, is_last: true };
    let mut chain = Chain::default();
    let (asked, _) = admit(inner, &chain, &header, &[], standing);
    if let Outcome::Answer(answer) = negotiate::of_smb1(inner, &asked) {
        settle(inner, &mut chain, &asked, answer)?;
    }
    send(inner, &mut chain)
}

/// A message of SMB2, decrypted if it was encrypted.
fn of_elements(inner: &mut Inner, message: &[u8], sealed_by: Option<SessionId>) -> Result<(), Reason> {
    let (mut first, mut count) = (None, 0_usize);
    for element in Elements::new(message) {
        let element = element?;
        let max = inner.params().compound_max;
        if count >= max {
            return Err(Reason::CompoundTooLong { max });
        }
        check(inner, &element.header, element.bytes.len())?;
        check_session(&element.header, first.is_none(), sealed_by)?;
        first.get_or_insert(element.header);
        count = count.saturating_add(1);
    }
    let Some(first) = first else { return Ok(()) };
    let standing = Standing { is_encrypted: sealed_by.is_some(), is_alone: count == 1, is_last: false };
    if count == 1 {
        take(inner, &first)?;
        return run(inner, Chain::default(), message, standing);
    }
    // All of them were parsed above.
    for element in Elements::new(message).flatten() {
        take(inner, &element.header)?;
    }
    // A request that is not related begins a chain.
    let mut start = 0;
    let begins = |element: &Element<'_>| element.offset > 0 && !element.header.is_related();
    let starts = Elements::new(message).flatten().filter(begins).map(|element| element.offset);
    for end in starts.chain([message.len()]) {
        let requests = message.get(start..end).unwrap_or_default();
        run(inner, Chain::default(), requests, standing)?;
        start = end;
    }
    Ok(())
}

/// What ends the connection if it is wrong (3.3.5.2, 3.3.5.2.2, 3.3.5.2.6).
fn check(inner: &Inner, header: &Header, len: usize) -> Result<(), Reason> {
    let command = header.command;
    if command > Command::OPLOCK_BREAK {
        return Err(Reason::UnknownCommand(command));
    }
    let is_negotiated = matches!(inner.link.phase, Phase::Negotiated(_));
    // 3.3.5.4
    if is_negotiated == (command == Command::NEGOTIATE) {
        return Err(Reason::OutOfOrder(command));
    }
    let has_data = matches!(
        command,
        Command::READ
            | Command::WRITE
            | Command::IOCTL
            | Command::QUERY_DIRECTORY
            | Command::CHANGE_NOTIFY
            | Command::QUERY_INFO
            | Command::SET_INFO
    );
    if !has_data && len > REQUEST_MAX {
        return Err(Reason::TooLong { len, max: REQUEST_MAX });
    }
    Ok(())
}

/// 3.3.5.2.1.1: what is encrypted is of the session that encrypted it.
fn check_session(header: &Header, is_first: bool, sealed_by: Option<SessionId>) -> Result<(), Reason> {
    let Some(session_id) = sealed_by else { return Ok(()) };
    let is_related = header.flags.contains(Flags::RELATED_OPERATIONS);
    let is_valid =
        if is_first { !is_related } else { true } && (is_related || header.session_id == session_id);
    if is_valid { Ok(()) } else { Err(Reason::OtherSession) }
}

/// 3.3.5.2.3.
pub(super) fn take(inner: &mut Inner, header: &Header) -> Result<(), Reason> {
    if header.command == Command::CANCEL {
        return Ok(());
    }
    let is_negotiated = matches!(inner.link.phase, Phase::Negotiated(_));
    let count = if is_negotiated { u64::from(header.credit_charge.max(1)) } else { 1 };
    let message_id = header.message_id.0;
    if inner.link.window.take(message_id, count) {
        Ok(())
    } else {
        Err(Reason::Sequence { message_id, count })
    }
}

/// Carries out requests, until one has to wait or all are answered.
fn run(inner: &mut Inner, mut chain: Chain, mut requests: &[u8], standing: Standing) -> Result<(), Reason> {
    while !requests.is_empty() {
        let header = Header::parse(requests)?;
        let next = (header.next_command as usize).max(header::LEN);
        let (element, rest) = match requests.split_at_checked(next) {
            Some(split) if header.next_command != 0 => split,
            Some(_) | None => (requests, &[][..]),
        };
        requests = rest;
        if header.command == Command::CANCEL {
            cancel(inner, &chain, &header, element, standing)?;
            continue;
        }
        let standing = Standing { is_last: requests.is_empty(), ..standing };
        let (asked, admitted) = admit(inner, &chain, &header, element, standing);
        let outcome = match admitted {
            Ok(()) => dispatch(inner, &asked, element),
            Err(status) => failure(&mut inner.chunks, &asked, status),
        };
        match outcome {
            Outcome::Answer(answer) => settle(inner, &mut chain, &asked, answer)?,
            Outcome::Wait(what, task) => {
                chain.rest = requests.to_vec();
                let id = inner.new_operation();
                return wait(inner, id, asked, chain, what, task);
            }
            Outcome::Close(reason) => return Err(reason),
        }
    }
    // Files are closed before the answer to the request that closes them, and so are those of a session before it is free (3.3.5.6,
    // 3.3.5.8): with that answer its client forgets what it has asked for in it.
    answer_changes(inner)?;
    send(inner, &mut chain)?;
    clean_up(inner)
}

/// 3.3.5.16: nobody but the session itself cancels what it has asked for, and what is wrong with a CANCEL is not answered.
fn cancel(
    inner: &mut Inner,
    chain: &Chain,
    header: &Header,
    element: &[u8],
    standing: Standing,
) -> Result<(), Reason> {
    let (asked, admitted) = admit(inner, chain, header, element, standing);
    if admitted.is_err() || inner.session(&asked).is_err() {
        return Ok(());
    }
    match cancel::request(inner, &asked) {
        Some(id) => complete(inner, id, Err(NtStatus::CANCELLED)),
        None => Ok(()),
    }
}

/// Keeps a request, and asks the driver for what it waits for.
fn wait(
    inner: &mut Inner,
    id: OperationId,
    mut asked: Asked,
    mut chain: Chain,
    what: What,
    task: Task,
) -> Result<(), Reason> {
    let waits_for = task.waits_for();
    if waits_for == WaitsFor::Change {
        send_interim(inner, &mut chain, &mut asked)?;
    }
    let handle = match (&task, &what) {
        // It is no file yet.
        (_, What::Create(_)) | (Task::Close { .. }, _) => None,
        (Task::File(operation), _) | (Task::RdmaRead { .. }, What::Fetch { operation, .. }) => {
            Some(operation.handle())
        }
        (Task::Transform { .. }, What::Uncover { operation, .. }) => Some(operation.handle()),
        (Task::Transform { .. }, What::Cover { reading, .. }) => Some(reading.handle),
        (Task::Change { handle } | Task::Turn { handle }, _) => Some(*handle),
        (Task::RdmaRead { .. } | Task::Transform { .. }, _) => None,
    };
    inner.wait(id, Pending { asked, chain, what, handle, waits_for });
    match task {
        Task::File(operation) => inner.push(Action::File { id, operation }),
        Task::RdmaRead { buffers, len } => inner.push(Action::RdmaRead { id, buffers, len }),
        Task::Transform { len } => inner.push(Action::Transform { id, len }),
        Task::Close { handle, wants_attributes } => inner.close_for(id, handle, wants_attributes),
        Task::Change { .. } | Task::Turn { .. } => {}
    }
    clean_up(inner)
}

/// What a request waited for is there.
pub(super) fn complete(
    inner: &mut Inner,
    id: OperationId,
    done: Result<Done, NtStatus>,
) -> Result<(), Reason> {
    let Some(Pending { asked, mut chain, what, handle, .. }) = inner.take(id) else { return Ok(()) };
    // A lock that waits ends with its file.
    let is_closing = |inner: &Inner| handle.is_some_and(|handle| inner.is_closing(handle));
    let done = match done {
        Err(NtStatus::CANCELLED) if asked.header.command == Command::LOCK && is_closing(inner) => {
            Err(NtStatus::RANGE_NOT_LOCKED)
        }
        done => done,
    };
    let outcome = resume(inner, &asked, id, what, done);
    let rest = core::mem::take(&mut chain.rest);
    match outcome {
        Outcome::Answer(answer) => settle(inner, &mut chain, &asked, answer)?,
        Outcome::Wait(what, task) => {
            chain.rest = rest;
            return wait(inner, id, asked, chain, what, task);
        }
        Outcome::Close(reason) => return Err(reason),
    }
    if let Some(handle) = handle {
        inner.close_if_idle(handle);
    }
    let standing = Standing { is_encrypted: asked.is_encrypted, is_alone: false, is_last: false };
    run(inner, chain, &rest, standing)
}

/// The driver says that an operation may take long: its client is told (3.3.4.2).
pub(super) fn prolong(inner: &mut Inner, id: OperationId) -> Result<(), Reason> {
    // What is behind it would have to be asynchronous as well; so it just waits.
    let can_be_told = |pending: &Pending| pending.asked.async_id.is_none() && pending.chain.rest.is_empty();
    if !inner.pending.get(&id).is_some_and(can_be_told) || !inner.has_room_for_a_wait() {
        return Ok(());
    }
    let Some(mut pending) = inner.pending.remove(&id) else { return Ok(()) };
    let sent = send_interim(inner, &mut pending.chain, &mut pending.asked);
    inner.pending.insert(id, pending);
    sent
}

/// Answers what waited for changes of directories that are closed, and forgets sessions that are over.
///
/// # Errors
/// Why the connection ends on which something happens now.
pub(super) fn clean_up(inner: &mut Inner) -> Result<(), Reason> {
    let ended = answer_changes(inner);
    inner.forget_ended();
    inner.limit_idleness();
    ended
}

/// Answers what waited for changes of directories that are closed.
fn answer_changes(inner: &mut Inner) -> Result<(), Reason> {
    let here = inner.link.id;
    let mut ended = Ok(());
    while let Some(id) = inner.cleanup.pop() {
        let Some(Pending { asked, chain, .. }) = inner.take(id) else { continue };
        if !inner.enter(asked.link) {
            continue;
        }
        if let Err(reason) = changes_end(inner, &asked, chain) {
            if asked.link == here { ended = Err(reason) } else { lose(inner, reason) }
        }
    }
    inner.enter(here);
    ended
}

fn changes_end(inner: &mut Inner, asked: &Asked, mut chain: Chain) -> Result<(), Reason> {
    if let Outcome::Answer(answer) = failure(&mut inner.chunks, asked, NtStatus::NOTIFY_CLEANUP) {
        settle(inner, &mut chain, asked, answer)?;
    }
    send(inner, &mut chain)
}
