//! READ and WRITE requests with a channel: what they order, and what the server gets in their place.

use smbd_core::wire::BufferDescriptors;

use super::element::Element;
use super::lists::Remote;
use super::reason::Refusal;
use crate::wire::header::{self, field};
use crate::wire::read::request as read;
use crate::wire::write::request as write;
use crate::wire::{BufferDescriptorV1, Channel, Command, ReadFlags, Token, WireError};

/// Bytes of an element that tell whether it has a channel: the fixed parts of READ and WRITE are as long.
pub(super) const HEAD_LEN: usize = 112;

/// Length of a READ or WRITE without data: one byte of Buffer follows the fixed part (2.2.19, 2.2.21).
pub(super) const STRIPPED_LEN: usize = HEAD_LEN + 1;

/// Length of the header of direct TCP (2.1).
pub(super) const FRAME_LEN: usize = 4;

/// Length of such a message behind the header of direct TCP.
pub(super) const FRAMED_LEN: usize = FRAME_LEN + STRIPPED_LEN;

/// The same without the one byte of Buffer.
pub(super) const FRAMED_HEAD_LEN: usize = FRAME_LEN + HEAD_LEN;

/// StructureSize of both.
pub(super) const STRUCTURE_SIZE: u16 = 49;

/// A transfer that a request orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Its length in bytes; never 0.
    pub(super) len: u32,
    pub(super) remote: Remote,
}

/// A request with a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChannelRequest<'a> {
    /// The beginning of its element.
    pub(super) head: &'a [u8; HEAD_LEN],
    channel: Channel,
    /// Bytes to be moved.
    len: u32,
    /// What only a WRITE can have wrong (3.3.5.13).
    wrong: Option<Refusal>,
    /// What describes the channel, if it lies inside the element.
    info: Option<&'a [u8]>,
    /// The first descriptor.
    first: Option<&'a [u8; BufferDescriptorV1::LEN]>,
}

/// READ or WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Read,
    Write,
}

impl Verb {
    /// Whether a command is one of them.
    pub(super) const fn of(command: Command) -> Option<Self> {
        match command {
            Command::READ => Some(Self::Read),
            Command::WRITE => Some(Self::Write),
            _ => None,
        }
    }

    /// Its command.
    pub(super) const fn command(self) -> Command {
        match self {
            Self::Read => Command::READ,
            Self::Write => Command::WRITE,
        }
    }

    /// The channel of an element whose first [`HEAD_LEN`] bytes are there. A body of another size has none that a server would see.
    #[inline]
    pub(super) fn channel(self, element: &[u8]) -> Channel {
        let Some(head) = element.first_chunk::<HEAD_LEN>() else { return Channel::NONE };
        let channel = match self {
            Self::Read => read::CHANNEL.get(head),
            Self::Write => write::CHANNEL.get(head),
        };
        let is_whole = read::STRUCTURE_SIZE.get(head).is_ok_and(|size| size == STRUCTURE_SIZE);
        channel.ok().filter(|_| is_whole).unwrap_or(Channel::NONE)
    }

    /// Which of them a message begins with, if that has a channel. It need not be all of the message.
    #[inline]
    pub(super) fn of_whole(message: &[u8]) -> Option<Self> {
        let head = message.first_chunk::<HEAD_LEN>()?;
        let verb = Self::of(field::COMMAND.get(head).ok()?)?;
        (verb.channel(head) != Channel::NONE).then_some(verb)
    }

    /// Which of them an element with a channel is.
    #[inline]
    pub(super) fn with_channel(element: &Element, bytes: &[u8]) -> Option<Self> {
        let verb = Self::of(element.header.command).filter(|_| element.len >= HEAD_LEN)?;
        (verb.channel(bytes) != Channel::NONE).then_some(verb)
    }
}

