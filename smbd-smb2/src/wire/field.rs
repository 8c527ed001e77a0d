//! Typed fields: where a value is, and how it is read and written there.

use core::fmt;
use core::marker::PhantomData;

use smbd_core::wire::BufferDescriptorV1;

use super::error::WireError;
use super::place::Place;

/// A value of a fixed size, little-endian on the wire.
pub trait Value: Copy + 'static {
    /// Its size in bytes.
    const SIZE: usize;

    /// Reads the value at the beginning of `bytes`; `None` if they are too few.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// Writes the value to the beginning of `bytes`; `None` if they are too few.
    fn write(self, bytes: &mut [u8]) -> Option<()>;
}

/// A plain number: an offset, a length or a count.
pub trait Number: Value + Into<u64> + TryFrom<usize> {
    /// The largest value.
    const MAX: u64;
}

macro_rules! numbers {
    ($($T:ty)+) => {$(
        impl Value for $T {
            const SIZE: usize = size_of::<Self>();

            #[inline]
            fn read(bytes: &[u8]) -> Option<Self> {
                bytes.first_chunk().map(|bytes| Self::from_le_bytes(*bytes))
            }

            #[inline]
            fn write(self, bytes: &mut [u8]) -> Option<()> {
                *bytes.first_chunk_mut()? = self.to_le_bytes();
                Some(())
            }
        }

        impl Number for $T {
            // No `From` in constants.
            const MAX: u64 = <$T>::MAX as u64;
        }
    )+};
}

numbers!(u8 u16 u32);

impl Value for u64 {
    const SIZE: usize = 8;

    #[inline]
    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|bytes| Self::from_le_bytes(*bytes))
    }

    #[inline]
    fn write(self, bytes: &mut [u8]) -> Option<()> {
        *bytes.first_chunk_mut()? = self.to_le_bytes();
        Some(())
    }
}

impl<const N: usize> Value for [u8; N] {
    const SIZE: usize = N;

    #[inline]
    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().copied()
    }

    #[inline]
    fn write(self, bytes: &mut [u8]) -> Option<()> {
        *bytes.first_chunk_mut()? = self;
        Some(())
    }
}

impl Value for BufferDescriptorV1 {
    const SIZE: usize = Self::LEN;

    fn read(bytes: &[u8]) -> Option<Self> {
        Self::parse(bytes).ok()
    }

    fn write(self, bytes: &mut [u8]) -> Option<()> {
        self.encode(bytes).ok().map(drop)
    }
}

/// A field of a structure. It reads and writes its value in place, in the bytes of the whole structure: of a message, from the
/// beginning of its SMB2 header.
///
/// ```
/// use smbd_smb2::wire::{Channel, Header, ReadRequest, read, write_element};
///
/// let mut message = Vec::new();
/// let request = ReadRequest { channel: Channel::RDMA_V1, ..ReadRequest::default() };
/// write_element(&mut message, &Header::request::<ReadRequest>(1), &request)?;
///
/// read::request::CHANNEL.set(&mut message, Channel::NONE)?;
/// assert_eq!(ReadRequest::parse(&message)?.channel, Channel::NONE);
/// # Ok::<(), smbd_smb2::wire::WireError>(())
/// ```
pub struct Field<T> {
    place: Place,
    value: PhantomData<fn() -> T>,
}

impl<T: Value> Field<T> {
    pub(crate) const fn new(
        message: &'static str,
        section: &'static str,
        name: &'static str,
        at: usize,
    ) -> Self {
        Self { place: Place { message, section, name, at, size: T::SIZE }, value: PhantomData }
    }

    /// Where it is.
    #[must_use]
    pub const fn place(&'static self) -> &'static Place {
        &self.place
    }

    /// Reads its value.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if the bytes end before it does.
    #[inline]
    pub fn get(&'static self, bytes: &[u8]) -> Result<T, WireError> {
        match bytes.get(self.place.range()).and_then(T::read) {
            Some(value) => Ok(value),
            None => Err(self.truncated(bytes.len())),
        }
    }

    /// Writes its value.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if the bytes end before it does. Nothing is written then.
    #[inline]
    pub fn set(&'static self, bytes: &mut [u8], value: T) -> Result<(), WireError> {
        let got = bytes.len();
        match bytes.get_mut(self.place.range()).and_then(|bytes| value.write(bytes)) {
            Some(()) => Ok(()),
            None => Err(self.truncated(got)),
        }
    }

    #[cold]
    pub(super) fn truncated(&'static self, got: usize) -> WireError {
        WireError::Truncated { field: &self.place, got: got as u64 }
    }
}

impl<T: Number> Field<T> {
    /// Refuses every value but one.
    pub(crate) fn expect(&'static self, bytes: &[u8], expected: T) -> Result<(), WireError> {
        let (value, expected) = (self.get(bytes)?.into(), expected.into());
        if value == expected { Ok(()) } else { Err(WireError::Value { field: &self.place, value, expected }) }
    }

    /// Writes a size or an offset.
    pub(crate) fn set_size(&'static self, bytes: &mut [u8], value: usize) -> Result<(), WireError> {
        match T::try_from(value) {
            Ok(value) => self.set(bytes, value),
            Err(_) => {
                Err(WireError::TooLarge { field: &self.place, value: value as u64, max: <T as Number>::MAX })
            }
        }
    }
}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)
    }
}
