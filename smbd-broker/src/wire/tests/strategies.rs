//! Whatever is written is read as the same.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use smbd_core::{BufferDescriptorV1, Token};
use smbd_smb2::wire::Guid;

use crate::wire::{
    Age, Answer, Area, Call, Command, Direction, Event, KEEPALIVE_MAX, Limits, Memory, Messages, Negotiation,
    Newcomer, Notice, Packet, Parameters, Refusal, Reply, Request, Rule, TEXT_MAX, Transfer, Welcome,
};

fn text() -> impl Strategy<Value = String> {
    // Of all widths, up to the longest.
    vec(prop::sample::select(vec!['a', 'ö', '€', '😀']), 0..=128)
        .prop_map(|chars| chars.into_iter().collect())
}

fn algorithms() -> impl Strategy<Value = Vec<u16>> {
    vec(any::<u16>(), 0..=8)
}

prop_compose! {
    fn negotiation()(
        guid: [u8; 16],
        modes in (any::<u16>(), prop::sample::select(vec![0x0300, 0x0302, 0x0311])),
        sizes: [u32; 4],
        (ciphers, signing, transforms) in (algorithms(), algorithms(), algorithms()),
        blob in vec(any::<u8>(), 0..=4096),
    ) -> Negotiation {
        let (security_mode, dialect_max) = modes;
        let [capabilities, max_transact_size, max_read_size, max_write_size] = sizes;
        Negotiation {
            server_guid: Guid(guid),
            security_mode,
            dialect_max,
            capabilities,
            max_transact_size,
            max_read_size,
            max_write_size,
            ciphers,
            signing,
            transforms,
            blob,
        }
    }
}

prop_compose! {
    fn parameters()(
        credits: [u16; 2],
        sizes: [u32; 4],
        keepalive_interval in 1..=KEEPALIVE_MAX,
        negotiation in option::of(negotiation()),
    ) -> Parameters {
        let [receive_credit_max, send_credit_target] = credits;
        let [max_send_size, max_receive_size, max_fragmented_size, max_read_write_size] = sizes;
        Parameters {
            receive_credit_max,
            send_credit_target,
            max_send_size,
            max_receive_size,
            max_fragmented_size,
            max_read_write_size,
            keepalive_interval,
            negotiation,
        }
    }
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        (any::<u32>(), text()).prop_map(|(version, name)| Call::Hello { version, name }),
        parameters().prop_map(|parameters| Call::SetParameters(Box::new(parameters))),
        (1..=u64::MAX, any::<bool>())
            .prop_map(|(session_id, is_held)| Call::SetSessionId { session_id, is_held }),
        (any::<[u8; 16]>().prop_filter("not 0", |guid| *guid != [0; 16]), any::<bool>())
            .prop_map(|(guid, is_held)| Call::SetClientGuid { client_guid: Guid(guid), is_held }),
        any::<u16>().prop_map(|slots| Call::GetMemParams { slots }),
        any::<bool>().prop_map(|is_on| Call::Listen { is_on }),
        Just(Call::Attach),
    ]
}

prop_compose! {
    fn welcome()(version: u32, instance: u64, lens: [u32; 3], counts: [u16; 3]) -> Welcome {
        let ([slot_len, send_bytes_max, receive_bytes_max], [slots_max, sends_max, transfers_max]) = (lens, counts);
        let limits = Limits { slot_len, slots_max, sends_max, send_bytes_max, receive_bytes_max, transfers_max };
        Welcome { version, instance, limits }
    }
}

fn result() -> impl Strategy<Value = Result<Reply, Refusal>> {
    prop_oneof![
        Just(Ok(Reply::Done)),
        welcome().prop_map(|welcome| Ok(Reply::Welcome(welcome))),
        any::<[u16; 3]>().prop_map(|[first, count, total]| Ok(Reply::Memory(Memory { first, count, total }))),
        any::<u64>().prop_map(|connection| Ok(Reply::Attached { connection })),
        prop::sample::select(Refusal::ALL.to_vec()).prop_map(Err),
    ]
}

prop_compose! {
    fn newcomer()(
        connection: u64,
        rule in prop::sample::select(vec![Rule::SessionId, Rule::ClientGuid, Rule::Default]),
        is_negotiated: bool,
        sizes: [u32; 2],
        peer in text(),
    ) -> Newcomer {
        let [max_send_size, max_read_write_size] = sizes;
        Newcomer { connection, rule, is_negotiated, max_send_size, max_read_write_size, peer }
    }
}

