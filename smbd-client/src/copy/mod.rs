//! Files copied between a share and this host: several pieces of each under way, in order at both ends, so that a copy that stopped can
//! be resumed. A file has another name beside its own, [`partial()`], until all of it is there.

mod check;
mod failure;
mod get;
mod partial;
mod put;
mod window;

pub use check::check;
pub use failure::Failure;
pub use get::get;
pub use partial::partial;
pub use put::put;

use crate::PIECE_MAX;

/// The most pieces of a file that are under way at once.
pub const PIECES_MAX: u16 = 32;

/// By how many bytes a copy to a server goes back when it is resumed. A piece is begun only when all but [`PIECES_MAX`] of those before it
/// have ended, so what is missing in a file is within so many bytes of its end.
pub const OVERLAP: u64 = PIECES_MAX as u64 * PIECE_MAX as u64;

/// How a file is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many pieces are under way at once: 1 to [`PIECES_MAX`]; others count as the nearest.
    pub pieces: u16,
    /// Whether what a copy that stopped has left is kept, and this one goes on behind it: what is under the [`partial()`] name, else what is
    /// under the file's own, which gets the other name until the end.
    pub resume: bool,
    /// Whether both files are compared, as [`check()`] does it, before the copy gets its own name. One that differs stays under the
    /// [`partial()`] name.
    pub check: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { pieces: 8, resume: false, check: false }
    }
}

/// A file that is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Its bytes.
    pub size: u64,
    /// How many of them were there before.
    pub resumed: u64,
    /// The sum of both files (XXH3, 64 bits), if they were compared.
    pub sum: Option<u64>,
}

/// Who is told how a copy goes on.
pub trait Watch: Sync {
    /// A file of so many bytes is copied, of which so many are there already.
    fn begins(&self, size: u64, resumed: u64);

    /// So many more bytes are copied.
    fn moved(&self, bytes: u64);

    /// Both files are read and compared from now on; `moved` tells of bytes that the server's file was read.
    fn checks(&self, size: u64);
}

/// Nobody.
impl Watch for () {
    fn begins(&self, _: u64, _: u64) {}

    fn moved(&self, _: u64) {}

    fn checks(&self, _: u64) {}
}
