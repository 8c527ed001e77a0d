//! `smbd-serve`: a directory of this host as an SMB share, over SMB Direct and TCP.

mod accept;
mod broker;
mod child;
mod clients;
mod fork;
mod interfaces;
mod limits;
mod listen;
mod listeners;
mod log;
mod options;
#[cfg(feature = "verbs")]
mod rdma;
mod signals;
mod trouble;
mod users;

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use broker::FromBroker;
use clap::CommandFactory as _;
use clients::Clients;
use fork::Program;
use listen::Addresses;
use log::line;
use options::Options;
use signals::Signals;
use smbd_program::output;
use smbd_serve::Host;
use smbd_serve::folder::{self, Folder};
use smbd_smb2::security::{NtHash, RdmaTransforms, capital};
use smbd_smb2::server::{Params, Server, Share};
use smbd_smb2::wire::Guid;
use tokio::sync::watch;
use trouble::Trouble;
use users::Users;

/// The name of this program.
const PROGRAM: &str = "smbd-serve";
/// Threads that may wait for disks.
const THREADS_MAX: usize = 64;
/// The longest READ and WRITE: one page less than 1 MiB. Of a buffer that does not begin with a page, cifs.ko 6.12 would register one
/// page more than its regions have room for, and tries that for ever.
const TRANSFER_MAX: u32 = (1 << 20) - 4096;
/// The most characters of a NetBIOS name.
const COMPUTER_MAX: usize = 15;

