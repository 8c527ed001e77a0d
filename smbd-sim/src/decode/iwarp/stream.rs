//! One direction of a TCP connection put into order.

use std::collections::{BTreeMap, VecDeque};

use crate::decode::HELD_MAX;
use crate::decode::collect::Mark;
use crate::decode::item::Frames;

/// Segments that wait for an earlier one.
const HELD_SEGMENTS_MAX: usize = 4096;

#[derive(Debug)]
struct Held {
    mark: Mark,
    bytes: Vec<u8>,
}

/// What an offered segment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offered {
    /// New bytes, now or once what is missing before them has come.
    New,
    /// All its bytes were there before.
    Repeated,
}

/// Bytes in order; positions are kept in 64 bits so that they never wrap.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Position behind the last byte in order.
    next: Option<u64>,
    held: BTreeMap<u64, Held>,
    held_bytes: usize,
    /// In order; the first `consumed` bytes are done with, and removed when more arrive.
    ready: Vec<u8>,
    consumed: usize,
    /// End position, in the stream, of what each frame brought to `ready`.
    marks: VecDeque<(u64, Mark)>,
}

impl Stream {
    /// A stream whose SYN was seen.
    pub(super) fn starting_at(sequence: u32) -> Self {
        Self { next: Some((1 << 32) + u64::from(sequence)), ..Self::default() }
    }

    fn position(&self, sequence: u32) -> Option<u64> {
        let next = self.next?;
        let distance = sequence.wrapping_sub((next & 0xffff_ffff) as u32).cast_signed();
        next.checked_add_signed(distance.into())
    }

    pub(super) fn offer(&mut self, mark: Mark, sequence: u32, bytes: &[u8]) -> Offered {
        let next = *self.next.get_or_insert((1 << 32) + u64::from(sequence));
        let Some(start) = self.position(sequence) else { return Offered::Repeated };
        let end = start + bytes.len() as u64;
        let known = self.held.get(&start).map_or(0, |held| held.bytes.len());
        if end <= next || known >= bytes.len() {
            return Offered::Repeated;
        }
        // Of two segments that begin at the same byte the longer is kept.
        self.held_bytes += bytes.len();
        if let Some(shorter) = self.held.insert(start, Held { mark, bytes: bytes.to_vec() }) {
            self.held_bytes -= shorter.bytes.len();
        }
        self.join();
        Offered::New
    }

    /// Moves what is in order to `ready`.
    fn join(&mut self) {
        self.ready.drain(..self.consumed);
        self.consumed = 0;
        while let (Some(next), Some(entry)) = (self.next, self.held.first_entry()) {
            if *entry.key() > next {
                break;
            }
            let (start, held) = entry.remove_entry();
            self.held_bytes -= held.bytes.len();
            let known = usize::try_from(next - start).unwrap_or(usize::MAX);
            let Some(fresh) = held.bytes.get(known..).filter(|fresh| !fresh.is_empty()) else { continue };
            self.ready.extend_from_slice(fresh);
            let end = next + fresh.len() as u64;
            self.next = Some(end);
            self.marks.push_back((end, held.mark));
        }
    }

    /// Gives up waiting when too much is held or with `flush`; returns the bytes that are missing.
    pub(super) fn skip(&mut self, flush: bool) -> Option<u64> {
        let (start, next) = (*self.held.first_key_value()?.0, self.next?);
        let full = self.held_bytes > HELD_MAX || self.held.len() > HELD_SEGMENTS_MAX;
        if !(flush || full) {
            return None;
        }
        self.ready.clear();
        self.consumed = 0;
        self.marks.clear();
        self.next = Some(start);
        self.join();
        Some(start.saturating_sub(next))
    }

    pub(super) fn ready(&self) -> &[u8] {
        self.ready.get(self.consumed..).unwrap_or_default()
    }

    /// Offsets in `ready` at which a segment begins.
    pub(super) fn boundaries(&self) -> impl Iterator<Item = usize> {
        let begin = self.begin();
        let len = self.ready().len();
        self.marks
            .iter()
            .filter_map(move |(end, _)| usize::try_from(end.checked_sub(begin)?).ok())
            .filter(move |at| *at < len)
    }

    fn begin(&self) -> u64 {
        self.next.unwrap_or(0).saturating_sub(self.ready().len() as u64)
    }

    /// Removes `len` bytes and tells which frames they came in.
    pub(super) fn consume(&mut self, len: usize) -> Frames {
        let len = len.min(self.ready().len());
        let end = self.begin() + len as u64;
        let first = self.marks.front().map(|(_, mark)| *mark).unwrap_or_default();
        let mut frames = first.frames();
        // Segments that came out of order: the last byte came with the latest frame.
        for (mark_end, mark) in &self.marks {
            if mark.frame > frames.last {
                (frames.last, frames.last_ns) = (mark.frame, mark.time_ns);
            }
            if *mark_end >= end {
                break;
            }
        }
        while self.marks.front().is_some_and(|(mark_end, _)| *mark_end <= end) {
            self.marks.pop_front();
        }
        self.consumed += len;
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(frame: u64) -> Mark {
        Mark { frame, time_ns: frame * 10 }
    }

    #[test]
    fn segments_out_of_order_and_overlapping_give_the_bytes_once_across_the_wrap() {
        let mut stream = Stream::starting_at(u32::MAX - 1);
        assert_eq!(stream.offer(mark(1), 1, b"defg"), Offered::New);
        assert_eq!(stream.offer(mark(2), 0, b"cd"), Offered::New);
        assert_eq!(stream.ready(), b"");
        assert_eq!(stream.offer(mark(3), u32::MAX - 1, b"ab"), Offered::New);
        assert_eq!(stream.ready(), b"abcdefg");
        assert_eq!(stream.offer(mark(4), 2, b"ef"), Offered::Repeated);
        let frames = stream.consume(4);
        assert_eq!((frames.first, frames.last), (3, 3));
        assert_eq!(stream.ready(), b"efg");
    }

    #[test]
    fn a_hole_is_skipped_only_on_demand() {
        let mut stream = Stream::starting_at(100);
        stream.offer(mark(1), 100, b"ab");
        stream.offer(mark(2), 105, b"fg");
        assert_eq!(stream.ready(), b"ab");
        assert_eq!(stream.skip(false), None);
        assert_eq!(stream.skip(true), Some(3));
        assert_eq!(stream.ready(), b"fg");
        assert_eq!(stream.consume(2).first, 2);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut stream = Stream::starting_at(0);
        let segment = vec![0; 60_000];
        let mut lost = 0;
        for index in 0..200_u32 {
            stream.offer(mark(1), 1 + index * 60_001, &segment);
            lost += stream.skip(false).unwrap_or(0);
            assert!(stream.held_bytes <= HELD_MAX + segment.len());
            let ready = stream.ready().len();
            stream.consume(ready);
        }
        assert!(lost > 0);
    }

    #[test]
    fn segment_boundaries_are_found_in_what_is_ready() {
        let mut stream = Stream::starting_at(0);
        stream.offer(mark(1), 0, b"abc");
        stream.offer(mark(2), 3, b"def");
        stream.offer(mark(3), 6, b"g");
        stream.consume(1);
        assert_eq!(stream.boundaries().collect::<Vec<_>>(), [2, 5]);
    }
}
