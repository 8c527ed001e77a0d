//! A server over SMB Direct: it wants every MessageId of its window once, moves data by RDMA when it is asked to, answers late and in
//! any order. A dishonest one says that it has moved what it has not, and uses memory when it should not.

use std::collections::{BTreeMap, VecDeque};

use smbd_core::Access;
use smbd_smb2::wire::*;

use super::Device;
use super::client::{Client, Expect};
use crate::relay::{CANCEL, Window, decrypt, elements, elements_or_none, encrypt, file, is_sealed, seal};
use crate::{Breach, Chance, law};

/// What an answer says.
#[derive(Clone, Debug)]
pub struct Decided {
    pub status: NtStatus,
    /// Bytes of data that were asked for and are there.
    pub moved: usize,
    /// What DataRemaining says.
    pub by_rdma: Option<usize>,
    /// Bytes that were written by RDMA, from the first on.
    pub written: usize,
    pub is_honest: bool,
    pub tokens: Vec<u32>,
}

/// An answer that was not sent.
struct Answer {
    request: Header,
    data: Vec<u8>,
    channel: Channel,
    descriptors: Vec<BufferDescriptorV1>,
    wants_interim: bool,
    async_id: Option<u64>,
    is_hidden: bool,
    /// The message that it was in.
    message: usize,
    grants: u16,
}

/// What a server says that is not so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// More bytes were moved than there were asked for.
    TooMuch,
    /// Data in the message, and others by RDMA.
    Twice,
    /// The answer is signed.
    Signed,
}

pub struct Server {
    pub files: [Vec<u8>; 3],
    pub decided: BTreeMap<u64, Decided>,
    pub received: Vec<u64>,
    /// What it sent, with the token to be invalidated.
    pub out: VecDeque<(Vec<u8>, Option<u32>)>,
    pub has_session: bool,
    /// Whether it may say what is not so.
    pub is_honest: bool,
    /// What the next answer to a READ with a channel says. Taken when it was said.
    pub lie: Option<Lie>,
    pub with_channel: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    window: Window,
    waiting: Vec<Answer>,
    messages: usize,
    next_async: u64,
    /// Memory that it uses after its answer.
    late: Vec<BufferDescriptorV1>,
}

impl Server {
    pub fn new(is_honest: bool) -> Self {
        Self {
            files: [file(0), file(1), file(2)],
            decided: BTreeMap::new(),
            received: Vec::new(),
            out: VecDeque::new(),
            has_session: false,
            is_honest,
            lie: None,
            with_channel: 0,
            bytes_read: 0,
            bytes_written: 0,
            window: Window::default(),
            waiting: Vec::new(),
            messages: 0,
            next_async: 1,
            late: Vec::new(),
        }
    }

