//! Configuration: plain [`Params`] in, a proof of validity ([`Config`]) out.

mod budget;
mod params;
mod profiles;

use core::ops::Deref;

pub use budget::Budget;
pub use params::{ConfigError, Keepalive, Params, Role};
pub(crate) use params::{MAX_FRAGMENTED_SIZE_MIN, MAX_RECEIVE_SIZE_MIN, NEGOTIATE_RECEIVE_SIZE};

/// Parameters that were checked: made by `Config::try_from(params)`, readable as [`Params`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config(Params);

impl Deref for Config {
    type Target = Params;

    fn deref(&self) -> &Params {
        &self.0
    }
}

impl TryFrom<Params> for Config {
    type Error = ConfigError;

    /// # Errors
    /// Names the parameter, its value, its range and where the range comes from.
    fn try_from(params: Params) -> Result<Self, ConfigError> {
        params.validate()?;
        Ok(Self(params))
    }
}
