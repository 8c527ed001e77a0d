//! Whole mounts, request by request.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use smbd_conformance::smb2::server::{Options, ReadAnswer, Served, Server, WriteAnswer};
use smbd_smb2::wire::*;

use crate::common::{IWARP, ROCE};
use crate::mount::{Ids, elements, messages};

/// The elements of what a server of files says to a message: where the data go by RDMA, without them.
pub fn answered(server: &mut Server, message: &[u8]) -> Vec<Vec<u8>> {
    let mut answers = Vec::new();
    for served in server.take(message).unwrap() {
        let answer = match served {
            Served::Answer(answer) => answer,
            Served::Read(read) => {
                let data = server.serve_read(&read);
                let with = match &data {
                    Err(status) => ReadAnswer::Failed(*status),
                    Ok(data) if read.transfer.has_channel() => ReadAnswer::Written(data.len() as u32),
                    Ok(data) => ReadAnswer::Inline(data),
                };
                server.answer_read(&read, with)
            }
            Served::Write(write) => {
                let zeros = vec![0; write.transfer.length as usize];
                let data = if write.transfer.has_channel() { &zeros } else { &write.data };
                let with = match server.serve_write(&write, data) {
                    Ok(count) => WriteAnswer::Count(count),
                    Err(status) => WriteAnswer::Failed(status),
                };
                server.answer_write(&write, with)
            }
        };
        answers.extend(elements(&answer).iter().map(|element| element.bytes.to_vec()));
    }
    answers
}

/// The server that cifs met, as far as it can be the same: 3.1.1, the sizes, and the files that it read.
pub fn options() -> Options {
    let mut options = Options { max_read: 8 << 20, max_write: 8 << 20, ..Options::default() };
    options.files.put_zeros("f.bin", 300_000).unwrap();
    options
}

/// Plays the client of a capture, and writes down what the two servers say to it.
fn walk(capture: &str) -> String {
    let mut server = Server::new(options());
    let (mut ids, mut text) = (Ids::default(), String::new());
    let mut own: BTreeMap<MessageId, Vec<u8>> = BTreeMap::new();
    for message in messages(capture) {
        if message.is_of_client {
            let translated = ids.translated(&message.bytes);
            for answer in answered(&mut server, &translated) {
                own.insert(Header::parse(&answer).unwrap().message_id, answer);
            }
            continue;
        }
        for captured in elements(&message.bytes) {
            let answer = own.remove(&captured.header.message_id).expect("an answer to each request");
            ids.learn(captured.bytes, &answer);
            let header = Header::parse(&answer).unwrap();
            assert_eq!(header.command, captured.header.command);
            let (command, status) = (header.command, header.status);
            write!(text, "{command} {status}, {} bytes", answer.len()).unwrap();
            if (captured.header.status, captured.bytes.len()) != (status, answer.len()) {
                write!(text, "; ksmbd: {}, {} bytes", captured.header.status, captured.bytes.len()).unwrap();
            }
            text.push('\n');
        }
    }
    assert!(own.is_empty(), "{own:?}");
    writeln!(text, "left: {} sessions, {} opens", server.sessions(), server.opens()).unwrap();
    for name in server.files().names() {
        writeln!(text, "file {name}: {} bytes", server.files().len_of(name).unwrap()).unwrap();
    }
    text
}

#[test]
fn a_mount_over_roce_is_answered_as_ksmbd_answers_it_but_for_what_is_not_there() {
    insta::assert_snapshot!(walk(ROCE));
}

#[test]
fn a_mount_over_iwarp_is_answered_as_ksmbd_answers_it_but_for_what_is_not_there() {
    insta::assert_snapshot!(walk(IWARP));
}
