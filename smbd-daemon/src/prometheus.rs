//! The text format of Prometheus.

use std::fmt::Write as _;

/// Metrics of a program, as text.
#[derive(Debug)]
pub struct Text {
    prefix: &'static str,
    text: String,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only rises.
    Counter,
    /// It rises and falls.
    Gauge,
}

impl Text {
    /// None yet. Their names begin with `prefix`.
    #[must_use]
    pub const fn new(prefix: &'static str) -> Self {
        Self { prefix, text: String::new() }
    }

    /// Adds a metric that has one value.
    pub fn one(&mut self, name: &str, kind: Kind, help: &str, value: u64) {
        self.values(name, kind, help, [(String::new(), value)]);
    }

    /// Adds a metric that has a value for each value of a label.
    pub fn labelled<'t>(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'t str, u64)>,
    ) {
        let of = |(of, value): (&str, u64)| (format!("{{{label}=\"{of}\"}}"), value);
        self.values(name, kind, help, values.into_iter().map(of));
    }

    fn values(
        &mut self,
        name: &str,
        kind: Kind,
        help: &str,
        values: impl IntoIterator<Item = (String, u64)>,
    ) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let (prefix, text) = (self.prefix, &mut self.text);
        // Text can be written to a text.
        let _ = writeln!(text, "# HELP {prefix}_{name} {help}\n# TYPE {prefix}_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "{prefix}_{name}{labels} {value}");
        }
    }

    /// All of them.
    #[must_use]
    pub fn text(self) -> String {
        self.text
    }
}
