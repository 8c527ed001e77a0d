//! A second connection of a session (3.2.4.2.3, 3.3.5.5).

use smbd_smb2::security::{BindingSigner, SecurityError};
use smbd_smb2::wire::{Command, FileId, Header, SessionId, TreeId};

use super::{Client, Wants};

/// Messages of a binding that are signed: as many as NTLM has.
const MESSAGES: u16 = 2;

/// What another connection needs to be one of the session.
#[derive(Debug)]
pub struct Bound {
    pub(super) session: SessionId,
    pub(super) tree: TreeId,
    pub(super) file: Option<FileId>,
    /// Session.SigningKey.
    signer: BindingSigner,
}

impl Bound {
    /// A request of one element, as it goes before the connection has a key of its own.
    pub(super) fn protect(&mut self, mut message: Vec<u8>) -> Result<Vec<u8>, SecurityError> {
        if Header::parse(&message).is_ok_and(|header| header.command == Command::SESSION_SETUP) {
            self.signer.sign_in_place(&mut message)?;
        }
        Ok(message)
    }
}

impl Client {
    /// What another connection needs to be one of this session; nothing if the session has no keys, as a guest's has none.
    pub fn for_another(&mut self) -> Option<Bound> {
        let (session, tree, file) = (self.session, self.tree, self.file);
        let signer = self.keys()?.signer.binding(MESSAGES).ok()?;
        Some(Bound { session, tree, file, signer })
    }

    /// What it was to get.
    #[must_use]
    pub const fn wants(&self) -> &Wants {
        &self.wants
    }

    /// A client that has said nothing, and is to bind its connection to this session: it has its tree connect and its file then.
    #[must_use]
    pub fn binding(wants: Wants, bound: Bound) -> Self {
        Self { bound: Some(bound), ..Self::new(wants) }
    }

    /// Whether it binds its connection to a session, or has.
    pub(super) const fn is_bound(&self) -> bool {
        self.bound.is_some()
    }
}
