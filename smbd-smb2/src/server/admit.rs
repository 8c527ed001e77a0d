//! What is checked of every request before its command is looked at (3.3.5.2).

use super::chain::{Asked, Chain, needs_a_tree};
use super::channel;
use super::inner::Inner;
use super::session::Session;
use crate::wire::{
    Command, Flags, Header, NtStatus, Request, SessionId, SessionSetupFlags, SessionSetupRequest, TreeId,
};

/// Bytes that a credit is good for (3.1.5.2).
const CREDIT_LEN: u64 = 65536;

/// Where a request stands in its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) is_encrypted: bool,
    pub(super) is_alone: bool,
    pub(super) is_last: bool,
}

/// What is known of a request, and why it fails if it does.
pub(super) fn admit(
    inner: &Inner,
    chain: &Chain,
    header: &Header,
    element: &[u8],
    standing: Standing,
) -> (Asked, Result<(), NtStatus>) {
    let mut asked = Asked {
        link: inner.link.id,
        header: *header,
        session_id: header.session_id,
        tree_id: header.tree_id().unwrap_or(TreeId::NONE),
        file: None,
        is_signed: false,
        is_encrypted: standing.is_encrypted,
        is_alone: standing.is_alone,
        is_last: standing.is_last,
        invalidate: channel::token(inner, header, element),
        async_id: None,
    };
    let checked = relate(&mut asked, chain).and_then(|()| {
        asked.is_signed = verify(inner, &asked, element)?;
        Ok(())
    });
    (asked, checked)
}

/// 3.3.5.2.7.2: session, tree connect and file are those of the request before.
fn relate(asked: &mut Asked, chain: &Chain) -> Result<(), NtStatus> {
    if !asked.header.is_related() {
        return Ok(());
    }
    let previous = chain.previous.ok_or(NtStatus::INVALID_PARAMETER)?;
    asked.session_id = previous.session_id.ok_or(NtStatus::INVALID_PARAMETER)?;
    if previous.tree_id.is_none() && needs_a_tree(asked.header.command) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    asked.tree_id = previous.tree_id.unwrap_or(TreeId::NONE);
    asked.file = Some(previous.file.unwrap_or(Err(NtStatus::INVALID_HANDLE)));
    Ok(())
}

/// 3.3.5.2.4. Whether the request is signed.
fn verify(inner: &Inner, asked: &Asked, element: &[u8]) -> Result<bool, NtStatus> {
    if asked.is_encrypted {
        return Ok(false);
    }
    let is_signed = asked.header.flags.contains(Flags::SIGNED);
    if asked.header.command == Command::NEGOTIATE {
        return if is_signed { Err(NtStatus::INVALID_PARAMETER) } else { Ok(false) };
    }
    if binds(inner, asked, element) {
        return Ok(false);
    }
    if !is_signed {
        let session = inner.sessions.get(&asked.session_id.0);
        let is_required = session.and_then(Session::valid).is_some_and(|valid| valid.signing_required);
        return if is_required { Err(NtStatus::ACCESS_DENIED) } else { Ok(false) };
    }
    let valid = match inner.session_here(asked.session_id) {
        Some(Session::Valid(valid)) => valid,
        Some(Session::InProgress(_)) => return Err(NtStatus::NOT_SUPPORTED),
        Some(Session::Ended(_)) | None => return Err(NtStatus::USER_SESSION_DELETED),
    };
    let verifier = valid.channels.verifier(asked.link).ok_or(NtStatus::NOT_SUPPORTED)?;
    verifier.verify([element]).map_err(|_| NtStatus::ACCESS_DENIED)?;
    Ok(true)
}

/// Whether a request binds a session: its signature is looked at among the checks of 3.3.5.5 (CH-1).
fn binds(inner: &Inner, asked: &Asked, element: &[u8]) -> bool {
    let is_capable = asked.header.command == Command::SESSION_SETUP && inner.params().channels_max > 1;
    let request = SessionSetupRequest::parse(element).ok().filter(|_| is_capable);
    request.is_some_and(|request| request.flags.contains(SessionSetupFlags::BINDING))
}

/// 3.3.5.2.5.
pub(super) fn check_charge(asked: &Asked, request: &Request<'_>) -> Result<(), NtStatus> {
    let (sent, expected) = match request {
        Request::Read(read) => (0, read.length.into()),
        Request::Write(write) => (write.data.len() as u64, write.remaining_bytes.into()),
        Request::Ioctl(ioctl) => {
            let output = u64::from(ioctl.max_input_response).saturating_add(ioctl.max_output_response.into());
            (ioctl.input.len() as u64, output)
        }
        Request::QueryDirectory(query) => (0, query.output_buffer_length.into()),
        Request::ChangeNotify(notify) => (0, notify.output_buffer_length.into()),
        Request::QueryInfo(query) => (query.input.len() as u64, query.output_buffer_length.into()),
        Request::SetInfo(set) => (set.input.len() as u64, 0),
        Request::Negotiate(_)
        | Request::SessionSetup(_)
        | Request::Logoff(_)
        | Request::TreeConnect(_)
        | Request::TreeDisconnect(_)
        | Request::Create(_)
        | Request::Close(_)
        | Request::Flush(_)
        | Request::Lock(_)
        | Request::Cancel(_)
        | Request::Echo(_)
        | Request::OplockBreak(_)
        | Request::LeaseBreak(_)
        | Request::Other(..) => (0, 0),
    };
    let len = core::cmp::max::<u64>(sent, expected);
    // A charge of 0 is good for as much as one of 1.
    let charge = u64::from(asked.header.credit_charge.max(1));
    if len > charge.saturating_mul(CREDIT_LEN) { Err(NtStatus::INVALID_PARAMETER) } else { Ok(()) }
}

/// 3.3.5.17: an ECHO needs no session, unless it names one.
pub(super) fn check_echo(inner: &mut Inner, asked: &Asked) -> Result<(), NtStatus> {
    let names_one = asked.session_id != SessionId::NONE && !asked.is_encrypted;
    if asked.is_signed || names_one { inner.session(asked).map(|_| ()) } else { Ok(()) }
}
