//! DER (X.690), as far as SPNEGO needs it: definite lengths in their shortest form, below 64 KiB.

use alloc::vec::Vec;

use super::auth_error::AuthError;

/// The longest content, in bytes: a token is carried in a field of 16 bits.
const LEN_MAX: usize = 65_535;

pub(super) const ENUMERATED: u8 = 0x0a;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OID: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
/// The initial token of GSS-API (RFC 2743 3.1).
pub(super) const APPLICATION_0: u8 = 0x60;

/// The tag of a field `[number]` of a sequence.
pub(super) const fn context(number: u8) -> u8 {
    0xa0 | number
}

/// What is left to be read of some content.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, at: 0 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) const fn error(&self, expected: &'static str) -> AuthError {
        AuthError::Der { at: self.at, expected }
    }

    /// The next tag.
    pub(super) fn tag(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Reads a value with this tag, and gives what is in it.
    pub(super) fn value(&mut self, tag: u8, expected: &'static str) -> Result<Self, AuthError> {
        let error = self.error(expected);
        let (found, rest) = self.rest.split_first().ok_or_else(|| error.clone())?;
        let (len, rest) = length(rest).filter(|_| *found == tag).ok_or_else(|| error.clone())?;
        let (content, rest) = rest.split_at_checked(len).ok_or(error)?;
        let total = self.rest.len().saturating_sub(rest.len());
        let content_at = self.at.saturating_add(total.saturating_sub(len));
        self.rest = rest;
        self.at = self.at.saturating_add(total);
        Ok(Self { rest: content, at: content_at })
    }

    /// Reads a value if the next one has this tag.
    pub(super) fn optional(&mut self, tag: u8, expected: &'static str) -> Result<Option<Self>, AuthError> {
        if self.tag() == Some(tag) { self.value(tag, expected).map(Some) } else { Ok(None) }
    }

    /// Reads the only value of this content.
    pub(super) fn only(mut self, tag: u8, expected: &'static str) -> Result<Self, AuthError> {
        let value = self.value(tag, expected)?;
        self.end()?;
        Ok(value)
    }

    /// Refuses more content.
    pub(super) fn end(&self) -> Result<(), AuthError> {
        if self.is_empty() { Ok(()) } else { Err(self.error("end")) }
    }

    /// All that is left.
    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.rest
    }
}

/// A length and what is behind it. `None` if it is not the shortest form, or indefinite, or too long.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match bytes {
        [len @ ..=0x7f, rest @ ..] => Some(((*len).into(), rest)),
        [0x81, len @ 0x80..=0xff, rest @ ..] => Some(((*len).into(), rest)),
        [0x82, high @ 1..=0xff, low, rest @ ..] => Some((u16::from_be_bytes([*high, *low]).into(), rest)),
        _ => None,
    }
}

/// Appends a value.
///
/// # Errors
/// [`AuthError::TooLong`].
pub(super) fn write(out: &mut Vec<u8>, tag: u8, content: &[u8]) -> Result<(), AuthError> {
    let len = content.len();
    let [high, low] = u16::try_from(len).map_err(|_| AuthError::TooLong { len })?.to_be_bytes();
    match (high, low) {
        (0, ..=0x7f) => out.extend_from_slice(&[tag, low]),
        (0, _) => out.extend_from_slice(&[tag, 0x81, low]),
        _ => out.extend_from_slice(&[tag, 0x82, high, low]),
    }
    out.extend_from_slice(content);
    Ok(())
}

/// A value alone.
pub(super) fn value(tag: u8, content: &[u8]) -> Result<Vec<u8>, AuthError> {
    let mut out = Vec::new();
    write(&mut out, tag, content)?;
    Ok(out)
}

/// Refuses what no message could carry.
pub(super) const fn check_len(bytes: &[u8]) -> Result<(), AuthError> {
    if bytes.len() > LEN_MAX { Err(AuthError::TooLong { len: bytes.len() }) } else { Ok(()) }
}
