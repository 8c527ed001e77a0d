//! `smbd-broker`: one process owns RDMA, and SMB servers attach to it.

mod clients;
mod log;
mod options;
mod owners;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use options::Options;
use smbd_broker::broker::{Broker, Settings};
use smbd_broker::server::Hub;
use smbd_broker::verbs::Linux;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

fn main() -> ExitCode {
    let options = Options::parse();
    let settings = match options.settings() {
        Ok(settings) => settings,
        Err(wrong) => Options::command().error(clap::error::ErrorKind::ValueValidation, wrong).exit(),
    };
    match run(&options, settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("smbd-broker: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options, settings: Settings) -> Result<(), String> {
    let mut instance = [0; 8];
    getrandom::fill(&mut instance).map_err(|error| format!("the system has no entropy: {error}"))?;
    let broker = Broker::new(settings, u64::from_le_bytes(instance)).map_err(|error| error.to_string())?;
    let hub = Hub::new(broker, Linux::new(log::broker));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let result = runtime.block_on(serve(options, &hub));
    // A device that does not answer is not waited for.
    runtime.shutdown_background();
    result
}

async fn serve(options: &Options, hub: &Hub<Linux>) -> Result<(), String> {
    let mut tasks = JoinSet::new();
    let users = owners::allowed(&options.allow_uid);
    let listener = owners::listen(&options.socket, options.mode)?;
    log::line(format_args!("listening socket={}", options.socket.display()));
    tasks.spawn(owners::take(listener, users, hub.clone()));
    for address in &options.listen {
        let listener = clients::listen(*address)?;
        log::line(format_args!("listening address={address} over=rdma"));
        tasks.spawn(clients::take(listener, hub.clone()));
    }
    let signals = |kind| signal(kind).map_err(|error| error.to_string());
    let (mut terminate, mut interrupt) =
        (signals(SignalKind::terminate())?, signals(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = tasks.join_next() => return Err("a listener has ended".to_owned()),
    }
    // The path of the socket goes with its listener.
    tasks.shutdown().await;
    log::line(format_args!("ended"));
    Ok(())
}
