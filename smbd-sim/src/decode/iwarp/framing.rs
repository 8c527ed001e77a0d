//! MPA: finds connection frames and FPDUs in a stream.

use super::stream::Stream;
use crate::capture::format::mpa::{FPDU_CRC, FPDU_LEN_FIELD, MpaFrame, crc_is_right, fpdu_len};
use crate::capture::format::rdmap::Segment;
use crate::decode::item::Frames;

/// Bytes looked at before a stream that was joined in the middle is given up.
const SEARCH_MAX: usize = 1024 * 1024;

/// Where a stream stands.
#[derive(Debug)]
pub(super) enum Framing {
    /// At its first byte: an MPA frame follows, or the stream is of no interest.
    Start,
    /// At the beginning of an FPDU.
    Fpdu,
    /// Somewhere; so many bytes were searched. `mpa` when the stream is known to be MPA.
    Search { searched: usize, mpa: bool },
    /// Not iWARP.
    Foreign,
}

impl Default for Framing {
    fn default() -> Self {
        Self::Search { searched: 0, mpa: false }
    }
}

/// What comes next in a stream.
#[derive(Debug)]
pub(super) enum Found {
    /// More bytes are needed, or none are wanted.
    Nothing,
    /// A request or reply.
    Frame(MpaFrame, Frames),
    /// A payload of MPA.
    Fpdu { ulpdu: Vec<u8>, frames: Frames, bad_crc: bool },
    /// An FPDU without payload.
    Empty,
    /// Bytes that are no FPDU where one should be.
    Garbage,
}

impl Framing {
    pub(super) fn has_begun(&self) -> bool {
        !matches!(self, Self::Start)
    }

    /// Bytes are missing; tells whether that matters.
    pub(super) fn lost(&mut self) -> bool {
        match self {
            Self::Fpdu => {
                *self = Self::Search { searched: 0, mpa: true };
                true
            }
            Self::Start => {
                *self = Self::default();
                false
            }
            Self::Search { mpa, .. } => *mpa,
            Self::Foreign => false,
        }
    }

    /// The next element of `stream`. `crc` tells whether the two sides agreed on CRCs.
    pub(super) fn next(&mut self, stream: &mut Stream, crc: bool) -> Found {
        if stream.ready().is_empty() {
            return Found::Nothing;
        }
        match self {
            Self::Foreign => {
                stream.consume(usize::MAX);
                Found::Nothing
            }
            Self::Start => self.start(stream),
            Self::Fpdu => self.fpdu(stream, crc),
            Self::Search { .. } => self.search(stream),
        }
    }

    fn start(&mut self, stream: &mut Stream) -> Found {
        match MpaFrame::parse(stream.ready()) {
            Err(_) => Found::Nothing,
            Ok(None) => {
                *self = Self::Foreign;
                stream.consume(usize::MAX);
                Found::Nothing
            }
            Ok(Some((frame, len))) => {
                *self = Self::Fpdu;
                Found::Frame(frame, stream.consume(len))
            }
        }
    }

    fn fpdu(&mut self, stream: &mut Stream, crc: bool) -> Found {
        let ready = stream.ready();
        let Some(len) = ready.first_chunk().map(|len| usize::from(u16::from_be_bytes(*len))) else {
            return Found::Nothing;
        };
        let total = fpdu_len(len);
        if len == 0 {
            // A ready-to-receive indication (RFC 6581 6): an FPDU with nothing in it.
            if ready.len() < total {
                return Found::Nothing;
            }
            stream.consume(total);
            return Found::Empty;
        }
        if let Some(ulpdu) = ready.get(FPDU_LEN_FIELD..(FPDU_LEN_FIELD + len).min(ready.len()))
            && ulpdu.len() >= Segment::UNTAGGED_LEN.min(len)
            && !Segment::is_plausible(ulpdu)
        {
            *self = Self::Search { searched: 0, mpa: true };
            // The search begins behind these bytes, or it would find them again.
            stream.consume(1);
            return Found::Garbage;
        }
        let Some(whole) = ready.get(..total) else { return Found::Nothing };
        let ulpdu = whole[FPDU_LEN_FIELD..FPDU_LEN_FIELD + len].to_vec();
        let bad_crc = crc && !crc_is_right(whole);
        Found::Fpdu { ulpdu, frames: stream.consume(total), bad_crc }
    }

    /// Looks for an MPA frame or FPDUs where segments begin, as senders align them.
    fn search(&mut self, stream: &mut Stream) -> Found {
        let Self::Search { mut searched, mpa } = *self else { return Found::Nothing };
        while !stream.ready().is_empty() {
            let ready = stream.ready();
            if !mpa && let Ok(Some((frame, len))) = MpaFrame::parse(ready) {
                *self = Self::Fpdu;
                return Found::Frame(frame, stream.consume(len));
            }
            match probe(ready) {
                Probe::Fpdu => {
                    *self = Self::Fpdu;
                    return self.fpdu(stream, false);
                }
                Probe::TooShort => return Found::Nothing,
                Probe::Other => {}
            }
            let skip = stream.boundaries().next().unwrap_or(ready.len());
            searched += skip;
            stream.consume(skip);
            *self = Self::Search { searched, mpa };
            if searched > SEARCH_MAX && !mpa {
                *self = Self::Foreign;
                break;
            }
        }
        Found::Nothing
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    Fpdu,
    TooShort,
    Other,
}

/// Whether `bytes` begin with an FPDU: a plausible header, a right CRC or none, and behind it the end or another one.
fn probe(bytes: &[u8]) -> Probe {
    let Some(len) = bytes.first_chunk().map(|len| usize::from(u16::from_be_bytes(*len))) else {
        return Probe::TooShort;
    };
    let total = fpdu_len(len);
    let Some(whole) = bytes.get(..total) else {
        let head = bytes.get(FPDU_LEN_FIELD..).unwrap_or_default();
        let plausible = head.len() < Segment::UNTAGGED_LEN || Segment::is_plausible(head);
        return if plausible { Probe::TooShort } else { Probe::Other };
    };
    let ulpdu = &whole[FPDU_LEN_FIELD..FPDU_LEN_FIELD + len];
    let padding = &whole[FPDU_LEN_FIELD + len..total - FPDU_CRC];
    let crc = &whole[total - FPDU_CRC..];
    if !Segment::is_plausible(ulpdu) || padding.iter().any(|byte| *byte != 0) {
        return Probe::Other;
    }
    let next_fits = match bytes[total..].get(FPDU_LEN_FIELD..) {
        Some(next) if next.len() >= Segment::UNTAGGED_LEN => Segment::is_plausible(next),
        _ => true,
    };
    if crc_is_right(whole) || next_fits && crc == [0; FPDU_CRC] { Probe::Fpdu } else { Probe::Other }
}

#[cfg(test)]
mod tests;
