use super::super::copy::matched;
use super::super::error::{DataError, Fault};
use super::{CHUNK, MATCH_MIN, SIGNATURE, length_bits};

/// Decompresses data (MS-XCA 2.5.1) that become exactly as many bytes as `out` has.
///
/// # Errors
/// The data are wrong. `out` has any bytes then.
pub fn decode(input: &[u8], out: &mut [u8]) -> Result<(), DataError> {
    let (mut at, mut written) = (0_usize, 0_usize);
    while written < out.len() {
        let error = |fault, section| DataError { fault, at, written, section };
        let rest = input.get(at..).unwrap_or_default();
        let header = rest.first_chunk().map(|header| u16::from_le_bytes(*header));
        let header = match header {
            // End_of_buffer
            None | Some(0) => return Err(error(Fault::Truncated, "MS-XCA 2.5.1.2")),
            Some(header) if header >> 12 & 7 != SIGNATURE => {
                return Err(error(Fault::Signature { header }, "MS-XCA 2.5.1.2"));
            }
            Some(header) => header,
        };
        let len = usize::from(header & 0xfff).wrapping_add(1);
        let Some(data) = rest.get(2..).and_then(|rest| rest.get(..len)) else {
            return Err(error(Fault::Truncated, "MS-XCA 2.5.1.2"));
        };
        let chunk_of = out.len().wrapping_sub(written).min(CHUNK);
        let chunk = out.get_mut(written..).and_then(|out| out.get_mut(..chunk_of)).unwrap_or_default();
        let became = if header >> 15 == 1 {
            compressed(data, chunk).map_err(|(fault, inside, became)| DataError {
                fault,
                at: at.wrapping_add(2).wrapping_add(inside),
                written: written.wrapping_add(became),
                section: "MS-XCA 2.5.1.4",
            })?
        } else {
            let room = chunk.len();
            let fits = chunk.get_mut(..len).map(|chunk| chunk.copy_from_slice(data));
            fits.ok_or_else(|| error(Fault::Room { length: len as u64, room }, "MS-XCA 2.5.1.2"))?;
            len
        };
        // CO-10
        if became < chunk_of {
            return Err(error(Fault::Chunk { length: became }, "MS-XCA 2.5.3"));
        }
        at = at.wrapping_add(2).wrapping_add(len);
        written = written.wrapping_add(became);
    }
    match input.get(at..).unwrap_or_default() {
        [] | [0, 0] => Ok(()),
        rest => {
            let fault = Fault::Trailing { left: rest.len() };
            Err(DataError { fault, at, written, section: "MS-XCA 2.5.1.2" })
        }
    }
}

/// Decompresses a chunk without its header, and returns the number of its plain bytes; or what is wrong, where, and behind how many.
fn compressed(data: &[u8], out: &mut [u8]) -> Result<usize, (Fault, usize, usize)> {
    let (mut at, mut written) = (0_usize, 0_usize);
    while let Some(&flags) = data.get(at) {
        at = at.wrapping_add(1);
        let mut flags = flags;
        for _ in 0..8 {
            // Flags behind the last item mean nothing (MS-XCA 2.5.3).
            let Some(&byte) = data.get(at) else { return Ok(written) };
            let error = |fault| (fault, at, written);
            if flags & 1 == 0 {
                let Some(place) = out.get_mut(written) else {
                    return Err(error(Fault::Room { length: 1, room: 0 }));
                };
                *place = byte;
                (at, written) = (at.wrapping_add(1), written.wrapping_add(1));
            } else {
                let Some(item) = data.get(at..).and_then(|data| data.first_chunk()) else {
                    return Err(error(Fault::Truncated));
                };
                let (item, bits) = (u16::from_le_bytes(*item), length_bits(written));
                let mask = 1_u16.wrapping_shl(bits).wrapping_sub(1);
                let length = usize::from(item & mask).wrapping_add(MATCH_MIN);
                let distance = usize::from(item.wrapping_shr(bits)).wrapping_add(1);
                written = matched(out, written, distance, length as u64).map_err(error)?;
                at = at.wrapping_add(2);
            }
            flags >>= 1;
        }
    }
    Ok(written)
}
