//! The calls that are given data which go by RDMA, to be signed, encrypted or looked at.

use smbd_core::Instant;

use super::cover::Plain;
use super::facade::Client;
use super::ids::RegistrationId;
use super::reason::Refused;

impl Client {
    /// Signs data of a WRITE ([`Output::Sign`](super::Output::Sign)): all of them, in any number of pieces.
    ///
    /// # Errors
    /// [`Refused::Length`], [`Refused::Unknown`].
    pub fn sign(
        &mut self,
        now: Instant,
        registration: RegistrationId,
        data: &[&[u8]],
    ) -> Result<(), Refused> {
        self.plain(now, registration, Plain::Sign(data))
    }

    /// Encrypts data of a WRITE in place ([`Output::Encrypt`](super::Output::Encrypt)): all of them, in any number of pieces.
    ///
    /// # Errors
    /// [`Refused::Length`], [`Refused::Unknown`].
    pub fn encrypt(
        &mut self,
        now: Instant,
        registration: RegistrationId,
        data: &mut [&mut [u8]],
    ) -> Result<(), Refused> {
        self.plain(now, registration, Plain::Encrypt(data))
    }

    /// Encrypts data of a WRITE to another place ([`Output::Encrypt`](super::Output::Encrypt)), which has their length and is what will be
    /// registered.
    ///
    /// # Errors
    /// [`Refused::Length`], [`Refused::Unknown`].
    pub fn encrypt_into(
        &mut self,
        now: Instant,
        registration: RegistrationId,
        data: &[&[u8]],
        into: &mut [u8],
    ) -> Result<(), Refused> {
        self.plain(now, registration, Plain::EncryptInto(data, into))
    }

    fn plain(
        &mut self,
        now: Instant,
        registration: RegistrationId,
        plain: Plain<'_, '_>,
    ) -> Result<(), Refused> {
        if self.machine.end.is_some() { Ok(()) } else { self.machine.on_plain(registration.0, plain, now) }
    }

    /// Looks at what a READ has brought ([`Output::Check`](super::Output::Check)): all of the part, in any number of pieces. The data are
    /// decrypted in place, or verified; what is behind them, and all of it if they are not good, is zeros afterwards.
    ///
    /// # Errors
    /// [`Refused::Length`], [`Refused::Unknown`].
    pub fn check(
        &mut self,
        now: Instant,
        registration: RegistrationId,
        part: &mut [&mut [u8]],
    ) -> Result<(), Refused> {
        self.machine.on_check(registration.0, part, now)
    }
}
