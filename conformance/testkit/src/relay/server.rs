//! A server as Samba is: it wants every MessageId of its window once, answers late, in any order, with and without interim answers,
//! alone and in compounds, and never looks at a channel.

use std::collections::BTreeMap;

use smbd_smb2::wire::*;

use super::client::{CANCEL, Client, Expect};
use super::message::{decrypt, elements, encrypt, is_sealed, seal};
use super::window::Window;
use crate::{Breach, Chance, law};

pub const FILE_LEN: usize = 40_000;
/// MaxReadSize and MaxWriteSize.
const MAX: usize = 1 << 20;

/// What a file is at first.
pub fn file(number: u64) -> Vec<u8> {
    (0..FILE_LEN).map(|at| ((at * 7 + at / 256 * 13) as u8).wrapping_add(number as u8 * 91)).collect()
}

/// An answer that was not sent.
struct Answer {
    request: Header,
    status: NtStatus,
    /// Data of a READ, or the number of bytes of a WRITE.
    data: Vec<u8>,
    count: usize,
    wants_interim: bool,
    async_id: Option<u64>,
    is_hidden: bool,
    /// The message that it was in.
    message: usize,
    grants: u16,
}

pub struct Server {
    pub files: [Vec<u8>; 3],
    /// What the answers say: status, and bytes of a READ.
    pub decided: BTreeMap<u64, (NtStatus, usize)>,
    pub received: Vec<u64>,
    pub charges: Vec<(u64, u16)>,
    /// What it sent and nobody took.
    pub out: Vec<u8>,
    window: Window,
    partial: Vec<u8>,
    waiting: Vec<Answer>,
    messages: usize,
    next_async: u64,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            files: [file(0), file(1), file(2)],
            decided: BTreeMap::new(),
            received: Vec::new(),
            charges: Vec::new(),
            out: Vec::new(),
            window: Window::default(),
            partial: Vec::new(),
            waiting: Vec::new(),
            messages: 0,
            next_async: 1,
        }
    }
}

