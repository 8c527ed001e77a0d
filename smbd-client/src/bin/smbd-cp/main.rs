//! `smbd-cp`: files to and from SMB servers, over SMB Direct or TCP.

mod channels;
mod connect;
mod copy;
mod directory;
mod offer;
mod options;
mod outcome;
mod password;
mod perf;
mod place;
mod progress;
mod quantity;
mod reach;
mod say;
mod summary;
mod trouble;

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::CommandFactory as _;
use options::{Command, Options, Verb};
use place::{Place, Url};
use smbd_client::Settings;
use smbd_program::output::options;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use trouble::Trouble;

/// Exit status after a signal, without its number. That of wrong usage is clap's, 2.
const EXIT_SIGNAL: u8 = 128;
/// How long the connection may take to end.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let command = match options::<Options>("smbd-cp") {
        Ok(options) => options.command,
        Err(printed) => return printed,
    };
    match run(&command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Trouble::Usage(wrong)) => {
            Options::command().error(clap::error::ErrorKind::ValueValidation, wrong).exit();
        }
        Err(Trouble::Failed(why)) => {
            say::trouble(why);
            ExitCode::FAILURE
        }
        // They were told one by one.
        Err(Trouble::Files) => ExitCode::FAILURE,
        Err(Trouble::Interrupted(signal)) => {
            let copies = matches!(command, Command::Get { .. } | Command::Put { .. });
            say::trouble(if copies { "stopped; --resume goes on where it stopped" } else { "stopped" });
            ExitCode::from(EXIT_SIGNAL.saturating_add(signal))
        }
    }
}

fn run(command: &Command) -> Result<(), Trouble> {
    let plan = Plan::new(command)?;
    let (place, common) = (plan.place(), command.common());
    place.check_scheme().map_err(Trouble::Usage)?;
    let who = format!("{} at {}", place.user, place.host);
    let settings = connect::settings(place, common).map_err(Trouble::Usage)?;
    let password = password::password(common.password_file.as_deref(), &who)?;
    let runtime = runtime().map_err(Trouble::failed)?;
    let result = runtime.block_on(async {
        let mut drivers = Vec::new();
        let result = tokio::select! {
            // First: so the signal is waited for before anything is sent.
            biased;
            why = signalled() => Err(why),
            result = work(&plan, command, (&settings, &password), &mut drivers) => result,
        };
        // All handles are gone, so they close their connections. One that does not end in time is left.
        let _ = timeout(CLOSE_WITHIN, join_all(drivers)).await;
        result
    });
    // A name that is being looked up, or a file that does not open, is not waited for.
    runtime.shutdown_background();
    result
}

/// Ready when a signal asks the program to end.
async fn signalled() -> Trouble {
    let terminate =
        signal(SignalKind::terminate()).and_then(|term| Ok((term, signal(SignalKind::interrupt())?)));
    match terminate {
        Ok((mut terminate, mut interrupt)) => tokio::select! {
            _ = terminate.recv() => Trouble::Interrupted(trouble::SIGTERM),
            _ = interrupt.recv() => Trouble::Interrupted(trouble::SIGINT),
        },
        Err(error) => Trouble::failed(error),
    }
}

async fn join_all(drivers: Vec<JoinHandle<()>>) {
    for driver in drivers {
        let _ = driver.await;
    }
}

/// One thread for the connection, and another one for files if there is a processor for it: on one, they only wake each other.
fn runtime() -> std::io::Result<Runtime> {
    let mut builder = match thread::available_parallelism() {
        Ok(processors) if processors.get() > 1 => Builder::new_multi_thread(),
        Ok(_) | Err(_) => Builder::new_current_thread(),
    };
    builder.worker_threads(2).enable_all().build()
}

async fn work(
    plan: &Plan<'_>,
    command: &Command,
    (settings, password): (&Settings, &str),
    drivers: &mut Vec<JoinHandle<()>>,
) -> Result<(), Trouble> {
    let common = command.common();
    let connection = connect::connect(plan.place(), common, (settings, password), drivers).await?;
    let share = connection.share.clone();
    let result = match plan {
        Plan::Copy(plan, options) => copy::run(plan, options, common.json, &share).await,
        Plan::Ls(url) => directory::list(url, common.json, &share).await,
        Plan::Rm(_, urls, directory) => directory::remove(urls, *directory, common.json, &share).await,
        Plan::Perf(url, verb, options) => perf::run(url, *verb, options, common.json, &share).await,
        Plan::Mkdir(_, urls) => directory::make(urls, common.json, &share).await,
    };
    drop(share);
    connection.close().await;
    result
}

/// What is to be done, as far as it can be checked without a server.
enum Plan<'c> {
    Copy(copy::Plan, &'c options::Copy),
    Ls(&'c Url),
    Rm(&'c Place, &'c [Url], bool),
    Mkdir(&'c Place, &'c [Url]),
    Perf(&'c Url, Verb, &'c options::Measure),
}

impl<'c> Plan<'c> {
    fn new(command: &'c Command) -> Result<Self, Trouble> {
        Ok(match command {
            Command::Get { paths, copy, .. } => Self::Copy(copy::Plan::get(paths)?, copy),
            Command::Put { paths, copy, .. } => Self::Copy(copy::Plan::put(paths)?, copy),
            Command::Ls { url, .. } => Self::Ls(url),
            Command::Rm { urls, directory, .. } => Self::Rm(one_place(urls)?, urls, *directory),
            Command::Mkdir { urls, .. } => Self::Mkdir(one_place(urls)?, urls),
            Command::Perf { verb, url, measure, .. } => {
                one_place(std::slice::from_ref(url))?;
                Self::Perf(url, *verb, measure)
            }
        })
    }

    const fn place(&self) -> &Place {
        match self {
            Self::Copy(plan, _) => plan.place(),
            Self::Ls(url) | Self::Perf(url, ..) => &url.place,
            Self::Rm(place, ..) | Self::Mkdir(place, _) => place,
        }
    }
}

/// Checks that all are of one share, and something in it.
fn one_place(urls: &[Url]) -> Result<&Place, Trouble> {
    let place = place::check_one(urls).map_err(Trouble::Usage)?;
    match urls.iter().find(|url| url.path.is_empty()) {
        Some(_) => Err(Trouble::Usage(format!("path: there is none behind the share {}", place.share))),
        None => Ok(place),
    }
}
