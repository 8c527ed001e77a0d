//! Sessions and tree connects, and how their messages are protected (3.2.1.3, 3.2.1.4, 3.2.1.8).

use super::negotiate::Negotiated;
use super::table::Key;
use crate::cover::CoverKey;
use crate::security::{Opener, RdmaTransforms, Sealer, Secret, Signer, Verifier};
use crate::wire::{Command, Dialect, NtStatus, RdmaTransformType, SessionId, TreeId};

/// How a request is protected, and its answer has to be (3.2.4.1.1, 3.2.4.1.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Not at all.
    None,
    /// It is signed.
    Signed,
    /// It is encrypted, which needs no signature.
    Encrypted,
}

/// The signing key of a session on one channel (3.2.1.8). A session that is bound to more connections has one on each.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) signer: Signer,
    pub(super) verifier: Verifier,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: SessionId,
    /// `None` for guests and nobody.
    pub(super) channel: Option<Channel>,
    /// Those of the session, over all channels.
    pub(super) encryption: Option<(Sealer, Opener)>,
    pub(super) application_key: Option<Secret>,
    /// Session.SigningRequired.
    pub(super) signing_required: bool,
    /// Session.EncryptData.
    pub(super) encrypts: bool,
    /// Session.ChannelSequence.
    pub(super) channel_sequence: u16,
    pub(super) home: Home,
    /// Whether it is over, and stays only until the answers to its requests have come.
    pub(super) has_ended: bool,
    /// Whether the server has said that it has to be authenticated again.
    pub(super) is_expired: bool,
}

/// Whether it is on its first connection here.
#[derive(Clone, Copy, Debug)]
pub(super) enum Home {
    /// It is, and may be bound to others so many times.
    First { bindings: u16 },
    /// It was bound to this one.
    Bound,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    pub(super) session: Key,
    pub(super) id: TreeId,
    /// TreeConnect.EncryptData.
    pub(super) encrypts: bool,
    /// What its requests take from the session, so that each looks up one of both.
    pub(super) session_id: SessionId,
    pub(super) channel_sequence: u16,
    /// How READs, WRITEs and most other requests are protected.
    pub(super) protection: Protection,
    /// The transform that data need which go by RDMA.
    pub(super) cover: Option<RdmaTransformType>,
    /// Whether data may go by RDMA.
    pub(super) allows_channel: bool,
}

impl Tree {
    /// A tree connect of this session. Neither changes what is taken from it, but for ChannelSequence.
    pub(super) fn new(
        (key, session): (Key, &Session),
        (id, encrypts): (TreeId, bool),
        negotiated: &Negotiated,
    ) -> Self {
        Self {
            session: key,
            id,
            encrypts,
            session_id: session.id,
            channel_sequence: session.channel_sequence,
            protection: session.protection(encrypts, negotiated.dialect, Command::READ, false),
            cover: session.needed_transform(encrypts),
            allows_channel: session.allows_channel(encrypts, negotiated.rdma_transforms),
        }
    }
}

impl Session {
    /// How a request of this session is protected (3.2.4.1.1, 3.2.4.1.8). `must_sign`: VALIDATE_NEGOTIATE_INFO is signed always.
    pub(super) fn protection(
        &self,
        tree_encrypts: bool,
        dialect: Dialect,
        command: Command,
        must_sign: bool,
    ) -> Protection {
        if self.encryption.is_some() && (self.encrypts || tree_encrypts) {
            return Protection::Encrypted;
        }
        // 3.2.4.2.4
        let signs_tree = command == Command::TREE_CONNECT && dialect == Dialect::SMB_3_1_1;
        if self.channel.is_some() && (self.signing_required || must_sign || signs_tree) {
            return Protection::Signed;
        }
        Protection::None
    }

    /// What verifies or decrypts data that the server has protected.
    pub(super) fn cover_key(&self, transform: RdmaTransformType) -> Option<CoverKey<'_>> {
        let verifier = self.channel.as_ref().map(|channel| &channel.verifier);
        CoverKey::of(transform, verifier, self.encryption.as_ref())
    }

    /// The transform that data need which go by RDMA in a tree connect: that by which its requests are protected.
    pub(super) const fn needed_transform(&self, tree_encrypts: bool) -> Option<RdmaTransformType> {
        if self.encrypts || tree_encrypts {
            Some(RdmaTransformType::ENCRYPTION)
        } else if self.signing_required {
            Some(RdmaTransformType::SIGNING)
        } else {
            None
        }
    }

    /// Whether data may go by RDMA (3.2.4.6, 3.2.4.7).
    pub(super) fn allows_channel(&self, tree_encrypts: bool, ids: RdmaTransforms) -> bool {
        // RT-1, RT-3
        self.needed_transform(tree_encrypts).is_none_or(|transform| ids.has(transform))
    }
}

/// Whether a server says this of a session that it does not know any more, without keys to protect the answer.
pub(super) fn ends_session(status: NtStatus) -> bool {
    status == NtStatus::USER_SESSION_DELETED
}
