//! Sessions on several connections, with the server that ships: connections of one client find each other, and what is on a connection
//! that is lost goes on at another.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use smbd_client::copy::{self, Options};
use smbd_client::{Error, Remote, Session, Settings, Share as Connected};
use smbd_link::tcp::Tcp;
use smbd_serve::folder::{self as served, Folder};
use smbd_serve::{End, Host, serve};
use smbd_smb2::security::{Credentials, NtHash, RdmaTransforms};
use smbd_smb2::server::{Params, Server, Share};
use smbd_smb2::wire::{Guid, InterfaceCapabilities, NetworkInterface, NtStatus, SigningAlgorithm};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::words::{content, folder};

const DRAIN: Duration = Duration::from_secs(5);

/// A server of a folder.
struct Rig {
    folder: PathBuf,
    host: Arc<Host>,
    stop: watch::Sender<bool>,
}

impl Rig {
    fn new(name: &str, change: impl Fn(&mut Params)) -> Self {
        let folder = folder(name);
        let mut params = Params::new(Guid([7; 16]), "SERVER");
        params.shares = vec![Share::new("share")];
        params.rdma_transforms = RdmaTransforms::NONE;
        // Many requests for a file of some megabytes.
        (params.max_read_size, params.max_write_size, params.channels_max) = (1 << 16, 1 << 16, 3);
        params.interfaces = vec![NetworkInterface {
            index: 4,
            capabilities: InterfaceCapabilities::RSS_CAPABLE,
            link_speed: 1_000_000_000,
            address: Some([10, 9, 0, 1].into()),
        }];
        change(&mut params);
        let accounts = |user: &str, _: &str| (user == "tester").then(|| NtHash::of_password("secret"));
        let server = Arc::new(Server::new(params, accounts).unwrap());
        let shared = Folder::open(&folder, "share", served::Options::default()).unwrap();
        Self { folder, host: Arc::new(Host::new(server, vec![shared])), stop: watch::channel(false).0 }
    }

    /// A connection to the server, which is lost when so many bytes went each way.
    fn connect(&self, cut: [u64; 2]) -> (Tcp<DuplexStream>, JoinHandle<End>) {
        let (here, middle) = duplex(1 << 16);
        let (beyond, there) = duplex(1 << 16);
        let (from_client, to_client) = split(middle);
        let (from_server, to_server) = split(beyond);
        tokio::spawn(async move {
            // Whichever ends first takes both away.
            tokio::select! {
                () = pass(from_client, to_server, cut[0]) => {}
                () = pass(from_server, to_client, cut[1]) => {}
            }
        });
        let link = Tcp::over(there).receiving(9 << 20);
        let served = serve(Arc::clone(&self.host), link, self.stop.subscribe(), DRAIN, |_| {});
        (Tcp::over(here), tokio::spawn(served))
    }

    /// A session on one connection, which may have others.
    async fn login(&self, settings: &Settings, cut: [u64; 2]) -> (Session, JoinHandle<End>) {
        let (tcp, served) = self.connect(cut);
        let (remote, driver) = Remote::over(tcp, settings).unwrap();
        tokio::spawn(driver);
        let hash = NtHash::of_password("secret");
        let tester = Credentials::User { user: "tester".into(), domain: String::new(), hash };
        (remote.login(tester).await.unwrap(), served)
    }

    async fn bind(&self, session: &Session, cut: [u64; 2]) -> (Result<(), Error>, JoinHandle<End>) {
        let (tcp, served) = self.connect(cut);
        let (channel, driver) = session.channel(tcp).unwrap();
        tokio::spawn(driver);
        (channel.bind().await, served)
    }

    /// A share over two connections, each of which is lost somewhere.
    async fn two(
        &self,
        settings: &Settings,
        cuts: [[u64; 2]; 2],
    ) -> (Session, Connected, [JoinHandle<End>; 2]) {
        let (session, first) = self.login(settings, cuts[0]).await;
        let share = session.connect("share").await.unwrap();
        let (bound, second) = self.bind(&session, cuts[1]).await;
        bound.unwrap();
        assert_eq!(share.connections(), (2, 0));
        (session, share, [first, second])
    }
}

const NEVER: [u64; 2] = [u64::MAX; 2];

/// Passes so many bytes on, or until one side is gone.
async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut left: u64) {
    let mut buffer = vec![0; 4096];
    while left > 0 {
        let Ok(len @ 1..) = from.read(&mut buffer).await else { return };
        let len = len.min(usize::try_from(left).unwrap_or(len));
        left -= len as u64;
        if to.write_all(&buffer[..len]).await.is_err() {
            return;
        }
    }
}

fn two() -> Settings {
    Settings { channels: 2, ..Settings::new("server") }
}

#[tokio::test]
async fn a_file_goes_over_two_connections_both_of_which_the_server_sees() {
    for (signs, encrypts) in [(false, false), (true, false), (false, true)] {
        let rig = Rig::new("channels-both", |params| {
            (params.signing_required, params.encrypted) = (signs, encrypts);
        });
        let (session, share, served) = rig.two(&two(), [NEVER; 2]).await;
        let interfaces = share.interfaces().await.unwrap();
        assert_eq!(interfaces, rig.host.server().params().interfaces);
        let (from, to) = (rig.folder.join("from"), rig.folder.join("to"));
        fs::write(&from, content(3_000_001)).unwrap();
        copy::put(&from, &share, "f", Options::default(), &()).await.unwrap();
        assert!(fs::read(rig.folder.join("f")).unwrap() == content(3_000_001));
        copy::get(&share, "f", &to, Options::default(), &()).await.unwrap();
        assert!(fs::read(&to).unwrap() == content(3_000_001));
        drop((share, session));
        for served in served {
            let seen = served.await.unwrap().seen.unwrap();
            assert_eq!(seen.about.user.as_deref(), Some("tester"));
            assert!(seen.counts.messages_in > 1_000_000 && seen.counts.messages_out > 1_000_000, "{seen:?}");
        }
        assert_eq!(rig.host.open_count(), 0);
    }
}

