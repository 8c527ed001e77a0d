//! A GiB in all.

use std::sync::Arc;

use smbd_core::{Access, BufferDescriptorV1, Config, RdmaVerb};
use smbd_tools::exercise::{digest, pattern};
use smbd_verbs::{Buffer, ListenOptions};

use super::calls::Calls;
use super::client::Client;
use super::ports;
use super::serving::Serving;
use crate::case::{Context, Failure, Outcome};
use crate::patience::PATIENCE;
use crate::settings;

/// Bytes of an RDMA operation.
const LEN: u32 = 8 << 20;
/// Each is written, hashed by the server, and read back: 480 MiB each way.
const ROUNDS: usize = 60;
/// How far the pattern moves from one round to the next.
const SHIFT: usize = 4099;
/// Messages of 1 MiB, each returned: 64 MiB in all.
const MESSAGES: u64 = 32;
const MESSAGE: usize = 1 << 20;
/// Messages under way: as many as the server keeps for a client that does not receive.
const WINDOW: u64 = 4;

pub(super) fn gigabyte<C: Calls>(context: &Context) -> Outcome {
    let config = Config::try_from(settings::windows())?;
    let serving = Serving::start(ports::fresh(context), &config, ListenOptions::default())?;
    let mut client = Client::<C>::connect(serving.at, &config)?;
    let offered = client.offer(LEN, Access::ReadWrite, 0)?;
    let whole: Arc<[BufferDescriptorV1]> = [offered.whole].into();
    let (source, sink) = (Buffer::new(LEN)?, Buffer::new(LEN)?);
    let len = usize::try_from(LEN)?;
    let bytes = pattern(1, len + SHIFT * ROUNDS);
    let mut back = vec![0; len];
    for round in 0..ROUNDS {
        // Another part of the pattern each time, so that nothing is in the right place because it was left there.
        let expected = &bytes[SHIFT * round..][..len];
        source.fill(0, expected)?;
        client.connection.rdma(RdmaVerb::Write, &source, &whole, 0, LEN)?;
        let (written, hash) = (client.hash(offered)?, digest(expected));
        client.connection.rdma(RdmaVerb::Read, &sink, &whole, 0, LEN)?;
        sink.read(0, &mut back)?;
        if written != hash || back != expected {
            let read = digest(&back);
            return Err(format!("round {round}: {hash:016x}, {written:016x}, {read:016x}").into());
        }
    }
    messages(&mut client)?;
    client.close()?;
    serving.ended(PATIENCE)?;
    serving.stop()?;
    let total = (2 * (ROUNDS * len) as u64 + 2 * MESSAGES * MESSAGE as u64) >> 20;
    Ok(format!("{total} MiB by writes, reads and messages, every byte hashed"))
}

fn messages(client: &mut Client<impl Calls>) -> Result<(), Failure> {
    let connection = &mut client.connection;
    for number in 0..MESSAGES + WINDOW {
        if number < MESSAGES {
            connection.send(pattern(number, MESSAGE))?;
        }
        let Some(oldest) = number.checked_sub(WINDOW) else { continue };
        if digest(&connection.recv(PATIENCE)?) != digest(&pattern(oldest, MESSAGE)) {
            return Err(format!("message {oldest} came back as another").into());
        }
    }
    Ok(())
}