fn main() -> ExitCode {
    let options: Options = match output::options(PROGRAM) {
        Ok(options) => options,
        Err(printed) => return printed,
    };
    log::start(options.log);
    if options.check {
        return match check(&options) {
            Ok(()) => output::checked(PROGRAM),
            Err(Trouble::Usage(wrong) | Trouble::Failed(wrong)) => usage(wrong),
        };
    }
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Trouble::Usage(wrong)) => usage(wrong),
        Err(Trouble::Failed(why)) => {
            // That it cannot be written changes nothing.
            let _ = writeln!(std::io::stderr(), "{PROGRAM}: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Ends with what is wrong with the options.
fn usage(wrong: String) -> ! {
    Options::command().error(clap::error::ErrorKind::ValueValidation, wrong).exit()
}

/// Looks at all that is served, and at the addresses, of which it uses no port.
fn check(options: &Options) -> Result<(), Trouble> {
    let addresses = listen::addresses(&options.listen, &devices());
    host(options, &addresses, new_guid()?, share(options)?)?;
    listeners::check(&addresses, &devices())
}

/// Connections and memory (MiB) of this process.
fn share(options: &Options) -> Result<(u16, u32), Trouble> {
    let processes = if options.fork { options.children } else { 1 };
    limits::share(options.connections, options.memory, processes).map_err(Trouble::Usage)
}

fn run(options: &Options) -> Result<(), Trouble> {
    let addresses = listen::addresses(&options.listen, &devices());
    let guid = options.child.map_or_else(new_guid, Ok)?;
    let share = share(options)?;
    let host = host(options, &addresses, guid, share)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(THREADS_MAX)
        .enable_all()
        .build()
        .map_err(|error| Trouble::Failed(error.to_string()))?;
    let drain = Duration::from_secs(options.drain.into());
    let result = match options.broker.as_deref().filter(|_| options.child.is_some()) {
        Some(path) => runtime.block_on(child::run(path, host, share.0, drain)),
        None => {
            let program = options.fork.then(|| Program::new(guid, drain));
            runtime.block_on(serve(options, host, &addresses, program))
        }
    };
    // A disk that does not answer is not waited for.
    runtime.shutdown_background();
    result
}

/// A ServerGuid.
fn new_guid() -> Result<Guid, Trouble> {
    let mut guid = [0; 16];
    getrandom::fill(&mut guid).map_err(|error| Trouble::failed("the system has no entropy", error))?;
    Ok(Guid(guid))
}

/// What is served, as far as it needs no network, with so many connections and so much memory (MiB).
fn host(
    options: &Options,
    addresses: &Addresses,
    guid: Guid,
    (connections, memory): (u16, u32),
) -> Result<Host, Trouble> {
    let users = options.users.as_deref().map(users::read).transpose();
    let users = users.map_err(|error| Trouble::Failed(error.to_string()))?.unwrap_or_default();
    let served = folder::Options { case_sensitive: options.case_sensitive, read_only: options.read_only };
    let folder = Folder::open(&options.directory, &options.share, served);
    let folder = folder
        .map_err(|error| Trouble::failed(format_args!("DIR {}", options.directory.display()), error))?;
    let mut params = Params::new(guid, &computer());
    params.shares =
        vec![Share { is_read_only: options.read_only, guests: options.guest, ..Share::new(&options.share) }];
    (params.guests, params.anonymous) = (options.guest, options.guest);
    (params.signing_required, params.encrypted) = (options.sign, options.encrypt);
    params.rdma_transforms =
        if options.no_rdma_transforms { RdmaTransforms::NONE } else { RdmaTransforms::ALL };
    (params.max_read_size, params.max_write_size) = (TRANSFER_MAX, TRANSFER_MAX);
    // Units of 100 ns.
    params.setup_timeout = u64::from(options.login) * 10_000_000;
    params.channels_max = options.channels.into();
    params.interfaces = interfaces::told(&with_broker(addresses, options));
    limits::divide(&mut params, connections, memory, limits::descriptors()).map_err(Trouble::Usage)?;
    let accounts = move |user: &str, _: &str| hash(&users, user);
    let server = Server::new(params, accounts).map_err(|error| Trouble::Usage(error.to_string()))?;
    Ok(Host::new(Arc::new(server), vec![folder]))
}

/// Where clients can come to, to this process or to the broker.
fn with_broker(own: &Addresses, options: &Options) -> Addresses {
    let of_broker = options.broker_address.iter().map(|address| SocketAddr::new(*address, 0));
    Addresses { tcp: own.tcp.clone(), rdma: own.rdma.iter().copied().chain(of_broker).collect() }
}

fn hash(users: &Users, user: &str) -> Option<NtHash> {
    users.get(&capital(user)).cloned()
}

/// The name of this host, as NTLM tells it.
fn computer() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.split('.').next().unwrap_or_default().trim();
    let name: String = capital(name).chars().take(COMPUTER_MAX).collect();
    if name.is_empty() { "SMBD".into() } else { name }
}

async fn serve(
    options: &Options,
    host: Host,
    addresses: &Addresses,
    program: Option<Program>,
) -> Result<(), Trouble> {
    let mut signals = Signals::new()?;
    let (stop, stopped) = watch::channel(false);
    let drain = Duration::from_secs(options.drain.into());
    let (places, places_of) = match program {
        Some(_) => (options.children, "--children"),
        None => (options.connections, "--connections"),
    };
    let admission = limits::admission(places, options.per_client, options.logging_in, program.is_some());
    let refusals = Arc::default();
    let clients = Clients { host: Arc::new(host), admission, refusals, places_of, stop: stopped, drain };
    let broker = match options.broker.as_deref() {
        Some(path) => Some((FromBroker::attach(path).await?, program)),
        None => None,
    };
    let mut listeners = listeners::open(addresses, broker, &clients).await?;
    signals.next().await;
    line("ending").number("seconds", options.drain.into()).write();
    stop.send_replace(true);
    tokio::select! {
        () = accept::finish(&mut listeners) => {}
        () = signals.next() => {
            // Children that are left are killed.
            listeners.shutdown().await;
            return Err(Trouble::Failed("ended at once; clients were not finished".into()));
        }
    }
    line("ended").write();
    Ok(())
}

#[cfg(feature = "verbs")]
fn devices() -> Vec<(std::net::IpAddr, Option<u16>)> {
    rdma::devices()
}

#[cfg(not(feature = "verbs"))]
const fn devices() -> Vec<(std::net::IpAddr, Option<u16>)> {
    Vec::new()
}
