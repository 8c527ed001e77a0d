//! A message of the client: its elements, one after the other, and what each comes to.

use smbd_smb2::wire::{
    Command, Element, ErrorResponse, FileId, Flags, Header, NtStatus, SessionId, Target, header,
    write_element,
};

use super::bad::BadMessage;
use super::data::{Read, Write};
use super::request::{Reply, Request};
use super::state::{Failed, Phase, State};
use super::{create, data, directory, info, ioctl, negotiate, session, simple};

/// What an element comes to.
#[derive(Debug)]
pub(super) enum Outcome {
    Reply(Reply),
    Read(Box<Read>),
    Write(Box<Write>),
    /// Nobody waits for an answer.
    Nothing,
}

/// What a related request takes from the one before it (3.3.5.2.7.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    ids: Option<(Target, SessionId)>,
    file: Option<FileId>,
    failed: Option<NtStatus>,
}

/// Carries out one element.
pub(super) fn element(
    state: &mut State,
    element: &Element<'_>,
    before: &mut Before,
) -> Result<Outcome, BadMessage> {
    let Element { mut header, bytes, .. } = *element;
    if header.is_response() {
        return Err(BadMessage::Response);
    }
    // 3.3.5.2.6: only a server notifies.
    if header.command.name().is_none() || header.command == Command::SERVER_TO_CLIENT_NOTIFICATION {
        return Err(BadMessage::Command(header.command));
    }
    is_in_order(state, header.command)?;
    if header.command == Command::CANCEL {
        // 3.3.5.16: nothing here is carried out later.
        return Ok(Outcome::Nothing);
    }
    state.charge(&header)?;
    let related = relate(&mut header, before);
    let request = Request { header, bytes, before: before.file };
    let outcome = related.and_then(|()| carry_out(state, &request));
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(Failed::End(bad)) => return Err(bad),
        Err(Failed::With(status)) => {
            before.failed = Some(status);
            before.ids = Some((header.target, header.session_id));
            return Ok(Outcome::Reply(failure(state, &header, status)));
        }
    };
    Ok(match outcome {
        Outcome::Reply(mut reply) => {
            let answered = Header::parse(&reply.bytes)?;
            *before = Before {
                ids: Some((answered.target, answered.session_id)),
                file: reply.file,
                failed: Some(answered.status).filter(|status| status.is_error()),
            };
            grant(state, &header, &mut reply);
            Outcome::Reply(reply)
        }
        Outcome::Read(read) => {
            *before = after(&header, read.transfer.file, read.transfer.refusal());
            Outcome::Read(read)
        }
        Outcome::Write(write) => {
            *before = after(&header, write.transfer.file, write.transfer.refusal());
            Outcome::Write(write)
        }
        Outcome::Nothing => Outcome::Nothing,
    })
}

fn after(header: &Header, file: FileId, failed: Option<NtStatus>) -> Before {
    Before { ids: Some((header.target, header.session_id)), file: Some(file), failed }
}

/// Whether a command may come at this time (3.3.5.2.2, 3.3.5.4).
fn is_in_order(state: &State, command: Command) -> Result<(), BadMessage> {
    match (&state.phase, command == Command::NEGOTIATE) {
        (Phase::Agreed(_), true) => Err(BadMessage::NegotiatedTwice),
        (Phase::New | Phase::AskedAgain, false) => Err(BadMessage::NotNegotiated(command)),
        _ => Ok(()),
    }
}

/// Gives a related request the ids of the one before it.
fn relate(header: &mut Header, before: &Before) -> Result<(), Failed> {
    if !header.is_related() {
        return Ok(());
    }
    let (target, session_id) = before.ids.ok_or(NtStatus::INVALID_PARAMETER)?;
    header.session_id = session_id;
    header.target = target;
    match before.failed {
        Some(status) => Err(status.into()),
        None => Ok(()),
    }
}

fn carry_out(state: &mut State, request: &Request<'_>) -> Result<Outcome, Failed> {
    check_signature(state, request)?;
    let reply = match request.header.command {
        Command::NEGOTIATE => negotiate::negotiate(state, request),
        Command::SESSION_SETUP => session::setup(state, request),
        Command::LOGOFF => session::logoff(state, request),
        Command::TREE_CONNECT => session::connect(state, request),
        Command::TREE_DISCONNECT => session::disconnect(state, request),
        Command::CREATE => create::create(state, request),
        Command::CLOSE => create::close(state, request),
        Command::FLUSH => simple::flush(state, request),
        Command::READ => return Ok(Outcome::Read(Box::new(data::read(state, request)?))),
        Command::WRITE => return Ok(Outcome::Write(Box::new(data::write(state, request)?))),
        Command::LOCK => simple::lock(state, request),
        Command::IOCTL => ioctl::ioctl(state, request),
        Command::ECHO => simple::echo(request),
        Command::QUERY_DIRECTORY => directory::query(state, request),
        Command::QUERY_INFO => info::query(state, request),
        Command::SET_INFO => info::set(state, request),
        _ => {
            state.tree(&request.header)?;
            Err(NtStatus::NOT_SUPPORTED.into())
        }
    };
    reply.map(Outcome::Reply)
}

/// 3.3.5.2.4: without keys no signature can be good. With them it was verified when the message came.
fn check_signature(state: &mut State, request: &Request<'_>) -> Result<(), Failed> {
    let Header { command, flags, session_id, .. } = request.header;
    if !flags.contains(Flags::SIGNED) || state.security.is_some() {
        return Ok(());
    }
    if command == Command::NEGOTIATE {
        return Err(NtStatus::INVALID_PARAMETER.into());
    }
    state.session(session_id)?;
    Err(NtStatus::NOT_SUPPORTED.into())
}

/// An answer that the request failed.
pub(super) fn failure(state: &mut State, header: &Header, status: NtStatus) -> Reply {
    let mut reply = Reply { bytes: Vec::new(), file: None };
    // An error without data fits into its fields.
    let _ = write_element(&mut reply.bytes, &header.response(status), &ErrorResponse::default());
    grant(state, header, &mut reply);
    reply
}

/// Fills in the credits of an answer.
pub(super) fn grant(state: &mut State, request: &Header, reply: &mut Reply) {
    let credits = state.grant(request.credits);
    // It has a header.
    let _ = header::field::CREDITS.set(&mut reply.bytes, credits);
}
