//! Log lines.

use std::fmt::{Display, Write as _};
use std::io::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value};

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Words and key=value.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Writes lines to standard output. Whoever keeps them adds the time.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    format: Format,
}

/// A line that is being put together.
#[derive(Debug)]
#[must_use]
pub struct Line {
    format: Format,
    what: &'static str,
    fields: Vec<(&'static str, Value)>,
}

impl Log {
    /// Lines of this format.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self { format }
    }

    /// A line that says what happened.
    pub const fn line(self, what: &'static str) -> Line {
        Line { format: self.format, what, fields: Vec::new() }
    }
}

impl Line {
    /// Adds a text.
    pub fn with(mut self, name: &'static str, value: impl Display) -> Self {
        self.fields.push((name, Value::String(value.to_string())));
        self
    }

    /// Adds a text, if there is one.
    pub fn maybe(self, name: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds a number.
    pub fn number(mut self, name: &'static str, value: u64) -> Self {
        self.fields.push((name, Value::from(value)));
        self
    }

    /// Writes the line. That nobody reads it is no reason to stop serving.
    pub fn write(self) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{}", self.text()).and_then(|()| out.flush());
    }

    fn text(self) -> String {
        if self.format == Format::Json {
            let what = ("what".to_owned(), Value::String(self.what.to_owned()));
            let fields = self.fields.into_iter().map(|(name, value)| (name.to_owned(), value));
            return Value::Object(std::iter::once(what).chain(fields).collect::<Map<_, _>>()).to_string();
        }
        let mut line = self.what.to_owned();
        for (name, value) in self.fields {
            // Text can be written to a text.
            let _ = match value {
                Value::String(text) if !text.contains([' ', '"', '\n', '=']) => {
                    write!(line, " {name}={text}")
                }
                value => write!(line, " {name}={value}"),
            };
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(format: Format) -> String {
        let line = Log::new(format).line("client ended").with("client", "10.9.0.1:5").number("bytes", 7);
        line.with("why", "it \"left\"\nus").maybe("dialect", None::<&str>).text()
    }

    #[test]
    fn a_line_is_one_line_in_both_formats() {
        assert_eq!(line(Format::Text), r#"client ended client=10.9.0.1:5 bytes=7 why="it \"left\"\nus""#);
        let expected = r#"{"bytes":7,"client":"10.9.0.1:5","what":"client ended","why":"it \"left\"\nus"}"#;
        assert_eq!(line(Format::Json), expected);
    }
}