/// What describes a channel, and the first descriptor: that may be there although not all of them are.
#[inline]
fn info(element: &[u8], offset: u16, len: u16) -> (Option<&[u8]>, Option<&[u8; BufferDescriptorV1::LEN]>) {
    if len == 0 {
        return (Some(&[]), None);
    }
    let (start, len) = (usize::from(offset), usize::from(len));
    let tail = if start < HEAD_LEN { None } else { element.get(start..) };
    match tail.and_then(|tail| tail.get(..len)) {
        Some(info) => (Some(info), info.first_chunk()),
        None => (None, tail.filter(|_| len >= BufferDescriptorV1::LEN).and_then(|tail| tail.first_chunk())),
    }
}

/// The token of a descriptor (MS-SMBD 2.2.3.1).
#[inline]
const fn token([_, _, _, _, _, _, _, _, a, b, c, d, ..]: &[u8; BufferDescriptorV1::LEN]) -> Token {
    Token(u32::from_le_bytes([*a, *b, *c, *d]))
}

/// Whether a descriptor has no bytes.
#[inline]
const fn is_empty([_, _, _, _, _, _, _, _, _, _, _, _, a, b, c, d]: &[u8; BufferDescriptorV1::LEN]) -> bool {
    u32::from_le_bytes([*a, *b, *c, *d]) == 0
}

impl<'a> ChannelRequest<'a> {
    /// Reads an element with [`HEAD_LEN`] bytes at least.
    #[inline]
    pub(super) fn read(verb: Verb, element: &'a [u8]) -> Result<Self, WireError> {
        let Some(head) = element.first_chunk() else {
            let (field, got) = (read::READ_CHANNEL_INFO_LENGTH.place(), element.len() as u64);
            return Err(WireError::Truncated { field, got });
        };
        let channel = verb.channel(head);
        Ok(match verb {
            Verb::Read => {
                let offset = read::READ_CHANNEL_INFO_OFFSET.get(head)?;
                let (info, first) = info(element, offset, read::READ_CHANNEL_INFO_LENGTH.get(head)?);
                Self { head, channel, len: read::LENGTH.get(head)?, wrong: None, info, first }
            }
            Verb::Write => {
                let offset = write::WRITE_CHANNEL_INFO_OFFSET.get(head)?;
                let (info, first) = info(element, offset, write::WRITE_CHANNEL_INFO_LENGTH.get(head)?);
                let len = write::REMAINING_BYTES.get(head)?;
                // 3.3.5.13
                let wrong = if write::LENGTH.get(head)? != 0 || write::DATA_OFFSET.get(head)? != 0 {
                    Some(Refusal::InlineData)
                } else if first.is_some_and(is_empty) {
                    Some(Refusal::EmptyDescriptor)
                } else {
                    None
                };
                Self { head, channel, len, wrong, info, first }
            }
        })
    }

    /// The token that the final answer invalidates, whatever it is: that of the first descriptor (3.3.5.12, 3.3.5.13).
    /// `may_invalidate`: whether this is a channel.
    #[inline]
    pub(super) fn invalidate(&self, may_invalidate: bool) -> Option<Token> {
        let is_asked = self.channel == Channel::RDMA_V1_INVALIDATE && may_invalidate;
        self.first.filter(|_| is_asked).map(token)
    }

    /// How many bytes it orders, and where, if that is possible.
    #[inline]
    pub(super) fn order(
        &self,
        max_read_write_size: u32,
        may_invalidate: bool,
    ) -> Result<(u32, BufferDescriptors<'a>), Refusal> {
        let may_be_invalidated = self.channel == Channel::RDMA_V1_INVALIDATE && may_invalidate;
        if self.channel != Channel::RDMA_V1 && !may_be_invalidated {
            return Err(Refusal::UnknownChannel);
        }
        if self.len == 0 {
            return Err(Refusal::Empty);
        }
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let info = self.info.ok_or(Refusal::Malformed)?;
        let descriptors = BufferDescriptors::new(info).map_err(|_| Refusal::RaggedDescriptors)?;
        if descriptors.is_empty() {
            return Err(Refusal::NoDescriptors);
        }
        let mut total = 0_u64;
        for BufferDescriptorV1 { offset, length, .. } in descriptors.iter() {
            if offset.checked_add(u64::from(length.saturating_sub(1))).is_none() {
                return Err(Refusal::DescriptorWraps);
            }
            total = total.saturating_add(length.into());
        }
        if total < u64::from(self.len) {
            return Err(Refusal::ShortDescriptors);
        }
        if self.len > max_read_write_size {
            return Err(Refusal::AboveMaxReadWriteSize);
        }
        Ok((self.len, descriptors))
    }
}

