//! A client as Linux and Windows are: it keeps MessageIds, credits and registered memory, and says what each answer has to be.

mod answers;

use std::collections::BTreeMap;

use smbd_smb2::wire::*;

use super::message::{cancel, elements, encrypt, seal};
use super::pool::{PIECE_MAX, Pool};
use super::server::{FILE_LEN, file};
use crate::Chance;

/// What a request is, and what it has to lead to.
#[derive(Clone, Debug)]
pub enum Expect {
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
    /// The server has to refuse it.
    Refused,
}

#[derive(Clone, Debug)]
pub struct Op {
    pub expect: Expect,
    pub channel: Channel,
    /// The token that the final answer has to invalidate.
    pub invalidate: Option<u32>,
    /// Its registered memory, in order.
    pub tokens: Vec<u32>,
    /// Whether the relay may have it refused: there may be no room for its descriptors.
    pub may_be_refused: bool,
    pub is_signed: bool,
    pub is_hidden: bool,
    pub async_id: Option<u64>,
}

/// Registered memory.
#[derive(Clone, Debug)]
pub struct Region {
    pub address: u64,
    pub bytes: Vec<u8>,
}

/// Limits of the relay that a client knows, or stays within.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub held: usize,
    pub fragmented: usize,
    pub read_write: usize,
    pub descriptors: usize,
}

pub struct Client {
    pub open: BTreeMap<u64, Op>,
    pub regions: BTreeMap<u32, Region>,
    /// MessageIds in the order in which they were sent; of a CANCEL that of its target, with a bit.
    pub sent: Vec<u64>,
    pub charges: Vec<(u64, u16)>,
    /// What file 1 has to be.
    pub written: Vec<u8>,
    pub finished: u64,
    pub limits: Limits,
    /// Where memory is from; without, it is made up.
    pub pool: Option<Pool>,
    next_id: u64,
    pub credits: usize,
    next_token: u32,
    next_write: usize,
    /// Ranges of file 1 that were written and answered.
    done: Vec<(usize, usize)>,
    left: usize,
}

pub const CANCEL: u64 = 1 << 63;

/// How an element goes.
#[derive(Clone, Copy)]
struct Manner {
    session: u64,
    is_signed: bool,
    is_hidden: bool,
    has_channel: bool,
    /// Other elements of the message may have one.
    is_mixed: bool,
}

impl Client {
    pub fn new(limits: Limits, requests: usize) -> Self {
        Self {
            open: BTreeMap::new(),
            regions: BTreeMap::new(),
            sent: Vec::new(),
            charges: Vec::new(),
            written: file(1),
            finished: 0,
            limits,
            pool: None,
            next_id: 0,
            credits: super::window::CREDITS,
            next_token: 100,
            next_write: 0,
            done: Vec::new(),
            left: requests,
        }
    }

    pub fn has_more(&self) -> bool {
        self.left > 0
    }

    /// The next message, if there are credits.
    pub fn next(&mut self, chance: &mut Chance) -> Option<Vec<u8>> {
        if self.left == 0 {
            return None;
        }
        if chance.one_in(6)
            && let Some(cancel) = self.cancel(chance)
        {
            return Some(cancel);
        }
        let needed = self.memory_needed();
        if self.credits < 12 || self.pool.as_ref().is_some_and(|pool| pool.bytes() < needed) {
            return None;
        }
        self.left -= 1;
        let way = chance.below(8);
        let manner = Manner {
            session: [1, 1, 1, 1, 1, 1, 2, 3][way],
            is_signed: way == 6,
            is_hidden: way == 7,
            has_channel: way < 5,
            is_mixed: way < 5,
        };
        let count = if chance.one_in(4) { 2 + chance.below(2) } else { 1 };
        let mut message = Vec::new();
        let (ids, before) = (self.next_id, self.open.len());
        let descriptors: usize = self.open.values().map(|op| op.tokens.len()).sum();
        for index in 0..count {
            self.element(&mut message, manner, index > 0, chance);
            // A compound with a channel has to fit into what is kept.
            let is_long = message.len() + 700 > self.limits.held;
            if manner.has_channel && is_long {
                break;
            }
        }
        debug_assert!(self.open.len() > before);
        let sum: usize = self.open.values().map(|op| op.tokens.len()).sum();
        let is_long = message.len() > self.limits.held;
        for (_, op) in self.open.range_mut(ids..) {
            op.may_be_refused = is_long || sum.max(descriptors) > self.limits.descriptors;
        }
        seal(&mut message, false);
        Some(if manner.is_hidden { encrypt(&message) } else { message })
    }

