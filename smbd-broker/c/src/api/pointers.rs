//! Pointers of C become what Rust has.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::time::Duration;

use libc::iovec;

use crate::failure::Failure;
use crate::memory::Place;

fn null(name: &str) -> Failure {
    Failure::new(libc::EINVAL, format!("{name} is NULL"))
}

/// A text.
///
/// # Safety
/// `pointer` is null, or at a text that ends with 0 and that nobody changes.
pub(super) unsafe fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not null, so by the caller's word a text with an end.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::new(libc::EILSEQ, format!("{name} is not UTF-8")))
}

/// A path.
///
/// # Safety
/// As of [`text`].
pub(super) unsafe fn path<'a>(pointer: *const c_char) -> Result<&'a Path, Failure> {
    use std::os::unix::ffi::OsStrExt;

    if pointer.is_null() {
        return Err(null("path"));
    }
    // SAFETY: not null, so by the caller's word a text with an end.
    let text = unsafe { CStr::from_ptr(pointer) };
    Ok(Path::new(std::ffi::OsStr::from_bytes(text.to_bytes())))
}

/// A copy of a structure.
///
/// # Safety
/// `pointer` is null, or at a `T`.
pub(super) unsafe fn get<T: Copy>(pointer: *const T, name: &str) -> Result<T, Failure> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not null, so by the caller's word at a `T`; it need not be aligned.
    Ok(unsafe { pointer.read_unaligned() })
}

/// Fills a structure in, if there is one.
///
/// # Safety
/// `pointer` is null, or at memory for a `T` that may be written.
pub(super) unsafe fn put<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: not null, so by the caller's word memory for a `T`; it need not be aligned.
        unsafe { pointer.write_unaligned(value) };
    }
}

/// Bytes, copied.
///
/// # Safety
/// `pointer` is null, or at `len` bytes.
pub(super) unsafe fn bytes(pointer: *const c_void, len: usize, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // SAFETY: the caller's word, passed on.
    unsafe { append(&mut bytes, pointer, len, name) }?;
    Ok(bytes)
}

unsafe fn append(to: &mut Vec<u8>, pointer: *const c_void, len: usize, name: &str) -> Result<(), Failure> {
    if len == 0 {
        return Ok(());
    }
    if pointer.is_null() {
        return Err(null(name));
    }
    to.try_reserve_exact(len).map_err(|_| Failure::new(libc::ENOMEM, "there is not enough memory"))?;
    // SAFETY: not null, so by the caller's word at `len` bytes, and there is room for as many behind the end of `to`.
    unsafe {
        std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), to.as_mut_ptr().add(to.len()), len);
        to.set_len(to.len() + len);
    }
    Ok(())
}

/// The pieces of a list, each an address and a length.
///
/// # Safety
/// `pointer` is null, or at `count` pieces.
pub(super) unsafe fn pieces(pointer: *const iovec, count: usize) -> Result<Vec<Place>, Failure> {
    const PIECES_MAX: usize = 1024;
    if count > PIECES_MAX {
        return Err(Failure::new(libc::EINVAL, format!("{count} pieces, at most {PIECES_MAX} are taken")));
    }
    if pointer.is_null() && count > 0 {
        return Err(null("the list of pieces"));
    }
    let piece = |at| {
        // SAFETY: `at` is below the count, up to which there are pieces by the caller's word.
        let iovec { iov_base, iov_len } = unsafe { pointer.add(at).read_unaligned() };
        (iov_base.expose_provenance(), iov_len)
    };
    Ok((0..count).map(piece).collect())
}

/// All bytes of some pieces, at most `max`.
///
/// # Safety
/// Each piece is null with a length of 0, or at as many bytes as it says.
pub(super) unsafe fn gather(pieces: &[Place], max: usize) -> Result<Vec<u8>, Failure> {
    let len = pieces.iter().try_fold(0_usize, |sum, (_, len)| sum.checked_add(*len));
    if len.is_none_or(|len| len > max) {
        return Err(Failure::new(libc::EMSGSIZE, format!("more than {max} bytes")));
    }
    let mut bytes = Vec::new();
    for (address, len) in pieces {
        // SAFETY: the caller's word, passed on.
        unsafe { append(&mut bytes, std::ptr::with_exposed_provenance(*address), *len, "a piece") }?;
    }
    Ok(bytes)
}

/// Copies bytes to some pieces. Nothing is copied if they do not fit.
///
/// # Safety
/// Each piece is null with a length of 0, or at memory of as many bytes as it says, which may be written and is not that of `bytes`.
pub(super) unsafe fn scatter(mut bytes: &[u8], pieces: &[Place]) -> Result<(), Failure> {
    let room = pieces.iter().fold(0_usize, |sum, (_, len)| sum.saturating_add(*len));
    if bytes.len() > room {
        let why = format!("the message has {} bytes, there is room for {room}", bytes.len());
        return Err(Failure::new(libc::EMSGSIZE, why));
    }
    if pieces.iter().any(|(address, len)| *address == 0 && *len > 0) {
        return Err(null("a piece"));
    }
    for (address, len) in pieces {
        let (now, rest) = bytes.split_at_checked(*len).unwrap_or((bytes, &[]));
        if !now.is_empty() {
            // SAFETY: not null, so by the caller's word memory of `len` bytes, and `now` has no more.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    now.as_ptr(),
                    std::ptr::with_exposed_provenance_mut(*address),
                    now.len(),
                )
            };
        }
        bytes = rest;
    }
    Ok(())
}

/// A timeout as `poll` has it: milliseconds; less than 0 never ends.
pub(super) fn timeout(milliseconds: c_int) -> Option<Duration> {
    u64::try_from(milliseconds).ok().map(Duration::from_millis)
}
