//! Which command does what: with a request, and when what it waited for is there.

use super::action::{Done, OperationId};
use super::admit::{check_charge, check_echo};
use super::answer::{failure, failure_of_file, or_failure, success};
use super::chain::Asked;
use super::command::{
    close, create, directory, ioctl, lock, negotiate, notify, query, read, set, setup, tree, write,
};
use super::inner::Inner;
use super::pending::{Outcome, Task, What};
use crate::wire::{EchoResponse, NtStatus, Request};

/// Carries out a request. `element` is its bytes.
pub(super) fn dispatch(inner: &mut Inner, asked: &Asked, element: &[u8]) -> Outcome {
    // 3.3.5.2.6
    let Ok(request) = Request::parse(element) else {
        return failure(&mut inner.chunks, asked, NtStatus::INVALID_PARAMETER);
    };
    let result = match request {
        Request::Negotiate(request) => negotiate::request(inner, asked, &request, element),
        Request::SessionSetup(request) => setup::request(inner, asked, &request, element),
        Request::Logoff(_) => setup::logoff(inner, asked),
        Request::Echo(_) => {
            check_echo(inner, asked).map(|()| success(&mut inner.chunks, asked, &EchoResponse::default()))
        }
        Request::TreeConnect(request) => tree::connect(inner, asked, &request),
        Request::TreeDisconnect(_) => tree::disconnect(inner, asked),
        Request::Create(_)
        | Request::Close(_)
        | Request::Flush(_)
        | Request::Read(_)
        | Request::Write(_)
        | Request::Lock(_)
        | Request::Ioctl(_)
        | Request::Cancel(_)
        | Request::QueryDirectory(_)
        | Request::ChangeNotify(_)
        | Request::QueryInfo(_)
        | Request::SetInfo(_)
        | Request::OplockBreak(_)
        | Request::LeaseBreak(_)
        | Request::Other(..) => {
            inner.session(asked).map(|_| ()).and_then(|()| of_tree(inner, asked, &request, element))
        }
    };
    or_failure(&mut inner.chunks, asked, result)
}

/// Carries out a request of a tree connect.
fn of_tree(
    inner: &mut Inner,
    asked: &Asked,
    request: &Request<'_>,
    element: &[u8],
) -> Result<Outcome, NtStatus> {
    inner.tree(asked)?;
    check_charge(asked, request)?;
    match request {
        Request::Create(request) => Ok(create::request(inner, asked, request)),
        Request::Close(request) => close::request(inner, asked, request),
        Request::Flush(request) => close::flush(inner, asked, request),
        Request::Read(request) => read::request(inner, asked, request, element),
        Request::Write(request) => write::request(inner, asked, request, element),
        Request::Lock(request) => lock::request(inner, asked, request),
        Request::Ioctl(request) => ioctl::request(inner, asked, request),
        Request::QueryDirectory(request) => directory::request(inner, asked, request),
        Request::ChangeNotify(request) => notify::request(inner, asked, request),
        Request::QueryInfo(request) => query::request(inner, asked, request),
        Request::SetInfo(request) => set::request(inner, asked, request),
        Request::OplockBreak(request) => notify::oplock(inner, asked, request),
        Request::LeaseBreak(_) => notify::lease(inner, asked),
        // Neither comes this far.
        Request::Negotiate(_)
        | Request::SessionSetup(_)
        | Request::Logoff(_)
        | Request::Echo(_)
        | Request::TreeConnect(_)
        | Request::TreeDisconnect(_)
        | Request::Cancel(_)
        | Request::Other(..) => Err(NtStatus::INVALID_PARAMETER),
    }
}

/// Goes on with a request whose operation has ended.
pub(super) fn resume(
    inner: &mut Inner,
    asked: &Asked,
    id: OperationId,
    what: What,
    done: Result<Done, NtStatus>,
) -> Outcome {
    match what {
        What::Create(creating) => create::done(inner, asked, creating, done),
        What::Close { wants_attributes } => close::done(&mut inner.chunks, asked, wants_attributes, done),
        What::Plain { file_id, kept } => {
            if let (Some(kept), Ok(_)) = (kept, &done) {
                inner.keep(asked, file_id, kept);
            }
            close::plain_done(&mut inner.chunks, asked, file_id, done)
        }
        What::Read { file_id, minimum } => read::done(&mut inner.chunks, asked, file_id, minimum, done),
        What::ReadChannel(reading) => read::channel_done(inner, asked, id, reading, done),
        What::Cover { reading, len, cover } => read::covered(inner, asked, id, (reading, len, &cover), done),
        What::Fetch { file_id, len, operation, cover: Some(cover) } => {
            Outcome::Wait(What::Uncover { file_id, len, operation, cover }, Task::Transform { len })
        }
        What::Fetch { file_id, len, operation, cover: None } => {
            Outcome::Wait(What::Write { file_id, len }, Task::File(operation))
        }
        What::Uncover { file_id, len, operation, .. } => match done {
            Ok(_) => Outcome::Wait(What::Write { file_id, len }, Task::File(operation)),
            Err(status) => failure_of_file(&mut inner.chunks, asked, file_id, status),
        },
        What::Write { file_id, len } => write::done(&mut inner.chunks, asked, file_id, len, done),
        What::Query(query) => {
            let dialect = inner.dialect();
            query::done(&mut inner.chunks, dialect, asked, &query, done)
        }
        What::List(enumeration) => directory::done(inner, asked, enumeration, done),
        What::Notify { file_id } => {
            close::plain_done(&mut inner.chunks, asked, file_id, done.and(Err(NtStatus::CANCELLED)))
        }
    }
}
