//! Files over RDMA in signed and encrypted sessions, between the driver of the client and that of the server.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use smbd_client::{Error, Remote, Settings, Share, Way};
use smbd_core::Access;
use smbd_serve::folder::{self, Folder};
use smbd_serve::{self, serve};
use smbd_smb2::client::{Failure, Protection, TransformError};
use smbd_smb2::security::{NtHash, RdmaTransforms, SecurityError, capital};
use smbd_smb2::server::{self, Params, Server};
use smbd_smb2::wire::{Cipher, Dialect, Guid, NtStatus, SigningAlgorithm};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::bridge::{OnTheWay, Wire, bridge};
use super::words::{PASSWORD, content, folder, login, settings};

/// How a session is protected, and by whose wish.
#[derive(Clone, Copy, Debug)]
enum How {
    Signed(SigningAlgorithm),
    Encrypted(Cipher),
}

const WAYS: [How; 7] = [
    How::Encrypted(Cipher::AES_128_CCM),
    How::Encrypted(Cipher::AES_128_GCM),
    How::Encrypted(Cipher::AES_256_CCM),
    How::Encrypted(Cipher::AES_256_GCM),
    How::Signed(SigningAlgorithm::AES_GMAC),
    How::Signed(SigningAlgorithm::AES_CMAC),
    How::Signed(SigningAlgorithm::HMAC_SHA256),
];

impl How {
    const fn protection(self) -> Protection {
        match self {
            Self::Signed(_) => Protection::Signed,
            Self::Encrypted(_) => Protection::Encrypted,
        }
    }
}

/// A connection between both drivers, and the folder that is served.
struct Rig {
    share: Share,
    wire: Arc<Mutex<Wire>>,
    path: PathBuf,
    host: Arc<smbd_serve::Host>,
    driver: JoinHandle<()>,
    served: JoinHandle<smbd_serve::End>,
    _stop: watch::Sender<bool>,
}

impl Rig {
    async fn new(test: &str, settings: &Settings, change: impl FnOnce(&mut Params)) -> Result<Self, Error> {
        let path = folder(test);
        let mut params = Params::new(Guid([0x51; 16]), "SERVER");
        params.shares = vec![server::Share::new("data")];
        params.rdma_transforms = RdmaTransforms::ALL;
        (params.max_read_size, params.max_write_size) = (1 << 20, 1 << 20);
        change(&mut params);
        let accounts =
            |user: &str, _: &str| (capital(user) == "TESTER").then(|| NtHash::of_password(PASSWORD));
        let server = Arc::new(Server::new(params, accounts).unwrap());
        let served = Folder::open(&path, "data", folder::Options::default()).unwrap();
        let host = Arc::new(smbd_serve::Host::new(server, vec![served]));
        let (stop, stopped) = watch::channel(false);
        let (here, there, wire) = bridge();
        let served = tokio::spawn(serve(Arc::clone(&host), there, stopped, Duration::from_secs(5), |_| {}));
        let (remote, driver) = Remote::over(here, settings).unwrap();
        let driver = tokio::spawn(driver);
        let share = login(&remote, PASSWORD).await?.connect("data").await?;
        Ok(Self { share, wire, path, host, driver, served, _stop: stop })
    }

    async fn of(test: &str, how: How) -> Self {
        let rig = Self::new(test, &wished(how), |_| {}).await.unwrap();
        assert_eq!(rig.share.way(), Way::Rdma(how.protection()));
        rig
    }

    async fn put(&self, data: &Bytes) -> Result<(), Error> {
        let file = self.share.create("f").await?;
        let written = file.write_at(0, data.clone()).await;
        file.close().await?;
        written
    }

    /// All of a file, in pieces of the longest length.
    async fn get(&self) -> Result<Vec<u8>, Error> {
        let file = self.share.open("f").await?;
        let mut all = Vec::new();
        loop {
            let piece = file.read_at(all.len() as u64, 1 << 20).await?;
            if piece.is_empty() {
                return Ok(all);
            }
            all.extend_from_slice(&piece);
        }
    }

    fn there(&self) -> Vec<u8> {
        std::fs::read(self.path.join("f")).unwrap()
    }

    /// What went by RDMA one way, one transfer behind the other.
    fn moved(&self, access: Access) -> Vec<u8> {
        let wire = self.wire.lock().unwrap();
        wire.moved.iter().filter(|(other, _)| *other == access).flat_map(|(_, data)| data.clone()).collect()
    }

    /// From now on this becomes of data on their way.
    fn on_the_way(&self, change: Option<OnTheWay>) {
        self.wire.lock().unwrap().on_the_way = change;
    }

