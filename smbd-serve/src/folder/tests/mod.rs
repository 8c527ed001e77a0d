mod capitals;
mod changes;
mod hostile;
mod listings;
mod opens;
mod slow;
mod soon;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smbd_smb2::server::{FileResult, FileSystem, OpenParameters, SharePath};
use smbd_smb2::wire::{
    AccessMask, CreateAction, CreateDisposition, CreateOptions, FileAttributes, NtStatus, ShareAccess, Text,
};

use super::{Act, Folder, FolderFile, Options};
use crate::brief::Brief;

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

    pub(super) fn parameters(self, path: &str) -> FileResult<OpenParameters> {
        Ok(OpenParameters {
            share: 0,
            path: SharePath::parse(Text::from(path))?,
            access: self.access,
            read_only_access: self.read_only_access.unwrap_or(self.access),
            share_access: self.share,
            disposition: self.disposition,
            options: self.options,
            file_attributes: self.attributes,
        })
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
        self.folder.open(&how.parameters(path)?, 0)
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

/// Makes what a folder changes wait, as a slow disk would.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slow(Arc<Brief<Option<Stop>>>);

#[derive(Debug)]
struct Stop {
    at: Act,
    /// Somebody waits there.
    is_reached: bool,
}

impl Slow {
    /// The next change of this kind waits.
    pub(crate) fn stop_at(&self, at: Act) {
        *self.0.lock() = Some(Stop { at, is_reached: false });
    }

    /// Returns when a change waits.
    pub(crate) fn reached(&self) {
        let is_on_its_way = |stop: &Option<Stop>| stop.as_ref().is_some_and(|stop| !stop.is_reached);
        drop(self.0.lock_unless(is_on_its_way));
    }

    /// What waits goes on.
    pub(crate) fn go_on(&self) {
        *self.0.lock() = None;
        self.0.changed();
    }

    pub(super) fn waits(&self, act: Act) {
        {
            let mut stop = self.0.lock();
            let Some(stop) = stop.as_mut().filter(|stop| stop.at == act && !stop.is_reached) else { return };
            stop.is_reached = true;
        }
        self.0.changed();
        drop(self.0.lock_unless(Option::is_some));
    }
}
