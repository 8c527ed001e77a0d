//! The Unix socket at which a program tells.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::mode::SocketMode;

/// The time that whoever asks has to take the answer, or a program that may be there to take a connection.
const WITHIN: Duration = Duration::from_secs(5);
/// Answers that are given at the same time. Whoever asks beyond them waits.
const ANSWERS_MAX: usize = 8;
/// Mode of a folder that is made for the socket, and of the one in which it is made.
const FOLDER: u32 = 0o755;
const NURSERY: u32 = 0o700;

/// A socket that answers. Dropping it removes it.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    /// Device and inode: another program may have put its own there.
    id: (u64, u64),
    task: JoinHandle<()>,
}

impl Socket {
    /// Answers at `path`, from now on, each who connects with what `tell` returns. What a program that is gone has left there is
    /// replaced. The folder is made if only that is missing.
    ///
    /// # Errors
    /// Those of the system; `AddrInUse` if somebody answers there, `AlreadyExists` if there is something that is no socket.
    pub async fn open(
        path: &Path,
        mode: SocketMode,
        tell: impl Fn() -> String + Send + 'static,
    ) -> io::Result<Self> {
        make_way(path).await?;
        let listener = bind(path, mode)?;
        let found = fs::symlink_metadata(path)?;
        let task = tokio::spawn(serve(listener, tell));
        Ok(Self { path: path.to_owned(), id: (found.dev(), found.ino()), task })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.task.abort();
        let is_own =
            fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == self.id);
        if is_own {
            // What cannot be removed is replaced the next time.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the path is free, or can be made so.
async fn make_way(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            return match folder.map(|folder| DirBuilder::new().mode(FOLDER).create(folder)) {
                Some(Err(error)) if error.kind() != ErrorKind::AlreadyExists => Err(error),
                _ => Ok(()),
            };
        }
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "there is something else"));
    }
    match timeout(WITHIN, UnixStream::connect(path)).await {
        // Nobody listens there.
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        // A queue that is full is somebody's.
        Ok(Err(error)) if error.kind() != ErrorKind::WouldBlock => Err(error),
        Ok(_) | Err(_) => Err(io::Error::new(ErrorKind::AddrInUse, "another one answers there")),
    }
}

/// Binds in a folder that nobody else can enter, so that the mode is right before anybody can connect, and moves it into place.
fn bind(path: &Path, mode: SocketMode) -> io::Result<UnixListener> {
    let mut nursery = path.as_os_str().to_owned();
    nursery.push(format!(".{}", std::process::id()));
    let nursery = PathBuf::from(nursery);
    let _ = fs::remove_dir_all(&nursery);
    DirBuilder::new().mode(NURSERY).create(&nursery)?;
    let place = nursery.join("s");
    let bound = UnixListener::bind(&place).and_then(|listener| {
        fs::set_permissions(&place, Permissions::from_mode(mode.bits()))?;
        fs::rename(&place, path)?;
        Ok(listener)
    });
    // An empty folder that stays is no fault of the socket.
    let _ = fs::remove_dir_all(&nursery);
    bound
}

async fn serve(listener: UnixListener, tell: impl Fn() -> String) {
    let room = Arc::new(Semaphore::new(ANSWERS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((mut stream, _)) => {
                let text = tell();
                tokio::spawn(async move {
                    // Whoever is too slow gets a part. Nothing is read: there is nothing to ask.
                    let _ = timeout(WITHIN, stream.write_all(text.as_bytes())).await;
                    drop(permit);
                });
            }
            // No file descriptors are left, for example.
            Err(_) => sleep(Duration::from_secs(1)).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    /// A folder of its own, removed with all that is in it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("smbd-daemon-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    async fn open(path: &Path) -> io::Result<Socket> {
        Socket::open(path, SocketMode::User, || "told\n".into()).await
    }

    async fn ask(path: &Path) -> String {
        let mut text = String::new();
        UnixStream::connect(path).await.unwrap().read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn it_answers_with_its_mode_in_a_folder_of_its_own_and_is_gone_when_it_is_dropped() {
        let folder = Folder::new("answers");
        let path = folder.0.join("run/status.sock");
        let socket = Socket::open(&path, SocketMode::Group, || "told\n".into()).await.unwrap();
        assert_eq!(ask(&path).await, "told\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        drop(socket);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn what_is_left_of_a_program_that_is_gone_is_replaced_and_a_living_one_is_not() {
        let folder = Folder::new("stale");
        let path = folder.0.join("status.sock");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let first = open(&path).await.unwrap();
        let refused = open(&path).await.unwrap_err();
        assert_eq!(
            (refused.kind(), refused.to_string().as_str()),
            (ErrorKind::AddrInUse, "another one answers there")
        );
        assert_eq!(ask(&path).await, "told\n");
        // Another one's is left alone.
        fs::remove_file(&path).unwrap();
        let second = open(&path).await.unwrap();
        drop(first);
        assert_eq!(ask(&path).await, "told\n");
        drop(second);
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_not_touched() {
        let folder = Folder::new("file");
        let path = folder.0.join("status.sock");
        fs::write(&path, "precious").unwrap();
        assert_eq!(open(&path).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert_eq!(open(&folder.0.join("a/b/c")).await.unwrap_err().kind(), ErrorKind::NotFound);
    }

    /// More than a socket takes at once, so that answers wait for whoever does not read.
    #[tokio::test(start_paused = true)]
    async fn those_who_read_nothing_hold_up_others_for_seconds_only() {
        let folder = Folder::new("slow");
        let path = folder.0.join("status.sock");
        let _socket = Socket::open(&path, SocketMode::User, || "x".repeat(8 << 20)).await.unwrap();
        let mut slow = Vec::new();
        for _ in 0..ANSWERS_MAX {
            slow.push(UnixStream::connect(&path).await.unwrap());
        }
        let mut first = [0];
        let mut next = UnixStream::connect(&path).await.unwrap();
        timeout(WITHIN * 2, next.read_exact(&mut first)).await.unwrap().unwrap();
        assert_eq!(first, *b"x");
    }
}