    /// Bytes of memory that a message may need.
    pub fn memory_needed(&self) -> usize {
        // Of each of three elements, a piece is used in part.
        3 * (self.limits.read_write + 64 + PIECE_MAX)
    }

    /// What comes before everything else: NEGOTIATE, and a SESSION_SETUP twice.
    pub fn hello(&mut self, step: usize) -> Vec<u8> {
        let manner =
            Manner { session: 0, is_signed: false, is_hidden: false, has_channel: false, is_mixed: false };
        let mut message = Vec::new();
        let header = if step == 0 {
            let header = self.header::<NegotiateRequest>(manner, false, 0);
            append(&mut message, &header, &NegotiateRequest::default());
            header
        } else {
            let header = self.header::<SessionSetupRequest>(manner, false, 0);
            append(&mut message, &header, &SessionSetupRequest::default());
            header
        };
        self.add(&header, manner, Expect::Echo);
        seal(&mut message, false);
        message
    }

    /// A WRITE with a channel, whatever else is.
    pub fn early_write(&mut self, chance: &mut Chance) -> Vec<u8> {
        let manner =
            Manner { session: 1, is_signed: false, is_hidden: false, has_channel: true, is_mixed: true };
        let (mut message, id) = (Vec::new(), self.next_id);
        self.transfer(&mut message, manner, false, false, chance);
        let (is_long, most) = (message.len() > self.limits.held, self.limits.descriptors);
        if let Some(op) = self.open.get_mut(&id) {
            op.may_be_refused = is_long || op.tokens.len() > most;
        }
        seal(&mut message, false);
        message
    }

    /// A READ that is signed and has a channel: what no client sends.
    pub fn signed_channel(&mut self, chance: &mut Chance) -> Vec<u8> {
        let manner =
            Manner { session: 2, is_signed: true, is_hidden: false, has_channel: true, is_mixed: true };
        let mut message = Vec::new();
        if chance.one_in(2) {
            self.echo(&mut message, manner, false);
        }
        let is_related = !message.is_empty();
        self.transfer(&mut message, manner, is_related, true, chance);
        seal(&mut message, false);
        message
    }

    fn cancel(&mut self, chance: &mut Chance) -> Option<Vec<u8>> {
        let ids: Vec<_> = self.open.keys().copied().collect();
        let id = *ids.get(chance.below(ids.len().max(1)))?;
        let op = &self.open[&id];
        if op.is_hidden {
            return None;
        }
        let mut message = cancel(id, op.is_signed, op.async_id);
        seal(&mut message, false);
        self.sent.push(id | CANCEL);
        Some(message)
    }

    fn element(&mut self, message: &mut Vec<u8>, manner: Manner, is_related: bool, chance: &mut Chance) {
        match chance.below(8) {
            0 => self.echo(message, manner, is_related),
            1 if manner.has_channel => self.bad(message, manner, is_related, chance),
            _ => {
                // Compounds mix.
                let has_channel = manner.has_channel && !chance.one_in(4);
                let is_read = chance.one_in(2);
                self.transfer(message, Manner { has_channel, ..manner }, is_related, is_read, chance);
            }
        }
    }

    fn header<M: CommandBody>(&mut self, manner: Manner, is_related: bool, chance: usize) -> Header {
        let header = Header::request::<M>(self.next_id);
        let header = if is_related { header.related() } else { header };
        let charge = 1 + chance as u16 % 3;
        let session = if is_related { SessionId::RELATED } else { SessionId(manner.session) };
        Header {
            credit_charge: charge,
            flags: header.flags.with(Flags::SIGNED, manner.is_signed),
            session_id: session,
            ..header
        }
    }

    fn add(&mut self, header: &Header, manner: Manner, expect: Expect) -> &mut Op {
        self.credits -= usize::from(header.credit_charge);
        self.next_id += u64::from(header.credit_charge);
        let id = header.message_id.0;
        self.sent.push(id);
        self.charges.push((id, header.credit_charge));
        let op = Op {
            expect,
            channel: Channel::NONE,
            invalidate: None,
            tokens: Vec::new(),
            may_be_refused: false,
            is_signed: manner.is_signed,
            is_hidden: manner.is_hidden,
            async_id: None,
        };
        self.open.entry(id).or_insert(op)
    }

    fn echo(&mut self, message: &mut Vec<u8>, manner: Manner, is_related: bool) {
        let header = self.header::<EchoRequest>(manner, is_related, 0);
        append(message, &header, &EchoRequest {});
        self.add(&header, manner, Expect::Echo);
    }

