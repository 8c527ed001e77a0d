//! A client as those are that know TCP only: it keeps MessageIds and credits, and says what each answer has to be.

use std::collections::BTreeMap;

use smbd_smb2::wire::*;

use super::Device;
use super::server::Server;
use crate::relay::{
    CANCEL, CREDITS, FILE_LEN, append, cancel, decrypt, elements, encrypt, file, is_sealed, seal,
};
use crate::{Breach, Chance, law};

/// What a request is, and what it has to lead to.
#[derive(Clone, Debug)]
pub enum Expect {
    Setup,
    Echo,
    /// The data of a file from an offset on.
    Read {
        file: u64,
        offset: usize,
        len: usize,
    },
    Write {
        offset: usize,
        data: Vec<u8>,
    },
}

#[derive(Clone, Debug)]
pub struct Op {
    pub expect: Expect,
    /// The element as it was sent.
    pub original: Vec<u8>,
    pub is_signed: bool,
    pub is_hidden: bool,
    /// Whether it may get a channel, and whether it has to: then all buffers are free.
    pub may_have_channel: bool,
    pub must_have_channel: bool,
    pub async_id: Option<u64>,
}

/// Limits of the gateway that a client knows, or stays within.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// What the server receives of a message, and what the gateway receives of one of the server.
    pub sends: usize,
    pub receives: usize,
    pub held: usize,
    pub threshold: usize,
    /// What goes by RDMA at most.
    pub rdma: usize,
    pub dialect: Dialect,
    pub remote_invalidation: bool,
}

pub struct Client {
    pub open: BTreeMap<u64, Op>,
    /// MessageIds in the order in which they were sent; of a CANCEL that of its target, with a bit.
    pub sent: Vec<u64>,
    /// What it sent and nobody took.
    pub out: Vec<u8>,
    /// What file 1 has to be.
    pub written: Vec<u8>,
    pub finished: u64,
    pub limits: Limits,
    pub credits: usize,
    pub has_session: bool,
    partial: Vec<u8>,
    next_id: u64,
    next_write: usize,
    /// Ranges of file 1 that were written and answered.
    done: Vec<(usize, usize)>,
    left: usize,
}

/// How an element goes.
#[derive(Clone, Copy)]
struct Manner {
    session: u64,
    is_signed: bool,
    is_hidden: bool,
    /// Whether it is the only one of its message.
    is_alone: bool,
}

impl Client {
    pub fn new(limits: Limits, requests: usize) -> Self {
        Self {
            open: BTreeMap::new(),
            sent: Vec::new(),
            out: Vec::new(),
            written: file(1),
            finished: 0,
            limits,
            credits: CREDITS,
            has_session: false,
            partial: Vec::new(),
            next_id: 0,
            next_write: 0,
            done: Vec::new(),
            left: requests,
        }
    }

    pub fn has_more(&self) -> bool {
        self.left > 0
    }

    /// Whether all bytes that came were messages.
    pub fn is_between_messages(&self) -> bool {
        self.partial.is_empty()
    }

    /// Sends the next message, if there are credits.
    pub fn next(&mut self, chance: &mut Chance) {
        if !self.has_session {
            return self.set_up(chance);
        }
        if self.left == 0 || (chance.one_in(6) && self.cancel(chance)) || self.credits < 12 {
            return;
        }
        self.left -= 1;
        let way = chance.below(8);
        let is_alone = !chance.one_in(4);
        let manner = Manner {
            session: [1, 1, 1, 1, 1, 1, 2, 3][way],
            is_signed: way == 6,
            is_hidden: way == 7,
            is_alone,
        };
        let mut message = Vec::new();
        let count = if is_alone { 1 } else { 2 + chance.below(2) };
        for index in 0..count {
            self.element(&mut message, manner, index > 0, chance);
        }
        self.send(message, manner.is_hidden);
    }

    /// NEGOTIATE and SESSION_SETUP, one after the other.
    fn set_up(&mut self, chance: &mut Chance) {
        if !self.open.is_empty() {
            return;
        }
        let manner = Manner { session: 0, is_signed: false, is_hidden: false, is_alone: true };
        let mut message = Vec::new();
        if self.next_id == 0 {
            let header = self.header::<NegotiateRequest<'_>>(manner, false, 0);
            append(&mut message, &header, &NegotiateRequest::default());
            self.add(&header, manner, Expect::Setup);
        } else if chance.one_in(3) {
            // Without a session a READ is refused.
            self.read(&mut message, manner, false, chance);
        } else {
            let header = self.header::<SessionSetupRequest<'_>>(manner, false, 0);
            append(&mut message, &header, &SessionSetupRequest::default());
            self.add(&header, manner, Expect::Setup);
        }
        self.send(message, false);
    }

