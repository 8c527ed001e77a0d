//! A received message, while its elements are taken out of it.

/// A message of the server: the bytes that SMB Direct or direct TCP has put together. It is decrypted in place.
///
/// It is given to [`Client::poll`](super::Client::poll) until that says [`Output::Idle`](super::Output::Idle); then all of it is taken.
#[derive(Debug)]
pub struct Arrived<'m> {
    pub(super) bytes: &'m mut [u8],
    pub(super) progress: Progress,
}

/// How much of it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing yet.
    New,
    /// The next element begins here. With the session whose keys have decrypted it.
    At(usize, Option<super::table::Key>),
    /// All of it.
    Taken,
}

impl<'m> Arrived<'m> {
    /// One message, without the framing of the transport.
    #[must_use]
    pub const fn new(message: &'m mut [u8]) -> Self {
        Self { bytes: message, progress: Progress::New }
    }

    /// None.
    #[must_use]
    pub const fn nothing() -> Self {
        Self { bytes: &mut [], progress: Progress::Taken }
    }

    /// Whether all of it is taken.
    #[must_use]
    pub const fn is_taken(&self) -> bool {
        matches!(self.progress, Progress::Taken)
    }
}
