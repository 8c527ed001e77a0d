//! A server with a file system in memory, behind streams.

use std::sync::{Arc, Mutex, MutexGuard};

use smbd_client::Tcp;
use smbd_client::{Error, Remote, Settings, Share};
use smbd_smb2::server::{self, Action, Connection, Files, Memory, Params, Server, Transport};
pub use smbd_testkit::content;
use smbd_testkit::tester;
pub use smbd_testkit::tester::{NOW, PASSWORD, login, settings};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};
use tokio::task::JoinHandle;

/// A server with the shares `data` and `secret`, which is encrypted, and the user `tester`.
#[derive(Clone)]
pub struct Host {
    pub server: Arc<Server>,
    pub files: Arc<Mutex<Files<Memory>>>,
}

impl Host {
    pub fn new(change: impl FnOnce(&mut Params)) -> Self {
        let mut count = 0;
        let server = tester::server(|params| {
            params.shares = vec![
                server::Share::new("data"),
                server::Share { is_encrypted: true, ..server::Share::new("secret") },
            ];
            change(params);
            count = params.shares.len();
        });
        let files = (0..count).map(|_| Memory::new("data", NOW)).collect();
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

/// A folder of a test's own, empty.
pub fn folder(test: &str) -> std::path::PathBuf {
    smbd_testkit::folder(concat!(env!("CARGO_TARGET_TMPDIR"), "/files"), test)
}
