//! SET_INFO (3.3.5.21).

use crate::server::action::{Change, Operation};
use crate::server::answer::{failure_of_file, of_file};
use crate::server::chain::Asked;
use crate::server::file::{BasicChange, TimeChange};
use crate::server::inner::Inner;
use crate::server::path::SharePath;
use crate::server::pending::{Outcome, Task, What};
use crate::server::session::Kept;
use crate::wire::info::class;
use crate::wire::{AccessMask, FileAttributes, InfoType, NtStatus, SetInfoRequest, SetInfoResponse, Text};

/// FileDispositionInformationEx and FileRenameInformationEx (MS-FSCC 2.4.12, 2.4.43), which are not supported.
const EXTENDED: [u8; 2] = [64, 65];

/// 3.3.5.21.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &SetInfoRequest<'_>,
) -> Result<Outcome, NtStatus> {
    let max = inner.max_transact();
    let (file_id, open) = inner.open(asked, request.file_id)?;
    let (handle, access, is_directory) = (open.handle, open.access, open.is_directory);
    let change = if request.input.len() > max as usize {
        Err(NtStatus::INVALID_PARAMETER)
    } else {
        match request.info_type {
            InfoType::FILE => of_class(request, access, is_directory),
            InfoType::FILESYSTEM | InfoType::QUOTA => Err(NtStatus::NOT_SUPPORTED),
            // 3.3.5.21.3: every file has the same.
            InfoType::SECURITY => Err(NtStatus::NOT_SUPPORTED),
            _ => Err(NtStatus::INVALID_PARAMETER),
        }
    };
    match change {
        Ok(Wanted::Change(change)) => {
            let kept = match &change {
                Change::Rename { path, .. } => Some(Kept::Path(path.clone())),
                Change::Basic(_) | Change::EndOfFile(_) | Change::Allocation(_) | Change::Delete(_) => None,
            };
            Ok(Outcome::Wait(What::Plain { file_id, kept }, Task::File(Operation::Change(handle, change))))
        }
        Ok(Wanted::Position(position)) => {
            inner.keep(asked, file_id, Kept::Position(position));
            Ok(of_file(&mut inner.chunks, asked, file_id, NtStatus::SUCCESS, &SetInfoResponse::default()))
        }
        Ok(Wanted::Nothing) => {
            Ok(of_file(&mut inner.chunks, asked, file_id, NtStatus::SUCCESS, &SetInfoResponse::default()))
        }
        Err(status) => Ok(failure_of_file(&mut inner.chunks, asked, file_id, status)),
    }
}

/// What is to be changed.
enum Wanted {
    Change(Change),
    /// CurrentByteOffset of the open.
    Position(u64),
    /// Something that nobody keeps.
    Nothing,
}

fn of_class(
    request: &SetInfoRequest<'_>,
    access: AccessMask,
    is_directory: bool,
) -> Result<Wanted, NtStatus> {
    let input = request.input;
    let needs = |right| if access.contains(right) { Ok(()) } else { Err(NtStatus::ACCESS_DENIED) };
    match request.info_class {
        class::FILE_BASIC => {
            needs(AccessMask::WRITE_ATTRIBUTES)?;
            Ok(Wanted::Change(Change::Basic(basic(input, is_directory)?)))
        }
        class::FILE_RENAME => {
            let change = rename(input)?;
            needs(AccessMask::DELETE)?;
            Ok(Wanted::Change(change))
        }
        class::FILE_DISPOSITION => {
            let first = input.first().ok_or(NtStatus::INFO_LENGTH_MISMATCH)?;
            needs(AccessMask::DELETE)?;
            Ok(Wanted::Change(Change::Delete(*first != 0)))
        }
        class::FILE_ALLOCATION => {
            let size = size(input)?;
            needs(AccessMask::WRITE_DATA)?;
            Ok(Wanted::Change(Change::Allocation(size)))
        }
        class::FILE_END_OF_FILE => {
            let size = size(input)?;
            needs(AccessMask::WRITE_DATA)?;
            Ok(Wanted::Change(Change::EndOfFile(size)))
        }
        // FileModeInformation: of no use to anybody over SMB2.
        16 => Ok(Wanted::Nothing),
        // FilePositionInformation (MS-FSCC 2.4.40)
        14 => Ok(Wanted::Position(size(input)?)),
        class::FILE_LINK | class::FILE_FULL_EA | 39 | 40 => Err(NtStatus::NOT_SUPPORTED),
        class if EXTENDED.contains(&class) => Err(NtStatus::NOT_SUPPORTED),
        _ => Err(NtStatus::INVALID_INFO_CLASS),
    }
}