    /// Both ends are over, and the server has no file open.
    async fn end(self) {
        let Self { share, host, driver, served, .. } = self;
        drop(share);
        driver.await.unwrap();
        assert_eq!(served.await.unwrap().why, "the client has left");
        assert_eq!(host.open_count(), 0);
    }
}

/// What a client wishes for this.
fn wished(how: How) -> Settings {
    let settings = Settings { min_dialect: Dialect::SMB_3_1_1, ..settings() };
    match how {
        How::Signed(algorithm) => Settings { sign: true, signing: vec![algorithm], ..settings },
        How::Encrypted(cipher) => Settings { encrypt: true, ciphers: vec![cipher], ..settings },
    }
}

/// Nothing, one byte, around the threshold.
const SHORT: [usize; 5] = [0, 1, 4096, 4097, 70_001];
/// A piece, a bit more, and several pieces: for one way of each kind, because these are slow without optimisation.
const LONG: [usize; 3] = [1 << 20, (1 << 20) + 4097, 3_100_000];

#[tokio::test]
async fn files_of_all_sizes_go_by_rdma_and_come_back_whatever_protects_them() {
    for how in WAYS {
        let rig = Rig::of("transforms-sizes", how).await;
        let is_usual =
            matches!(how, How::Encrypted(Cipher::AES_128_GCM) | How::Signed(SigningAlgorithm::AES_GMAC));
        for size in SHORT.into_iter().chain(LONG.into_iter().filter(|_| is_usual)) {
            let data = Bytes::from(content(size));
            rig.wire.lock().unwrap().moved.clear();
            rig.put(&data).await.unwrap();
            assert!(rig.there() == data, "{how:?}: {size} bytes put");
            assert!(rig.get().await.unwrap() == data, "{how:?}: {size} bytes got");
            // What is longer than the threshold goes by RDMA, each piece of its own.
            let by_rdma: usize = data.chunks(1 << 20).map(<[u8]>::len).filter(|len| *len > 4096).sum();
            let (to_server, to_client) = (rig.moved(Access::Read), rig.moved(Access::Write));
            assert_eq!(to_server.len(), by_rdma, "{how:?}: {size}");
            assert!(to_client.len() >= by_rdma, "{how:?}: {size}");
            let is_signed = matches!(how, How::Signed(_));
            assert!(by_rdma == 0 || (to_server[..4097] == data[..4097]) == is_signed, "{how:?}: {size}");
            assert!(by_rdma == 0 || (to_client[..4097] == data[..4097]) == is_signed, "{how:?}: {size}");
        }
        rig.end().await;
    }
}

#[tokio::test]
async fn what_is_registered_for_encrypted_data_never_has_any_of_them() {
    let rig = Rig::of("transforms-registered", How::Encrypted(Cipher::AES_128_GCM)).await;
    // Buffers are used again, and a token opens the whole of one.
    rig.wire.lock().unwrap().opened = Some(Vec::new());
    let data = Bytes::from(content(200_000));
    for _ in 0..2 {
        rig.put(&data).await.unwrap();
        assert!(rig.get().await.unwrap() == data);
    }
    let opened = rig.wire.lock().unwrap().opened.take().unwrap();
    assert!(opened.len() >= 4, "{}", opened.len());
    // Eight bytes of the content are enough to know it.
    let known: std::collections::BTreeSet<&[u8]> = data.chunks_exact(8).collect();
    let plain = |memory: &Vec<u8>| memory[..200_000].chunks_exact(8).any(|bytes| known.contains(bytes));
    assert!(!opened.iter().any(plain));
}

/// A bit of a transfer is changed.
fn flip(wanted: Access, which: usize, bit: usize) -> OnTheWay {
    Box::new(move |access, number, data| {
        if access == wanted && number == which {
            data[(bit / 8) % 80_000] ^= 1 << (bit % 8);
        }
    })
}

#[tokio::test]
async fn a_bit_that_changes_on_its_way_to_the_client_fails_the_read_and_shows_nothing() {
    for how in WAYS {
        let rig = Rig::of("transforms-read", how).await;
        let data = Bytes::from(content(80_000));
        rig.put(&data).await.unwrap();
        let file = rig.share.open("f").await.unwrap();
        for (number, bit) in [0, 7, 40_000, 639_999].into_iter().enumerate() {
            rig.on_the_way(Some(flip(Access::Write, 2 * number, bit)));
            let failed = file.read_at(0, 80_000).await.unwrap_err();
            let why = match how {
                How::Signed(_) => SecurityError::BadSignature,
                How::Encrypted(_) => SecurityError::BadEncryption,
            };
            let expected = Failure::Transform(TransformError::Security(why));
            assert_eq!(failed, Error::Failure(expected), "{how:?}");
            // The connection goes on, and so does the buffer.
            assert_eq!(file.read_at(0, 80_000).await.unwrap(), data, "{how:?}");
        }
        file.close().await.unwrap();
        rig.end().await;
    }
}

