//! What cifs of Linux 6.12 says in the repository's captures: its messages, and the ids that its server gave it.

use std::collections::BTreeMap;

use smbd_sim::decode::{Body, Direction, ItemKind};
use smbd_smb2::wire::*;

use crate::common;

/// A message of a capture.
#[derive(Clone, Debug)]
pub struct Message {
    pub is_of_client: bool,
    pub bytes: Vec<u8>,
}

/// The whole SMB2 messages of a capture, in order.
pub fn messages(capture: &str) -> Vec<Message> {
    let mut begun: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut messages = Vec::new();
    for item in &common::read(capture).items {
        let ItemKind::Message(message) = &item.kind else { continue };
        let Body::DataTransfer(header) = message.body else { continue };
        let data = &message.bytes[header.data_offset as usize..][..header.data_length as usize];
        if data.is_empty() {
            continue;
        }
        let bytes = begun.entry(format!("{:?}", item.direction)).or_default();
        bytes.extend(data);
        if header.remaining_data_length == 0 {
            let is_of_client = item.direction == Direction::ToAcceptor;
            messages.push(Message { is_of_client, bytes: std::mem::take(bytes) });
        }
    }
    messages
}

pub fn elements(message: &[u8]) -> Vec<Element<'_>> {
    Elements::new(message).collect::<Result<_, _>>().unwrap()
}

/// Ids of the server in the capture, and those that stand for them.
#[derive(Debug, Default)]
pub struct Ids {
    sessions: BTreeMap<SessionId, SessionId>,
    trees: BTreeMap<TreeId, TreeId>,
    files: BTreeMap<FileId, FileId>,
}

impl Ids {
    /// Learns what two answers to the same request have given.
    pub fn learn(&mut self, captured: &[u8], own: &[u8]) {
        let (captured_header, own_header) = (Header::parse(captured).unwrap(), Header::parse(own).unwrap());
        assert_eq!(captured_header.message_id, own_header.message_id);
        self.sessions.insert(captured_header.session_id, own_header.session_id);
        if let (Some(from), Some(to)) = (captured_header.tree_id(), own_header.tree_id()) {
            self.trees.insert(from, to);
        }
        if let (Ok(Response::Create(from)), Ok(Response::Create(to))) =
            (Response::parse(captured), Response::parse(own))
        {
            self.files.insert(from.file_id, to.file_id);
        }
    }

    /// A message of the client with the ids that stand for those of the capture, unsigned, since a guest has no key, and with the
    /// share's folder instead of the folder `dir` in it. All else stays.
    pub fn translated(&self, message: &[u8]) -> Vec<u8> {
        let mut out = message.to_vec();
        for element in elements(message) {
            let bytes = &mut out[element.range()];
            header::field::FLAGS.set(bytes, element.header.flags.with(Flags::SIGNED, false)).unwrap();
            header::field::SIGNATURE.set(bytes, [0; 16]).unwrap();
            if let Some(id) = self.sessions.get(&element.header.session_id) {
                header::field::SESSION_ID.set(bytes, *id).unwrap();
            }
            if let Some(id) = element.header.tree_id().and_then(|id| self.trees.get(&id)) {
                header::field::TREE_ID.set(bytes, *id).unwrap();
            }
            if let Ok(Request::Create(create)) = Request::parse(element.bytes)
                && create.name == Text::from("dir")
            {
                create::request::NAME_LENGTH.set(bytes, 0).unwrap();
            }
            if let Some(field) = Request::file_id_field(element.bytes).unwrap()
                && let Some(id) = self.files.get(&field.get(element.bytes).unwrap())
            {
                field.set(bytes, *id).unwrap();
            }
        }
        out
    }
}
