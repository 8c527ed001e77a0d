//! READs and WRITEs by a channel that are to be refused.

use smbd_core::{Access, BufferDescriptorV1};
use smbd_smb2::wire::{Channel, Dialect, NtStatus, read, write};

use crate::suite::session::{Asked, Buffer, Session, V3};
use crate::suite::{Play, Stop, pattern};

const SEED: u64 = 0xbad;
const SOME: u32 = 65_536;
const REFUSED: NtStatus = NtStatus::INVALID_PARAMETER;
const NONE: [Channel; 2] = [Channel(4), Channel(0xFFFF_FFFF)];

fn to_read(session: &mut Session<'_>) -> Result<Buffer, Stop> {
    session.file_has(&pattern(SEED, SOME as usize))?;
    session.buffer(&[0; SOME as usize], Access::Write)
}

fn to_write(session: &mut Session<'_>) -> Result<Buffer, Stop> {
    session.buffer(&pattern(SEED, SOME as usize), Access::Read)
}

/// With each of these channels, in each dialect that the server has; whether it has any.
fn by_channels(
    play: &mut Play,
    dialects: &[(Dialect, &str, &[Channel])],
    buffer: fn(&mut Session<'_>) -> Result<Buffer, Stop>,
    asked: fn(&Buffer, u32, u64) -> Asked<'static>,
) -> Result<(), Stop> {
    let mut lacks = None;
    let mut played = false;
    for (dialect, statement, channels) in dialects {
        let mut session = match play.session_if_spoken(&[*dialect])? {
            Ok(session) => session,
            Err(why) => {
                lacks = Some(why);
                continue;
            }
        };
        played = true;
        let buffer = buffer(&mut session)?;
        for channel in *channels {
            let what = format!("a request in {} with channel 0x{:x}", session.dialect(), channel.0);
            session.is_refused(statement, &asked(&buffer, SOME, 0).by(*channel), &what, REFUSED)?;
        }
    }
    match lacks {
        Some(why) if !played => Err(Stop::NotApplicable(why)),
        _ => Ok(()),
    }
}

pub(super) fn read_channel(play: &mut Play) -> Result<(), Stop> {
    let [four, all] = NONE;
    by_channels(
        play,
        &[
            (Dialect::SMB_3_1_1, "3.3.5.12-01", &[Channel::RDMA_TRANSFORM, four, all]),
            (Dialect::SMB_3_0_2, "3.3.5.12-01", &[Channel::RDMA_TRANSFORM, four, all]),
            (Dialect::SMB_3_0, "3.3.5.12-02", &[Channel::RDMA_V1_INVALIDATE, Channel::RDMA_TRANSFORM, four]),
        ],
        to_read,
        Asked::read,
    )
}

pub(super) fn write_channel(play: &mut Play) -> Result<(), Stop> {
    let [four, all] = NONE;
    by_channels(
        play,
        &[
            (Dialect::SMB_3_1_1, "3.3.5.13-01", &[four, all]),
            (Dialect::SMB_3_0_2, "3.3.5.13-02", &[Channel::RDMA_TRANSFORM, four]),
            (Dialect::SMB_3_0, "3.3.5.13-03", &[Channel::RDMA_V1_INVALIDATE, Channel::RDMA_TRANSFORM, four]),
        ],
        to_write,
        Asked::write,
    )
}

pub(super) fn read_of_nothing(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(V3)?;
    let buffer = to_read(&mut session)?;
    let asked = Asked::read(&buffer, SOME, 0);
    let mut refused = |asked: Asked<'_>, what: &str| session.is_refused("3.3.5.12-04", &asked, what, REFUSED);
    refused(Asked::read(&buffer, 0, 0), "READ by a channel with Length 0")?;
    refused(
        asked.clone().bent(|bytes| {
            let set = read::request::READ_CHANNEL_INFO_LENGTH.set(bytes, 0);
            debug_assert_eq!(set, Ok(()));
        }),
        "READ by a channel with ReadChannelInfoLength 0",
    )?;
    refused(
        asked.bent(|bytes| {
            let set = read::request::READ_CHANNEL_INFO_OFFSET.set(bytes, 0);
            debug_assert_eq!(set, Ok(()));
        }),
        "READ by a channel with ReadChannelInfoOffset 0",
    )
}

pub(super) fn write_beside(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(V3)?;
    let buffer = to_write(&mut session)?;
    let asked = Asked::write(&buffer, SOME, 0);
    let mut refused = |asked: Asked<'_>, what: &str| session.is_refused("3.3.5.13-05", &asked, what, REFUSED);
    refused(
        asked.clone().bent(|bytes| {
            let set = write::request::LENGTH.set(bytes, 16);
            debug_assert_eq!(set, Ok(()));
        }),
        "WRITE by a channel with Length 16",
    )?;
    refused(
        asked.bent(|bytes| {
            let set = write::request::DATA_OFFSET.set(bytes, 112);
            debug_assert_eq!(set, Ok(()));
        }),
        "WRITE by a channel with DataOffset 112",
    )
}

pub(super) fn write_of_nothing(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(V3)?;
    let buffer = to_write(&mut session)?;
    let asked = Asked::write(&buffer, SOME, 0);
    let mut refused = |asked: Asked<'_>, what: &str| session.is_refused("3.3.5.13-06", &asked, what, REFUSED);
    refused(Asked::write(&buffer, 0, 0), "WRITE by a channel with RemainingBytes 0")?;
    refused(
        asked.clone().bent(|bytes| {
            let set = write::request::WRITE_CHANNEL_INFO_LENGTH.set(bytes, 0);
            debug_assert_eq!(set, Ok(()));
        }),
        "WRITE by a channel with WriteChannelInfoLength 0",
    )?;
    refused(
        asked.bent(|bytes| {
            let set = write::request::WRITE_CHANNEL_INFO_OFFSET.set(bytes, 0);
            debug_assert_eq!(set, Ok(()));
        }),
        "WRITE by a channel with WriteChannelInfoOffset 0",
    )
}

/// Descriptors of the same memory over and over, for so many bytes.
fn repeated(all: &[BufferDescriptorV1], bytes: u32) -> Vec<BufferDescriptorV1> {
    let mut left = bytes;
    let mut repeated = Vec::new();
    for descriptor in all.iter().cycle() {
        if left == 0 {
            break;
        }
        let length = descriptor.length.min(left);
        repeated.push(BufferDescriptorV1 { length, ..*descriptor });
        left -= length;
    }
    repeated
}

pub(super) fn write_buffers(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(V3)?;
    let buffer = to_write(&mut session)?;
    let Some(first) = buffer.descriptors.first().copied() else {
        return Err(Stop::Broken("a registration without a descriptor".into()));
    };
    let of = |descriptors| Buffer { descriptors, ..buffer.clone() };

    let mut with_empty = vec![BufferDescriptorV1 { length: 0, ..first }];
    with_empty.extend_from_slice(&buffer.descriptors);
    let asked = Asked::write(&of(with_empty), SOME, 0);
    session.is_refused("3.3.5.13-18", &asked, "WRITE with a first descriptor of no bytes", REFUSED)?;

    let asked = Asked::write(&of(repeated(&buffer.descriptors, SOME - 1)), SOME, 0);
    session.is_refused("3.3.5.13-19", &asked, "WRITE with descriptors of a byte less", REFUSED)?;

    let above = session.stated_max_write().saturating_add(1);
    // The request has to be short enough, and is paid for as if all of it could be written.
    let asked = Asked::write(&of(repeated(&buffer.descriptors, above)), above, 0).paying(SOME);
    session.is_refused("3.3.5.13-17", &asked, "WRITE of MaxWriteSize + 1 bytes", REFUSED)
}
