//! A session gets another connection while one has I/O.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use smbd_client::Connector;
use smbd_client::{File, Remote, Settings};
use smbd_smb2::security::{Credentials, NtHash};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::case::Failure;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(100);
/// How long to wait until it is looked again how many operations there were.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// Pieces of a file that are written and read all the time, each in turn. They are longer than what goes in messages.
const PIECES: u8 = 4;
const PIECE: usize = 100_000;
/// Operations of one connection before there are two, and of both then.
const OPERATIONS: u64 = 40;

/// With whom.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// The server: user `tester`, password `test123`, share `share`.
    server: SocketAddr,
    /// A file of the share.
    #[arg(long, default_value = "late")]
    name: String,
}

/// Binds a session to a second connection while pieces of a file are written and read on the first, and goes on with both. Each byte that
/// comes back is looked at.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match timeout(PATIENCE, play(options)).await {
            Ok(played) => played,
            Err(_) => Err(format!("it has taken longer than {} s", PATIENCE.as_secs()).into()),
        }
    })
}

async fn play(options: &Options) -> Result<(), Failure> {
    let settings = Settings { channels: 2, ..Settings::new(&options.server.ip().to_string()) };
    let connector = Connector::new(settings.buffers, PATIENCE)?;
    let (remote, driver) = Remote::over(connector.connect(options.server).await?, &settings)?;
    tokio::spawn(driver);
    let hash = NtHash::of_password("test123");
    let user = Credentials::User { user: "tester".into(), domain: String::new(), hash };
    let session = remote.login(user).await?;
    let share = session.connect("share").await?;
    let file = Arc::new(share.create(&options.name).await?);
    let (operations, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut work = JoinSet::new();
    for number in 0..PIECES {
        work.spawn(piece(Arc::clone(&file), number, Arc::clone(&operations), Arc::clone(&is_over)));
    }
    reach(&operations, OPERATIONS, &mut work).await?;
    let (transport, before) = (connector.connect(options.server).await?, operations.load(Ordering::SeqCst));
    let (channel, driver) = session.channel(transport)?;
    tokio::spawn(driver);
    channel.bind().await?;
    let during = operations.load(Ordering::SeqCst).saturating_sub(before);
    let bound = session.connections();
    reach(&operations, before + during + OPERATIONS, &mut work).await?;
    is_over.store(true, Ordering::SeqCst);
    while let Some(ended) = work.join_next().await {
        ended??;
    }
    println!("{before} operations on one connection, {during} while the second was bound");
    if (bound, session.connections()) != ((2, 0), (2, 0)) {
        return Err(format!("connections and losses: {bound:?}, then {:?}", session.connections()).into());
    }
    drop(file);
    Ok(session.logoff().await?)
}

/// Writes and reads a piece until all is over.
async fn piece(
    file: Arc<File>,
    number: u8,
    done: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
) -> Result<(), Failure> {
    let offset = u64::from(number) * PIECE as u64;
    let mut value = number;
    while !is_over.load(Ordering::SeqCst) {
        let data = Bytes::from(vec![value; PIECE]);
        file.write_at(offset, data.clone()).await?;
        let back = file.read_at(offset, u32::try_from(PIECE)?).await?;
        if back != data {
            return Err(format!("piece {number} does not have {value} only").into());
        }
        done.fetch_add(2, Ordering::SeqCst);
        value = value.wrapping_add(PIECES);
    }
    Ok(())
}

/// Waits until there were so many operations. Nobody ends before that.
async fn reach(
    done: &AtomicU64,
    operations: u64,
    work: &mut JoinSet<Result<(), Failure>>,
) -> Result<(), Failure> {
    while done.load(Ordering::SeqCst) < operations {
        if let Some(ended) = work.try_join_next() {
            return ended?;
        }
        sleep(LOOK_AGAIN).await;
    }
    Ok(())
}
