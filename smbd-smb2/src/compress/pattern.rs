//! Runs of one byte in a message, for Pattern_V1 (3.1.4.4.1).

/// The shortest run at the front or the back (3.1.4.4.1).
const EDGE_MIN: usize = 64;
/// The shortest run between other data: a shorter one costs the data behind it more than it saves.
const MIDDLE_MIN: usize = 4096;
/// Places are looked at in these steps: one of them lies in each run of [`MIDDLE_MIN`].
const STEP: usize = 1024;

/// A part of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment<'a> {
    /// Bytes that are all the same.
    Run(&'a [u8]),
    /// Any bytes.
    Data(&'a [u8]),
}

/// Cuts a message: a run at its front, data and runs in turns, a run at its back. No segment is empty, and all together are the message.
#[derive(Clone, Debug)]
pub struct Segments<'a> {
    /// The rest that was not returned, without the run at the back.
    rest: &'a [u8],
    /// A run to be returned first.
    next: Option<&'a [u8]>,
    back: Option<&'a [u8]>,
}

impl<'a> Segments<'a> {
    /// Looks at both ends. A byte is looked at no more than twice, here and later.
    #[must_use]
    pub fn new(message: &'a [u8]) -> Self {
        let (front, rest) = edge(message, leading(message));
        let (rest, back) = match rest.len().checked_sub(trailing(rest)) {
            Some(at) if rest.len().wrapping_sub(at) >= EDGE_MIN => {
                rest.split_at_checked(at).unwrap_or((rest, &[]))
            }
            _ => (rest, <&[u8]>::default()),
        };
        Self { rest, next: some(front), back: some(back) }
    }

    /// The first run between data: where it begins, and its length.
    fn middle(&self) -> Option<(usize, usize)> {
        let mut at = 0_usize;
        while let Some(behind) = self.rest.get(at..).filter(|behind| behind.len() >= 8) {
            let length = leading(behind);
            if length < 8 {
                at = at.wrapping_add(STEP);
                continue;
            }
            // It may begin up to a step earlier.
            let before = self.rest.get(at.saturating_sub(STEP)..at).unwrap_or_default();
            let first = behind.first();
            let earlier = before.iter().rev().take_while(|byte| Some(*byte) == first).count();
            if length.wrapping_add(earlier) >= MIDDLE_MIN {
                return Some((at.wrapping_sub(earlier), length.wrapping_add(earlier)));
            }
            at = at.wrapping_add(length.max(STEP));
        }
        None
    }
}

impl<'a> Iterator for Segments<'a> {
    type Item = Segment<'a>;

    fn next(&mut self) -> Option<Segment<'a>> {
        if let Some(run) = self.next.take() {
            return Some(Segment::Run(run));
        }
        if self.rest.is_empty() {
            return self.back.take().map(Segment::Run);
        }
        let (start, length) = self.middle().unwrap_or((self.rest.len(), 0));
        let (data, rest) = self.rest.split_at_checked(start).unwrap_or((self.rest, &[]));
        let (run, rest) = rest.split_at_checked(length).unwrap_or((&[], rest));
        self.rest = rest;
        if data.is_empty() {
            return some(run).map(Segment::Run);
        }
        self.next = some(run);
        Some(Segment::Data(data))
    }
}

fn some(bytes: &[u8]) -> Option<&[u8]> {
    (!bytes.is_empty()).then_some(bytes)
}

/// The run at the front, if it is long enough, and the rest.
fn edge(bytes: &[u8], length: usize) -> (&[u8], &[u8]) {
    let length = if length >= EDGE_MIN { length } else { 0 };
    bytes.split_at_checked(length).unwrap_or((&[], bytes))
}

/// Number of bytes at the front that are the same.
fn leading(bytes: &[u8]) -> usize {
    let Some(&first) = bytes.first() else { return 0 };
    let word = [first; 8];
    let words = bytes.as_chunks::<8>().0.iter().take_while(|chunk| **chunk == word).count();
    let at = words.wrapping_mul(8);
    let rest = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| **byte == first).count();
    at.wrapping_add(rest)
}

/// Number of bytes at the back that are the same.
fn trailing(bytes: &[u8]) -> usize {
    let Some(&last) = bytes.last() else { return 0 };
    let word = [last; 8];
    let words = bytes.as_rchunks::<8>().1.iter().rev().take_while(|chunk| **chunk == word).count();
    let at = bytes.len().wrapping_sub(words.wrapping_mul(8));
    let rest = bytes.get(..at).unwrap_or_default().iter().rev().take_while(|byte| **byte == last).count();
    words.wrapping_mul(8).wrapping_add(rest)
}
