//! Sessions on more than one connection: given to other clients, bound here, and what all of their connections have to know
//! (3.2.4.2.3, 3.2.7.1).

use alloc::boxed::Box;

use smbd_core::Instant;

use super::bind_error::BindError;
use super::export::{BINDING_MESSAGES, SessionExport, TreeExport};
use super::facade::Client;
use super::ids::{OperationId, SessionHandle, TreeHandle};
use super::login::{Binding, Login, Target};
use super::machine::Machine;
use super::negotiate::Negotiated;
use super::operation::Kind;
use super::reason::Refused;
use super::request::{Owner, Wire};
use super::session::{Home, Tree};
use super::table::Key;
use crate::security::{Fresh, Initiator};
use crate::wire::header::field;
use crate::wire::{Capabilities, Command, Dialect, EchoRequest, NtStatus, SigningAlgorithm};

impl Client {
    /// Gives a session to another client, of the same ClientGuid, which binds it to its connection. It is to be asked of the client that
    /// has logged the user in, up to [`Params::bindings`](super::Params::bindings) times for each session.
    ///
    /// With AES-GMAC each binding needs MessageIds that the session does not sign with otherwise. [`Client::login`] leaves room for as
    /// many as there may be bindings.
    ///
    /// # Errors
    /// [`Refused::Unknown`], [`Refused::Binding`].
    pub fn export(&mut self, session: SessionHandle) -> Result<SessionExport, Refused> {
        self.machine.ready_to_bind()?;
        self.machine.live(session.0)?;
        Ok(self.machine.export(session.0)?)
    }

    /// Whether the session of another client can be bound to this connection. It has to be of the same client and to the same server, and
    /// dialect, ciphers and signatures have to be the same (3.2.5.2, 3.3.5.5).
    ///
    /// # Errors
    /// [`Refused`].
    pub fn can_bind(&self, session: &SessionExport) -> Result<(), Refused> {
        self.machine.ready()?;
        let negotiated = self.machine.ready_to_bind()?;
        if self.machine.scopes.sessions.free_count() <= self.machine.coming_sessions() {
            return Err(Refused::Full("sessions"));
        }
        session.fits(self.machine.config.client_guid, negotiated)?;
        let mut others = self.machine.scopes.sessions.iter().map(|(_, other)| other);
        if others.any(|other| other.id == session.id && !other.has_ended) {
            return Err(BindError::Twice(session.id).into());
        }
        let (next, first) = (self.machine.next_message_id(), session.signer.first_id());
        if has_nonce(negotiated) && next > first {
            return Err(BindError::MessageIds { next, first }.into());
        }
        Ok(())
    }

    /// Binds the session of another client to this connection (3.2.4.2.3): its user is authenticated again, and the connection gets a
    /// signing key of its own. Keys that encrypt are the session's, and so are FileIds and tree connects ([`Self::share_tree`]). The result
    /// is [`Reply::Session`](super::Reply::Session). Nothing else is begun on the connection before.
    ///
    /// A guest's answer fails it (3.2.5.3.3), and so does a last answer that is not signed with the connection's key. With AES-GMAC it has
    /// two messages at most, as NTLM has; a third ends the connection.
    ///
    /// # Errors
    /// As [`Self::can_bind`]. `session` is used up then.
    pub fn bind(
        &mut self,
        now: Instant,
        session: SessionExport,
        initiator: Initiator,
        fresh: Fresh,
    ) -> Result<OperationId, Refused> {
        self.can_bind(&session)?;
        let machine = &mut *self.machine;
        if machine.negotiated.as_ref().is_some_and(has_nonce) {
            machine.fill(session.signer.first_id())?;
        }
        let preauth = machine.preauth;
        let target = Target::Bind(Box::new(Binding { session, preauth }));
        machine.begin_login(Login::new(initiator, fresh, target), None, now)
    }

    /// Gives a tree connect to another client to whose connection its session is bound.
    ///
    /// # Errors
    /// [`Refused::Unknown`].
    pub fn export_tree(&self, tree: TreeHandle) -> Result<TreeExport, Refused> {
        let (Some(session), _) = self.machine.scope(tree)? else { return Err(NO_SESSION) };
        let (session, tree) = (self.machine.live(session)?, self.machine.scopes.trees.get(tree.0));
        let Some(Tree { id, encrypts, .. }) = tree else { return Err(Refused::Unknown("the tree connect")) };
        Ok(TreeExport { session_id: session.id, id: *id, encrypts: *encrypts })
    }

    /// A tree connect of another client's, for the same session here. Nothing is sent: the server knows it on all connections of its
    /// session.
    ///
    /// # Errors
    /// [`Refused::Unknown`] if it is one of another session, [`Refused::Full`].
    pub fn share_tree(&mut self, session: SessionHandle, tree: &TreeExport) -> Result<TreeHandle, Refused> {
        if self.machine.end.is_some() {
            return Err(Refused::Closed);
        }
        let state = self.machine.live(session.0)?;
        if state.id != tree.session_id {
            return Err(NO_SESSION);
        }
        let Some(negotiated) = &self.machine.negotiated else { return Err(Refused::NotNegotiated) };
        let tree = Tree::new((session.0, state), (tree.id, tree.encrypts), negotiated);
        self.machine.scopes.trees.insert(tree).map(TreeHandle).ok_or(Refused::Full("tree connects"))
    }

