//! Requests about memory.

use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};
use smbd_tools::exercise::{Answer, Request, digest, pattern};

use super::pair::{PERSONALITIES, Pair};

fn offered(answer: Answer) -> (u32, Vec<BufferDescriptorV1>) {
    match answer {
        Answer::Offered { id, descriptors } => (id, descriptors),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_offered_buffer_is_read_and_written_until_it_is_withdrawn() {
    for personality in PERSONALITIES {
        let mut pair = Pair::new(personality);
        let length = 100_001;
        for access in [Access::Read, Access::Write, Access::ReadWrite] {
            let (id, descriptors) = offered(pair.ask(&Request::Offer { length, access, seed: 5 }));
            let mut expected = pattern(5, length as usize).to_vec();
            if access.reads() {
                assert_eq!(pair.rdma(RdmaVerb::Read, &[0; 5000], &descriptors, 7), expected[7..5007]);
            }
            if access.writes() {
                let new = pattern(6, 4000);
                pair.rdma(RdmaVerb::Write, &new, &descriptors, 333);
                expected[333..4333].copy_from_slice(&new);
            }
            let hash = pair.ask(&Request::Hash { id, offset: 0, length });
            assert_eq!(hash, Answer::Hash(digest(&expected)));
            let hash = pair.ask(&Request::Hash { id, offset: 300, length: 500 });
            assert_eq!(hash, Answer::Hash(digest(&expected[300..800])));
            assert_eq!(pair.ask(&Request::Withdraw { id }), Answer::Done);
            assert_eq!(pair.server.buffer_bytes(), 0);
            assert_eq!(
                pair.refusal(&Request::Hash { id, offset: 0, length: 0 }),
                format!("not found: there is no buffer {id}")
            );
        }
        pair.close();
    }
}

/// The descriptors of the same memory, cut into `count` pieces.
fn cut(whole: &BufferDescriptorV1, count: u32) -> Vec<BufferDescriptorV1> {
    let piece = whole.length / count;
    (0..count)
        .map(|index| BufferDescriptorV1 {
            offset: whole.offset + u64::from(index * piece),
            length: if index + 1 == count { whole.length - index * piece } else { piece },
            ..*whole
        })
        .collect()
}

#[test]
fn the_server_reads_through_one_descriptor_and_through_thousands() {
    for personality in PERSONALITIES {
        for count in [1, 2, 4095, 5000] {
            let mut pair = Pair::new(personality);
            let bytes = pattern(9, 60_000);
            let (_, descriptors) = pair.register(&bytes, Access::Read);
            let descriptors = cut(&descriptors[0], count).into();
            let read = Request::Read { offset: 1, length: 59_998, descriptors };
            assert_eq!(pair.ask(&read), Answer::Hash(digest(&bytes[1..59_999])));
            assert_eq!(pair.server.buffer_bytes(), 0);
            pair.close();
        }
    }
}

#[test]
fn what_the_server_writes_is_there_when_its_answer_comes() {
    for personality in PERSONALITIES {
        let mut pair = Pair::new(personality);
        let (buffer, descriptors) = pair.register(&[0; 50_000], Access::Write);
        let descriptors: std::sync::Arc<[_]> = cut(&descriptors[0], 3).into();
        let token = descriptors[0].token;
        for (seed, offset, invalidate) in [(1, 0, None), (2, 10, Some(token))] {
            let length = 50_000 - u32::try_from(offset).expect("small");
            let descriptors = descriptors.clone();
            let write = Request::Write { seed, offset, length, invalidate, descriptors };
            assert_eq!(pair.ask(&write), Answer::Done);
            let whole = pattern(seed, 50_000);
            let start = usize::try_from(offset).expect("small");
            assert_eq!(pair.read(&buffer, 50_000)[start..], whole[start..]);
        }
        assert_eq!(pair.client.invalidated, [token]);
        pair.close();
    }
}

#[test]
fn an_operation_of_no_bytes_is_done_at_once() {
    for personality in PERSONALITIES {
        let mut pair = Pair::new(personality);
        let read = Request::Read { offset: 0, length: 0, descriptors: [].into() };
        assert_eq!(pair.ask(&read), Answer::Hash(digest(b"")));
        let write =
            Request::Write { seed: 1, offset: 0, length: 0, invalidate: None, descriptors: [].into() };
        assert_eq!(pair.ask(&write), Answer::Done);
        pair.close();
    }
}

#[test]
fn memory_that_is_not_the_servers_to_access_ends_the_connection_and_frees_everything() {
    for personality in PERSONALITIES {
        let mut pair = Pair::new(personality);
        offered(pair.ask(&Request::Offer { length: 5000, access: Access::Read, seed: 5 }));
        let descriptors = [BufferDescriptorV1 { offset: 4096, token: Token(0xbad), length: 100 }].into();
        pair.send_request(&Request::Read { offset: 0, length: 100, descriptors });
        pair.run_until(Pair::is_drained);
        assert!(pair.client.closed.is_some());
        assert_eq!(pair.server.buffer_bytes(), 0);
    }
}
