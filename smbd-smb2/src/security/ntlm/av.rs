//! Lists of AV_PAIR (MS-NLMP 2.2.2.1).

use alloc::vec::Vec;

use super::super::auth_error::AuthError;
use super::text::utf16;
use crate::wire::WireError;
use crate::wire::layout::layout;
use crate::wire::names::values;

values! {
    /// AvId (MS-NLMP 2.2.2.1).
    pub struct AvId(u16) {
        EOL = 0 "MsvAvEOL",
        NB_COMPUTER_NAME = 1 "MsvAvNbComputerName",
        NB_DOMAIN_NAME = 2 "MsvAvNbDomainName",
        DNS_COMPUTER_NAME = 3 "MsvAvDnsComputerName",
        DNS_DOMAIN_NAME = 4 "MsvAvDnsDomainName",
        DNS_TREE_NAME = 5 "MsvAvDnsTreeName",
        FLAGS = 6 "MsvAvFlags",
        TIMESTAMP = 7 "MsvAvTimestamp",
        SINGLE_HOST = 8 "MsvAvSingleHost",
        TARGET_NAME = 9 "MsvAvTargetName",
        CHANNEL_BINDINGS = 10 "MsvAvChannelBindings",
    }
}

layout! {
    /// Fields of a pair.
    pub mod field: "AV_PAIR", "MS-NLMP 2.2.2.1", from 0;
    AV_ID: AvId = "AvId" at 0;
    AV_LEN: u16 = "AvLen" at 2;
}

/// In MsvAvFlags: AUTHENTICATE_MESSAGE has a MIC.
const FLAG_MIC: u32 = 0x0000_0002;

/// A list that has been looked through: every pair is whole, and the last one is MsvAvEOL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvPairs<'a>(&'a [u8]);

impl<'a> AvPairs<'a> {
    /// Reads a list. What is behind its end is left out.
    ///
    /// # Errors
    /// A pair is not whole, or there is no end; or one of those with a fixed length has another one.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, AuthError> {
        let mut rest = bytes;
        loop {
            if rest.is_empty() {
                return Err(AuthError::NoEnd);
            }
            let (id, value, behind) = pair(rest)?;
            let expected = match id {
                AvId::EOL => 0,
                AvId::FLAGS => 4,
                AvId::TIMESTAMP => 8,
                AvId::CHANNEL_BINDINGS => 16,
                _ => value.len(),
            };
            if value.len() != expected {
                return Err(AuthError::AvLength { id: id.0, len: value.len(), expected });
            }
            rest = behind;
            if id == AvId::EOL {
                let len = bytes.len().saturating_sub(rest.len());
                return Ok(Self(bytes.get(..len).unwrap_or_default()));
            }
        }
    }

    /// The pairs, without the end.
    pub fn iter(&self) -> impl Iterator<Item = (AvId, &'a [u8])> + use<'a> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let (id, value, behind) = pair(rest).ok()?;
            rest = behind;
            (id != AvId::EOL).then_some((id, value))
        })
    }

    /// The value of the first pair with this id.
    #[must_use]
    pub fn find(&self, id: AvId) -> Option<&'a [u8]> {
        self.iter().find_map(|(found, value)| (found == id).then_some(value))
    }

    /// Whether all pairs of another list are in this one.
    pub(super) fn contains_all(&self, other: &AvPairs<'_>) -> bool {
        other.iter().all(|(id, value)| self.find(id) == Some(value))
    }

    /// MsvAvTimestamp: a FILETIME.
    #[must_use]
    pub fn timestamp(&self) -> Option<u64> {
        self.find(AvId::TIMESTAMP)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// MsvAvFlags; 0 if it is not there.
    #[must_use]
    pub fn flags(&self) -> u32 {
        let flags = self.find(AvId::FLAGS).and_then(|value| value.first_chunk());
        flags.map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Whether AUTHENTICATE_MESSAGE has a MIC.
    #[must_use]
    pub fn has_mic(&self) -> bool {
        self.flags() & FLAG_MIC != 0
    }
}

fn pair(bytes: &[u8]) -> Result<(AvId, &[u8], &[u8]), WireError> {
    field::LAYOUT.check(bytes)?;
    let (id, len) = (field::AV_ID.get(bytes)?, field::AV_LEN.get(bytes)?);
    let value = bytes.get(field::LAYOUT.end()..).unwrap_or_default();
    let (value, rest) = value.split_at_checked(len.into()).ok_or(WireError::Beyond {
        field: field::AV_LEN.place(),
        offset: field::LAYOUT.end() as u64,
        length: len.into(),
        got: bytes.len() as u64,
    })?;
    Ok((id, value, rest))
}

/// A list that is being written.
pub(super) struct AvWriter(Vec<u8>);

impl AvWriter {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a pair. A value that is too long for one is left out.
    pub(super) fn value(&mut self, id: AvId, value: &[u8]) {
        if let Ok(len) = u16::try_from(value.len()) {
            self.0.extend_from_slice(&id.0.to_le_bytes());
            self.0.extend_from_slice(&len.to_le_bytes());
            self.0.extend_from_slice(value);
        }
    }

    pub(super) fn text(&mut self, id: AvId, text: &str) {
        self.value(id, &utf16(text.into()));
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        self.value(AvId::EOL, &[]);
        self.0
    }
}

/// The client's list: the server's, with the flag of the MIC if there is one, channel bindings and the target's name
/// (MS-NLMP 3.1.5.1.2).
pub(super) fn of_client(server: &AvPairs<'_>, has_mic: bool, target_name: &str) -> Vec<u8> {
    let mut list = AvWriter::new();
    let is_own = |id| matches!(id, AvId::FLAGS | AvId::CHANNEL_BINDINGS | AvId::TARGET_NAME);
    server.iter().filter(|(id, _)| !is_own(*id)).for_each(|(id, value)| list.value(id, value));
    let flags = if has_mic { server.flags() | FLAG_MIC } else { server.flags() };
    if flags != 0 {
        list.value(AvId::FLAGS, &flags.to_le_bytes());
    }
    // No channel has bindings here.
    list.value(AvId::CHANNEL_BINDINGS, &[0; 16]);
    list.text(AvId::TARGET_NAME, target_name);
    list.end()
}