fn notice() -> impl Strategy<Value = Notice> {
    prop_oneof![
        newcomer().prop_map(Notice::New),
        any::<u64>().prop_map(|connection| Notice::Moved { connection }),
        text().prop_map(|why| Notice::Fault { why }),
    ]
}

prop_compose! {
    fn transfer()(
        is_read: bool,
        offset: u64,
        remote in vec(any::<(u64, u32, u32)>(), 1..=40),
        areas in vec((any::<u16>(), 1..=u32::MAX), 1..=64),
    ) -> Transfer {
        let direction = if is_read { Direction::Read } else { Direction::Write };
        let descriptor = |(offset, token, length)| BufferDescriptorV1 { offset, token: Token(token), length };
        let remote = remote.into_iter().map(descriptor).collect();
        let areas = areas.into_iter().map(|(slot, len)| Area { slot, len }).collect();
        Transfer { direction, offset, remote, areas }
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 1..=300)
}

proptest! {
    #[test]
    fn a_request_is_read_as_it_was_written(tag: u64, call in call()) {
        let mut packet = Packet::new();
        let request = Request { tag, call };
        request.write(&mut packet);
        let message = Messages::of(packet.bytes()).next().unwrap().unwrap();
        prop_assert_eq!(Request::parse(&message), Ok(request));
    }

    #[test]
    fn an_answer_is_read_as_it_was_written(tag: u64, result in result()) {
        let mut packet = Packet::new();
        let answer = Answer { tag, result };
        answer.write(&mut packet);
        let message = Messages::of(packet.bytes()).next().unwrap().unwrap();
        prop_assert_eq!(Answer::parse(&message), Ok(Some(answer)));
    }

    #[test]
    fn a_notice_is_read_as_it_was_written(notice in notice()) {
        let mut packet = Packet::new();
        notice.write(&mut packet);
        let message = Messages::of(packet.bytes()).next().unwrap().unwrap();
        prop_assert_eq!(Notice::parse(&message), Ok(Some(notice)));
    }

    #[test]
    fn commands_are_read_as_they_were_written(
        tag: u64,
        transfer in transfer(),
        (remaining, within) in any::<(u32, u32)>(),
        token in option::of(any::<u32>()),
        bytes in bytes(),
    ) {
        let commands = [
            Command::Send { remaining, invalidate: token.map(Token), bytes: &bytes },
            Command::Rdma { tag, transfer },
            Command::Disconnect { within },
            Command::Taken { count: within.max(1) },
        ];
        let mut packet = Packet::new();
        for command in &commands {
            command.write(&mut packet);
        }
        let read: Vec<_> = Messages::of(packet.bytes())
            .map(|message| Command::parse(&message.unwrap()).unwrap())
            .collect();
        prop_assert_eq!(read, commands);
    }

    #[test]
    fn events_are_read_as_they_were_written(
        tag: u64,
        is_success: bool,
        age in prop::sample::select(vec![Age::New, Age::PastRequest, Age::PastResponse]),
        (remaining, count, token) in any::<(u32, u32, u32)>(),
        bytes in bytes(),
        why in text(),
    ) {
        let events = [
            Event::Received { age, remaining, bytes: &bytes },
            Event::Sent { count },
            Event::RdmaDone { tag, is_success },
            Event::Invalidated { token: Token(token) },
            Event::Lost { why },
        ];
        let mut packet = Packet::new();
        for event in &events {
            event.write(&mut packet);
        }
        let read: Vec<_> = Messages::of(packet.bytes())
            .map(|message| Event::parse(&message.unwrap()).unwrap())
            .collect();
        prop_assert_eq!(read, events);
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_between_two_characters(text in vec(any::<char>(), 0..=700)) {
        let why: String = text.into_iter().collect();
        let mut packet = Packet::new();
        Notice::Fault { why: why.clone() }.write(&mut packet);
        let message = Messages::of(packet.bytes()).next().unwrap().unwrap();
        let Ok(Some(Notice::Fault { why: read })) = Notice::parse(&message) else { panic!("no FAULT") };
        prop_assert!(why.starts_with(&read) && read.len() <= TEXT_MAX);
        prop_assert!(read == why || read.len() > TEXT_MAX - 4);
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(any::<u8>(), 0..=400)) {
        for message in Messages::of(&bytes).flatten() {
            let _ = (Request::parse(&message), Answer::parse(&message), Notice::parse(&message));
            let _ = (Command::parse(&message), Event::parse(&message));
        }
    }
}
