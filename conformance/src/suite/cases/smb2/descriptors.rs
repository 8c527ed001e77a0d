//! Many descriptors, and wrong ones.

use smbd_core::{Access, BufferDescriptorV1, Token};

use crate::suite::session::{Asked, Buffer, Session, V3};
use crate::suite::{Play, Stop, pattern};

const SEED: u64 = 0xde5c;
/// As many descriptors as 65,535 bytes have room for.
const MOST: u32 = 4095;
/// The data are moved.
const MOVED: &str = "3.3.5.12-20";

/// What is described, in pieces of this length at most.
fn cut(all: &[BufferDescriptorV1], piece: u32) -> Vec<BufferDescriptorV1> {
    let mut pieces = Vec::new();
    for BufferDescriptorV1 { offset, token, length } in all {
        let mut at = 0;
        while at < *length {
            let length = piece.min(length - at);
            pieces.push(BufferDescriptorV1 { offset: offset + u64::from(at), token: *token, length });
            at += length;
        }
    }
    pieces.truncate(MOST as usize);
    pieces
}

fn in_pieces(session: &mut Session<'_>, bytes: &[u8], piece: u32, access: Access) -> Result<Buffer, Stop> {
    let mut room = bytes.to_vec();
    room.resize((piece * MOST) as usize, 0);
    let buffer = session.buffer(&room, access)?;
    let descriptors = cut(&buffer.descriptors, piece);
    Ok(Buffer { descriptors, ..buffer })
}

pub(super) fn most(play: &mut Play) -> Result<(), Stop> {
    let mut session = play.session(V3)?;
    let most = session.max_read().min(session.max_write());
    let piece = most / MOST + 1;
    let from = in_pieces(&mut session, &pattern(SEED, most as usize), piece, Access::Read)?;
    // A device that describes memory by several segments makes for shorter pieces at their ends.
    let described: u32 = from.descriptors.iter().map(|descriptor| descriptor.length).sum();
    let size = most.min(described);
    let content = pattern(SEED, size as usize);
    session.writes(&from, size, 0)?;
    session.peer.deregister(&from.memory)?;
    session.has_written("3.3.5.13-26", &content, 0)?;
    let into = in_pieces(&mut session, &[], piece, Access::Write)?;
    session.reads(&into, size, 0, size)?;
    session.has_read(MOVED, &into, &content);
    Ok(())
}

/// A READ into a buffer that the case has made wrong; and a new session after it.
fn wrong(
    play: &mut Play,
    less: u32,
    bend: impl FnOnce(&mut Session<'_>, &mut Buffer, u32) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut session = play.session(V3)?;
    let size = session.max_read();
    session.file_has(&pattern(SEED, size as usize))?;
    let mut buffer = session.buffer(&vec![0; (size - less) as usize], Access::Write)?;
    bend(&mut session, &mut buffer, size)?;
    session.does_not_succeed(
        MOVED,
        &Asked::read(&buffer, size, 0),
        "READ into memory that is not offered",
    )?;
    if !session.peer.is_down() {
        session.peer.disconnect()?;
        session.settle();
    }
    play.session(V3).map(|_| ())
}

pub(super) fn wrong_offset(play: &mut Play) -> Result<(), Stop> {
    wrong(play, 0, |_, buffer, size| {
        buffer.descriptors.iter_mut().for_each(|descriptor| descriptor.offset = u64::from(size) + 1);
        Ok(())
    })
}

pub(super) fn wrong_length(play: &mut Play) -> Result<(), Stop> {
    wrong(play, 1, |_, buffer, _| {
        buffer.descriptors.iter_mut().last().into_iter().for_each(|last| last.length += 1);
        Ok(())
    })
}

pub(super) fn wrong_token(play: &mut Play) -> Result<(), Stop> {
    wrong(play, 0, |_, buffer, _| {
        let tokens: Vec<_> = buffer.descriptors.iter().map(|descriptor| descriptor.token).collect();
        for descriptor in &mut buffer.descriptors {
            // That of another buffer of the script would not be wrong.
            let mut token = descriptor.token.0.wrapping_add(1);
            while tokens.contains(&Token(token)) {
                token = token.wrapping_add(1);
            }
            descriptor.token = Token(token);
        }
        Ok(())
    })
}

pub(super) fn deregistered(play: &mut Play) -> Result<(), Stop> {
    wrong(play, 0, |session, buffer, _| session.peer.deregister(&buffer.memory))
}
