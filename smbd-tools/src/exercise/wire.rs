//! The common header of requests and answers, and checked reading of fields.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use smbd_core::BufferDescriptorV1;
use smbd_core::wire::{BufferDescriptors, encode_all};
use thiserror::Error;

/// The first bytes of every request and answer.
pub const MAGIC: [u8; 8] = *b"SMBDexr1";
pub(super) const HEADER_LEN: usize = 16;
/// Kinds from here on are answers.
pub(super) const ANSWERS: u16 = 0x8000;

/// A request or an answer with its tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tagged<T> {
    /// The tag that the client chose; the answer has the same. A [`Failure`](super::Failure) of an ordinary message has
    /// 0.
    pub tag: u32,
    /// The request or answer.
    pub what: T,
}

/// A message begins with [`MAGIC`], and the rest of it is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what} (kind 0x{kind:04x}, {len} bytes)")]
pub struct Malformed {
    /// What is not valid.
    pub what: &'static str,
    /// Its tag, 0 if the message has none.
    pub tag: u32,
    /// Its kind, 0 if the message has none.
    pub kind: u16,
    /// Length of the whole message in bytes.
    pub len: usize,
}

/// The message taken apart, the body unread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<'a> {
    pub(super) kind: u16,
    pub(super) status: u16,
    pub(super) tag: u32,
    body: &'a [u8],
    len: usize,
}

impl<'a> Parts<'a> {
    /// `Ok(None)` for an ordinary message.
    pub(super) fn of(message: &'a [u8]) -> Result<Option<Self>, Malformed> {
        let len = message.len();
        let Some(mut rest) = message.strip_prefix(&MAGIC) else { return Ok(None) };
        let mut header =
            || Some((rest.try_get_u16_le().ok()?, rest.try_get_u16_le().ok()?, rest.try_get_u32_le().ok()?));
        match header() {
            Some((kind, status, tag)) => Ok(Some(Self { kind, status, tag, body: rest, len })),
            None => Err(Malformed { what: "the header is cut short", tag: 0, kind: 0, len }),
        }
    }

    pub(super) const fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { what, tag: self.tag, kind: self.kind, len: self.len }
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        self.body.try_get_u32_le().map_err(|_| self.malformed("the body is cut short"))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        self.body.try_get_u64_le().map_err(|_| self.malformed("the body is cut short"))
    }

    /// All that is left, as an array of descriptors.
    pub(super) fn descriptors<T: FromIterator<BufferDescriptorV1>>(&mut self) -> Result<T, Malformed> {
        let all = BufferDescriptors::new(std::mem::take(&mut self.body));
        all.map(|all| all.iter().collect()).map_err(|_| self.malformed("the last descriptor is cut short"))
    }

    /// All that is left, as text; what is no UTF-8 is replaced.
    pub(super) fn text(&mut self) -> String {
        String::from_utf8_lossy(std::mem::take(&mut self.body)).into_owned()
    }

    pub(super) const fn end(&self) -> Result<(), Malformed> {
        if self.body.is_empty() { Ok(()) } else { Err(self.malformed("bytes behind the body")) }
    }
}

/// A message: header, `fixed` fields, descriptors.
pub(super) fn message(
    (kind, status, tag): (u16, u16, u32),
    fixed: impl FnOnce(&mut BytesMut),
    descriptors: &[BufferDescriptorV1],
) -> Bytes {
    let behind = descriptors.len() * BufferDescriptorV1::LEN;
    let mut out = BytesMut::with_capacity(HEADER_LEN + 64 + behind);
    out.put_slice(&MAGIC);
    out.put_u16_le(kind);
    out.put_u16_le(status);
    out.put_u32_le(tag);
    fixed(&mut out);
    let start = out.len();
    out.put_bytes(0, behind);
    let encoded = encode_all(descriptors, &mut out[start..]);
    debug_assert_eq!(encoded, Ok(behind), "there is room for all");
    out.freeze()
}
