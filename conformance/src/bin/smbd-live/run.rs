//! Running tests, each in a process of its own.

use std::fs;
use std::io::{IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use smbd_verbs::Clock;

use crate::Place;
use crate::case::{Case, Context};
use crate::registry;
use crate::tally::{self, Ended, Tally};

/// How often a running test is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs tests one after the other and prints a line for each; the first for one that was lost elsewhere, and why. The name of
/// the one that is played is in the file `playing`.
pub(crate) fn all(
    lost: Option<(String, String)>,
    cases: &[Case],
    place: &Place,
    limit: Duration,
    playing: Option<&Path>,
) -> ExitCode {
    let mut tally = Tally::default();
    let mut end = |name: &str, ended: &Ended, time: f64| {
        tally.add(ended);
        println!("{}", ended.line(name, time));
        let _ = std::io::stdout().flush();
    };
    if let Some((name, why)) = lost {
        end(&name, &Ended::Skipped(why), 0.0);
    }
    for (index, case) in cases.iter().enumerate() {
        if std::io::stderr().is_terminal() {
            eprint!("\r[{}/{}] {} ...\x1b[K\r", index + 1, cases.len(), case.name);
        }
        if let Some(Err(error)) = playing.map(|file| fs::write(file, case.name)) {
            eprintln!("--playing: {error}");
        }
        let clock = Clock::start();
        let ended = apart(case, place, limit).unwrap_or_else(Ended::Failed);
        let time = clock.now().saturating_since(smbd_core::Instant::ORIGIN).as_secs_f64();
        end(case.name, &ended, time);
    }
    // A file that was never made is gone as well.
    let _ = playing.map(fs::remove_file);
    println!("{tally}");
    tally.into()
}

/// Runs a test in this process.
pub(crate) fn one(name: &str, context: &Context) -> ExitCode {
    let Some(case) = registry::cases(None, &[]).into_iter().find(|case| case.name == name) else {
        eprintln!("there is no test {name}; `smbd-live list` names them");
        return ExitCode::from(tally::USAGE);
    };
    let ended = Ended::from((case.run)(context));
    println!("{}", ended.said());
    ExitCode::from(ended.code())
}

/// Runs a test in a process of its own. An error is that process', not the test's.
fn apart(case: &Case, place: &Place, limit: Duration) -> Result<Ended, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut command = Command::new(program);
    command.args(["one", case.name, "--address", &place.address.to_string()]);
    if let Some(peer) = place.peer {
        command.args(["--peer", &peer.to_string()]);
    }
    // What it starts belongs to its group, and ends with it.
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    // Read beside the waiting: a test that says much must not wait for a reader.
    let output = child.stdout.take().ok_or("no output")?;
    let reader = thread::spawn(move || std::io::read_to_string(output).unwrap_or_default());
    let status = wait(&mut child, limit)?;
    let said = reader.join().unwrap_or_default();
    Ok(Ended::of_process(status, &said))
}

fn wait(child: &mut Child, limit: Duration) -> Result<Option<i32>, String> {
    let clock = Clock::start();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code()),
            Ok(None) if clock.now().saturating_since(smbd_core::Instant::ORIGIN) > limit => {
                let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                let _ = child.wait();
                return Err(format!("did not end within {} s", limit.as_secs()));
            }
            Ok(None) => thread::sleep(POLL_INTERVAL),
            Err(error) => return Err(error.to_string()),
        }
    }
}
