//! The path of a Unix socket: made with its mode before anybody can connect, and removed with its listener.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Mode of a folder that is made for the socket, and of the one in which it is made.
const FOLDER: u32 = 0o755;
const NURSERY: u32 = 0o700;

/// Who may connect to a Unix socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum SocketMode {
    /// The program's own user, and root.
    #[default]
    #[serde(rename = "0600")]
    User,
    /// Its group as well.
    #[serde(rename = "0660")]
    Group,
}

impl SocketMode {
    /// Bits of a file's mode.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::User => 0o600,
            Self::Group => 0o660,
        }
    }
}

/// A path at which this program listens. Dropping it removes it.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// Device and inode: another program may have put its own there.
    id: (u64, u64),
}

impl SocketPath {
    /// Makes a socket at `path` with `bind`, for whoever `mode` lets connect. What a program that is gone has left there is replaced:
    /// `connect`, which must not wait, finds out whether anybody listens. The folder is made if only that is missing.
    ///
    /// # Errors
    /// Those of the system; `AddrInUse` if somebody answers there, `AlreadyExists` if there is something that is no socket.
    pub fn bind<L, C>(
        path: &Path,
        mode: SocketMode,
        connect: impl FnOnce(&Path) -> io::Result<C>,
        bind: impl FnOnce(&Path) -> io::Result<L>,
    ) -> io::Result<(Self, L)> {
        make_way(path, connect)?;
        // In a folder that nobody else can enter, so that the mode is right before anybody can connect.
        let mut nursery = path.as_os_str().to_owned();
        nursery.push(format!(".{}", std::process::id()));
        let nursery = PathBuf::from(nursery);
        let _ = fs::remove_dir_all(&nursery);
        DirBuilder::new().mode(NURSERY).create(&nursery)?;
        let place = nursery.join("s");
        let bound = bind(&place).and_then(|listener| {
            fs::set_permissions(&place, Permissions::from_mode(mode.bits()))?;
            let found = fs::symlink_metadata(&place)?;
            fs::rename(&place, path)?;
            Ok((Self { path: path.to_owned(), id: (found.dev(), found.ino()) }, listener))
        });
        // An empty folder that stays is no fault of the socket.
        let _ = fs::remove_dir_all(&nursery);
        bound
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.id) {
            // What cannot be removed is replaced the next time.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the path is free, or can be made so.
fn make_way<C>(path: &Path, connect: impl FnOnce(&Path) -> io::Result<C>) -> io::Result<()> {
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
    match connect(path) {
        // Nobody listens there.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(()),
        // A queue that is full is somebody's.
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        Ok(_) | Err(_) => Err(io::Error::new(ErrorKind::AddrInUse, "another one answers there")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::*;
    use crate::folder::Folder;

    fn bind(path: &Path) -> io::Result<(SocketPath, UnixListener)> {
        SocketPath::bind(
            path,
            SocketMode::Group,
            |path| UnixStream::connect(path),
            |path| UnixListener::bind(path),
        )
    }

    #[test]
    fn it_has_its_mode_in_a_folder_of_its_own_and_is_gone_when_it_is_dropped() {
        let folder = Folder::new("path-mode");
        let path = folder.0.join("run/socket");
        let bound = bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        drop(bound);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_left_of_a_program_that_is_gone_is_replaced_and_a_living_one_is_not() {
        let folder = Folder::new("path-stale");
        let path = folder.0.join("socket");
        drop(UnixListener::bind(&path).unwrap());
        let first = bind(&path).unwrap();
        let refused = bind(&path).unwrap_err();
        let said = (refused.kind(), refused.to_string());
        assert_eq!(said, (ErrorKind::AddrInUse, "another one answers there".into()));
        // Another one's is left alone.
        fs::remove_file(&path).unwrap();
        let second = bind(&path).unwrap();
        drop(first);
        assert!(UnixStream::connect(&path).is_ok());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_that_is_no_socket_is_not_touched() {
        let folder = Folder::new("path-file");
        let path = folder.0.join("socket");
        fs::write(&path, "precious").unwrap();
        assert_eq!(bind(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        assert_eq!(bind(&folder.0.join("a/b/c")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