#[tokio::test]
async fn a_bit_that_changes_on_its_way_to_the_server_fails_the_write_and_touches_no_file() {
    for how in WAYS {
        let rig = Rig::of("transforms-write", how).await;
        rig.put(&Bytes::from_static(&[7; 100])).await.unwrap();
        let file = rig.share.open_for_writing("f").await.unwrap();
        let data = Bytes::from(content(80_000));
        for (number, bit) in [0, 7, 40_000, 639_999].into_iter().enumerate() {
            rig.on_the_way(Some(flip(Access::Read, number, bit)));
            let status = match how {
                How::Signed(_) => NtStatus::INVALID_SIGNATURE,
                How::Encrypted(_) => NtStatus::AUTH_TAG_MISMATCH,
            };
            let failed = file.write_at(0, data.clone()).await.unwrap_err();
            assert_eq!(failed, Error::Status(status), "{how:?}");
            assert_eq!(rig.there(), [7; 100], "{how:?}");
        }
        file.write_at(0, data.clone()).await.unwrap();
        assert_eq!(rig.there(), data);
        file.close().await.unwrap();
        rig.end().await;
    }
}

#[tokio::test]
async fn data_of_one_transfer_are_not_taken_for_those_of_another() {
    for how in WAYS {
        let rig = Rig::of("transforms-swapped", how).await;
        let data = Bytes::from(content(160_000));
        rig.put(&data).await.unwrap();
        let file = rig.share.open("f").await.unwrap();
        let mut first = None;
        rig.on_the_way(Some(Box::new(move |access, _, data| {
            if access == Access::Write {
                let before = first.get_or_insert_with(|| data.clone());
                data.clone_from(before);
            }
        })));
        assert_eq!(file.read_at(0, 80_000).await.unwrap(), data[..80_000]);
        let failed = file.read_at(80_000, 80_000).await.unwrap_err();
        assert!(matches!(failed, Error::Failure(Failure::Transform(_))), "{how:?}: {failed}");
        drop(file);
        rig.end().await;
    }
}

#[tokio::test]
async fn what_a_server_or_a_share_demands_is_done_without_being_asked_for() {
    type Change = fn(&mut Params);
    let changes: [(Change, Protection); 3] = [
        (|params| params.signing_required = true, Protection::Signed),
        (|params| params.encrypted = true, Protection::Encrypted),
        (|params| params.shares[0].is_encrypted = true, Protection::Encrypted),
    ];
    for (change, protection) in changes {
        let rig = Rig::new("transforms-demanded", &settings(), change).await.unwrap();
        assert_eq!(rig.share.way(), Way::Rdma(protection));
        let data = Bytes::from(content(300_000));
        rig.put(&data).await.unwrap();
        assert!(rig.get().await.unwrap() == data);
        assert_eq!(rig.moved(Access::Read).len(), 300_000);
        rig.end().await;
    }
}

#[tokio::test]
async fn without_transforms_on_either_side_protected_data_go_in_messages() {
    let none = Settings { rdma_transforms: RdmaTransforms::NONE, ..settings() };
    let signing =
        Settings { rdma_transforms: RdmaTransforms { encryption: false, signing: true }, ..settings() };
    for (offers, has) in
        [(none, RdmaTransforms::ALL), (signing, RdmaTransforms::ALL), (settings(), RdmaTransforms::NONE)]
    {
        let wishes = Settings { encrypt: true, ..offers };
        let rig = Rig::new("transforms-none", &wishes, |params| params.rdma_transforms = has).await.unwrap();
        assert_eq!(rig.share.way(), Way::RdmaMessages(Protection::Encrypted));
        let data = Bytes::from(content(300_000));
        rig.put(&data).await.unwrap();
        assert!(rig.get().await.unwrap() == data);
        assert!(rig.wire.lock().unwrap().moved.is_empty());
        rig.end().await;
    }
}

#[tokio::test]
async fn with_transforms_data_of_an_unprotected_session_go_as_they_are() {
    let rig = Rig::new("transforms-plain", &settings(), |_| {}).await.unwrap();
    assert_eq!(rig.share.way(), Way::Rdma(Protection::None));
    let data = Bytes::from(content(300_000));
    rig.put(&data).await.unwrap();
    assert!(rig.get().await.unwrap() == data);
    assert!(rig.moved(Access::Read) == data);
    rig.end().await;
}
