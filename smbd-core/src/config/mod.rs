//! Configuration: [`Params`] are plain values; a [`Config`] holds parameters that were checked.

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
    /// A parameter is out of its range. The error names the first such parameter, its value, its range and the source
    /// of the range.
    fn try_from(params: Params) -> Result<Self, ConfigError> {
        params.validate()?;
        Ok(Self(params))
    }
}
