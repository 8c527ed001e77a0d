//! The command `status`.

use std::io::{self, IsTerminal, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rustix::termios::tcgetwinsize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use smbd_program::output;

use crate::table::Size;
use crate::trouble::Trouble;

/// How often it is shown on a terminal.
const EVERY: Duration = Duration::from_secs(2);
/// The time that the program has to answer.
const WITHIN: Duration = Duration::from_secs(10);
/// Bytes of an answer at most: some hundred thousand connections.
const ANSWER_MAX: u64 = 64 << 20;
/// Of a terminal: to the first place, to the end of the line, and to the end of all lines.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_REST: &str = "\x1b[J";

/// The command: shows what `program`, whose socket is at `path`, tells, on a terminal again and again, otherwise once. `table` is how a person
/// sees it. What went wrong is on standard error.
pub fn show<S: Serialize + DeserializeOwned>(
    path: &Path,
    program: &str,
    as_json: bool,
    table: impl Fn(&S, Size) -> String,
) -> ExitCode {
    match told(path, program, as_json, table) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => Trouble::asking(why, program).failure(program),
    }
}

fn told<S: Serialize + DeserializeOwned>(
    path: &Path,
    program: &str,
    as_json: bool,
    table: impl Fn(&S, Size) -> String,
) -> Result<(), String> {
    let out = io::stdout();
    let ask = || ask::<S>(path, program);
    if as_json {
        let text = serde_json::to_string(&ask()?).map_err(|error| error.to_string())?;
        return output::write(&(text + "\n"));
    }
    if !out.is_terminal() {
        return output::write(&table(&ask()?, Size::ANY));
    }
    loop {
        let size = tcgetwinsize(&out)
            .map_or(Size::ANY, |size| Size { columns: size.ws_col.into(), rows: size.ws_row.into() });
        let lines = table(&ask()?, size).replace('\n', &format!("{CLEAR_LINE}\n"));
        output::write(&format!("{HOME}{lines}{CLEAR_REST}"))?;
        std::thread::sleep(EVERY);
    }
}

/// What the program tells.
fn ask<S: DeserializeOwned>(path: &Path, program: &str) -> Result<S, String> {
    let at = |error: &dyn std::fmt::Display| format!("no status at {}: {error}", path.display());
    let stream = UnixStream::connect(path).map_err(|error| at(&error))?;
    stream.set_read_timeout(Some(WITHIN)).map_err(|error| at(&error))?;
    let mut text = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut text).map_err(|error| at(&error))?;
    serde_json::from_str(&text).map_err(|error| at(&format!("it is no answer of {program}: {error}")))
}
