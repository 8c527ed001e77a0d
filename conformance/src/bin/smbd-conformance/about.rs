//! Who made a report: version, date, command line, and on which host where that matters.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};
use smbd_conformance::suite::report::About;

/// Seconds since 1970 that stand for now, so that a report can be made again as it was (reproducible-builds.org).
const DATE: &str = "SOURCE_DATE_EPOCH";
/// The last second of the year 9999.
const LAST: u64 = 253_402_300_799;

/// Of a report made now. `on_devices`: it depends on this host.
///
/// # Errors
/// `SOURCE_DATE_EPOCH` is no time.
pub fn about(on_devices: bool) -> Result<About, String> {
    let seconds = match env::var_os(DATE) {
        Some(text) => given(&text.to_string_lossy())?,
        None => now(),
    };
    Ok(About {
        version: env!("CARGO_PKG_VERSION").into(),
        date: date(seconds),
        command_line: command_line(env::args_os().skip(1)),
        host: on_devices.then(host),
    })
}

fn given(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|seconds| *seconds <= LAST).ok_or_else(|| {
        format!("{DATE} is '{text}', must be a number of seconds since 1970, at most {LAST} (the year 9999)")
    })
}

#[expect(clippy::disallowed_methods, reason = "the date of a report; nothing that is played asks for it")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs().min(LAST))
}

/// As ISO 8601 has it, in UTC.
fn date(seconds: u64) -> String {
    let date = i64::try_from(seconds).ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    date.unwrap_or_default().to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// As a shell takes it; without the folder of this program.
fn command_line(arguments: impl Iterator<Item = OsString>) -> String {
    let mut line = env!("CARGO_BIN_NAME").to_owned();
    for argument in arguments {
        line.push(' ');
        line.push_str(&quoted(&argument.to_string_lossy()));
    }
    line
}

fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

/// Its name and its kernel.
fn host() -> String {
    let known = |file: &str| {
        let text = fs::read_to_string(format!("/proc/sys/kernel/{file}")).unwrap_or_default();
        if text.trim().is_empty() { "unknown".to_owned() } else { text.trim().to_owned() }
    };
    format!("{} ({} {})", known("hostname"), known("ostype"), known("osrelease"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (68_255_999, "1972-02-29T23:59:59Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_709_210_096, "2024-02-29T12:34:56Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (LAST, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }

    #[test]
    fn a_date_that_is_given_is_a_number_of_seconds() {
        assert_eq!(given("1709210096"), Ok(1_709_210_096));
        for wrong in ["", "-1", "today", "253402300800"] {
            assert!(given(wrong).is_err_and(|why| why.contains(&format!("SOURCE_DATE_EPOCH is '{wrong}'"))));
        }
    }

    #[test]
    fn a_command_line_can_be_given_to_a_shell() {
        let arguments = ["run", "--set", "KeepaliveInterval 5 s", "it's", "", "a/b.c:1"];
        let line = command_line(arguments.into_iter().map(Into::into));
        assert_eq!(line, r"smbd-conformance run --set 'KeepaliveInterval 5 s' 'it'\''s' '' a/b.c:1");
    }
}
