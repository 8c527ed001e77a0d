//! Errors of the system in the words of SMB2.

use rustix::io::Errno;
use smbd_smb2::wire::NtStatus;

/// The status that a client gets for an error.
pub(super) const fn of(error: Errno) -> NtStatus {
    match error {
        Errno::NOENT => NtStatus::OBJECT_NAME_NOT_FOUND,
        Errno::EXIST => NtStatus::OBJECT_NAME_COLLISION,
        Errno::NOTDIR => NtStatus::NOT_A_DIRECTORY,
        Errno::ISDIR => NtStatus::FILE_IS_A_DIRECTORY,
        Errno::NOTEMPTY => NtStatus::DIRECTORY_NOT_EMPTY,
        Errno::NAMETOOLONG | Errno::ILSEQ => NtStatus::OBJECT_NAME_INVALID,
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => NtStatus::DISK_FULL,
        Errno::INVAL => NtStatus::INVALID_PARAMETER,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::MLINK => NtStatus::INSUFFICIENT_RESOURCES,
        Errno::BUSY | Errno::TXTBSY | Errno::AGAIN => NtStatus::SHARING_VIOLATION,
        // A link, or a way out of the share, which is not taken; EBADF: opened without the right for it.
        Errno::LOOP | Errno::XDEV | Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::BADF => {
            NtStatus::ACCESS_DENIED
        }
        Errno::OPNOTSUPP | Errno::NOSYS => NtStatus::NOT_SUPPORTED,
        _ => NtStatus::UNSUCCESSFUL,
    }
}

/// The same, of a directory on the way to a file.
pub(super) const fn of_path(error: Errno) -> NtStatus {
    match error {
        // What is no directory, or a link, is nothing that leads anywhere.
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV => NtStatus::OBJECT_PATH_NOT_FOUND,
        other => of(other),
    }
}