    /// Registers memory for `bytes`, in one or many pieces, perhaps with some to spare.
    fn register(&mut self, bytes: &[u8], chance: &mut Chance) -> Vec<BufferDescriptorV1> {
        let mut descriptors = Vec::new();
        let mut left = bytes;
        while let Some(pool) = self.pool.as_mut().filter(|_| !left.is_empty()) {
            let (memory, len, before) = pool.take(left.len(), descriptors.len() < 17, chance);
            let (piece, rest) = left.split_at(len);
            let behind = memory.length as usize - before - len;
            let spare = if rest.is_empty() && chance.one_in(3) { behind.min(5) } else { 0 };
            let bytes = [piece, &vec![0xEE; spare]].concat();
            let (address, length) = (memory.offset + before as u64, bytes.len() as u32);
            descriptors.push(BufferDescriptorV1 { offset: address, token: memory.token, length });
            self.regions.insert(memory.token.0, Region { address, bytes });
            left = rest;
        }
        if self.pool.is_some() {
            return descriptors;
        }
        let many = chance.one_in(2);
        while !left.is_empty() || chance.one_in(8) {
            let len = if many { chance.below(left.len() + 1) } else { left.len() };
            // The last place is for the rest.
            let len = if descriptors.len() == 17 { left.len() } else { len };
            let (piece, rest) = left.split_at(len);
            left = rest;
            let spare = if rest.is_empty() && chance.one_in(3) { 5 } else { 0 };
            let bytes = [piece, &vec![0xEE; spare]].concat();
            let address = 0x1000 + (chance.bits() & 0xFFFF_FFFF_FFFF);
            let token = self.next_token;
            self.next_token += 1;
            let length = bytes.len() as u32;
            descriptors.push(BufferDescriptorV1 { offset: address, token: Token(token), length });
            self.regions.insert(token, Region { address, bytes });
        }
        descriptors
    }

    fn transfer(
        &mut self,
        message: &mut Vec<u8>,
        manner: Manner,
        is_related: bool,
        is_read: bool,
        chance: &mut Chance,
    ) {
        if is_read {
            self.read(message, manner, is_related, chance)
        } else {
            self.write(message, manner, is_related, chance)
        }
    }

    fn channel(&self, manner: Manner, chance: &mut Chance) -> Channel {
        match manner.has_channel {
            true if self.pool.as_ref().is_some_and(|pool| !pool.can_invalidate) => Channel::RDMA_V1,
            true => chance.pick(&[Channel::RDMA_V1, Channel::RDMA_V1_INVALIDATE]),
            false => Channel::NONE,
        }
    }

    fn read(&mut self, message: &mut Vec<u8>, manner: Manner, is_related: bool, chance: &mut Chance) {
        let header = self.header::<ReadRequest>(manner, is_related, chance.below(3));
        let room = self.limits.fragmented - 300;
        let most = match (manner.has_channel, manner.is_hidden || is_related) {
            (true, _) => self.limits.read_write,
            (false, true) => room,
            // Too much for the client: it is lowered, but for a signed one, of which there is less at the server.
            (false, false) => room * 3,
        };
        let mut len = chance.size(1, most.min(FILE_LEN));
        let (file, offset) = match self.done.get(chance.below(self.done.len() + 1)) {
            Some(&(offset, written)) => {
                len = len.min(written);
                (1, offset)
            }
            None => (chance.pick(&[0, 2]), chance.below(FILE_LEN - len + 1)),
        };
        let channel = self.channel(manner, chance);
        let descriptors =
            if channel == Channel::NONE { Vec::new() } else { self.register(&vec![0xEE; len], chance) };
        let info = pack(&descriptors);
        let request = ReadRequest {
            flags: if chance.one_in(4) { ReadFlags::REQUEST_COMPRESSED } else { ReadFlags::NONE },
            length: len as u32,
            offset: offset as u64,
            file_id: FileId { persistent: file, volatile: file },
            channel,
            remaining_bytes: if chance.one_in(2) { len as u32 } else { 0 },
            channel_info: &info,
            ..ReadRequest::default()
        };
        append(message, &header, &request);
        let op = self.add(&header, manner, Expect::Read { file, offset, len });
        op.note(channel, &descriptors);
    }

