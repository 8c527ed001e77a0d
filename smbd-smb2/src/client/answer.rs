//! Answers to operations: trees, files, and the end of sessions (3.2.5.4 to 3.2.5.18).

use alloc::boxed::Box;

use smbd_core::Instant;

use super::ids::OperationId;
use super::machine::{Machine, Running, Step};
use super::negotiate::{self, NegotiateError};
use super::operation::{Kind, Stored};
use super::reason::{Failure, Fatal, Reason};
use super::receive::Part;
use super::request::{Memory, Outcome, Owner, Request};
use super::session::Tree;
use super::table::Key;
use super::transfer::Piece;
use super::transform::Facts;
use super::validate;
use crate::cover::Cover;
use crate::wire::{
    Command, Dialect, IoctlResponse, NegotiateResponse, NtStatus, RdmaTransformType, ReadResponse,
    ReadResponseFlags, ShareFlags, TreeConnectResponse, WriteResponse, has_error_body, read,
};

impl Machine {
    /// 3.2.5.2
    #[inline(never)]
    pub(super) fn on_negotiate(&mut self, part: &Part<'_>) -> Result<Option<Step>, Fatal> {
        let status = part.header.status;
        if status != NtStatus::SUCCESS {
            return Err(NegotiateError::Status(status).into());
        }
        let answer = NegotiateResponse::parse(part.bytes).map_err(NegotiateError::Wire)?;
        self.negotiated = Some(negotiate::accept(&self.config, &answer)?);
        self.preauth.update([part.bytes]);
        self.timer = None;
        Ok(Some(Step::Negotiated))
    }

    /// Whether a request can wait until its session has been authenticated again.
    pub(super) fn can_wait(&self, key: Key, operation: Key) -> bool {
        let is_in_session = self.requests.get(key).is_some_and(|request| request.session.is_some());
        let running = self.operations.get(operation).filter(|running| running.result.is_none());
        let kind = running.map(|running| &running.kind);
        is_in_session
            && matches!(
                kind,
                Some(
                    Kind::Connect
                        | Kind::Validate(..)
                        | Kind::Disconnect(_)
                        | Kind::Single
                        | Kind::Transfer(_)
                )
            )
    }

    /// The answer to an operation of one request.
    pub(super) fn on_operation(
        &mut self,
        key: Key,
        operation: Key,
        part: &Part<'_>,
        now: Instant,
    ) -> Result<Option<Step>, Fatal> {
        let status = part.header.status;
        let running = self.operations.get(operation).filter(|running| running.result.is_none());
        let Some(running) = running else {
            self.forget(key);
            return Ok(None);
        };
        let (start, end) = (part.start, part.end);
        match &running.kind {
            Kind::Login(_) => {
                self.forget(key);
                return self.on_session_setup(operation, part, now);
            }
            Kind::Single => {
                self.forget(key);
                self.operations.remove(operation);
                return Ok(Some(Step::Answer { operation: OperationId(operation), start, end }));
            }
            Kind::Message => {
                self.forget(key);
                self.operations.remove(operation);
                return Ok(Some(Step::Message { operation: OperationId(operation), start, end }));
            }
            Kind::Logoff(session) if !status.is_error() => {
                let session = *session;
                self.forget(key);
                self.finish(operation, Ok(Stored::LoggedOff));
                self.end_session(session, &Failure::SessionEnded, now);
            }
            Kind::Disconnect(tree) if !status.is_error() => {
                let tree = *tree;
                self.forget(key);
                self.scopes.trees.remove(tree);
                self.finish(operation, Ok(Stored::Disconnected));
            }
            Kind::Connect if !status.is_error() => {
                self.forget(key);
                self.on_tree_connect(operation, part, now);
            }
            Kind::Validate(tree) => {
                let tree = tree.clone();
                self.forget(key);
                self.on_validated(part)?;
                self.finish(operation, Ok(Stored::Tree(tree)));
            }
            Kind::Logoff(_) | Kind::Disconnect(_) | Kind::Connect | Kind::Transfer(_) => {
                self.forget(key);
                self.finish(operation, Err(Failure::Status(status)));
            }
        }
        Ok(None)
    }

