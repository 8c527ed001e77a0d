//! A server with a file system in memory, behind streams.

use std::sync::{Arc, Mutex, MutexGuard};

use smbd_client::Tcp;
use smbd_client::{Error, Remote, Session, Settings, Share};
use smbd_smb2::security::{Credentials, NtHash, capital};
use smbd_smb2::server::{self, Action, Connection, Files, Memory, Params, Server, Transport};
use smbd_smb2::wire::Guid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};
use tokio::task::JoinHandle;

/// A FILETIME of 2026.
pub const NOW: u64 = 0x01dc_5000_0000_0000;
pub const PASSWORD: &str = "correct horse";

/// A server with the shares `data` and `secret`, which is encrypted, and the user `tester`.
#[derive(Clone)]
pub struct Host {
    pub server: Arc<Server>,
    pub files: Arc<Mutex<Files<Memory>>>,
}

impl Host {
    pub fn new(change: impl FnOnce(&mut Params)) -> Self {
        let mut params = Params::new(Guid([0x51; 16]), "SERVER");
        params.shares = vec![
            server::Share::new("data"),
            server::Share { is_encrypted: true, ..server::Share::new("secret") },
        ];
        change(&mut params);
        let accounts =
            |user: &str, _: &str| (capital(user) == "TESTER").then(|| NtHash::of_password(PASSWORD));
        let files = (0..params.shares.len()).map(|_| Memory::new("data", NOW)).collect();
        let server = Arc::new(Server::new(params, accounts).unwrap());
        Self { server, files: Arc::new(Mutex::new(Files::new(files))) }
    }

    pub fn files(&self) -> MutexGuard<'_, Files<Memory>> {
        self.files.lock().unwrap()
    }

    /// Serves a stream until its end.
    pub async fn serve(self, mut stream: impl AsyncRead + AsyncWrite + Unpin, number: u64) {
        let mut connection =
            Connection::new(Arc::clone(&self.server), Transport::Tcp, NOW, [number as u8; 32]);
        let mut header = [0; 4];
        while stream.read_exact(&mut header).await.is_ok() {
            let mut message = vec![0; u32::from_be_bytes(header) as usize];
            if stream.read_exact(&mut message).await.is_err() {
                break;
            }
            connection.received(NOW, &mut message);
            while let Some(action) = connection.poll() {
                match action {
                    Action::Send { message, .. } => {
                        let bytes = message.bytes();
                        let framed = [&(bytes.len() as u32).to_be_bytes(), bytes].concat();
                        if stream.write_all(&framed).await.is_err() {
                            break;
                        }
                    }
                    Action::File { id, operation } => {
                        let done =
                            self.files().carry_out(number, id, operation, None, NOW).expect("nobody locks");
                        connection.completed(NOW, id, done).unwrap();
                    }
                    Action::Close(_) => return self.files().end(number, NOW),
                    Action::Refused(_) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        self.files().end(number, NOW);
    }

    /// A connection to it over a stream in this process.
    pub fn remote(&self, settings: &Settings) -> (Remote, JoinHandle<()>) {
        let (here, there) = duplex(1 << 18);
        tokio::spawn(self.clone().serve(there, 1));
        let (remote, driver) = Remote::over(Tcp::over(here), settings).unwrap();
        (remote, tokio::spawn(driver))
    }

    /// A share of it, and what ends when all is closed.
    pub async fn share(&self, settings: &Settings, share: &str) -> Result<(Share, JoinHandle<()>), Error> {
        let (remote, driver) = self.remote(settings);
        let share = login(&remote, PASSWORD).await?.connect(share).await?;
        Ok((share, driver))
    }
}

pub async fn login(remote: &Remote, password: &str) -> Result<Session, Error> {
    let hash = NtHash::of_password(password);
    remote.login(Credentials::User { user: "tester".into(), domain: String::new(), hash }).await
}

pub fn settings() -> Settings {
    Settings::new("server")
}

/// Bytes of which no part is like another.
pub fn content(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let word = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(word).collect();
    bytes.truncate(len);
    bytes
}

/// A folder of a test's own, empty.
pub fn folder(test: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("files").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