    fn write(&mut self, message: &mut Vec<u8>, manner: Manner, is_related: bool, chance: &mut Chance) {
        let header = self.header::<WriteRequest>(manner, is_related, chance.below(3));
        let most = match manner {
            Manner { has_channel: true, .. } => self.limits.read_write,
            // A compound with a channel has to fit into what is kept.
            Manner { is_mixed: true, .. } => 100,
            _ => 3000,
        };
        let len = chance.size(1, most).min(FILE_LEN - self.next_write);
        if len == 0 {
            return self.echo(message, manner, is_related);
        }
        let (offset, first) = (self.next_write, chance.bits() as u8);
        self.next_write += len;
        let data: Vec<_> = (0..len).map(|at| first.wrapping_add((at % 251) as u8)).collect();
        let channel = self.channel(manner, chance);
        let mut descriptors =
            if channel == Channel::NONE { Vec::new() } else { self.register(&data, chance) };
        // 3.3.5.13: the first one has to have bytes.
        let empty = descriptors.iter().take_while(|descriptor| descriptor.length == 0).count();
        descriptors.drain(..empty);
        let info = pack(&descriptors);
        let request = WriteRequest {
            offset: offset as u64,
            file_id: FileId { persistent: 1, volatile: 1 },
            channel,
            remaining_bytes: if channel == Channel::NONE { 0 } else { len as u32 },
            data: if channel == Channel::NONE { &data } else { &[] },
            channel_info: &info,
            ..WriteRequest::default()
        };
        append(message, &header, &request);
        let op = self.add(&header, manner, Expect::Write { offset, data });
        op.note(channel, &descriptors);
    }

    /// A request whose transfer is not possible.
    fn bad(&mut self, message: &mut Vec<u8>, manner: Manner, is_related: bool, chance: &mut Chance) {
        let (is_read, what) = (chance.one_in(2), chance.below(10));
        let header = match is_read {
            true => self.header::<ReadRequest>(manner, is_related, 1),
            false => self.header::<WriteRequest>(manner, is_related, 1),
        };
        let mut descriptors = self.register(&[1; 64], chance);
        let mut channel = self.channel(manner, chance);
        let mut len = 64_u32;
        match what {
            0 => channel = Channel(7),
            1 => len = 0,
            2 => descriptors.clear(),
            3 => descriptors[0] = BufferDescriptorV1 { offset: u64::MAX, length: 64, ..descriptors[0] },
            4 => len = 64 * 20,
            5 => {
                len = self.limits.read_write as u32 + 1;
                descriptors[0].length = len;
            }
            9 if is_read => len = 64 * 20,
            9 => descriptors.insert(0, BufferDescriptorV1 { length: 0, ..descriptors[0] }),
            _ => {}
        }
        let (info, start) = (pack(&descriptors), message.len().next_multiple_of(8));
        let file_id = FileId { persistent: 1, volatile: 1 };
        if is_read {
            let info = &info[..];
            let request =
                ReadRequest { length: len, channel, channel_info: info, file_id, ..Default::default() };
            append(message, &header, &request);
        } else {
            let info = &info[..];
            let request = WriteRequest {
                remaining_bytes: len,
                channel,
                channel_info: info,
                file_id,
                ..Default::default()
            };
            append(message, &header, &request);
        }
        let element = &mut message[start..];
        let mut is_readable = true;
        match (what, is_read) {
            (6, true) => read::request::READ_CHANNEL_INFO_LENGTH.set(element, info.len() as u16 - 4).unwrap(),
            (6, false) => {
                write::request::WRITE_CHANNEL_INFO_LENGTH.set(element, info.len() as u16 - 4).unwrap()
            }
            (7, true) => read::request::READ_CHANNEL_INFO_OFFSET.set(element, 9000).unwrap(),
            (7, false) => write::request::WRITE_CHANNEL_INFO_OFFSET.set(element, 9000).unwrap(),
            (8, false) => write::request::LENGTH.set(element, 5).unwrap(),
            (8, true) => read::request::LENGTH.set(element, 0).unwrap(),
            _ => {}
        }
        if what == 7 || (what == 6 && info.len() < 20) {
            is_readable = false;
        }
        let op = self.add(&header, manner, Expect::Refused);
        op.note(channel, if is_readable { &descriptors } else { &[] });
    }
}

impl Op {
    fn note(&mut self, channel: Channel, descriptors: &[BufferDescriptorV1]) {
        self.channel = channel;
        self.tokens = descriptors.iter().map(|descriptor| descriptor.token.0).collect();
        if channel == Channel::RDMA_V1_INVALIDATE {
            self.invalidate = self.tokens.first().copied();
        }
    }
}

/// Appends an element to a message, with NextCommand of the one before.
pub fn append(message: &mut Vec<u8>, header: &Header, body: &impl Body) {
    let mut last = None;
    if !message.is_empty() {
        last = elements(message).unwrap().last().map(|range| range.start);
        message.resize(message.len().next_multiple_of(8), 0);
    }
    let start = message.len();
    write_element(message, header, body).unwrap();
    if let Some(last) = last {
        header::field::NEXT_COMMAND.set(&mut message[last..], (start - last) as u32).unwrap();
    }
}