    /// 3.2.5.5
    #[inline(never)]
    fn on_tree_connect(&mut self, operation: Key, part: &Part<'_>, now: Instant) {
        let answer = match TreeConnectResponse::parse(part.bytes) {
            Ok(answer) => answer,
            Err(error) => return self.finish(operation, Err(error.into())),
        };
        let session_key = self.operations.get(operation).and_then(|running| running.session);
        let (Some(session), Some(id)) = (session_key, part.header.tree_id()) else {
            return self.finish(operation, Err(Failure::SessionEnded));
        };
        let (Some(state), Some(negotiated)) = (self.scopes.sessions.get(session), &self.negotiated) else {
            return self.finish(operation, Err(Failure::SessionEnded));
        };
        let encrypts = state.encryption.is_some() && answer.share_flags.contains(ShareFlags::ENCRYPT_DATA);
        let can_sign = state.channel.is_some();
        let is_311 = negotiated.dialect == Dialect::SMB_3_1_1;
        let tree = Tree::new((session, state), (id, encrypts), negotiated);
        let Some(tree) = self.scopes.trees.insert(tree) else {
            return self.finish(operation, Err(Failure::SessionEnded));
        };
        // Guests and nobody have no key that the answer could be signed with.
        if is_311 || !can_sign {
            return self.finish(operation, Ok(Stored::Tree(Box::new((tree, answer)))));
        }
        self.validate(operation, tree, answer, now);
    }

    /// Asks whether what was negotiated is what the server has said (3.2.5.5).
    fn validate(&mut self, operation: Key, tree: Key, answer: TreeConnectResponse, now: Instant) {
        let session = self.operations.get(operation).and_then(|running| running.session);
        let element = validate::with_request(&self.config, |body| {
            super::machine::element(&self.scopes.header(Command::IOCTL, (session, Some(tree))), body)
        });
        let mut request = self.spare.take(Owner::Operation(operation), Command::IOCTL);
        (request.session, request.tree, request.must_sign) = (session, Some(tree), true);
        match element {
            Ok(element) => request.element = element,
            Err(error) => return self.finish(operation, Err(error.into())),
        }
        if let Some(running) = self.operations.get_mut(operation) {
            running.kind = Kind::Validate(Box::new((tree, answer)));
        }
        let deadline = self.deadline(now);
        if self.enqueue(request, deadline).is_none() {
            self.finish(operation, Err(Failure::Closed));
        }
    }

    /// 3.2.5.14.12. The answer is signed or encrypted: anything else has ended the connection before.
    #[inline(never)]
    fn on_validated(&self, part: &Part<'_>) -> Result<(), Fatal> {
        match part.header.status {
            NtStatus::ACCESS_DENIED => {
                Err(Reason::Validation { field: "Status, STATUS_ACCESS_DENIED," }.into())
            }
            NtStatus::SUCCESS => {
                let answer = IoctlResponse::parse(part.bytes)?;
                self.negotiated.as_ref().map_or(Ok(()), |negotiated| validate::check(negotiated, &answer))
            }
            // A server that does not know it says so, and signs that: nobody else can have said it.
            _ => Ok(()),
        }
    }

    /// The answer to a READ or WRITE (3.2.5.11, 3.2.5.12).
    #[inline(always)]
    pub(super) fn on_piece(
        &mut self,
        key: Key,
        operation: Key,
        part: &Part<'_>,
        now: Instant,
    ) -> Option<Step> {
        let request = self.requests.get(key)?;
        let piece = request.piece?;
        let has_channel = request.memory != Memory::None;
        let facts = || self.facts(request, part, has_channel);
        let (moved, data, cover) = match moved(part, piece, has_channel, facts) {
            Ok((moved, data, cover)) => (Outcome::Moved(moved), data, cover),
            Err(failure) => {
                // What was written is not shown, even if nobody asked for a transform.
                let is_wrong = matches!(failure, Failure::Transform(_)) && !facts().ids.is_empty();
                let wrong = || Box::new(Cover { transform: RdmaTransformType::SIGNING, signature: None });
                (Outcome::failed(failure), None, is_wrong.then(wrong))
            }
        };
        if cover.is_some()
            && let Some(request) = self.requests.get_mut(key)
        {
            request.cover = cover;
        }
        let is_over = |running: &Running| running.result.is_some();
        let data = data.filter(|_| !self.operations.get(operation).is_none_or(is_over));
        self.release(key, moved, now);
        let (at, len) = data?;
        let start = part.start.saturating_add(at);
        let end = start.saturating_add(len);
        Some(Step::Data { operation: OperationId(operation), offset: piece.offset, start, end })
    }