    /// Session.ChannelSequence: how many connections the session has lost. To be told to all that are left, before anything is submitted
    /// again that was under way on one that is lost (3.2.7.1). What has not been sent goes with the new number.
    ///
    /// # Errors
    /// [`Refused::Unknown`], [`Refused::Binding`].
    pub fn set_channel_sequence(&mut self, session: SessionHandle, sequence: u16) -> Result<(), Refused> {
        let machine = &mut *self.machine;
        machine.live(session.0)?;
        machine.ready_to_bind()?;
        let Some(state) = machine.scopes.sessions.get_mut(session.0) else { return Err(NO_SESSION) };
        state.channel_sequence = sequence;
        machine.scopes.renumber(session.0, sequence);
        let waits = |wire: &Wire| matches!(wire, Wire::Idle | Wire::Queued | Wire::Held);
        for key in machine.requests.keys(|it| it.session == Some(session.0) && waits(&it.wire)) {
            if let Some(request) = machine.requests.get_mut(key) {
                // One without a header gets it with the header.
                let _ = field::STATUS.set(&mut request.element, NtStatus(sequence.into()));
            }
        }
        Ok(())
    }
}

const NO_SESSION: Refused = Refused::Unknown("the session");

/// Whether messages are signed with AES-GMAC, which may see no MessageId twice (SE-2).
fn has_nonce(negotiated: &Negotiated) -> bool {
    negotiated.dialect == Dialect::SMB_3_1_1 && negotiated.signing == SigningAlgorithm::AES_GMAC
}

impl Machine {
    /// Whether both sides know sessions on more than one connection (3.2.5.2: Connection.SupportsMultiChannel).
    fn ready_to_bind(&self) -> Result<&Negotiated, Refused> {
        if self.end.is_some() {
            return Err(Refused::Closed);
        }
        let negotiated = self.negotiated.as_ref().ok_or(Refused::NotNegotiated)?;
        if self.config.bindings == 0 {
            return Err(BindError::TooMany { max: 0 }.into());
        }
        if !negotiated.capabilities.contains(Capabilities::MULTI_CHANNEL) {
            return Err(BindError::NoMultiChannel(negotiated.capabilities).into());
        }
        Ok(negotiated)
    }

    /// Sessions that there will be if all logins and bindings under way succeed.
    pub(super) fn coming_sessions(&self) -> usize {
        let is_new = |kind: &Kind| matches!(kind, Kind::Login(login) if matches!(login.target, Target::New { .. } | Target::Bind(_)));
        self.operations
            .iter()
            .filter(|(_, running)| is_new(&running.kind) && running.result.is_none())
            .count()
    }

    fn export(&mut self, session: Key) -> Result<SessionExport, BindError> {
        let max = self.config.bindings;
        let (Some(state), Some(negotiated)) = (self.scopes.sessions.get_mut(session), self.negotiated) else {
            return Err(BindError::NoKeys);
        };
        let Home::First { bindings } = &mut state.home else { return Err(BindError::NotFirst) };
        let Some(channel) = &mut state.channel else { return Err(BindError::NoKeys) };
        let left = bindings.checked_sub(1).ok_or(BindError::TooMany { max })?;
        let signer = channel.signer.binding(BINDING_MESSAGES).map_err(|_| BindError::NoNonces)?;
        let encryption = match &mut state.encryption {
            Some((sealer, opener)) => {
                Some((sealer.channel().map_err(|_| BindError::NoNonces)?, opener.clone()))
            }
            None => None,
        };
        *bindings = left;
        Ok(SessionExport {
            id: state.id,
            signer,
            verifier: channel.verifier.clone(),
            encryption,
            application_key: state.application_key.clone(),
            signing_required: state.signing_required,
            encrypts: state.encrypts,
            client_guid: self.config.client_guid,
            negotiated,
        })
    }

    /// The MessageId of what is queued next.
    fn next_message_id(&self) -> u64 {
        let waiting =
            self.queue.iter().filter_map(|key| self.queued(*key)).map(|first| self.charge_of(first));
        waiting.fold(self.window.next(), u64::saturating_add)
    }

    /// Leaves MessageIds below that of a login to the bindings of its session, if they need some (SE-2).
    pub(super) fn leave_ids(&mut self) -> Result<(), Refused> {
        if self.config.bindings == 0 || !self.negotiated.as_ref().is_some_and(has_nonce) {
            return Ok(());
        }
        // The last message of a login is signed by the server.
        self.fill(u64::from(self.config.bindings).saturating_mul(BINDING_MESSAGES.into()))
    }

    /// Sends ECHOs, which nobody signs, until the next request has at least this MessageId.
    fn fill(&mut self, until: u64) -> Result<(), Refused> {
        let missing = until.saturating_sub(self.next_message_id());
        // One is for the request itself, and one for an ECHO of the client's own.
        if self.requests.free_count() as u64 <= missing.saturating_add(1) {
            return Err(Refused::Full("requests"));
        }
        for _ in 0..missing {
            let mut request = self.spare.take(Owner::Echo, Command::ECHO);
            self.write_request(&mut request.element, &EchoRequest::default(), (None, None))?;
            self.enqueue(request, None);
        }
        Ok(())
    }
}