    fn send(&mut self, mut message: Vec<u8>, is_hidden: bool) {
        seal(&mut message, false);
        for range in elements(&message).unwrap() {
            let element = &message[range];
            let id = Header::parse(element).unwrap().message_id.0;
            if let Some(op) = self.open.get_mut(&id).filter(|op| op.original.is_empty()) {
                op.original = element.to_vec();
            }
        }
        let message = if is_hidden { encrypt(&message) } else { message };
        self.raw(&message);
    }

    /// Any message.
    pub fn raw(&mut self, message: &[u8]) {
        self.out.extend_from_slice(&(message.len() as u32).to_be_bytes());
        self.out.extend_from_slice(message);
    }

    /// A READ with a channel: what no client over TCP sends.
    pub fn with_channel(&mut self, is_signed: bool) {
        let info = pack(&[BufferDescriptorV1 { offset: 0, token: Token(100), length: 64 }]);
        let manner = Manner { session: 1, is_signed, is_hidden: false, is_alone: true };
        let header = self.header::<ReadRequest<'_>>(manner, false, 0);
        let request =
            ReadRequest { length: 64, channel: Channel::RDMA_V1, channel_info: &info, ..Default::default() };
        let mut message = Vec::new();
        append(&mut message, &header, &request);
        self.add(&header, manner, Expect::Echo);
        self.send(message, false);
    }

    /// A signed WRITE that is too long for the server.
    pub fn too_long(&mut self) {
        let manner = Manner { session: 2, is_signed: true, is_hidden: false, is_alone: true };
        let header = self.header::<WriteRequest<'_>>(manner, false, 0);
        let data = vec![7; self.limits.sends - 111];
        let mut message = Vec::new();
        append(&mut message, &header, &WriteRequest { data: &data, ..Default::default() });
        self.add(&header, manner, Expect::Echo);
        self.send(message, false);
    }

    fn cancel(&mut self, chance: &mut Chance) -> bool {
        let ids: Vec<_> = self.open.keys().copied().collect();
        let Some(&id) = ids.get(chance.below(ids.len().max(1))) else { return false };
        let op = &self.open[&id];
        if op.is_hidden {
            return false;
        }
        let message = cancel(id, op.is_signed, op.async_id);
        self.sent.push(id | CANCEL);
        self.send(message, false);
        true
    }

    fn element(&mut self, message: &mut Vec<u8>, manner: Manner, is_related: bool, chance: &mut Chance) {
        match chance.below(5) {
            0 => self.echo(message, manner, is_related),
            1 | 2 => self.read(message, manner, is_related, chance),
            _ => self.write(message, manner, is_related, chance),
        }
    }

    fn header<M: CommandBody>(&mut self, manner: Manner, is_related: bool, chance: usize) -> Header {
        let header = Header::request::<M>(self.next_id);
        let header = if is_related { header.related() } else { header };
        let session = if is_related { SessionId::RELATED } else { SessionId(manner.session) };
        Header {
            credit_charge: 1 + chance as u16 % 3,
            flags: header.flags.with(Flags::SIGNED, manner.is_signed),
            session_id: session,
            ..header
        }
    }

    fn add(&mut self, header: &Header, manner: Manner, expect: Expect) {
        self.credits -= usize::from(header.credit_charge);
        self.next_id += u64::from(header.credit_charge);
        let id = header.message_id.0;
        self.sent.push(id);
        let len = match &expect {
            Expect::Read { len, .. } => *len,
            Expect::Write { data, .. } => data.len(),
            Expect::Setup | Expect::Echo => 0,
        };
        let is_plain = manner.is_alone && !manner.is_signed && !manner.is_hidden;
        let is_fit = len >= self.limits.threshold && len <= self.limits.rdma;
        let may_have_channel = is_plain && is_fit && self.limits.dialect >= Dialect::SMB_3_0;
        let is_read = |expect: &Expect| matches!(expect, Expect::Read { .. });
        let is_free = !self.open.values().any(|op| is_read(&op.expect) == is_read(&expect));
        let op = Op {
            original: Vec::new(),
            is_signed: manner.is_signed,
            is_hidden: manner.is_hidden,
            may_have_channel,
            must_have_channel: may_have_channel && self.has_session && is_free,
            async_id: None,
            expect,
        };
        self.open.entry(id).or_insert(op);
    }

