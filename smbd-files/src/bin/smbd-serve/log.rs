//! Log lines on standard output. Whoever keeps them adds the time.

use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::sync::OnceLock;

/// The process that is told with each line, if there are several.
static PROCESS: OnceLock<u32> = OnceLock::new();

/// From now on each line tells which process has written it.
pub(crate) fn tell_process() {
    // It is the same each time.
    let _ = PROCESS.set(std::process::id());
}

/// A line: what happened, and what is to be known of it.
#[derive(Clone, Debug)]
pub(crate) struct Line(String);

impl Line {
    pub(crate) fn new(what: &str) -> Self {
        Self(what.to_owned())
    }

    pub(crate) fn with(mut self, name: &str, value: impl Display) -> Self {
        let value = value.to_string();
        let is_plain = !value.is_empty()
            && !value.contains(|c: char| c.is_whitespace() || c.is_control() || "\"=".contains(c));
        // Text can be written to a text. A name that a client made up is one word.
        let _ =
            if is_plain { write!(self.0, " {name}={value}") } else { write!(self.0, " {name}={value:?}") };
        self
    }

    pub(crate) fn maybe(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Writes it. That nobody reads it is no reason to stop serving.
    pub(crate) fn write(self) {
        let line = self.maybe("pid", PROCESS.get());
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{}", line.0).and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_whatever_a_client_is_called() {
        let line =
            Line::new("client ended").with("client", "10.9.0.1:5").with("user", "a\nb=\"c").with("why", "");
        assert_eq!(line.0, r#"client ended client=10.9.0.1:5 user="a\nb=\"c" why="""#);
    }
}
