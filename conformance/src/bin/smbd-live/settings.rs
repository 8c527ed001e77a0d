//! Parameters of the tests' own connections: the usual ones with timers that a slow host keeps. Tests about a timer set it
//! themselves.

use std::time::Duration;

use smbd_core::backend::kit;
use smbd_core::{Config, Params};

use crate::case::Failure;

/// Longer than anything takes, shorter than a test may.
const PATIENT: Duration = Duration::from_secs(60);

const fn patient(params: Params) -> Params {
    Params { passive_negotiation_timeout: PATIENT, send_credit_timeout: Some(PATIENT), ..params }
}

/// Those of Windows.
pub(crate) const fn windows() -> Params {
    patient(Params::windows())
}

/// Those of the examples in section 4.
pub(crate) const fn example() -> Params {
    patient(Params::example())
}

/// Those that the kit uses.
pub(crate) fn of_the_kit() -> Result<Config, Failure> {
    Ok(Config::try_from(patient((*kit::config()?).clone()))?)
}
