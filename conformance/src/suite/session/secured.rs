//! A session as a user, whose messages are signed or encrypted, with transforms of RDMA.

use smbd_smb2::wire::{Cipher, Dialect, RdmaTransformId, SigningAlgorithm};

use super::super::outcome::Stop;
use super::super::play::Play;
use super::super::upper::Upper;
use super::Session;
use crate::smb2::client::{Opened, Protection, Secured, Wants};

/// How a session of a case is protected.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct How {
    pub(in super::super) protection: Protection,
    pub(in super::super) cipher: Cipher,
    pub(in super::super) signing: SigningAlgorithm,
    /// Transforms that are offered, and that the server has to have.
    pub(in super::super) transforms: &'static [RdmaTransformId],
}

impl How {
    /// Encrypted, with transforms of type encryption.
    pub(in super::super) const fn encrypted(cipher: Cipher) -> Self {
        Self {
            protection: Protection::Encrypted,
            cipher,
            signing: SigningAlgorithm::AES_GMAC,
            transforms: &[RdmaTransformId::ENCRYPTION],
        }
    }

    /// Signed, with transforms of type signing.
    pub(in super::super) const fn signed(signing: SigningAlgorithm) -> Self {
        Self {
            protection: Protection::Signed,
            cipher: Cipher::AES_128_GCM,
            signing,
            transforms: &[RdmaTransformId::SIGNING],
        }
    }

    /// The same without a wish of the server: requests are neither signed nor encrypted.
    pub(in super::super) const fn as_asked(self) -> Self {
        Self { protection: Protection::AsAsked, ..self }
    }

    /// The same with other transforms.
    pub(in super::super) const fn offering(self, transforms: &'static [RdmaTransformId]) -> Self {
        Self { transforms, ..self }
    }
}

impl Play {
    /// A session of 3.1.1 as the server's user.
    ///
    /// # Errors
    /// The server has no such transforms, or no user is known: not applicable.
    pub(in super::super) fn session_secured(&mut self, how: How, file: Opened) -> Result<Session<'_>, Stop> {
        let dialects = [Dialect::SMB_3_1_1];
        let (share, user) = match &self.upper {
            Upper::Server(facts) => (facts.share.clone(), facts.user.clone()),
            _ => return Err(Stop::NotApplicable("the case is about an SMB2 server".into())),
        };
        let has_user = user.is_some();
        let How { protection, cipher, signing, transforms } = how;
        let mut signing = vec![signing];
        if protection == Protection::Encrypted && !signing.contains(&SigningAlgorithm::AES_CMAC) {
            // What is encrypted is not signed. Each server has this one.
            signing.push(SigningAlgorithm::AES_CMAC);
        }
        let ciphers = vec![cipher];
        let secured = Secured { user: user.unwrap_or_default(), ciphers, signing, protection };
        let wants = Wants {
            share,
            dialects: dialects.to_vec(),
            transforms: transforms.to_vec(),
            file,
            secured: Some(secured),
            ..Wants::default()
        };
        let mut session = self.begin(wants)?;
        let mut looked = false;
        while session.advances()? {
            if !std::mem::replace(&mut looked, true) && session.client.refused().is_none() {
                session.has(transforms)?;
                if !has_user {
                    let why = "no user of the server with a password is known, and guests have no keys";
                    return Err(Stop::NotApplicable(why.into()));
                }
            }
        }
        session.is_there(&dialects)?;
        match session.client.keys() {
            Some(_) => Ok(session),
            None => Err(Stop::Broken("the server lets in a user, and there are no keys".into())),
        }
    }
}

impl Session<'_> {
    /// The server has chosen what the case needs.
    fn has(&self, transforms: &[RdmaTransformId]) -> Result<(), Stop> {
        let chosen = self.transforms();
        let missing = transforms.iter().find(|id| !chosen.contains(id));
        let why = match (chosen, missing, self.client.lacks()) {
            ([] | [RdmaTransformId::NONE], Some(_), _) => "the peer negotiates no transforms of RDMA".into(),
            (_, Some(id), _) => format!("the peer does not negotiate the transform of RDMA {id}"),
            (_, None, Some(lacks)) => format!("the peer does not choose {lacks}"),
            (_, None, None) => return Ok(()),
        };
        Err(Stop::NotApplicable(why))
    }
}
