use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};

use super::{Buffer, Buffers, Range};
use crate::AccessFault;

/// A protection domain: tokens work inside theirs only. Every connection has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainId(pub u32);

/// How a token came to be: only windows can be invalidated by a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plain memory registration.
    Region,
    /// A memory window, type 2.
    Window,
}

#[derive(Clone, Copy, Debug)]
struct Grant {
    domain: DomainId,
    kind: Kind,
    access: Access,
    buffer: Buffer,
    offset: u32,
    address: u64,
    len: u32,
}

#[derive(Clone, Debug)]
struct Entry {
    /// Key of the grant valid, or of the next one.
    key: u8,
    left: u16,
    grant: Option<Grant>,
}

/// All tokens of a host: an index and, in the low eight bits, a key that changes with each use.
#[derive(Clone, Debug)]
pub struct Tokens {
    base: u32,
    first_key: u8,
    entries: Vec<Entry>,
    free: Vec<u32>,
    reuse: bool,
}

const KEY_BITS: u32 = 8;
const KEYS: u16 = 1 << KEY_BITS;

impl Tokens {
    /// No tokens yet; the first one given out will be `first`.
    #[must_use]
    pub const fn new(first: Token) -> Self {
        let [first_key, ..] = first.0.to_le_bytes();
        Self { base: first.0 >> KEY_BITS, first_key, entries: Vec::new(), free: Vec::new(), reuse: false }
    }

    /// Whether a token may come again after 256 uses of its index, as on real hardware.
    pub const fn reuse(&mut self, reuse: bool) {
        self.reuse = reuse;
    }

    /// Opens a range of a buffer to the peer of one connection. `None` if the range is not live.
    pub fn enable(
        &mut self,
        buffers: &Buffers,
        domain: DomainId,
        kind: Kind,
        access: Access,
        range: Range,
    ) -> Option<BufferDescriptorV1> {
        let whole = buffers.whole(range.buffer)?;
        whole.part(range.offset, range.len)?;
        let address = buffers.address(range.buffer).checked_add(u64::from(range.offset))?;
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let key = if self.entries.is_empty() { self.first_key } else { 0 };
                self.entries.push(Entry { key, left: KEYS, grant: None });
                u32::try_from(self.entries.len() - 1).ok()?
            }
        };
        let entry = self.entries.get_mut(index as usize)?;
        let (buffer, offset, len) = (range.buffer, range.offset, range.len);
        entry.grant = Some(Grant { domain, kind, access, buffer, offset, address, len });
        Some(BufferDescriptorV1 { offset: address, token: self.token(index), length: len })
    }

    fn token(&self, index: u32) -> Token {
        let key = self.entries.get(index as usize).map_or(0, |e| e.key);
        Token(self.base.wrapping_add(index) << KEY_BITS | u32::from(key))
    }

    fn index(&self, token: Token) -> Option<(u32, &Entry)> {
        let index = (token.0 >> KEY_BITS).wrapping_sub(self.base) & (u32::MAX >> KEY_BITS);
        Some((index, self.entries.get(index as usize)?))
    }

    fn grant(&self, domain: DomainId, token: Token) -> Result<(u32, Grant), AccessFault> {
        let (index, entry) = self.index(token).ok_or(AccessFault::Unknown)?;
        let grant = entry.grant.filter(|_| self.token(index) == token).ok_or(AccessFault::Dead)?;
        if grant.domain == domain { Ok((index, grant)) } else { Err(AccessFault::ForeignDomain) }
    }

    /// Whether the token is valid.
    #[must_use]
    pub fn is_live(&self, token: Token) -> bool {
        self.index(token).is_some_and(|(index, e)| e.grant.is_some() && self.token(index) == token)
    }

    /// Tokens valid, of one domain.
    pub fn live(&self, domain: DomainId) -> impl Iterator<Item = Token> + '_ {
        (0_u32..).zip(&self.entries).filter_map(move |(index, entry)| {
            entry.grant.filter(|g| g.domain == domain).map(|_| self.token(index))
        })
    }

    /// How many tokens are valid, of all domains.
    #[must_use]
    pub fn live_of_all(&self) -> usize {
        self.entries.iter().filter(|entry| entry.grant.is_some()).count()
    }

    /// Entries of the table, valid or not.
    #[must_use]
    pub const fn entries(&self) -> usize {
        self.entries.len()
    }

    /// What is open to the peer of one domain.
    pub fn open(&self, domain: DomainId) -> impl Iterator<Item = BufferDescriptorV1> + '_ {
        (0_u32..).zip(&self.entries).filter_map(move |(index, entry)| {
            let grant = entry.grant.filter(|grant| grant.domain == domain)?;
            Some(BufferDescriptorV1 { offset: grant.address, token: self.token(index), length: grant.len })
        })
    }

    /// The memory that a peer reaches by `verb` (seen from the peer).
    ///
    /// # Errors
    /// The first rule that forbids it.
    pub fn check(
        &self,
        buffers: &Buffers,
        domain: DomainId,
        verb: RdmaVerb,
        remote: BufferDescriptorV1,
    ) -> Result<Range, AccessFault> {
        let (_, grant) = self.grant(domain, remote.token)?;
        let allowed = match verb {
            RdmaVerb::Read => grant.access.reads(),
            RdmaVerb::Write => grant.access.writes(),
        };
        if !allowed {
            return Err(AccessFault::NoRight(verb));
        }
        let into = remote.offset.checked_sub(grant.address).and_then(|into| u32::try_from(into).ok());
        let all = Range { buffer: grant.buffer, offset: grant.offset, len: grant.len };
        let range = into.and_then(|into| all.part(into, remote.length)).ok_or(AccessFault::OutOfBounds)?;
        if buffers.is_live(range.buffer) { Ok(range) } else { Err(AccessFault::Freed) }
    }

    /// Ends a grant by its owner. Returns the buffer it was on.
    ///
    /// # Errors
    /// If the token is not valid in this domain.
    pub fn disable(&mut self, domain: DomainId, token: Token) -> Result<Buffer, AccessFault> {
        let (index, grant) = self.grant(domain, token)?;
        self.retire(index);
        Ok(grant.buffer)
    }

    /// Ends a grant by invalidation, local or remote: windows only. Returns the buffer it was on.
    ///
    /// # Errors
    /// If the token is not valid in this domain, or no window.
    pub fn invalidate(&mut self, domain: DomainId, token: Token) -> Result<Buffer, AccessFault> {
        let (index, grant) = self.grant(domain, token)?;
        if grant.kind == Kind::Region {
            return Err(AccessFault::NoWindow);
        }
        self.retire(index);
        Ok(grant.buffer)
    }

    fn retire(&mut self, index: u32) {
        let reuse = self.reuse;
        if let Some(entry) = self.entries.get_mut(index as usize) {
            entry.grant = None;
            entry.key = entry.key.wrapping_add(1);
            entry.left -= u16::from(!reuse);
            if entry.left > 0 {
                self.free.push(index);
            }
        }
    }
}
