//! What a peer might send: anything.

use proptest::prelude::*;
use smbd_smb2::wire::*;

use crate::round_trip::pools;
use crate::samples::{Pool, each_request, each_response};

/// Reads all that can be read. Returns how many items came.
fn read_all(message: &[u8]) -> usize {
    let inside = |part: &[u8]| {
        let (outer, inner) = (message.as_ptr_range(), part.as_ptr_range());
        assert!(part.is_empty() || outer.start <= inner.start && inner.end <= outer.end);
    };
    let mut items = 0;
    match Message::parse(message) {
        Ok(Message::Smb2(elements)) => {
            for element in elements.flatten() {
                items += 1;
                inside(element.bytes);
                assert_eq!(&message[element.range()], element.bytes);
                if let Ok(request) = Request::parse(element.bytes) {
                    items += of_request(&request, inside);
                }
                if let Ok(response) = Response::parse(element.bytes) {
                    items += of_response(&response, inside);
                }
                let _ = Request::file_id_field(element.bytes);
            }
        }
        Ok(Message::Transform(transform)) => inside(transform.encrypted),
        Ok(Message::Compressed(compressed)) => match compressed.parts {
            CompressedParts::Unchained { plain, compressed, .. } => {
                inside(plain);
                inside(compressed);
            }
            CompressedParts::Chained(payloads) => {
                items += payloads.iter().flatten().map(|payload| inside(payload.data)).count();
            }
        },
        Ok(Message::Smb1Negotiate(negotiate)) => items += negotiate.dialects().map(inside).count(),
        Ok(Message::Other(_)) | Err(_) => {}
    }
    items
}

fn of_request(request: &Request<'_>, inside: impl Fn(&[u8])) -> usize {
    match request {
        Request::Negotiate(request) => {
            request.dialects.iter().count() + of_contexts(request.contexts, inside)
        }
        Request::Create(request) => {
            request.contexts.iter().flatten().map(|context| inside(context.data)).count()
        }
        Request::Read(request) => {
            inside(request.channel_info);
            request.descriptors().map_or(0, |list| list.len())
        }
        Request::Write(request) => {
            inside(request.data);
            request.descriptors().map_or(0, |list| list.len())
        }
        Request::Lock(request) => request.locks.iter().count(),
        _ => format!("{request:?}").len().min(1),
    }
}

fn of_response(response: &Response<'_>, inside: impl Fn(&[u8])) -> usize {
    match response {
        Response::Negotiate(response) => of_contexts(response.contexts, inside),
        Response::Create(response) => {
            response.contexts.iter().flatten().map(|context| inside(context.data)).count()
        }
        Response::Error(ErrorResponse::Contexts(contexts)) => {
            contexts.iter().flatten().map(|context| inside(context.data)).count()
        }
        _ => format!("{response:?}").len().min(1),
    }
}

fn of_contexts(contexts: NegotiateContexts<'_>, inside: impl Fn(&[u8])) -> usize {
    let mut items = 0;
    for context in contexts.iter().flatten() {
        items += 1;
        match context {
            NegotiateContext::PreauthIntegrity { hash_algorithms, salt } => {
                inside(salt);
                items += hash_algorithms.iter().count();
            }
            NegotiateContext::Other(_, data) => inside(data),
            other => items += format!("{other:?}").len().min(1),
        }
    }
    items
}

/// Messages of every kind, one after the other.
pub fn all(pool: &Pool) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    let mut add = |command, is_response, status, body: &dyn Fn(&mut Vec<u8>, &Header)| {
        let mut message = Vec::new();
        body(&mut message, &pool.header(command, is_response, status));
        messages.push(message);
    };
    each_request(pool, |request| {
        add(request.command(), false, NtStatus::SUCCESS, &|out, header| {
            write_element(out, header, &request).expect("room");
        });
    });
    each_response(pool, |command, status, response| {
        add(command, true, status, &|out, header| write_element(out, header, &response).expect("room"));
    });
    messages
}

proptest! {
    #[test]
    fn any_bytes_behind_a_protocol_id_are_read_or_refused(
        kind in prop::sample::select(vec![0xfe_u8, 0xfd, 0xfc, 0xff]),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let message = [&[kind], &b"SMB"[..], &bytes].concat();
        prop_assert!(read_all(&message) <= message.len());
    }

    #[test]
    fn a_sound_message_with_wrong_bytes_is_read_or_refused(
        pool in pools(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        for mut message in all(&pool) {
            let sound = read_all(&message);
            prop_assert!(sound > 0 && sound <= message.len());
            for (at, value) in &changes {
                let at = at.index(message.len());
                message[at] = *value;
                prop_assert!(read_all(&message) <= message.len());
            }
            message.truncate(cut.index(message.len()));
            prop_assert!(read_all(&message) <= message.len());
        }
    }

}

proptest! {
    // Every length of every message takes its time.
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_message_that_is_cut_anywhere_is_never_read_as_a_longer_one(pool in pools()) {
        for message in all(&pool) {
            for len in 0..message.len().min(200) {
                let _ = read_all(&message[..len]);
            }
        }
    }
}
