//! READ and WRITE as a case wants them.

use smbd_core::Access;
use smbd_core::wire::BufferDescriptorV1;
use smbd_smb2::wire::{
    Channel, NtStatus, ReadRequest, ReadResponse, WriteRequest, WriteResponse, read, write,
};

use super::super::outcome::{Stop, Unjudged};
use super::opening::broken;
use super::{Response, Session};
use crate::smb2::READ_RESPONSE_LEN;
use crate::smb2::client::{By, Requests};

/// A buffer of the script, and the channel by which the server is to use it.
#[derive(Clone, Debug)]
pub(in super::super) struct Buffer {
    pub(in super::super) channel: Channel,
    pub(in super::super) descriptors: Vec<BufferDescriptorV1>,
    /// Of the script, for [`Peer::contents`](super::Peer::contents).
    pub(in super::super) memory: super::super::Registered,
}

impl Buffer {
    /// What goes behind the request.
    pub(in super::super) fn info(&self) -> Vec<u8> {
        By { channel: self.channel, descriptors: &self.descriptors }.info()
    }

    pub(in super::super) fn by(self, channel: Channel) -> Self {
        Self { channel, ..self }
    }
}

/// Changes the bytes of a request that has been made.
pub(in super::super) type Bend = fn(&mut Vec<u8>);

/// A request.
#[derive(Clone, Debug)]
pub(in super::super) struct Asked<'a> {
    verb: Verb,
    channel: Channel,
    /// What is described behind the request.
    info: std::borrow::Cow<'a, [u8]>,
    length: u32,
    at: u64,
    bend: Option<Bend>,
    /// Bytes that its credits are for.
    paid: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Read,
    Write,
}

impl<'a> Asked<'a> {
    /// READ of so many bytes from an offset on, into this buffer.
    pub(in super::super) fn read(buffer: &Buffer, length: u32, at: u64) -> Self {
        Self::of(Verb::Read, buffer, length, at)
    }

    /// WRITE of so many bytes of this buffer, from an offset on.
    pub(in super::super) fn write(buffer: &Buffer, length: u32, at: u64) -> Self {
        Self::of(Verb::Write, buffer, length, at)
    }

    fn of(verb: Verb, buffer: &Buffer, length: u32, at: u64) -> Self {
        Self {
            verb,
            channel: buffer.channel,
            info: buffer.info().into(),
            length,
            at,
            bend: None,
            paid: length,
        }
    }

    /// READ in messages.
    fn plain(length: u32, at: u64) -> Self {
        let info = std::borrow::Cow::Borrowed(&[][..]);
        Self { verb: Verb::Read, channel: Channel::NONE, info, length, at, bend: None, paid: length }
    }

    /// The same by another channel.
    pub(in super::super) fn by(self, channel: Channel) -> Self {
        Self { channel, ..self }
    }

    /// The same with something else behind the request.
    pub(in super::super) fn with(self, info: &'a [u8]) -> Self {
        Self { info: info.into(), ..self }
    }

    /// The same with credits for so many bytes.
    pub(in super::super) fn paying(self, paid: u32) -> Self {
        Self { paid, ..self }
    }

    /// The same, with its bytes changed.
    pub(in super::super) fn bent(self, bend: Bend) -> Self {
        Self { bend: Some(bend), ..self }
    }
}

/// DataOffset and DataLength of a READ Response, with what is behind its fixed part.
const READ_FIXED: usize = READ_RESPONSE_LEN;