    fn echo(&mut self, message: &mut Vec<u8>, manner: Manner, is_related: bool) {
        let header = self.header::<EchoRequest>(manner, is_related, 0);
        append(message, &header, &EchoRequest {});
        self.add(&header, manner, Expect::Echo);
    }

    /// Whether the next element can go by RDMA.
    fn has_rdma(&self, manner: Manner) -> bool {
        let is_plain = manner.is_alone && !manner.is_signed && !manner.is_hidden;
        is_plain && self.has_session && self.limits.dialect >= Dialect::SMB_3_0
    }

    /// A length up to this one, often one that goes by RDMA.
    fn len(&self, manner: Manner, most: usize, chance: &mut Chance) -> usize {
        let Limits { threshold, rdma, .. } = self.limits;
        if self.has_rdma(manner) && threshold <= rdma && chance.one_in(2) {
            return chance.pick(&[threshold, rdma, threshold + (rdma - threshold) / 9]);
        }
        chance.size(1, most)
    }

    fn read(&mut self, message: &mut Vec<u8>, manner: Manner, is_related: bool, chance: &mut Chance) {
        let header = self.header::<ReadRequest<'_>>(manner, is_related, chance.below(3));
        let room = self.limits.receives - 300;
        let most = match (self.has_rdma(manner), manner.is_hidden) {
            (true, _) => self.limits.rdma + 200,
            (false, true) => room,
            // Too much: it is lowered, but for a signed one, of which there is less at the server.
            (false, false) => room * 3,
        };
        let mut len = self.len(manner, most.min(FILE_LEN), chance);
        let (file, offset) = match self.done.get(chance.below(self.done.len() + 1)) {
            Some(&(offset, written)) => {
                len = len.min(written);
                (1, offset)
            }
            None => (chance.pick(&[0, 2]), chance.below(FILE_LEN - len + 1)),
        };
        let request = ReadRequest {
            flags: if chance.one_in(4) { ReadFlags::REQUEST_COMPRESSED } else { ReadFlags::NONE },
            length: len as u32,
            offset: offset as u64,
            file_id: FileId { persistent: file, volatile: file },
            ..ReadRequest::default()
        };
        append(message, &header, &request);
        self.add(&header, manner, Expect::Read { file, offset, len });
    }

    fn write(&mut self, message: &mut Vec<u8>, manner: Manner, is_related: bool, chance: &mut Chance) {
        let header = self.header::<WriteRequest<'_>>(manner, is_related, chance.below(3));
        // What passes has to fit, in encrypted form and beside two others.
        let plain = (self.limits.sends.saturating_sub(message.len() + 60)) / 3;
        let plain = plain.saturating_sub(if manner.is_alone { 120 } else { 130 }).max(1);
        let most = if self.has_rdma(manner) { self.limits.rdma.max(plain) } else { plain };
        let len = self.len(manner, most, chance).min(FILE_LEN - self.next_write);
        // One that passes because it is below the threshold.
        let is_long = len + 112 > self.limits.sends && len < self.limits.threshold;
        if len == 0 || is_long {
            return self.echo(message, manner, is_related);
        }
        let (offset, first) = (self.next_write, chance.bits() as u8);
        self.next_write += len;
        let data: Vec<_> = (0..len).map(|at| first.wrapping_add((at % 251) as u8)).collect();
        let request = WriteRequest {
            offset: offset as u64,
            file_id: FileId { persistent: 1, volatile: 1 },
            data: &data,
            ..WriteRequest::default()
        };
        let start = message.len().next_multiple_of(8);
        append(message, &header, &request);
        if self.has_rdma(manner) && chance.one_in(4) {
            // The data do not have to follow at once.
            message.splice(start + 112..start + 112, [0xDD; 8]);
            write::request::DATA_OFFSET.set(&mut message[start..], 120).unwrap();
            if message.len() > self.limits.sends && len < self.limits.threshold {
                message.drain(start + 112..start + 120);
                write::request::DATA_OFFSET.set(&mut message[start..], 112).unwrap();
            }
        }
        self.add(&header, manner, Expect::Write { offset, data });
    }