impl Server {
    pub fn has_answers(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Requests whose final answers were sent.
    pub fn answered(&self) -> usize {
        self.decided.len() - self.waiting.len()
    }

    pub fn is_between_messages(&self) -> bool {
        self.partial.is_empty()
    }

    /// Bytes of the stream.
    pub fn receive(&mut self, bytes: &[u8], client: &Client, chance: &mut Chance) -> Result<(), Breach> {
        self.partial.extend_from_slice(bytes);
        while let Some(header) = self.partial.first_chunk::<4>() {
            let len = u32::from_be_bytes(*header) as usize;
            law!("framing", len > 0 && len < 1 << 24, "0x{len:x}");
            if self.partial.len() < 4 + len {
                break;
            }
            let message = self.partial[4..4 + len].to_vec();
            self.partial.drain(..4 + len);
            self.message(&message, client, chance)?;
        }
        Ok(())
    }

    fn message(&mut self, message: &[u8], client: &Client, chance: &mut Chance) -> Result<(), Breach> {
        self.messages += 1;
        let within = decrypt(message);
        let is_hidden = within.is_some();
        let message = within.as_deref().unwrap_or(message);
        let elements = elements(message).ok_or("framing: these are no elements")?;
        for range in elements {
            law!("framing", range.start % 8 == 0, "an element begins at {}", range.start);
            let element = &message[range];
            let header = Header::parse(element).map_err(|error| format!("framing: {error}"))?;
            let id = header.message_id.0;
            if header.command == Command::CANCEL {
                law!("unchanged", is_sealed(element, false), "CANCEL {id}");
                self.received.push(id | CANCEL);
                self.cancel(id, chance);
                continue;
            }
            self.received.push(id);
            self.charges.push((id, header.credit_charge));
            self.window.take(&header)?;
            law!("order", client.open.contains_key(&id), "{id} was not sent");
            self.request(&header, element, is_hidden, client, chance)?;
        }
        Ok(())
    }

    /// Whether all MessageIds came.
    pub fn has_no_hole(&self) -> bool {
        self.window.has_no_hole()
    }

    fn cancel(&mut self, id: u64, chance: &mut Chance) {
        let target = self.waiting.iter_mut().find(|answer| answer.request.message_id.0 == id);
        if let Some(answer) =
            target.filter(|answer| answer.request.command == Command::READ && !answer.data.is_empty())
            && chance.one_in(2)
        {
            (answer.status, answer.count) = (NtStatus::CANCELLED, 0);
            answer.data.clear();
            self.decided.insert(id, (NtStatus::CANCELLED, 0));
        }
    }

    fn request(
        &mut self,
        header: &Header,
        element: &[u8],
        is_hidden: bool,
        client: &Client,
        chance: &mut Chance,
    ) -> Result<(), Breach> {
        let id = header.message_id.0;
        let op = &client.open[&id];
        let is_signed = header.flags.contains(Flags::SIGNED);
        law!("unchanged", is_signed == op.is_signed && is_hidden == op.is_hidden, "flags of {id}");
        let request = Request::parse(element);
        let is_lowered = match (&request, &op.expect) {
            (Ok(Request::Read(read)), Expect::Read { len, .. }) => (read.length as usize) < *len,
            _ => false,
        };
        let may_change = op.channel != Channel::NONE || (is_lowered && !op.is_signed && !is_hidden);
        law!("unchanged", may_change || is_sealed(element, false), "request {id}");
        let (mut status, mut data, mut count) = (NtStatus::SUCCESS, Vec::new(), 0);
        match request {
            Ok(Request::Read(read)) => {
                law!("channel", read.channel == Channel::NONE, "READ {id} has {}", read.channel);
                law!("channel", read.channel_info.is_empty(), "READ {id} has info");
                let is_asked = read.flags.contains(ReadFlags::REQUEST_COMPRESSED);
                law!(
                    "channel",
                    op.channel == Channel::NONE || !is_asked,
                    "READ {id} wants a compressed answer"
                );
                let answer = read.length as usize + 80;
                let is_fit = op.channel != Channel::NONE || is_signed || answer <= client.limits.fragmented;
                law!("sizes", is_fit, "the answer to READ {id} can have {answer} bytes");
                (status, data) = self.read(&read, chance);
                if is_signed {
                    // More could not be passed on.
                    data.truncate(client.limits.fragmented - 300);
                }
                count = data.len();
            }
            Ok(Request::Write(write)) => {
                law!("channel", write.channel == Channel::NONE, "WRITE {id} has {}", write.channel);
                (status, count) = self.write(&write, element, chance);
            }
            Err(_) if header.command == Command::WRITE => status = NtStatus::INVALID_PARAMETER,
            // The first of two.
            Ok(Request::SessionSetup(_)) if id == 1 => status = NtStatus::MORE_PROCESSING_REQUIRED,
            Ok(_) => {}
            Err(error) => return Err(format!("framing: {error}")),
        }
        let grants = self.window.grant(header.credit_charge);
        self.decided.insert(id, (status, count));
        self.waiting.push(Answer {
            request: *header,
            status,
            data,
            count,
            wants_interim: chance.one_in(3) && matches!(header.command, Command::READ | Command::WRITE),
            async_id: None,
            is_hidden,
            message: self.messages,
            grants,
        });
        // Of these the relay has to know where their data go.
        let is_known = |answer: &&Answer| {
            answer.request.command == Command::READ && answer.status != NtStatus::INVALID_PARAMETER
        };
        let tokens = |answer: &Answer| client.open[&answer.request.message_id.0].tokens.len();
        let kept: usize = self.waiting.iter().filter(is_known).map(tokens).sum();
        law!("table", kept <= client.limits.descriptors, "{kept} descriptors are kept");
        Ok(())
    }

    fn read(&self, read: &ReadRequest<'_>, chance: &mut Chance) -> (NtStatus, Vec<u8>) {
        let (len, offset) = (read.length as usize, read.offset as usize);
        if len > MAX {
            return (NtStatus::INVALID_PARAMETER, Vec::new());
        }
        if chance.one_in(8) {
            return (chance.pick(&[NtStatus::END_OF_FILE, NtStatus::ACCESS_DENIED]), Vec::new());
        }
        let len = if chance.one_in(6) { 1 + chance.below(len) } else { len };
        let data = self.files[read.file_id.volatile as usize][offset..offset + len].to_vec();
        // File 2 is a pipe.
        let is_overflow = read.file_id.volatile == 2 && chance.one_in(2);
        (if is_overflow { NtStatus::BUFFER_OVERFLOW } else { NtStatus::SUCCESS }, data)
    }

    fn write(&mut self, write: &WriteRequest<'_>, element: &[u8], chance: &mut Chance) -> (NtStatus, usize) {
        // As Samba has it.
        if write::request::DATA_OFFSET.get(element) != Ok(0x70) || write.data.len() > MAX {
            return (NtStatus::INVALID_PARAMETER, 0);
        }
        if chance.one_in(8) {
            return (chance.pick(&[NtStatus::DISK_FULL, NtStatus::ACCESS_DENIED]), 0);
        }
        let offset = write.offset as usize;
        self.files[1][offset..offset + write.data.len()].copy_from_slice(write.data);
        (NtStatus::SUCCESS, write.data.len())
    }

    /// Sends an answer, or several.
    pub fn answer(&mut self, client: &Client, chance: &mut Chance) {
        let Some(index) = (!self.waiting.is_empty()).then(|| chance.below(self.waiting.len())) else {
            return;
        };
        if self.waiting[index].wants_interim {
            return self.interim(index);
        }
        let first = self.waiting.remove(index);
        let mut message = Vec::new();
        self.append(&mut message, &first, false, client, chance);
        let may_mix = chance.one_in(3);
        while chance.below(4) > 0 {
            let is_fit = |other: &Answer| {
                let is_same = other.message == first.message;
                let is_plain =
                    |answer: &Answer| !answer.is_hidden && !answer.request.flags.contains(Flags::SIGNED);
                !other.wants_interim && (is_same || (may_mix && is_plain(other) && is_plain(&first)))
            };
            let Some(next) = self.waiting.iter().position(is_fit) else { break };
            let mut longer = message.clone();
            let next = self.waiting.remove(next);
            self.append(&mut longer, &next, true, client, chance);
            if !may_go(&longer, client) {
                self.waiting.push(next);
                break;
            }
            message = longer;
        }
        self.send(message, first.is_hidden);
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
        self.send(message, is_hidden);
    }

    fn send(&mut self, mut message: Vec<u8>, is_hidden: bool) {
        seal(&mut message, true);
        let message = if is_hidden { encrypt(&message) } else { message };
        self.out.extend_from_slice(&(message.len() as u32).to_be_bytes());
        self.out.extend_from_slice(&message);
    }

    fn append(
        &self,
        message: &mut Vec<u8>,
        answer: &Answer,
        is_related: bool,
        client: &Client,
        chance: &mut Chance,
    ) {
        let mut header = answer.request.response(answer.status);
        header.credits = answer.grants;
        header.flags = header.flags.with(Flags::SIGNED, answer.request.flags.contains(Flags::SIGNED));
        header.flags = header.flags.with(Flags::RELATED_OPERATIONS, is_related);
        if let Some(async_id) = answer.async_id {
            header.target = Target::Async { async_id };
        }
        let has_channel = client.open[&answer.request.message_id.0].channel != Channel::NONE;
        let last = elements_or_none(message);
        message.resize(message.len().next_multiple_of(8), 0);
        let start = message.len();
        let has_body = matches!(answer.status, NtStatus::SUCCESS | NtStatus::BUFFER_OVERFLOW);
        let body = match answer.request.command {
            Command::SESSION_SETUP => Response::SessionSetup(SessionSetupResponse::default()),
            Command::NEGOTIATE => {
                let dialect = Dialect::SMB_3_1_1;
                Response::Negotiate(NegotiateResponse { dialect, ..NegotiateResponse::default() })
            }
            _ if !has_body => Response::Error(ErrorResponse::default()),
            Command::READ => Response::Read(ReadResponse { data: &answer.data, ..ReadResponse::default() }),
            Command::WRITE => Response::Write(WriteResponse { count: answer.count as u32 }),
            _ => Response::Echo(EchoResponse {}),
        };
        write_element(message, &header, &body).unwrap();
        if has_body && header.command == Command::READ && has_channel && chance.one_in(3) {
            // The data do not have to follow at once.
            message.splice(start + 80..start + 80, [0xDD; 8]);
            read::response::DATA_OFFSET.set(&mut message[start..], 88).unwrap();
        }
        if let Some(last) = last {
            header::field::NEXT_COMMAND.set(&mut message[last..], (start - last) as u32).unwrap();
        }
    }
}

pub fn elements_or_none(message: &[u8]) -> Option<usize> {
    if message.is_empty() { None } else { elements(message)?.last().map(|range| range.start) }
}

/// Whether a gateway within its limits can let a compound pass: one with an answer that has to go alone says so early, and others
/// are not too long for the client.
fn may_go(message: &[u8], client: &Client) -> bool {
    let first = elements(message).unwrap().into_iter().find(|range| {
        let header = Header::parse(&message[range.clone()]).unwrap();
        let op = &client.open[&header.message_id.0];
        let is_read =
            matches!(op.expect, Expect::Read { .. }) && header.status != NtStatus::INVALID_PARAMETER;
        op.invalidate.is_some() || (op.channel != Channel::NONE && is_read)
    });
    match first {
        Some(range) => range.start + header::LEN <= client.limits.held,
        None => message.len() + 52 <= client.limits.fragmented,
    }
}