impl Session<'_> {
    /// A buffer that holds these bytes.
    pub(in super::super) fn buffer(&mut self, bytes: &[u8], access: Access) -> Result<Buffer, Stop> {
        let memory = self.peer.register(bytes, access)?;
        Ok(Buffer { channel: Channel::RDMA_V1, descriptors: memory.descriptors.clone(), memory })
    }

    /// Sends a request; its MessageId.
    pub(in super::super) fn ask(&mut self, asked: &Asked<'_>) -> Result<u64, Stop> {
        let had = self.client.credits();
        let bytes = u64::from(asked.paid);
        let needed = bytes.div_ceil(65_536).max(1);
        if had < needed {
            return Err(Stop::NotApplicable(format!(
                "the server grants {had} SMB2 credits, the case needs {needed}"
            )));
        }
        let file_id = self.client.file().unwrap_or_default();
        let (channel, channel_info, offset) = (asked.channel, &*asked.info, asked.at);
        let mut requests = Requests::new(&mut self.client);
        match asked.verb {
            Verb::Read => requests.any(
                &ReadRequest {
                    padding: 80,
                    length: asked.length,
                    offset,
                    file_id,
                    channel,
                    channel_info,
                    ..ReadRequest::default()
                },
                bytes,
            ),
            Verb::Write => requests.any(
                &WriteRequest {
                    offset,
                    file_id,
                    channel,
                    remaining_bytes: asked.length,
                    channel_info,
                    ..WriteRequest::default()
                },
                bytes,
            ),
        }
        .map_err(broken)?;
        let (mut message, id) = requests.finish();
        if let Some(bend) = asked.bend {
            bend(&mut message);
        }
        self.say(message)?;
        Ok(id)
    }

    /// An answer that says success. What the server has no resources for it need not do.
    pub(super) fn succeeds(&mut self, statements: &str, response: &Response, what: &str) -> Result<(), Stop> {
        let status = response.status();
        if status == NtStatus::INSUFFICIENT_RESOURCES {
            return Err(Stop::NotJudged(Unjudged::alone(format!("the server answers {what} with {status}"))));
        }
        self.peer.require(statements, status == NtStatus::SUCCESS, || {
            format!("{what} should succeed, the answer is {status}")
        })
    }

    /// READ by a channel, of which `there` bytes are in the file: the answer is as 3.3.5.12 has it. What is in the buffer is for the
    /// caller to say.
    pub(in super::super) fn reads(
        &mut self,
        buffer: &Buffer,
        length: u32,
        at: u64,
        there: u32,
    ) -> Result<Response, Stop> {
        const DONE: &str = "3.3.5.12-20";
        let what = format!("READ of {length} bytes at {at}, channel {}", buffer.channel);
        let id = self.ask(&Asked::read(buffer, length, at))?;
        let response = self.answer(DONE, id, &what)?;
        self.succeeds(DONE, &response, &what)?;
        let bytes = &response.bytes;
        let offset = read::response::DATA_OFFSET.get(bytes).unwrap_or_default();
        let data = read::response::DATA_LENGTH.get(bytes).unwrap_or_default();
        let remaining = read::response::DATA_REMAINING.get(bytes).unwrap_or_default();
        self.asserts("3.3.5.12-17", usize::from(offset) == READ_FIXED, || {
            format!("DataOffset of the answer to {what} should be {READ_FIXED}, it is {offset}")
        });
        self.asserts("3.3.5.12-16", data == 0, || {
            format!("DataLength of the answer to {what} should be 0, it is {data}")
        });
        // StructureSize counts one byte of the variable part, and what is behind a message may be padding.
        let carried = bytes.len().saturating_sub(READ_FIXED);
        self.asserts("3.3.5.12-19", carried < 8, || {
            format!("the answer to {what} should carry no data, it has {carried} bytes behind its fixed part")
        });
        self.asserts("3.3.5.12-18", remaining == there, || {
            format!("DataRemaining of the answer to {what} should be {there}, it is {remaining}")
        });
        Ok(response)
    }

    /// WRITE by a channel: the answer is as 3.3.5.13 has it.
    pub(in super::super) fn writes(
        &mut self,
        buffer: &Buffer,
        length: u32,
        at: u64,
    ) -> Result<Response, Stop> {
        const DONE: &str = "3.3.5.13-26";
        let what = format!("WRITE of {length} bytes at {at}, channel {}", buffer.channel);
        let id = self.ask(&Asked::write(buffer, length, at))?;
        let response = self.answer(DONE, id, &what)?;
        self.succeeds(DONE, &response, &what)?;
        let bytes = &response.bytes;
        let count = WriteResponse::parse(bytes).map(|response| response.count).unwrap_or_default();
        self.asserts("3.3.5.13-27", count == length, || {
            format!("Count of the answer to {what} should be {length}, it is {count}")
        });
        let others = [
            ("Remaining", write::response::REMAINING.get(bytes).unwrap_or_default()),
            ("WriteChannelInfoOffset", u32::from(info_offset(bytes))),
            ("WriteChannelInfoLength", u32::from(info_length(bytes))),
        ];
        for (name, value) in others {
            self.asserts("3.3.5.13-28", value == 0, || {
                format!("{name} of the answer to {what} should be 0, it is {value}")
            });
        }
        Ok(response)
    }

    /// A check of a shared part: shown only for statements that the case lists.
    pub(super) fn asserts(&mut self, statements: &str, holds: bool, text: impl FnOnce() -> String) {
        let id = self.peer.id();
        self.peer.play.shared(id, statements, holds, text);
    }

    /// READ in messages: as many bytes as come.
    pub(super) fn reads_plainly(&mut self, length: u32, at: u64) -> Result<Option<Vec<u8>>, Stop> {
        let id = self.ask(&Asked::plain(length, at))?;
        let came = self.comes(id)?;
        let super::Came::Response(response) = came else { return Ok(None) };
        let parsed = ReadResponse::parse(&response.bytes);
        Ok(parsed.ok().filter(|_| response.status() == NtStatus::SUCCESS).map(|read| read.data.to_vec()))
    }
}

fn info_offset(bytes: &[u8]) -> u16 {
    write::response::WRITE_CHANNEL_INFO_OFFSET.get(bytes).unwrap_or_default()
}

fn info_length(bytes: &[u8]) -> u16 {
    write::response::WRITE_CHANNEL_INFO_LENGTH.get(bytes).unwrap_or_default()
}