    pub fn has_answers(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// A whole message.
    pub fn receive(&mut self, message: &[u8], client: &Client, device: &dyn Device) -> Result<(), Breach> {
        law!("sizes", message.len() <= client.limits.sends, "{} bytes came", message.len());
        self.messages += 1;
        let within = decrypt(message);
        let is_hidden = within.is_some();
        let message = within.unwrap_or_else(|| message.to_vec());
        let elements = elements(&message).ok_or("framing: these are no elements")?;
        for range in elements {
            let element = &message[range];
            let header = Header::parse(element).map_err(|error| format!("framing: {error}"))?;
            let id = header.message_id.0;
            if header.command == Command::CANCEL {
                law!("unchanged", is_sealed(element, false), "CANCEL {id}");
                self.received.push(id | CANCEL);
                continue;
            }
            self.received.push(id);
            self.window.take(&header)?;
            law!("order", client.open.contains_key(&id), "{id} was not sent");
            self.request(&header, element, is_hidden, client, device)?;
        }
        Ok(())
    }

    /// Whether all MessageIds came.
    pub fn has_no_hole(&self) -> bool {
        self.window.has_no_hole()
    }

    fn request(
        &mut self,
        header: &Header,
        element: &[u8],
        is_hidden: bool,
        client: &Client,
        device: &dyn Device,
    ) -> Result<(), Breach> {
        let id = header.message_id.0;
        let op = &client.open[&id];
        let is_signed = header.flags.contains(Flags::SIGNED);
        law!("unchanged", is_signed == op.is_signed && is_hidden == op.is_hidden, "flags of {id}");
        let request = Request::parse(element).map_err(|error| format!("framing: {id}: {error}"))?;
        let (channel, descriptors) = match &request {
            Request::Read(read) => (read.channel, read.descriptors()),
            Request::Write(write) => (write.channel, write.descriptors()),
            _ => (Channel::NONE, Ok(List::from(&[][..]))),
        };
        let descriptors: Vec<_> = descriptors.map_err(|error| format!("channel: {error}"))?.iter().collect();
        let mut data = Vec::new();
        if channel == Channel::NONE {
            law!("channel", !op.must_have_channel, "{id} has no channel: {:?}", op.expect);
            let is_lowered = match (&request, &op.expect) {
                (Request::Read(read), Expect::Read { len, .. }) => (read.length as usize) < *len,
                _ => false,
            };
            law!("unchanged", is_lowered || is_sealed(element, false), "request {id}");
            law!("unchanged", !is_lowered || !(is_signed || is_hidden), "READ {id} is lowered");
            if let Request::Read(read) = &request {
                let answer = read.length as usize + 80;
                law!("sizes", answer <= client.limits.receives || is_signed, "READ {id} of {answer} bytes");
            }
        } else {
            self.with_channel += 1;
            self.check_channel(id, channel, &descriptors, client, device)?;
            check_rewritten(id, element, &op.original, &request)?;
        }
        if let Request::Read(read) = &request {
            let (file, offset) = (read.file_id.volatile as usize, read.offset as usize);
            data = self.files[file][offset..offset + read.length as usize].to_vec();
            if is_signed {
                // More could not be received.
                data.truncate(client.limits.receives - 300);
            }
        } else if let Request::Write(write) = &request {
            data = write.data.to_vec();
        }
        let grants = self.window.grant(header.credit_charge);
        self.waiting.push(Answer {
            request: *header,
            data,
            channel,
            descriptors,
            wants_interim: id % 3 == 1 && self.has_session,
            async_id: None,
            is_hidden,
            message: self.messages,
            grants,
        });
        Ok(())
    }

    fn check_channel(
        &self,
        id: u64,
        channel: Channel,
        descriptors: &[BufferDescriptorV1],
        client: &Client,
        device: &dyn Device,
    ) -> Result<(), Breach> {
        let op = &client.open[&id];
        law!("channel", op.may_have_channel && self.has_session, "{id} has {channel}: {:?}", op.expect);
        let may_invalidate = client.limits.remote_invalidation && client.limits.dialect >= Dialect::SMB_3_0_2;
        let wanted = if may_invalidate { Channel::RDMA_V1_INVALIDATE } else { Channel::RDMA_V1 };
        law!("channel", channel == wanted, "{id} has {channel}, not {wanted}");
        let len = match &op.expect {
            Expect::Read { len, .. } => *len,
            Expect::Write { data, .. } => data.len(),
            Expect::Setup | Expect::Echo => 0,
        };
        let total: usize = descriptors.iter().map(|descriptor| descriptor.length as usize).sum();
        law!("channel", total == len, "{id} of {len} bytes has descriptors of {total}");
        let are_open = descriptors.iter().all(|descriptor| device.is_open(descriptor.token.0));
        law!("channel", are_open, "{id} names memory that is not registered");
        Ok(())
    }

    /// Sends an answer, or several.
    pub fn answer(
        &mut self,
        client: &Client,
        device: &mut dyn Device,
        chance: &mut Chance,
    ) -> Result<(), Breach> {
        self.use_late(device);
        let Some(index) = (!self.waiting.is_empty()).then(|| chance.below(self.waiting.len())) else {
            return Ok(());
        };
        if self.waiting[index].wants_interim {
            self.interim(index);
            return Ok(());
        }
        let first = self.waiting.remove(index);
        let mut message = Vec::new();
        self.append(&mut message, &first, client, device, chance)?;
        let may_mix = chance.one_in(3);
        while chance.below(4) > 0 && self.lie.is_none() {
            let is_fit = |other: &Answer| {
                let is_same = other.message == first.message;
                let is_plain =
                    |answer: &Answer| !answer.is_hidden && !answer.request.flags.contains(Flags::SIGNED);
                !other.wants_interim && (is_same || (may_mix && is_plain(other) && is_plain(&first)))
            };
            let Some(next) = self.waiting.iter().position(is_fit) else { break };
            // One that has to go alone has to begin early, and one without has to be received.
            let start = message.len().next_multiple_of(8);
            let next = &self.waiting[next];
            let is_early = start + header::LEN <= client.limits.held;
            if start + next.data.len() + 200 > client.limits.receives || !is_early {
                break;
            }
            let next = self.waiting.iter().position(is_fit).unwrap();
            let next = self.waiting.remove(next);
            self.append(&mut message, &next, client, device, chance)?;
        }
        let is_asked = first.channel == Channel::RDMA_V1_INVALIDATE && !chance.one_in(5);
        let token = first.descriptors.first().filter(|_| is_asked).map(|descriptor| descriptor.token.0);
        self.send(message, first.is_hidden, token);
        Ok(())
    }

    fn interim(&mut self, index: usize) {
        let answer = &mut self.waiting[index];
        answer.wants_interim = false;
        answer.async_id = Some(self.next_async);
        self.next_async += 1;
        let mut header = answer.request.response(NtStatus::PENDING);
        header.target = Target::Async { async_id: answer.async_id.unwrap() };
        header.credits = std::mem::take(&mut answer.grants);
        let (is_hidden, mut message) = (answer.is_hidden, Vec::new());
        write_element(&mut message, &header, &ErrorResponse::default()).unwrap();
        self.send(message, is_hidden, None);
    }

    fn send(&mut self, mut message: Vec<u8>, is_hidden: bool, token: Option<u32>) {
        seal(&mut message, true);
        let message = if is_hidden { encrypt(&message) } else { message };
        self.out.push_back((message, token));
    }

    /// Carries a request out. What it says of it.
    fn carry_out(
        &mut self,
        answer: &Answer,
        client: &Client,
        device: &mut dyn Device,
        chance: &mut Chance,
    ) -> Result<Decided, Breach> {
        let id = answer.request.message_id.0;
        let mut decided = Decided {
            status: NtStatus::SUCCESS,
            moved: answer.data.len(),
            by_rdma: None,
            written: 0,
            is_honest: true,
            tokens: answer.descriptors.iter().map(|descriptor| descriptor.token.0).collect(),
        };
        let is_transfer = matches!(answer.request.command, Command::READ | Command::WRITE);
        if is_transfer && !self.has_session {
            decided.status = NtStatus::USER_SESSION_DELETED;
        } else if is_transfer && chance.one_in(8) && self.lie.is_none() {
            decided.status =
                chance.pick(&[NtStatus::END_OF_FILE, NtStatus::ACCESS_DENIED, NtStatus::DISK_FULL]);
        } else if answer.request.command == Command::WRITE {
            let data = self.data_of_write(answer, client, device)?;
            let Expect::Write { offset, data: wanted } = &client.open[&id].expect else { return Ok(decided) };
            law!("bytes", &data == wanted, "WRITE {id} has other bytes");
            self.files[1][*offset..*offset + data.len()].copy_from_slice(&data);
            decided.moved = data.len();
        } else if answer.request.command == Command::READ && answer.channel != Channel::NONE {
            self.read_by_rdma(answer, &mut decided, device, chance)?;
        }
        if !self.is_honest && chance.one_in(3) {
            self.late.extend_from_slice(&answer.descriptors);
            decided.is_honest = false;
        }
        Ok(decided)
    }

    fn data_of_write(
        &mut self,
        answer: &Answer,
        client: &Client,
        device: &mut dyn Device,
    ) -> Result<Vec<u8>, Breach> {
        if answer.channel == Channel::NONE {
            return Ok(answer.data.clone());
        }
        let (id, mut data) = (answer.request.message_id.0, Vec::new());
        for descriptor in &answer.descriptors {
            let Some(memory) = device.access(descriptor, Access::Read) else {
                return Err(format!("memory: WRITE {id}: {descriptor:?} cannot be read"));
            };
            let (own, rest) = memory.split_at(descriptor.length as usize);
            data.extend_from_slice(own);
            law!("zeros", rest.iter().all(|byte| *byte == 0), "WRITE {id}: bytes behind the data");
        }
        self.bytes_read += data.len() as u64;
        debug_assert!(client.open.contains_key(&id));
        Ok(data)
    }

    fn read_by_rdma(
        &mut self,
        answer: &Answer,
        decided: &mut Decided,
        device: &mut dyn Device,
        chance: &mut Chance,
    ) -> Result<(), Breach> {
        let (id, len) = (answer.request.message_id.0, answer.data.len());
        if len < 200 && chance.one_in(6) && self.lie.is_none() {
            // A server may leave its channel alone.
            return Ok(());
        }
        let claimed = if chance.one_in(4) { 1 + chance.below(len) } else { len };
        let is_lie = !self.is_honest && chance.one_in(2);
        let written = if is_lie { chance.below(claimed + 1) } else { claimed };
        let mut rest = &answer.data[..written];
        for descriptor in &answer.descriptors {
            let Some(memory) = device.access(descriptor, Access::Write) else {
                return Err(format!("memory: READ {id}: {descriptor:?} cannot be written"));
            };
            let (now, behind) = rest.split_at(rest.len().min(descriptor.length as usize));
            memory[..now.len()].copy_from_slice(now);
            rest = behind;
            if is_lie && chance.one_in(3) {
                // A whole buffer is registered.
                memory[now.len()..].fill(0x5A);
            }
        }
        (decided.moved, decided.by_rdma, decided.written) = (claimed, Some(claimed), written);
        decided.is_honest = !is_lie;
        self.bytes_written += claimed as u64;
        Ok(())
    }

    /// Uses memory of requests that were answered. If the access has ended, nothing happens.
    fn use_late(&mut self, device: &mut dyn Device) {
        for descriptor in std::mem::take(&mut self.late) {
            if let Some(memory) = device.access(&descriptor, Access::Write) {
                memory.fill(0x5A);
            }
        }
    }

    fn append(
        &mut self,
        message: &mut Vec<u8>,
        answer: &Answer,
        client: &Client,
        device: &mut dyn Device,
        chance: &mut Chance,
    ) -> Result<(), Breach> {
        let decided = self.carry_out(answer, client, device, chance)?;
        let (status, mut by_rdma) = (decided.status, decided.by_rdma);
        let mut header = answer.request.response(status);
        header.credits = answer.grants;
        let mut is_signed = answer.request.flags.contains(Flags::SIGNED);
        if let Some(async_id) = answer.async_id {
            header.target = Target::Async { async_id };
        }
        let last = elements_or_none(message);
        message.resize(message.len().next_multiple_of(8), 0);
        let start = message.len();
        let mut inline = if by_rdma.is_some() { &[][..] } else { &answer.data[..] };
        if let (Some(claimed), Some(lie)) = (&mut by_rdma, self.lie) {
            match lie {
                Lie::TooMuch => *claimed = answer.data.len() + 1 + chance.below(5000),
                Lie::Twice => inline = b"twice",
                Lie::Signed => is_signed = true,
            }
            self.lie = None;
        }
        header.flags = header.flags.with(Flags::SIGNED, is_signed);
        header.flags = header.flags.with(Flags::RELATED_OPERATIONS, last.is_some());
        let body = match answer.request.command {
            _ if status != NtStatus::SUCCESS => Response::Error(ErrorResponse::default()),
            Command::NEGOTIATE => Response::Negotiate(NegotiateResponse {
                dialect: client.limits.dialect,
                ..NegotiateResponse::default()
            }),
            Command::SESSION_SETUP => {
                self.has_session = true;
                Response::SessionSetup(SessionSetupResponse::default())
            }
            Command::READ => Response::Read(ReadResponse {
                data: inline,
                data_remaining: by_rdma.unwrap_or(0) as u32,
                ..ReadResponse::default()
            }),
            Command::WRITE => Response::Write(WriteResponse { count: decided.moved as u32 }),
            _ => Response::Echo(EchoResponse {}),
        };
        write_element(message, &header, &body).unwrap();
        if let Some(last) = last {
            header::field::NEXT_COMMAND.set(&mut message[last..], (start - last) as u32).unwrap();
        }
        self.decided.insert(answer.request.message_id.0, decided);
        Ok(())
    }
}

/// A request with a channel is what was sent but for the fields that say where the data are.
fn check_rewritten(id: u64, element: &[u8], original: &[u8], request: &Request<'_>) -> Result<(), Breach> {
    let mut copy = element[..112].to_vec();
    match request {
        Request::Read(read) => {
            law!("unchanged", !read.flags.contains(ReadFlags::REQUEST_COMPRESSED), "READ {id}: flags");
            read::request::FLAGS.set(&mut copy, read::request::FLAGS.get(original).unwrap()).unwrap();
            read::request::CHANNEL.set(&mut copy, Channel::NONE).unwrap();
            read::request::READ_CHANNEL_INFO_OFFSET.set(&mut copy, 0).unwrap();
            read::request::READ_CHANNEL_INFO_LENGTH.set(&mut copy, 0).unwrap();
        }
        Request::Write(write) => {
            let original_len = write::request::LENGTH.get(original).unwrap();
            law!("channel", write.remaining_bytes == original_len, "WRITE {id}: RemainingBytes");
            let is_nowhere = write::request::DATA_OFFSET.get(element) == Ok(0) && write.data.is_empty();
            law!("channel", is_nowhere, "WRITE {id} has data");
            write::request::DATA_OFFSET
                .set(&mut copy, write::request::DATA_OFFSET.get(original).unwrap())
                .unwrap();
            write::request::LENGTH.set(&mut copy, original_len).unwrap();
            write::request::REMAINING_BYTES.set(&mut copy, 0).unwrap();
            write::request::CHANNEL.set(&mut copy, Channel::NONE).unwrap();
            write::request::WRITE_CHANNEL_INFO_OFFSET.set(&mut copy, 0).unwrap();
            write::request::WRITE_CHANNEL_INFO_LENGTH.set(&mut copy, 0).unwrap();
        }
        _ => {}
    }
    law!("unchanged", copy == original[..112], "request {id}");
    Ok(())
}
