mod changes;
mod hostile;
mod listings;
mod opens;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use smbd_smb2::server::{FileResult, FileSystem, OpenParameters, SharePath};
use smbd_smb2::wire::{
    AccessMask, CreateAction, CreateDisposition, CreateOptions, FileAttributes, NtStatus, ShareAccess, Text,
};

use super::{Folder, FolderFile, Options};

pub(super) const ALL: AccessMask = AccessMask(0x001F_01FF);

/// A folder of a test's own, which goes with it.
pub(super) struct Rig {
    pub(super) path: PathBuf,
    pub(super) folder: Folder,
}

/// How something is opened; whatever is not said is let do, and exists.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub(super) access: AccessMask,
    /// As `access`, if not said.
    pub(super) read_only_access: Option<AccessMask>,
    pub(super) share: ShareAccess,
    pub(super) disposition: CreateDisposition,
    pub(super) options: CreateOptions,
    pub(super) attributes: FileAttributes,
}

impl Default for How {
    fn default() -> Self {
        Self {
            access: ALL,
            read_only_access: None,
            share: ShareAccess(7),
            disposition: CreateDisposition::OPEN,
            options: CreateOptions::NONE,
            attributes: FileAttributes::NONE,
        }
    }
}

impl How {
    pub(super) fn of(disposition: CreateDisposition) -> Self {
        Self { disposition, ..Self::default() }
    }
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(super) fn with(options: Options) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("smbd-folder-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("share")).unwrap();
        let folder = Folder::open(&path.join("share"), "share", options).unwrap();
        Self { path, folder }
    }

    /// Something in the share, on the host.
    pub(super) fn host(&self, name: &str) -> PathBuf {
        self.path.join("share").join(name)
    }

    pub(super) fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.host(name), content).unwrap();
    }

    pub(super) fn open_as(&mut self, path: &str, how: How) -> FileResult<(FolderFile, CreateAction)> {
        let parameters = OpenParameters {
            share: 0,
            path: SharePath::parse(Text::from(path))?,
            access: how.access,
            read_only_access: how.read_only_access.unwrap_or(how.access),
            share_access: how.share,
            disposition: how.disposition,
            options: how.options,
            file_attributes: how.attributes,
        };
        self.folder.open(&parameters, 0)
    }

    pub(super) fn open(&mut self, path: &str) -> FileResult<FolderFile> {
        self.open_as(path, How::default()).map(|(file, _)| file)
    }

    pub(super) fn make(&mut self, path: &str) -> FileResult<FolderFile> {
        self.open_as(path, How::of(CreateDisposition::CREATE)).map(|(file, _)| file)
    }

    pub(super) fn make_directory(&mut self, path: &str) -> FileResult<FolderFile> {
        let how = How { options: CreateOptions::DIRECTORY_FILE, ..How::of(CreateDisposition::CREATE) };
        self.open_as(path, how).map(|(file, _)| file)
    }

    pub(super) fn close(&mut self, file: FolderFile) {
        self.folder.close(file, 0);
    }

    pub(super) fn status(&mut self, path: &str) -> NtStatus {
        match self.open(path) {
            Ok(file) => {
                self.close(file);
                NtStatus::SUCCESS
            }
            Err(status) => status,
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
