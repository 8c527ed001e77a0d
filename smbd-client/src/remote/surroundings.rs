//! What a client needs of the machine that it runs on.

use smbd_link::time;

use crate::Error;
use crate::drive::{Clock, TokioTime};

/// What a client needs of the machine that it runs on: time, the date, and what nobody can guess. Clones have the same time.
pub trait Surroundings: Clock + Clone {
    /// Fills `into` with bytes that are fit for keys.
    ///
    /// # Errors
    /// [`Error::Entropy`].
    fn random(&self, into: &mut [u8]) -> Result<(), Error>;

    /// The date: a FILETIME, 100 ns since 1601, UTC.
    fn date(&self) -> u64;

    /// The client has taken a message, which is decrypted: for who watches it.
    fn taken(&self, message: &[u8]) {
        let _ = message;
    }
}

/// Those of a process with a runtime of tokio.
impl Surroundings for TokioTime {
    fn random(&self, into: &mut [u8]) -> Result<(), Error> {
        getrandom::fill(into).map_err(Error::Entropy)
    }

    fn date(&self) -> u64 {
        time::date()
    }
}
