//! A session over TCP that gets a connection over SMB Direct as well: which of them data go to.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use smbd_client::copy::{self, Options};
use smbd_client::{Remote, Settings, Share as Connected, Way};
use smbd_link::tcp::Tcp;
use smbd_link::transport::Transport;
use smbd_serve::folder::{self as served, Folder};
use smbd_serve::{End, Host, serve};
use smbd_smb2::client::Protection;
use smbd_smb2::security::{NtHash, RdmaTransforms, capital};
use smbd_smb2::server::{OperationId, Params, Server, Share};
use smbd_smb2::wire::{Guid, InterfaceCapabilities, NetworkInterface};
use tokio::io::duplex;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::bridge::{Wire, bridge};
use super::words::{PASSWORD, content, folder, login};

const SIZE: usize = 2_000_001;

/// A session on both connections, and the folder that is served.
struct Rig {
    share: Connected,
    wire: Arc<Mutex<Wire>>,
    folder: PathBuf,
    over_rdma: JoinHandle<End>,
    _stop: watch::Sender<bool>,
}

impl Rig {
    async fn new(test: &str, settings: &Settings) -> Self {
        let folder = folder(test);
        let mut params = Params::new(Guid([7; 16]), "SERVER");
        params.shares = vec![Share::new("share")];
        (params.channels_max, params.rdma_transforms) = (2, RdmaTransforms::ALL);
        params.interfaces = vec![NetworkInterface {
            index: 4,
            capabilities: InterfaceCapabilities::RDMA_CAPABLE,
            link_speed: 1_000_000_000,
            address: Some([10, 9, 0, 1].into()),
        }];
        let accounts =
            |user: &str, _: &str| (capital(user) == "TESTER").then(|| NtHash::of_password(PASSWORD));
        let server = Arc::new(Server::new(params, accounts).unwrap());
        let shared = Folder::open(&folder, "share", served::Options::default()).unwrap();
        let (host, stop) = (Arc::new(Host::new(server, vec![shared])), watch::channel(false).0);
        let (here, there) = duplex(1 << 16);
        run(&host, Tcp::over(there).receiving(9 << 20), &stop);
        let (remote, driver) = Remote::over(Tcp::over(here), settings).unwrap();
        tokio::spawn(driver);
        let session = login(&remote, PASSWORD).await.unwrap();
        let share = session.connect("share").await.unwrap();
        assert!(matches!(share.ways()[..], [Way::Tcp(_)]));
        let (here, there, wire) = bridge();
        let over_rdma = run(&host, there, &stop);
        let (channel, driver) = session.channel(here).unwrap();
        tokio::spawn(driver);
        channel.bind().await.unwrap();
        Self { share, wire, folder, over_rdma, _stop: stop }
    }

    /// A file goes there and back. Returns how many bytes of it went by RDMA.
    async fn copies(&self) -> usize {
        let before = self.moved();
        let (from, to) = (self.folder.join("from"), self.folder.join("to"));
        fs::write(&from, content(SIZE)).unwrap();
        copy::put(&from, &self.share, "f", Options::default(), &()).await.unwrap();
        copy::get(&self.share, "f", &to, Options::default(), &()).await.unwrap();
        assert!(fs::read(&to).unwrap() == content(SIZE));
        self.moved() - before
    }

    fn moved(&self) -> usize {
        self.wire.lock().unwrap().moved.iter().map(|(_, data)| data.len()).sum()
    }
}

fn run(
    host: &Arc<Host>,
    link: impl Transport<OperationId> + Send + 'static,
    stop: &watch::Sender<bool>,
) -> JoinHandle<End> {
    tokio::spawn(serve(Arc::clone(host), link, stop.subscribe(), Duration::from_secs(5), |_| {}))
}

fn first() -> Settings {
    Settings { channels: 2, rdma_first: true, ..Settings::new("server") }
}

#[tokio::test]
async fn data_go_by_rdma_alone_until_that_connection_is_lost_and_over_tcp_then() {
    let rig = Rig::new("rdma-first", &first()).await;
    assert_eq!(rig.share.ways(), [Way::Rdma(Protection::None)]);
    assert_eq!(rig.copies().await, 2 * SIZE);
    let buffer = rig.share.buffer(100).await.unwrap();
    let file = rig.share.create("g").await.unwrap();
    file.write_from(0, &buffer, 100).await.unwrap();

    rig.over_rdma.abort();
    while rig.share.connections() != (1, 1) {
        file.write_at(0, content(10_000).into()).await.unwrap();
    }
    file.write_from(0, &buffer, 100).await.unwrap();
    assert_eq!(
        (rig.share.ways(), rig.share.way()),
        (vec![Way::Tcp(Protection::None)], Way::Tcp(Protection::None))
    );
    assert_eq!(rig.copies().await, 0);
}

#[tokio::test]
async fn data_by_rdma_go_between_the_disk_and_the_devices_memory_without_a_copy() {
    let rig = Rig::new("rdma-uncopied", &first()).await;
    assert_eq!(rig.copies().await, 2 * SIZE);
    let copied = rig.wire.lock().unwrap().copied();
    assert_eq!(copied, 0);
}

#[tokio::test]
async fn both_connections_share_data_unless_rdma_is_to_be_first() {
    let rig = Rig::new("rdma-beside", &Settings { rdma_first: false, ..first() }).await;
    assert_eq!(rig.share.ways(), [Way::Tcp(Protection::None), Way::Rdma(Protection::None)]);
    let moved = rig.copies().await;
    assert!((1..2 * SIZE).contains(&moved), "{moved}");
}

#[tokio::test]
async fn what_is_said_of_data_by_rdma_is_how_they_go_protected() {
    let (signs, encrypts) = (Settings { sign: true, ..first() }, Settings { encrypt: true, ..first() });
    for (settings, protection) in [(signs, Protection::Signed), (encrypts, Protection::Encrypted)] {
        let rig = Rig::new("rdma-first-protected", &settings).await;
        assert_eq!(rig.share.ways(), [Way::Rdma(protection)]);
        assert_eq!(rig.copies().await, 2 * SIZE);
        let rig = Rig::new("rdma-first-messages", &Settings { rdma_threshold: None, ..settings }).await;
        assert_eq!(rig.share.ways(), [Way::RdmaMessages(protection)]);
        assert_eq!(rig.copies().await, 0);
    }
}
