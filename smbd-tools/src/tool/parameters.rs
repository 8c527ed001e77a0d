//! Parameters of a connection on a command line.

use std::time::Duration;

use clap::{Args, ValueEnum};
use smbd_core::{Config, ConfigError, Params};

/// Parameters to start from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// Windows Server 2012 R2 and later.
    #[default]
    Windows,
    /// The cifs client of Linux 6.12.
    LinuxClient,
    /// The ksmbd server of Linux 6.12.
    LinuxServer,
    /// The examples of MS-SMBD section 4: small, to see fragments and credits at work.
    Example,
}

/// Options that change them.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection parameters")]
pub struct Parameters {
    /// Whose parameters to start from.
    #[arg(long, value_enum, default_value_t)]
    pub profile: Profile,
    /// MaxSendSize: longest message to send, in bytes. The peer's MaxReceiveSize may lower it.
    #[arg(long, value_name = "BYTES")]
    pub max_send_size: Option<u32>,
    /// Allows a MaxSendSize above 8136, which some Windows versions refuse.
    #[arg(long)]
    pub large_sends: bool,
    /// MaxReceiveSize: longest message to take, in bytes.
    #[arg(long, value_name = "BYTES")]
    pub max_receive_size: Option<u32>,
    /// MaxFragmentedRecvSize: longest reassembled message to take, in bytes.
    #[arg(long, value_name = "BYTES")]
    pub max_fragmented_size: Option<u32>,
    /// MaxReadWriteSize: longest RDMA operation, in bytes.
    #[arg(long, value_name = "BYTES")]
    pub max_read_write_size: Option<u32>,
    /// Receives to post for the peer (ReceiveCreditMax), and credits to ask of it (SendCreditTarget, at most 255).
    #[arg(long, value_name = "N")]
    pub credits: Option<u16>,
    /// Seconds that connecting and negotiating may take.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
}

/// A number of seconds, fractions allowed.
///
/// # Errors
/// It is none, or not above 0.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        _ => Err("must be above 0".to_owned()),
    }
}

impl Parameters {
    /// The parameters.
    #[must_use]
    pub fn params(&self) -> Params {
        let mut params = match self.profile {
            Profile::Windows => Params::windows(),
            Profile::LinuxClient => Params::linux_client(),
            Profile::LinuxServer => Params::linux_server(),
            Profile::Example => Params::example(),
        };
        let given = [
            (self.max_send_size, &mut params.max_send_size),
            (self.max_receive_size, &mut params.max_receive_size),
            (self.max_fragmented_size, &mut params.max_fragmented_recv_size),
            (self.max_read_write_size, &mut params.max_read_write_size),
        ];
        for (given, field) in given {
            *field = given.unwrap_or(*field);
        }
        params.large_sends = self.large_sends;
        if let Some(credits) = self.credits {
            params.receive_credit_max = credits;
            params.send_credit_target = credits.min(255);
            params.send_slots = params.send_slots.min(credits.max(2));
        }
        if let Some(timeout) = self.timeout {
            params.active_negotiation_timeout = timeout;
            params.passive_negotiation_timeout = timeout;
        }
        params
    }

    /// The parameters, checked.
    ///
    /// # Errors
    /// Names the option, its value and its range.
    pub fn config(&self) -> Result<Config, String> {
        self.config_for(|_| {})
    }

    /// The parameters with what a program needs besides, checked.
    ///
    /// # Errors
    /// Names the option, its value and its range.
    pub fn config_for(&self, change: impl FnOnce(&mut Params)) -> Result<Config, String> {
        let mut params = self.params();
        change(&mut params);
        Config::try_from(params).map_err(|error| explain(&error))
    }
}

/// The error with the option of the field it is about.
fn explain(error: &ConfigError) -> String {
    let option = match error.field {
        "max_send_size" => "--max-send-size",
        "max_receive_size" => "--max-receive-size",
        "max_fragmented_recv_size" => "--max-fragmented-size",
        "max_read_write_size" => "--max-read-write-size",
        "receive_credit_max" | "send_credit_target" => "--credits",
        "active_negotiation_timeout" | "passive_negotiation_timeout" => "--timeout",
        _ => return error.to_string(),
    };
    let ConfigError { value, min, max, why, .. } = error;
    format!("{option} is {value}, must be {min} to {max} ({why})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_is_valid_as_it_is() {
        for profile in Profile::value_variants() {
            Parameters { profile: *profile, ..Parameters::default() }.config().expect("valid");
        }
    }

    #[test]
    fn an_error_names_option_value_and_range() {
        let config = |parameters: Parameters| parameters.config().unwrap_err();
        assert_eq!(
            config(Parameters { max_send_size: Some(9000), ..Parameters::default() }),
            "--max-send-size is 9000, must be 128 to 8136 (3.1.5.6, note <5>)"
        );
        assert_eq!(
            config(Parameters { credits: Some(1), ..Parameters::default() }),
            "--credits is 1, must be 4 to 32767 (spec-issues CR-5)"
        );
        assert_eq!(
            config(Parameters { max_fragmented_size: Some(100_000), ..Parameters::default() }),
            "--max-fragmented-size is 100000, must be 131072 to 4294967295 (3.1.5.6)"
        );
    }

    #[test]
    fn seconds_are_positive_numbers() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for wrong in ["0", "-1", "x", "inf", "NaN", "1e30"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