fn number(input: &[u8], at: usize) -> Result<u64, NtStatus> {
    let bytes = input.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map(|bytes| u64::from_le_bytes(*bytes)).ok_or(NtStatus::INFO_LENGTH_MISMATCH)
}

fn word(input: &[u8], at: usize) -> Result<u32, NtStatus> {
    let bytes = input.get(at..).and_then(|bytes| bytes.first_chunk());
    bytes.map(|bytes| u32::from_le_bytes(*bytes)).ok_or(NtStatus::INFO_LENGTH_MISMATCH)
}

/// A size or position: not negative (MS-FSCC 2.4.4, 2.4.14, 2.4.40).
fn size(input: &[u8]) -> Result<u64, NtStatus> {
    let size = number(input, 0)?;
    if i64::try_from(size).is_err() { Err(NtStatus::INVALID_PARAMETER) } else { Ok(size) }
}

/// A time of MS-FSCC 2.4.7: 0 is no change, -1 and -2 are about implicit changes.
fn time(input: &[u8], at: usize) -> Result<Option<TimeChange>, NtStatus> {
    match number(input, at)? {
        0 => Ok(None),
        0xFFFF_FFFF_FFFF_FFFF => Ok(Some(TimeChange::Freeze)),
        0xFFFF_FFFF_FFFF_FFFE => Ok(Some(TimeChange::Thaw)),
        time if i64::try_from(time).is_err() => Err(NtStatus::INVALID_PARAMETER),
        time => Ok(Some(TimeChange::Set(time))),
    }
}

/// MS-FSCC 2.4.7.
fn basic(input: &[u8], is_directory: bool) -> Result<BasicChange, NtStatus> {
    let attributes = FileAttributes(word(input, 32)?);
    // MS-FSA 2.1.5.15.2
    let others = if is_directory { FileAttributes::TEMPORARY } else { FileAttributes::DIRECTORY };
    if attributes.contains(others) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let kept = attributes.with(FileAttributes::DIRECTORY | FileAttributes::NORMAL, false);
    Ok(BasicChange {
        // Nothing changes it by itself.
        creation_time: time(input, 0)?.and_then(TimeChange::set),
        last_access_time: time(input, 8)?,
        last_write_time: time(input, 16)?,
        change_time: time(input, 24)?,
        file_attributes: (attributes.0 != 0).then_some(kept),
    })
}

/// MS-FSCC 2.4.42.2.
fn rename(input: &[u8]) -> Result<Change, NtStatus> {
    const NAME: usize = 20;
    let replace = *input.first().ok_or(NtStatus::INFO_LENGTH_MISMATCH)? != 0;
    let (root, len) = (number(input, 8)?, word(input, 16)?);
    let name = input.get(NAME..).unwrap_or_default();
    let name = name.get(..len as usize).ok_or(NtStatus::INFO_LENGTH_MISMATCH)?;
    if root != 0 || name.is_empty() {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    // Some clients begin with a backslash.
    let name = name.strip_prefix(b"\\\0").unwrap_or(name);
    let path = SharePath::parse(Text::from_wire(name))?;
    if path.split().is_none() {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    Ok(Change::Rename { path, replace })
}
