//! Files that are on no disk, over TCP and, with the feature `verbs`, over SMB Direct: `7.txt` has the square of 7.
//!
//! ```sh
//! cargo run -p smbd-serve --features verbs --example virtual_files -- 10.9.0.1
//! smbclient //10.9.0.1/share -U tester%test123 -c 'get 7.txt -'
//! mount -t cifs //10.9.0.1/share /mnt -o rdma,username=tester,password=test123,vers=3.1.1
//! ```

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use smbd_serve::{About, Host, ReadOnly, Source, Tcp, serve};
use smbd_smb2::security::NtHash;
use smbd_smb2::server::{Params, Server, Share};
use smbd_smb2::wire::Guid;
use tokio::net::TcpListener;
use tokio::sync::watch;

const DRAIN: Duration = Duration::from_secs(5);

/// A directory with the files `1.txt` to `100.txt`.
#[derive(Clone, Debug)]
struct Squares;

impl Source for Squares {
    /// The number of a file; `None` is the directory.
    type Node = Option<u64>;

    fn root(&self) -> Option<u64> {
        None
    }

    fn is_quick(&self) -> bool {
        true
    }

    fn child(&self, _: &Option<u64>, name: &str) -> io::Result<Option<Option<u64>>> {
        let number = name.strip_suffix(".txt").and_then(|number| number.parse().ok());
        Ok(number.filter(|number| (1..=100).contains(number)).map(Some))
    }

    fn names(&self, _: &Option<u64>) -> io::Result<Vec<String>> {
        Ok((1..=100).map(|number| format!("{number}.txt")).collect())
    }

    fn about(&self, node: &Option<u64>) -> io::Result<About> {
        let len = node.map(|number| text(number).len() as u64);
        Ok(About { id: node.unwrap_or(1000), len, modified: SystemTime::UNIX_EPOCH })
    }

    fn read(&self, file: &Option<u64>, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let text = file.map(text).unwrap_or_default();
        let rest = text.as_bytes().get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

fn text(number: u64) -> String {
    format!("{}\n", number * number)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).ok_or("usage: virtual_files ADDRESS")?;
    let mut params = Params::new(Guid(*b"virtual files of"), "SQUARES");
    params.shares = vec![Share::new("share")];
    let accounts = |user: &str, _: &str| (user == "tester").then(|| NtHash::of_password("test123"));
    let server = Arc::new(Server::new(params, accounts)?);
    let host = Arc::new(Host::new(server, vec![ReadOnly::new(Squares, "squares")]));
    let (_stop, stops) = watch::channel(false);
    #[cfg(feature = "verbs")]
    tokio::spawn(over_rdma(address.parse()?, Arc::clone(&host), stops.clone()));
    let listener = TcpListener::bind(format!("{address}:445")).await?;
    println!("listening at {address}");
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(serve(Arc::clone(&host), Tcp::over(stream), stops.clone(), DRAIN, |_| {}));
    }
}

#[cfg(feature = "verbs")]
async fn over_rdma(
    address: std::net::IpAddr,
    host: Arc<Host<ReadOnly<Squares>>>,
    stops: watch::Receiver<bool>,
) -> Result<(), smbd_verbs::Error> {
    let config = smbd_serve::rdma::config().expect("numbers in range");
    let mut listener = smbd_serve::rdma::listen(address)?;
    loop {
        let incoming = listener.accept().await?;
        let (host, stops, config) = (Arc::clone(&host), stops.clone(), config.clone());
        tokio::spawn(async move {
            if let Ok(rdma) = smbd_serve::rdma::accept(incoming, &config).await {
                serve(host, rdma, stops, DRAIN, |_| {}).await;
            }
        });
    }
}
