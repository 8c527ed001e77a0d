//! Bytes of plain data, copied and compared.

use super::error::Fault;

/// Bytes that a step of a copy moves.
const STEP: usize = 16;

/// Four bytes at a place.
#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Eight bytes at a place.
#[inline(always)]
pub(super) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Number of equal bytes at two places, of which `behind` is the later one, up to `end`.
#[inline(always)]
pub(super) fn common(plain: &[u8], before: usize, behind: usize, end: usize) -> usize {
    let later = plain.get(behind..end).unwrap_or_default();
    let earlier = plain.get(before..).unwrap_or_default();
    let mut length = 0_usize;
    while let (Some(one), Some(other)) = (long(later, length), long(earlier, length)) {
        let different = one ^ other;
        if different != 0 {
            return length.wrapping_add((different.trailing_zeros() / 8) as usize);
        }
        length = length.wrapping_add(8);
    }
    while let (Some(one), Some(other)) = (later.get(length), earlier.get(length)) {
        if one != other {
            break;
        }
        length = length.wrapping_add(1);
    }
    length
}

/// Copies the first `length` bytes of `from` to `at`. `None` if either has fewer.
#[inline(always)]
pub(super) fn append<const N: usize>(out: &mut [u8], at: usize, from: &[u8], length: usize) -> Option<()> {
    // More than asked is copied where there is room: a copy of a known length has no loop.
    if length <= N
        && let Some(from) = from.first_chunk::<N>()
        && let Some(to) = out.get_mut(at..).and_then(|out| out.first_chunk_mut::<N>())
    {
        *to = *from;
        return Some(());
    }
    let to = out.get_mut(at..)?.get_mut(..length)?;
    to.copy_from_slice(from.get(..length)?);
    Some(())
}

/// Writes the bytes of a match at `at`, and returns where they end.
#[inline(always)]
pub(super) fn matched(out: &mut [u8], at: usize, distance: usize, length: u64) -> Result<usize, Fault> {
    let room = out.len().wrapping_sub(at);
    if length <= room as u64 && repeat(out, at, distance, length as usize).is_some() {
        return Ok(at.wrapping_add(length as usize));
    }
    Err(refused(room, distance, length))
}

#[cold]
#[inline(never)]
fn refused(room: usize, distance: usize, length: u64) -> Fault {
    if length > room as u64 { Fault::Room { length, room } } else { Fault::Distance { distance } }
}

/// Writes `length` bytes at `at`, each the one `distance` before it, in this order (MS-XCA 2.4.4). `None` if the distance is 0 or leads
/// before the first byte, or there is no room. Bytes behind these may change.
#[inline(always)]
fn repeat(out: &mut [u8], at: usize, distance: usize, length: usize) -> Option<()> {
    let from = at.checked_sub(distance)?;
    if distance >= STEP
        && let Some(span) = at.checked_add(length).and_then(|end| out.get_mut(from..end.checked_add(STEP)?))
    {
        let mut done = 0_usize;
        while done < length {
            let step: [u8; STEP] = *span.get(done..)?.first_chunk()?;
            *span.get_mut(done.wrapping_add(distance)..)?.first_chunk_mut()? = step;
            done = done.wrapping_add(STEP);
        }
        return Some(());
    }
    overlapping(out.get_mut(from..at.checked_add(length)?)?, distance, length)
}

/// The same where both overlap closely, or at the end. `span` begins where the copied bytes do.
#[inline]
fn overlapping(span: &mut [u8], distance: usize, length: usize) -> Option<()> {
    if distance == 1 {
        let (first, rest) = span.split_first_mut()?;
        rest.fill(*first);
        return Some(());
    }
    if length <= STEP {
        for at in 0..length {
            let byte = *span.get(at)?;
            *span.get_mut(at.wrapping_add(distance))? = byte;
        }
        return (distance > 0).then_some(());
    }
    // What is written doubles with each step.
    let mut have = distance;
    while have > 0 && have < span.len() {
        let (done, rest) = span.split_at_mut_checked(have)?;
        let step = have.min(rest.len());
        rest.get_mut(..step)?.copy_from_slice(done.get(..step)?);
        have = have.wrapping_add(step);
    }
    (distance > 0).then_some(())
}
