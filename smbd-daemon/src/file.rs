//! A file of settings.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::log::Format;
use crate::suggestion::closest;

/// The log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// How its lines look.
    pub format: Format,
}

/// Metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// Where they can be fetched by HTTP, as ADDR:PORT.
    pub address: Option<String>,
}

/// Reads a file of `program`.
///
/// # Errors
/// A text for whoever wrote the file, with its path.
pub fn read<T: DeserializeOwned>(path: &Path, program: &str) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text, program).map_err(|wrong| format!("{}: {wrong}", path.display()))
}

/// Reads the text of a file of `program`.
///
/// # Errors
/// A text for whoever wrote it: with the line, and for an unknown key the one that is most like it.
pub fn parse<T: DeserializeOwned>(text: &str, program: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let suggestion = closest(error.message());
        let hint = suggestion.map_or_else(String::new, |name| format!("did you mean `{name}`?\n"));
        format!("{error}{hint}`{program} config` prints all keys")
    })
}

/// A time that is written in seconds under this key.
///
/// # Errors
/// It is 0.
pub fn seconds(key: &str, value: u64) -> Result<Duration, String> {
    at_least(key, value, 1).map(|()| Duration::from_secs(value))
}

/// Checks a number that is written under this key.
///
/// # Errors
/// It is less than `least`.
pub fn at_least(key: &str, value: u64, least: u64) -> Result<(), String> {
    if value < least { Err(format!("{key} is {value}, and has to be {least} at least")) } else { Ok(()) }
}

/// For tests: keys of `T` that a documented file lacks, in its sections and lists, each as it begins: `[limits]`, `[[listener]]`. Keys
/// without a value of their own are commented out there, without a space. A section that takes any key, or that is none, is among them.
#[must_use]
pub fn undocumented<T: DeserializeOwned>(documented: &str, sections: &[&str]) -> Vec<String> {
    let is_there = |key: &str| {
        documented.lines().any(|line| {
            let line = line.trim_start_matches('#');
            line.starts_with(&format!("{key} =")) || line.trim_matches(['[', ']']) == key
        })
    };
    let of = |section: &str| {
        // The error names all keys that there are.
        let error = toml::from_str::<T>(&format!("{section}\nno_key_of_any_file = 1\n")).err();
        let message = error.map_or_else(String::new, |error| error.message().to_owned());
        let Some(expected) = message.strip_prefix("unknown field `no_key_of_any_file`, expected ") else {
            return vec![format!("{section} {message}")];
        };
        let keys = expected.split('`').skip(1).step_by(2);
        keys.filter(|key| !is_there(key)).map(|key| format!("{section} {key}")).collect()
    };
    std::iter::once("").chain(sections.iter().copied()).flat_map(of).collect()
}

/// For tests: a documented file in which what is commented out is not.
#[must_use]
pub fn with_all_keys(documented: &str) -> String {
    let line =
        |line: &str| line.strip_prefix('#').filter(|key| !key.starts_with(' ')).unwrap_or(line).to_owned();
    documented.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    #[allow(dead_code, reason = "only its keys count")]
    struct Whole {
        log: Log,
        metrics: Metrics,
        number: u32,
    }

    #[test]
    fn a_key_that_a_documented_file_lacks_is_found_in_each_section() {
        let documented = "number = 1\n[log]\nformat = 'text'\n[metrics]\n#address = '127.0.0.1:1'\n";
        let missing = |text: &str| undocumented::<Whole>(text, &["[log]", "[metrics]"]);
        assert_eq!(missing(documented), [""; 0]);
        assert_eq!(missing(&documented.replace("number", "numbers")), [" number"]);
        assert_eq!(missing(&documented.replace("#address", "# address")), ["[metrics] address"]);
        assert_eq!(undocumented::<Whole>(documented, &["[number]"]).len(), 1, "a section that is none");
        assert_eq!(undocumented::<toml::Table>(documented, &[]).len(), 1, "any key is taken");
        let all: Whole = parse(&with_all_keys(documented), "x").unwrap();
        assert_eq!(all.metrics.address.as_deref(), Some("127.0.0.1:1"));
    }

    #[test]
    fn no_time_is_0() {
        assert_eq!(seconds("limits.a_s", 0).unwrap_err(), "limits.a_s is 0, and has to be 1 at least");
        assert_eq!(seconds("limits.a_s", 3), Ok(Duration::from_secs(3)));
    }
}
