//! smbd on both hosts.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::Backend;
use smbd_core::{Access, BufferDescriptorV1, Keepalive, Params, RdmaVerb};
use smbd_tools::exercise::{Answer, Request, digest, pattern};
use smbd_verbs::Buffer;
use smbd_verbs::blocking::Connection;

use super::link::{Side, connect, serve, side};
use super::numbers;
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::expect::{holds, same};
use crate::patience::{PATIENCE, until};
use crate::settings;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "pair::ours::messages",
        target: Target::Pair,
        about: "messages of 1 byte to 1 MiB, returned",
        run: messages,
    },
    Case {
        name: "pair::ours::small_client",
        target: Target::Pair,
        about: "a client with the numbers of the specification's examples (section 4)",
        run: small_client,
    },
    Case {
        name: "pair::ours::rdma",
        target: Target::Pair,
        about: "RDMA Read and Write, by the server and by the client",
        run: rdma,
    },
    Case {
        name: "pair::ours::keepalive",
        target: Target::Pair,
        about: "an idle connection is asked and answers",
        run: keepalive,
    },
];

const MESSAGES: u16 = 20_001;
const SMALL: u16 = 20_002;
const RDMA: u16 = 20_003;
const KEEPALIVE: u16 = 20_004;
const LENGTH: u32 = 300_000;

/// Serves on side `a`; on side `b` does `client` and notes what it saw.
fn play(
    context: &Context,
    port: u16,
    params: Params,
    client: impl FnOnce(&mut Connection) -> Outcome,
) -> Outcome {
    if side()? == Side::A {
        let stats = serve(context, port, settings::windows())?;
        return Ok(format!("served {} requests, returned {} messages", stats.requests, stats.returned));
    }
    let mut connection = connect(context, port, params)?;
    let seen = client(&mut connection)?;
    numbers::note(connection, port)?;
    Ok(seen)
}

fn echo(connection: &mut Connection, lengths: &[usize]) -> Outcome {
    for (seed, length) in (0_u64..).zip(lengths) {
        let message = pattern(seed, *length);
        connection.send(message.clone())?;
        let back = connection.recv(PATIENCE)?;
        holds(back == message, || {
            format!("{} bytes came back of {length}, or not the same ones", back.len())
        })?;
    }
    let sent = connection.endpoint().connection().stats().sent;
    Ok(format!("{} bytes returned in {} messages each way", sent.bytes, sent.messages - sent.empties))
}

fn messages(context: &Context) -> Outcome {
    play(context, MESSAGES, settings::windows(), |connection| {
        echo(connection, &[1, 24, 1339, 1340, 1341, 8168, 20_000, 131_072, 1 << 20])
    })
}

fn small_client(context: &Context) -> Outcome {
    play(context, SMALL, settings::example(), |connection| {
        echo(connection, &[1, 1000, 1001, 65_536, 131_072])
    })
}

/// One request and its answer.
fn ask(connection: &mut Connection, request: &Request) -> Result<Answer, Failure> {
    connection.send(request.encode(1))?;
    let message = connection.recv(PATIENCE)?;
    let answer = Answer::parse(&message)?.ok_or("the answer is an ordinary message")?;
    match answer.what {
        Answer::Failed(failure) => Err(failure.into()),
        answer => Ok(answer),
    }
}

fn read_all(buffer: &Buffer) -> Result<Bytes, Failure> {
    let mut bytes = vec![0; LENGTH as usize];
    buffer.read(0, &mut bytes)?;
    Ok(bytes.into())
}

fn rdma(context: &Context) -> Outcome {
    play(context, RDMA, settings::windows(), |connection| {
        by_server(connection)?;
        by_client(connection)?;
        let stats = connection.endpoint().connection().stats();
        Ok(format!(
            "{LENGTH} bytes four times; {} Reads and {} Writes from here",
            stats.rdma_reads, stats.rdma_writes
        ))
    })
}

/// The server reads what is here, and writes here.
fn by_server(connection: &mut Connection) -> Result<(), Failure> {
    let content = pattern(7, LENGTH as usize);
    let source = Buffer::new(LENGTH)?;
    source.fill(0, &content)?;
    let registration = connection.register(&source, Access::Read)?;
    let descriptors: Arc<[BufferDescriptorV1]> = registration.descriptors.clone().into();
    let answer = ask(connection, &Request::Read { offset: 0, length: LENGTH, descriptors })?;
    same("hash of what the server read", answer, Answer::Hash(digest(&content)))?;
    connection.deregister(&registration)?;

    let sink = Buffer::new(LENGTH)?;
    let registration = connection.register(&sink, Access::Write)?;
    let descriptors: Arc<[BufferDescriptorV1]> = registration.descriptors.clone().into();
    let write = Request::Write { seed: 8, offset: 0, length: LENGTH, invalidate: None, descriptors };
    same("answer to Write", ask(connection, &write)?, Answer::Done)?;
    connection.deregister(&registration)?;
    holds(read_all(&sink)? == pattern(8, LENGTH as usize), || "the server wrote something else".into())
}

/// This side reads what the server offers, and writes there.
fn by_client(connection: &mut Connection) -> Result<(), Failure> {
    let offer = |access| Request::Offer { length: LENGTH, access, seed: 9 };
    let Answer::Offered { id, descriptors } = ask(connection, &offer(Access::Read))? else {
        return Err("Offer was not answered with Offered".into());
    };
    let sink = Buffer::new(LENGTH)?;
    connection.rdma(RdmaVerb::Read, &sink, &descriptors.into(), 0, LENGTH)?;
    holds(read_all(&sink)? == pattern(9, LENGTH as usize), || "something else was read".into())?;
    same("answer to Withdraw", ask(connection, &Request::Withdraw { id })?, Answer::Done)?;

    let Answer::Offered { id, descriptors } = ask(connection, &offer(Access::Write))? else {
        return Err("Offer was not answered with Offered".into());
    };
    let content = pattern(10, LENGTH as usize);
    let source = Buffer::new(LENGTH)?;
    source.fill(0, &content)?;
    connection.rdma(RdmaVerb::Write, &source, &descriptors.into(), 0, LENGTH)?;
    let hash = ask(connection, &Request::Hash { id, offset: 0, length: LENGTH })?;
    same("hash of what was written", hash, Answer::Hash(digest(&content)))
}

fn keepalive(context: &Context) -> Outcome {
    let interval = Duration::from_millis(600);
    let keepalive = Some(Keepalive { interval, answer_timeout: PATIENCE });
    play(context, KEEPALIVE, Params { keepalive, ..settings::windows() }, |connection| {
        let start = connection.backend().now();
        // The second is not asked before the first is answered.
        until(connection, "two probes", |connection| {
            connection.endpoint().connection().stats().sent.keepalives >= 2
        })?;
        let time = connection.backend().now().saturating_since(start);
        let stats = *connection.endpoint().connection().stats();
        // The first may have been due when the time began.
        let rests = u32::try_from(stats.sent.keepalives)? - 1;
        holds(time >= interval * rests, || format!("{} probes within {time:?}", stats.sent.keepalives))?;
        same("probes back", stats.received.keepalives, 0)?;
        Ok(format!("{} probes, {} messages back", stats.sent.keepalives, stats.received.messages))
    })
}
