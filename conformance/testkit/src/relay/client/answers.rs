//! What an answer has to be.

use smbd_smb2::wire::*;

use super::super::message::{decrypt, elements, is_sealed};
use super::super::server::Server;
use super::{Client, Expect, Op};
use crate::{Breach, law};

impl Client {
    /// A whole message came, and a token was invalidated with it.
    pub fn receive(&mut self, message: &[u8], token: Option<u32>, server: &Server) -> Result<(), Breach> {
        law!("sizes", message.len() <= self.limits.fragmented, "{} bytes came", message.len());
        let within = decrypt(message);
        law!("invalidation", within.is_none() || token.is_none(), "an encrypted message invalidates");
        let message = within.as_deref().unwrap_or(message);
        let elements = elements(message).ok_or("framing: these are no elements")?;
        law!("invalidation", token.is_none() || elements.len() == 1, "a compound invalidates {token:?}");
        for range in &elements {
            self.element_came(&message[range.clone()], elements.len(), token, server)?;
        }
        Ok(())
    }

    fn element_came(
        &mut self,
        element: &[u8],
        count: usize,
        token: Option<u32>,
        server: &Server,
    ) -> Result<(), Breach> {
        let header = Header::parse(element).map_err(|error| format!("answers: {error}"))?;
        let id = header.message_id.0;
        law!("answers", self.open.contains_key(&id), "a second answer, or one to nothing: {id}");
        let op = &self.open[&id];
        self.credits += usize::from(header.credits);
        if header.status == NtStatus::PENDING {
            law!("unchanged", is_sealed(element, true), "interim answer {id}");
            law!("invalidation", token.is_none(), "the interim answer {id} invalidates {token:?}");
            law!("answers", op.async_id.is_none(), "a second interim answer {id}");
            let async_id = header.async_id();
            self.open.get_mut(&id).unwrap().async_id = async_id;
            return Ok(());
        }
        law!("invalidation", token == op.invalidate, "{id}: {token:?}, not {:?}", op.invalidate);
        let is_apart = op.invalidate.is_some() || (op.channel != Channel::NONE && is_data(op, &header));
        law!("answers", !is_apart || count == 1, "{id} is in a compound");
        let op = self.open.remove(&id).unwrap();
        let (status, moved) = server.decided[&id];
        law!("answers", status == header.status, "{id}: {} is {status} at the server", header.status);
        self.result(id, &op, &header, element, (moved, server))?;
        for token in &op.tokens {
            self.regions.remove(token);
        }
        self.finished += 1;
        Ok(())
    }

    fn result(
        &mut self,
        id: u64,
        op: &Op,
        header: &Header,
        element: &[u8],
        (moved, server): (usize, &Server),
    ) -> Result<(), Breach> {
        let has_data = is_data(op, header);
        let is_rewritten = has_data && op.channel != Channel::NONE;
        law!("unchanged", is_rewritten || is_sealed(element, true), "answer {id}");
        match &op.expect {
            Expect::Refused => {
                law!("bad requests", header.status == NtStatus::INVALID_PARAMETER, "{id}: {}", header.status);
            }
            Expect::Echo => {}
            Expect::Write { offset, data } if header.status == NtStatus::SUCCESS => {
                let count = WriteResponse::parse(element).map_err(|error| format!("bytes: {error}"))?.count;
                law!("bytes", count as usize == data.len(), "WRITE {id} of {} has {count}", data.len());
                self.written[*offset..*offset + data.len()].copy_from_slice(data);
                self.done.push((*offset, data.len()));
            }
            Expect::Read { file: number, offset, .. } if has_data => {
                let answer = ReadResponse::parse(element).map_err(|error| format!("bytes: {error}"))?;
                let data = if is_rewritten {
                    law!("answer to READ", element.len() == 80 && answer.data.is_empty(), "{answer:?}");
                    law!("answer to READ", element[66] == 80, "DataOffset {}", element[66]);
                    law!(
                        "answer to READ",
                        answer.data_remaining as usize == moved,
                        "{answer:?}, not {moved}"
                    );
                    law!("answer to READ", header.next_command == 0, "NextCommand {}", header.next_command);
                    let memory = op.tokens.iter().flat_map(|token| self.regions[token].bytes.clone());
                    let memory: Vec<_> = memory.collect();
                    law!("bytes", memory[moved..].iter().all(|byte| *byte == 0xEE), "READ {id}: too many");
                    memory[..moved].to_vec()
                } else {
                    answer.data.to_vec()
                };
                let whole = if *number == 1 { &self.written } else { &server.files[*number as usize] };
                let wanted = &whole[*offset..*offset + moved];
                law!("bytes", data == wanted, "READ {id} of {moved} at {offset} of {number}");
            }
            Expect::Read { .. } | Expect::Write { .. } => {
                let may = op.may_be_refused || header.status != NtStatus::INVALID_PARAMETER;
                law!("bad requests", may, "a good request is refused: {id} {op:?}");
            }
        }
        Ok(())
    }
}

/// Whether an answer has data of a READ.
fn is_data(op: &Op, header: &Header) -> bool {
    matches!(op.expect, Expect::Read { .. })
        && matches!(header.status, NtStatus::SUCCESS | NtStatus::BUFFER_OVERFLOW)
}
