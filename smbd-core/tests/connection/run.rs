//! Fragments that leave in a run, without being decided one by one, are those that would have been decided.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use smbd_core::wire::DataTransfer;
use smbd_core::{Access, Action, Close, Connection, Input, Instant, Params, RdmaVerb};

use crate::pair::{DATA, REQUEST, Side};

#[derive(Clone, Debug)]
enum Command {
    Send { len: u32, unsignalled: bool, invalidate: bool },
    Write(u32),
    Register,
    Probe,
    Complete,
    Close(bool),
}

/// A message of one fragment or of several.
fn message() -> impl Strategy<Value = Command> {
    let len = prop_oneof![4 => 1..1001_u32, 2 => 1..5000_u32, 1 => 1..60_000_u32];
    (len, any::<bool>(), prop::bool::weighted(0.2)).prop_map(|(len, unsignalled, invalidate)| Command::Send {
        len,
        unsignalled,
        invalidate,
    })
}

/// What is done before the poll with that number.
fn commands() -> impl Strategy<Value = Vec<(usize, Command)>> {
    let command = prop_oneof![
        4 => message(),
        1 => prop::sample::select(vec![0, 4096]).prop_map(Command::Write),
        1 => Just(Command::Register),
        1 => Just(Command::Probe),
        2 => Just(Command::Complete),
        1 => any::<bool>().prop_map(Command::Close),
    ];
    prop::collection::vec((0..80_usize, command), 0..6)
}

fn give(connection: &mut Connection, now: Instant, command: &Command, polled: &[Action]) {
    let _refused = match command {
        Command::Send { len, unsignalled, invalidate } => {
            let invalidate = invalidate.then_some(smbd_core::Token(9));
            let send = if *unsignalled { Connection::send_unsignalled } else { Connection::send };
            send(connection, now, *len, invalidate).is_err()
        }
        Command::Write(len) => {
            let remote =
                smbd_core::BufferDescriptorV1 { offset: 0, token: smbd_core::Token(7), length: 4096 };
            connection.rdma(now, RdmaVerb::Write, *len, Arc::new([remote]), 0).is_err()
        }
        Command::Register => connection.register(now, Access::Read, 1).is_err(),
        Command::Probe => connection.probe(now).is_err(),
        Command::Complete => polled.iter().any(|action| match action {
            Action::PostSend { id, .. } => connection.handle(now, Input::Sent { id: *id }).is_err(),
            _ => false,
        }),
        Command::Close(true) => {
            connection.close(now, Close::Abort);
            false
        }
        Command::Close(false) => {
            connection.close(now, Close::Flush { until: now.saturating_add(Duration::from_secs(1)) });
            false
        }
    };
}

/// All that is polled until there is nothing to do, and the connection after it.
fn play(side: &Side, commands: &[(usize, Command)], one_by_one: bool) -> (Vec<String>, Connection) {
    let (mut connection, now) = (side.connection.clone(), side.now);
    let mut polled = Vec::new();
    for step in 0.. {
        for (_, command) in commands.iter().filter(|(at, _)| *at == step) {
            give(&mut connection, now, command, &polled);
        }
        if one_by_one {
            // Too early, so it does nothing; but something happened.
            connection.handle(now, Input::Timeout).unwrap();
        }
        let action = connection.poll_action();
        let is_over = matches!(action, Action::Wait(_)) && commands.iter().all(|(at, _)| *at <= step);
        polled.push(action);
        if is_over {
            break;
        }
    }
    (polled.iter().map(|action| format!("{action:?}")).collect(), connection)
}

proptest! {
    #[test]
    fn a_run_of_fragments_is_what_deciding_each_of_them_gives(
        // Any, and full fragments to the end: 1000 bytes each.
        len in prop_oneof![1..131_072_u32, (1..131_u32).prop_map(|full| full * 1000), 1..2000_u32],
        credits in prop_oneof![0..200_u16, 1..4_u16],
        nothing_to_grant in any::<bool>(),
        send_slots in 2..200_u16,
        registration_slots in 0..200_u16,
        solicit in any::<bool>(),
        // More than there is room for, and less.
        queued in prop::collection::vec(message(), 0..20),
        commands in commands(),
    ) {
        let params = Params { send_slots, registration_slots, solicit, ..Params::example() };
        let mut side = Side::accepted(params, &REQUEST);
        side.receive_data(DataTransfer { credits_granted: credits, ..DATA });
        side.settle();
        if nothing_to_grant {
            side.send(1);
            side.settle();
        }
        side.send(len);
        for message in &queued {
            give(&mut side.connection, side.now, message, &[]);
        }
        let (in_runs, one) = play(&side, &commands, false);
        let (one_by_one, other) = play(&side, &commands, true);
        prop_assert_eq!(in_runs, one_by_one);
        prop_assert_eq!(one.stats(), other.stats());
        prop_assert_eq!(one.credits(), other.credits());
        prop_assert_eq!(one.outstanding(), other.outstanding());
    }
}
