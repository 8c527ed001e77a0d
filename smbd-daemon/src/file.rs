//! A file of settings.

use std::path::Path;

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

/// Where metrics are wanted, by the command line or else by the file.
///
/// # Errors
/// It is no address with a port.
pub fn metrics_address(
    option: Option<&String>,
    file: &Metrics,
) -> Result<Option<std::net::SocketAddr>, String> {
    let text = option.or(file.address.as_ref());
    text.map(|text| text.parse().map_err(|_| format!("'{text}' is no ADDR:PORT for metrics"))).transpose()
}