    /// What is known of the answer to a READ besides itself.
    fn facts(&self, request: &Request, part: &Part<'_>, has_channel: bool) -> Facts<'_> {
        let negotiated = self.negotiated.as_ref();
        Facts {
            ids: negotiated.map(|negotiated| negotiated.rdma_transforms).unwrap_or_default(),
            has_flags: negotiated.is_some_and(|negotiated| negotiated.dialect == Dialect::SMB_3_1_1),
            has_channel,
            is_encrypted: part.is_encrypted_for(request.session),
            session: request.session.and_then(|key| self.scopes.sessions.get(key)).map(Box::as_ref),
        }
    }

    /// Ends a session: its tree connects are gone, and its operations fail. It stays until the answers to its requests have come.
    #[inline(never)]
    pub(super) fn end_session(&mut self, session: Key, failure: &Failure, now: Instant) {
        let Some(state) = self.scopes.sessions.get_mut(session) else { return };
        if !core::mem::replace(&mut state.has_ended, true) {
            self.scopes.ended = self.scopes.ended.saturating_add(1);
        }
        for operation in self.operations.keys(|running| running.session == Some(session)) {
            self.abort(operation, failure, now);
        }
        for tree in self.scopes.trees.keys(|tree| tree.session == session) {
            self.scopes.trees.remove(tree);
        }
        self.free_session(Some(session));
    }

    /// Frees a session that is over, when no answer needs its keys any more.
    #[inline(never)]
    pub(super) fn free_session(&mut self, session: Option<Key>) {
        let Some(key) =
            session.filter(|key| self.scopes.sessions.get(*key).is_some_and(|session| session.has_ended))
        else {
            return;
        };
        if !self.requests.iter().any(|(_, request)| request.session == session) {
            self.scopes.sessions.remove(key);
            self.scopes.ended = self.scopes.ended.saturating_sub(1);
        }
    }

    /// No further piece of a transfer is cut.
    pub(super) fn stop(&mut self, operation: Key) {
        if let Some(Running { kind: Kind::Transfer(transfer), .. }) = self.operations.get_mut(operation) {
            transfer.stop();
        }
    }

    /// Ends an operation with a failure, when its memory is back.
    pub(super) fn abort(&mut self, operation: Key, failure: &Failure, now: Instant) {
        self.stop(operation);
        for key in self.requests_of(operation) {
            self.release(key, Outcome::failed(failure.clone()), now);
        }
        if self.requests_of(operation).is_empty() {
            self.finish(operation, Err(failure.clone()));
        }
    }
}

/// Where data are in an element, and how many bytes.
type Place = (usize, usize);

/// How many bytes a READ or WRITE has moved, where in the element they are, if they are there, and how they are protected, if they are.
type Moved = (u32, Option<Place>, Option<Box<Cover>>);

/// What the answer to a READ or WRITE says.
fn moved<'a>(
    part: &Part<'_>,
    piece: Piece,
    has_channel: bool,
    facts: impl FnOnce() -> Facts<'a>,
) -> Result<Moved, Failure> {
    let mut cover = None;
    let status = part.header.status;
    if status.is_error() || has_error_body(&part.header, part.bytes)? {
        return Err(Failure::Status(status));
    }
    let (field, got, section, data) = if part.header.command == Command::READ {
        let answer = ReadResponse::parse(part.bytes)?;
        let len = answer.data.len();
        if answer.flags != ReadResponseFlags::NONE || (has_channel && len > 0) {
            cover = facts().cover(&answer)?.map(Box::new);
        }
        if has_channel {
            ("DataRemaining", answer.data_remaining, "3.2.5.11", None)
        } else {
            let at = read::response::DATA_OFFSET.get(part.bytes)?;
            ("DataLength", u32::try_from(len).unwrap_or(u32::MAX), "3.2.5.11", Some((at.into(), len)))
        }
    } else {
        ("Count", WriteResponse::parse(part.bytes)?.count, "3.2.5.12", None)
    };
    if got > piece.len {
        return Err(Failure::TooMuch { field, got: got.into(), max: piece.len.into(), section });
    }
    Ok((got, data.filter(|(_, len)| *len > 0), cover))
}
