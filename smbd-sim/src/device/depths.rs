//! The read depths that the ends of an iWARP connection negotiate (section 6 of MS-SMBD).

use smbd_core::error::ConnectReason;
use smbd_core::wire::WireError;
use smbd_core::wire::ird_ord::{self, IrdOrd, View};

use super::Device;

/// The private data of an end's request for a connection, or of its consent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PrivateData {
    /// None, and what the peer says is not looked at.
    #[default]
    None,
    /// The IRD/ORD header of a provider with these depths, and what the peer says about its own is followed. The acceptor
    /// says nothing to a peer that does not.
    Depths(IrdOrd),
    /// These bytes, and what the peer says is not looked at.
    Bytes(Vec<u8>),
}

/// What was said when a connection was made.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) own: PrivateData,
    answer: Vec<u8>,
    heard: Option<Vec<u8>>,
}

fn header(depths: IrdOrd) -> Vec<u8> {
    let mut bytes = [0; IrdOrd::LEN];
    match depths.encode(&mut bytes) {
        Ok(len) => bytes[..len].to_vec(),
        // An offer and an answer have no depth of zero.
        Err(_) => Vec::new(),
    }
}

/// Depths that a peer told of; none, if it told of none.
fn told(bytes: &[u8]) -> Result<Option<IrdOrd>, ConnectReason> {
    match IrdOrd::parse(bytes) {
        Ok((depths, _)) => Ok(Some(depths)),
        Err(WireError::Zero { .. }) => Err(ConnectReason::ReadDepth),
        Err(_) => Ok(None),
    }
}

impl Device {
    /// What is said by it from now on.
    pub(crate) fn say(&mut self, own: PrivateData) {
        self.said.own = own;
    }

    /// What its peer said, once it has.
    pub(crate) fn heard(&self) -> Option<&[u8]> {
        self.said.heard.as_deref()
    }

    /// The private data of its request.
    pub(crate) fn request(&self) -> Vec<u8> {
        match &self.said.own {
            PrivateData::None => Vec::new(),
            PrivateData::Depths(local) => header(ird_ord::offer(*local)),
            PrivateData::Bytes(bytes) => bytes.clone(),
        }
    }

    /// The private data of its consent.
    pub(crate) fn answer(&self) -> Vec<u8> {
        self.said.answer.clone()
    }

    /// A request came, from a device with this read depth.
    pub(crate) fn requested_with(&mut self, request: Vec<u8>, depth: u16) -> Result<(), ConnectReason> {
        self.settle_read_depth(depth);
        self.said.answer = match &self.said.own {
            PrivateData::None => Vec::new(),
            PrivateData::Bytes(bytes) => bytes.clone(),
            PrivateData::Depths(local) => {
                let local = ird_ord::offer(*local);
                match told(&request)? {
                    None => Vec::new(),
                    Some(peer) => {
                        let zero = |_| ConnectReason::ReadDepth;
                        let settled = ird_ord::settle(local, peer).map_err(zero)?;
                        let answer = ird_ord::answer(local, peer, View::Sender).map_err(zero)?;
                        self.settle_read_depth(u16::try_from(settled.ord).unwrap_or(u16::MAX));
                        header(answer)
                    }
                }
            }
        };
        self.said.heard = Some(request);
        Ok(())
    }

    /// Its request was taken, by a device that settled on this read depth.
    pub(crate) fn answered_with(&mut self, answer: Vec<u8>, depth: u16) -> Result<(), ConnectReason> {
        self.settle_read_depth(depth);
        if let PrivateData::Depths(local) = self.said.own
            && let Some(peer) = told(&answer)?
        {
            let settled = ird_ord::adopt(ird_ord::offer(local), peer, View::Sender);
            let settled = settled.map_err(|_| ConnectReason::ReadDepth)?;
            self.settle_read_depth(u16::try_from(settled.ord).unwrap_or(u16::MAX));
        }
        self.said.heard = Some(answer);
        Ok(())
    }
}