#[tokio::test]
async fn a_copy_goes_on_wherever_a_connection_is_cut_and_each_byte_is_right() {
    let rig = Rig::new("channels-cut", |_| {});
    let (from, to) = (rig.folder.join("from"), rig.folder.join("to"));
    let size = 2_000_003;
    fs::write(&from, content(size)).unwrap();
    let mut cut_count = 0;
    for which in [0, 1] {
        for (up, down) in (0..12).map(|step| {
            if step % 3 == 2 { (u64::MAX, 4000 + step * 700) } else { (4000 + step * 70_001, u64::MAX) }
        }) {
            let mut cuts = [NEVER; 2];
            cuts[which] = [up, down];
            let context = format!("connection {which} is cut behind {up} and {down} bytes");
            let (session, share, served) = rig.two(&two(), cuts).await;
            copy::put(&from, &share, "f", Options::default(), &()).await.expect(&context);
            assert!(fs::read(rig.folder.join("f")).unwrap() == content(size), "{context}");
            copy::get(&share, "f", &to, Options::default(), &()).await.expect(&context);
            assert!(fs::read(&to).unwrap() == content(size), "{context}");
            cut_count += share.connections().1;
            share.remove("f").await.expect(&context);
            drop((share, session));
            for served in served {
                served.await.unwrap();
            }
            assert_eq!(rig.host.open_count(), 0, "{context}");
        }
    }
    assert!(cut_count > 12, "{cut_count} of 24");
}

#[tokio::test]
async fn a_file_is_open_until_the_last_connection_of_its_session_is_gone() {
    let rig = Rig::new("channels-open", |_| {});
    let (session, share, [first, second]) = rig.two(&two(), [NEVER; 2]).await;
    let file = share.create("f").await.unwrap();
    first.abort();
    let _ = first.await;
    for _ in 0..4 {
        file.write_at(0, content(10).into()).await.unwrap();
    }
    assert_eq!((session.connections(), rig.host.open_count()), ((1, 1), 1));
    drop((file, share, session));
    second.await.unwrap();
    assert_eq!(rig.host.open_count(), 0);
}

#[tokio::test]
async fn a_lost_connection_is_replaced_again_and_again() {
    let rig = Rig::new("channels-again", |_| {});
    let settings = Settings { channels: 3, ..two() };
    let (session, share, [_first, mut second]) = rig.two(&settings, [NEVER; 2]).await;
    let file = share.create("f").await.unwrap();
    for lost in 1..3 {
        second.abort();
        let _ = second.await;
        while session.connections() != (1, lost) {
            file.write_at(0, content(100).into()).await.unwrap();
        }
        let (bound, served) = rig.bind(&session, NEVER).await;
        assert_eq!(bound, Ok(()));
        second = served;
    }
}

#[tokio::test]
async fn with_aes_gmac_all_messages_of_a_binding_are_signed_with_nonces_of_their_own() {
    let rig = Rig::new("channels-gmac", |params| params.signing_required = true);
    // A server that binds sessions takes it from those only that offer nothing else.
    let signing = vec![SigningAlgorithm::AES_GMAC];
    let settings = Settings { channels: 3, sign: true, signing, ..two() };
    let (session, share, [first, _second]) = rig.two(&settings, [NEVER; 2]).await;
    rig.bind(&session, NEVER).await.0.unwrap();
    let file = share.create("f").await.unwrap();
    for at in 0..30 {
        file.write_at(at * 10, content(10).into()).await.unwrap();
    }
    assert_eq!(share.connections(), (3, 0));
    drop((file, share, session));
    let seen = first.await.unwrap().seen.unwrap();
    assert_eq!(seen.about.signing, Some(SigningAlgorithm::AES_GMAC));
}

#[tokio::test]
async fn a_server_that_has_one_channel_says_so_and_one_that_has_two_gives_no_third() {
    let rig = Rig::new("channels-one", |params| params.channels_max = 1);
    let (session, _served) = rig.login(&two(), NEVER).await;
    let (bound, _) = rig.bind(&session, NEVER).await;
    assert!(matches!(bound, Err(Error::Refused(_))), "{bound:?}");
    let rig = Rig::new("channels-third", |params| params.channels_max = 2);
    let settings = Settings { channels: 3, ..two() };
    let (session, _share, _served) = rig.two(&settings, [NEVER; 2]).await;
    let (bound, _) = rig.bind(&session, NEVER).await;
    assert_eq!(bound, Err(Error::Status(NtStatus::INSUFFICIENT_RESOURCES)));
}

#[tokio::test]
async fn all_connections_end_when_the_server_does() {
    let rig = Rig::new("channels-end", |_| {});
    let (_session, share, served) = rig.two(&two(), [NEVER; 2]).await;
    let _file = share.create("f").await.unwrap();
    rig.stop.send_replace(true);
    for served in served {
        assert_eq!(served.await.unwrap().why, "the server ends");
    }
    assert_eq!(rig.host.open_count(), 0);
}