/// Writes the request in the place of a READ or WRITE with a channel, without the data of a WRITE. NextCommand is `next`. Before it is
/// room for the header of direct TCP.
#[inline]
pub(super) fn strip(
    head: &[u8; HEAD_LEN],
    verb: Verb,
    form: Form,
    next: u32,
    framed: &mut [u8; FRAMED_LEN],
) -> Result<(), WireError> {
    let Some((_, out)) = framed.split_first_chunk_mut::<FRAME_LEN>() else { return Ok(()) };
    let Some(out) = out.first_chunk_mut::<STRIPPED_LEN>() else { return Ok(()) };
    let Some((start, buffer)) = out.split_first_chunk_mut::<HEAD_LEN>() else { return Ok(()) };
    *start = *head;
    buffer.fill(0);
    field::NEXT_COMMAND.set(out, next)?;
    match verb {
        Verb::Read => strip_read(out, form),
        Verb::Write => strip_write(out, form),
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The data go in the messages: so many bytes.
    Inline(u32),
    /// The server refuses it with STATUS_INVALID_PARAMETER.
    Refused,
}

#[inline]
fn strip_read(out: &mut [u8; STRIPPED_LEN], form: Form) -> Result<(), WireError> {
    read::CHANNEL.set(out, Channel::NONE)?;
    read::REMAINING_BYTES.set(out, 0)?;
    read::READ_CHANNEL_INFO_OFFSET.set(out, 0)?;
    read::READ_CHANNEL_INFO_LENGTH.set(out, 0)?;
    // A compressed answer could not be cut.
    let flags = read::FLAGS.get(out)?;
    read::FLAGS.set(out, flags.with(ReadFlags::REQUEST_COMPRESSED, false))?;
    match form {
        Form::Inline(_) => Ok(()),
        // 3.3.5.12: more than any MaxReadSize.
        Form::Refused => read::LENGTH.set(out, u32::MAX),
    }
}

#[inline]
fn strip_write(out: &mut [u8; STRIPPED_LEN], form: Form) -> Result<(), WireError> {
    write::CHANNEL.set(out, Channel::NONE)?;
    write::REMAINING_BYTES.set(out, 0)?;
    write::WRITE_CHANNEL_INFO_OFFSET.set(out, 0)?;
    write::WRITE_CHANNEL_INFO_LENGTH.set(out, 0)?;
    // 3.3.5.13: an offset above 0x100 is refused. One of 0 with a length of 0 would be a WRITE of nothing.
    let (offset, len) = match form {
        Form::Inline(len) => (HEAD_LEN as u16, len),
        Form::Refused => (u16::MAX, 1),
    };
    write::DATA_OFFSET.set(out, offset)?;
    write::LENGTH.set(out, len)
}

/// Lowers Length of a READ without a channel, so that its answer fits into a message of `max` bytes, and MinimumCount with it.
/// Whether that was necessary.
pub(super) fn lower_read(element: &mut [u8], max: u32) -> Result<bool, WireError> {
    // The server may place the data where the client wants them (2.2.19), and in a compound pads the answer to 8 bytes.
    let offset = u32::from(read::PADDING.get(element)?).max(ANSWER_LEN as u32);
    let (most, len) = ((max & !7).saturating_sub(offset), read::LENGTH.get(element)?);
    // What is above any MaxReadSize stays what it is: an error.
    if len <= most || len == u32::MAX {
        return Ok(false);
    }
    read::LENGTH.set(element, most)?;
    let least = read::MINIMUM_COUNT.get(element)?;
    read::MINIMUM_COUNT.set(element, least.min(most))?;
    Ok(true)
}

/// Length of the answer to a READ whose data went by the channel (2.2.20).
pub(super) const ANSWER_LEN: usize = header::LEN + 16;
