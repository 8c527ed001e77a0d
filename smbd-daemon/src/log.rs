//! Log lines.
//!
//! Each line has a time and a level. `tracing-subscriber` writes it; the event of a [`Line`] has names that are known when it is written, so the
//! line is one text of the event, as its format wants it.

use std::fmt::{self, Debug, Display, Write as _};
use std::io;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;
use serde_json::{Map, Value};
use tracing::dispatcher::{Dispatch, with_default};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Time (RFC 3339, UTC), level, words and key=value.
    #[default]
    Text,
    /// One JSON object a line, with the keys `timestamp` and `level`.
    Json,
}

/// The process that is told with each line, if there are several.
static PROCESS: OnceLock<u32> = OnceLock::new();
/// Standard output. That nobody reads it is no reason to stop serving: what cannot be written is left out.
static OUTPUT: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [Format::Text, Format::Json].map(|format| output(format, io::stdout)));

/// From now on each line tells which process has written it.
pub fn tell_process() {
    // It is the same each time.
    let _ = PROCESS.set(std::process::id());
}

fn output(format: Format, to: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) -> Dispatch {
    // Of a line that is left out it would tell on standard error, and panic if that cannot be written either.
    let lines = tracing_subscriber::fmt().with_ansi(false).with_target(false).log_internal_errors(false);
    let lines = lines.with_writer(to);
    match format {
        Format::Text => lines.finish().into(),
        Format::Json => lines.event_format(Json).finish().into(),
    }
}

/// Writes lines to standard output.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log {
    format: Format,
}

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Info,
    Warn,
}

/// A line that is being put together.
#[derive(Debug)]
#[must_use]
pub struct Line {
    format: Format,
    level: Level,
    what: &'static str,
    fields: Vec<(&'static str, Value)>,
}

impl Log {
    /// Lines of this format.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self { format }
    }

    /// A line that says what happened, of the level INFO.
    pub const fn line(self, what: &'static str) -> Line {
        Line { format: self.format, level: Level::Info, what, fields: Vec::new() }
    }

    /// A line that says what somebody should look at, of the level WARN.
    pub const fn warning(self, what: &'static str) -> Line {
        self.line(what).warn()
    }
}

impl Line {
    /// Gives it the level WARN.
    pub const fn warn(mut self) -> Self {
        self.level = Level::Warn;
        self
    }

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

    /// Writes the line.
    pub fn write(self) {
        let [text, json] = &*OUTPUT;
        let output = if self.format == Format::Json { json } else { text };
        let line = match PROCESS.get() {
            Some(process) => self.number("pid", (*process).into()),
            None => self,
        };
        line.write_to(output);
    }

    fn write_to(self, output: &Dispatch) {
        let level = self.level;
        let line = if self.format == Format::Json { self.json() } else { self.text() };
        with_default(output, || match level {
            Level::Info => tracing::info!("{line}"),
            Level::Warn => tracing::warn!("{line}"),
        });
    }

    /// The keys of an object, with commas between them.
    fn json(self) -> String {
        let what = ("what".to_owned(), Value::String(self.what.to_owned()));
        let fields = self.fields.into_iter().map(|(name, value)| (name.to_owned(), value));
        let object = Value::Object(std::iter::once(what).chain(fields).collect::<Map<_, _>>()).to_string();
        object.trim_start_matches('{').to_owned()
    }

    fn text(self) -> String {
        let mut line = self.what.to_owned();
        for (name, value) in self.fields {
            // Text can be written to a text. A name that a client made up is one word.
            let _ = match value {
                Value::String(text) if is_plain(&text) => write!(line, " {name}={text}"),
                Value::String(text) => write!(line, " {name}={text:?}"),
                value => write!(line, " {name}={value}"),
            };
        }
        line
    }
}

/// Whether a text is one word without quotation marks.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control() || "\"=\\".contains(c))
}

/// Lines of JSON whose names are known when they are written.
struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        to.write_str(r#"{"timestamp":""#)?;
        SystemTime.format_time(&mut to)?;
        write!(to, r#"","level":"{}","#, event.metadata().level())?;
        event.record(&mut Message(&mut to));
        writeln!(to)
    }
}

/// Where the message of an event goes.
struct Message<'a, 'b>(&'a mut Writer<'b>);

impl Visit for Message<'_, '_> {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        // It is written to a text.
        let _ = write!(self.0, "{value:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Writes a line as a program does. Its time, and what is behind it.
    fn written(format: Format, fill: impl FnOnce(Log) -> Line) -> (String, String) {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let of_log = Arc::clone(&lines);
        struct To(Arc<Mutex<Vec<u8>>>);
        impl io::Write for To {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().write(bytes)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        fill(Log::new(format)).write_to(&output(format, move || To(Arc::clone(&of_log))));
        let text = String::from_utf8(lines.lock().unwrap().clone()).unwrap();
        let before = if format == Format::Json { r#"{"timestamp":""# } else { "" };
        let (time, rest) = text.strip_prefix(before).unwrap().split_at(27);
        (time.to_owned(), rest.to_owned())
    }

    fn ended(line: Line) -> Line {
        let line =
            line.with("client", "10.9.0.1:5").number("bytes", 7).with("user", "").with("name", "é\u{202e}");
        line.with("why", "it \"left\"\nus\u{1b}").maybe("dialect", None::<&str>)
    }

    #[test]
    fn a_line_is_one_line_in_both_formats_with_its_level() {
        let (_, text) = written(Format::Text, |log| ended(log.line("client ended")));
        let fields = r#"client=10.9.0.1:5 bytes=7 user="" name=é why="it \"left\"\nus\u{1b}""#;
        assert_eq!(text.replace('\u{202e}', ""), format!("  INFO client ended {fields}\n"));
        let (_, json) = written(Format::Json, |log| ended(log.warning("client ended")));
        let object: Map<String, Value> = serde_json::from_str(&format!("{{\"t\":\"{json}")).unwrap();
        assert_eq!((&object["level"], &object["what"]), (&"WARN".into(), &"client ended".into()));
        assert_eq!((&object["bytes"], &object["why"]), (&7.into(), &"it \"left\"\nus\u{1b}".into()));
        assert_eq!(json.lines().count(), 1);
    }

    #[test]
    fn a_line_begins_with_a_time_of_utc() {
        for format in [Format::Text, Format::Json] {
            let (time, _) = written(format, |log| log.line("started"));
            let shape: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
            assert_eq!(shape, "0000-00-00T00:00:00.000000Z");
        }
    }
}