    /// Bytes of the stream.
    pub fn receive(&mut self, bytes: &[u8], server: &Server, device: &dyn Device) -> Result<(), Breach> {
        self.partial.extend_from_slice(bytes);
        while let Some(header) = self.partial.first_chunk::<4>() {
            let len = u32::from_be_bytes(*header) as usize;
            law!("framing", len > 0 && len < 1 << 24, "0x{len:x}");
            if self.partial.len() < 4 + len {
                break;
            }
            let message = self.partial[4..4 + len].to_vec();
            self.partial.drain(..4 + len);
            let message = decrypt(&message).unwrap_or(message);
            let elements = elements(&message).ok_or("framing: these are no elements")?;
            for range in &elements {
                law!("framing", range.start % 8 == 0, "an element begins at {}", range.start);
                self.element_came(&message[range.clone()], server, device)?;
            }
        }
        Ok(())
    }

    fn element_came(&mut self, element: &[u8], server: &Server, device: &dyn Device) -> Result<(), Breach> {
        let header = Header::parse(element).map_err(|error| format!("answers: {error}"))?;
        let id = header.message_id.0;
        law!("answers", self.open.contains_key(&id), "a second answer, or one to nothing: {id}");
        self.credits += usize::from(header.credits);
        if header.status == NtStatus::PENDING {
            let op = self.open.get_mut(&id).unwrap();
            law!("unchanged", is_sealed(element, true), "interim answer {id}");
            law!("answers", op.async_id.is_none(), "a second interim answer {id}");
            op.async_id = header.async_id();
            return Ok(());
        }
        let op = self.open.remove(&id).unwrap();
        let decided = &server.decided[&id];
        for token in &decided.tokens {
            law!("end of access", !device.is_open(*token), "{id} was answered, and {token} is valid");
        }
        law!("answers", decided.status == header.status, "{id}: {}, not {}", header.status, decided.status);
        self.has_session |= header.command == Command::SESSION_SETUP;
        self.result(id, &op, &header, element, server, device)?;
        self.finished += 1;
        Ok(())
    }

    fn result(
        &mut self,
        id: u64,
        op: &Op,
        header: &Header,
        element: &[u8],
        server: &Server,
        device: &dyn Device,
    ) -> Result<(), Breach> {
        let decided = &server.decided[&id];
        let is_success = matches!(header.status, NtStatus::SUCCESS | NtStatus::BUFFER_OVERFLOW);
        law!("unchanged", decided.by_rdma.is_some() || is_sealed(element, true), "answer {id}");
        match &op.expect {
            Expect::Write { offset, data } if is_success => {
                let count = WriteResponse::parse(element).map_err(|error| format!("bytes: {error}"))?.count;
                law!("bytes", count as usize == data.len(), "WRITE {id} of {} has {count}", data.len());
                self.written[*offset..*offset + data.len()].copy_from_slice(data);
                self.done.push((*offset, data.len()));
            }
            Expect::Read { file: number, offset, .. } if is_success => {
                let answer = ReadResponse::parse(element).map_err(|error| format!("bytes: {error}"))?;
                let moved = decided.moved;
                let whole = if *number == 1 { &self.written } else { &server.files[*number as usize] };
                if let Some(claimed) = decided.by_rdma {
                    law!("answer to READ", element.len() == 80 + claimed, "{} bytes", element.len());
                    law!("answer to READ", answer.data_remaining == 0, "{answer:?}");
                    law!("answer to READ", header.next_command == 0, "NextCommand {}", header.next_command);
                    // What was in the buffers when the access ended.
                    let memory =
                        decided.tokens.iter().flat_map(|token| device.closed(*token).iter().copied());
                    let memory: Vec<u8> = memory.take(claimed).collect();
                    law!("bytes", answer.data == memory, "READ {id}: other bytes than the server wrote");
                    let is_clean =
                        answer.data.iter().skip(decided.written).all(|byte| *byte == 0 || *byte == 0x5A);
                    law!("bytes", decided.is_honest || is_clean, "READ {id}: bytes of somebody else");
                }
                if decided.is_honest {
                    let wanted = &whole[*offset..*offset + moved];
                    law!("bytes", answer.data == wanted, "READ {id} of {moved} at {offset} of {number}");
                }
            }
            Expect::Setup | Expect::Echo | Expect::Read { .. } | Expect::Write { .. } => {}
        }
        Ok(())
    }
}
