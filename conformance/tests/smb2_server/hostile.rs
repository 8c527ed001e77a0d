//! What no client says: the server does not panic, and what it says is SMB2 all the same.

use proptest::prelude::*;
use smbd_conformance::smb2::server::{ReadAnswer, Served, Server, WriteAnswer};
use smbd_smb2::wire::*;

use crate::common::ROCE;
use crate::mount::{Ids, Message, elements, messages};
use crate::walk::options;

/// The messages of the client in a capture, with the ids that a new server gives.
fn requests() -> Vec<Vec<u8>> {
    let (mut server, mut ids) = (Server::new(options()), Ids::default());
    let (mut requests, mut own) = (Vec::new(), Vec::new());
    for Message { is_of_client, bytes } in messages(ROCE) {
        if is_of_client {
            let translated = ids.translated(&bytes);
            own.extend(crate::walk::answered(&mut server, &translated));
            requests.push(translated);
            continue;
        }
        for captured in elements(&bytes) {
            let place = own
                .iter()
                .position(|answer| Header::parse(answer).unwrap().message_id == captured.header.message_id);
            ids.learn(captured.bytes, &own.remove(place.unwrap()));
        }
    }
    requests
}

/// Takes a message, answers what it hands out, and looks at every answer. Whether the connection goes on.
fn goes_on(server: &mut Server, message: &[u8]) -> bool {
    let Ok(served) = server.take(message) else { return false };
    for one in served {
        let answer = match one {
            Served::Answer(answer) => answer,
            Served::Read(read) => match server.serve_read(&read) {
                Ok(data) => server.answer_read(&read, ReadAnswer::Inline(&data)),
                Err(status) => server.answer_read(&read, ReadAnswer::Failed(status)),
            },
            Served::Write(write) => {
                let data = write.data.clone();
                let with =
                    server.serve_write(&write, &data).map_or_else(WriteAnswer::Failed, WriteAnswer::Count);
                server.answer_write(&write, with)
            }
        };
        for element in elements(&answer) {
            assert!(element.header.is_response());
            Response::parse(element.bytes).unwrap();
        }
    }
    true
}

/// Changes of bytes: in which message, where, and to what.
fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, prop::sample::Index, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..40)
}

proptest! {
    #[test]
    fn any_bytes_are_answered_with_smb2_or_end_the_connection(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut server = Server::new(options());
        goes_on(&mut server, &bytes);
        let mut behind_a_header = header::PROTOCOL_ID.to_vec();
        behind_a_header.extend(64_u16.to_le_bytes());
        behind_a_header.extend(&bytes);
        goes_on(&mut server, &behind_a_header);
    }

    #[test]
    fn a_mount_with_changed_bytes_is_answered_with_smb2_or_ends_the_connection(changes in changes()) {
        let mut requests = requests();
        for (message, at, value) in changes {
            // Without a session there is little to see.
            let (_, behind) = requests.split_at_mut(4);
            let message = message.get_mut(behind);
            *at.get_mut(message) = value;
        }
        let mut server = Server::new(options());
        for request in &requests {
            if !goes_on(&mut server, request) {
                break;
            }
        }
    }

    #[test]
    fn any_body_of_a_command_is_answered_with_smb2_or_ends_the_connection(
        bodies in prop::collection::vec((0_u16..20, any::<bool>(), prop::collection::vec(any::<u8>(), 0..120)), 1..20)
    ) {
        let requests = requests();
        let mut server = Server::new(options());
        // As far as the CREATE of the folder.
        prop_assert!(requests.iter().take(6).all(|request| goes_on(&mut server, request)));
        for (command, keeps_fixed_part, body) in bodies {
            let sample = requests.iter().skip(4).map(|request| elements(request)[0]).find(|element| {
                element.header.command == Command(command)
            });
            let mut message = sample.map_or_else(|| elements(&requests[5])[0].bytes, |element| element.bytes).to_vec();
            header::field::COMMAND.set(&mut message, Command(command)).unwrap();
            header::field::NEXT_COMMAND.set(&mut message, 0).unwrap();
            // StructureSize stays, so that the body is looked at.
            message.truncate(if keeps_fixed_part { message.len().saturating_sub(body.len()).max(66) } else { 66 });
            message.extend(body);
            if !goes_on(&mut server, &message) {
                break;
            }
        }
    }
}
