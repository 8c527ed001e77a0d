//! Values that messages of both sides have.

use smbd_smb2::wire::{FileId, Guid};

pub const FILE: FileId = FileId { persistent: 0x0102_0304, volatile: 0x0506_0708 };
pub const KEY: Guid = Guid([9; 16]);
pub const PARENT: Guid = Guid([0x0A; 16]);
