//! Messages of every size that is an edge of something, both ways at once.

use smbd_core::error::SendError;
use smbd_core::{Config, Negotiated, Params};
use smbd_tools::exercise::{digest, pattern};
use smbd_verbs::ListenOptions;
use smbd_verbs::blocking;

use super::calls::Calls;
use super::client::Client;
use super::ports;
use super::serving::Serving;
use crate::case::{Context, Failure, Outcome};
use crate::patience::PATIENCE;
use crate::settings;

/// Bytes of a data message before its payload (2.2.3).
const HEADER: u32 = 24;

pub(super) fn example<C: Calls>(context: &Context) -> Outcome {
    edges::<C>(context, settings::example(), settings::example())
}

pub(super) fn windows<C: Calls>(context: &Context) -> Outcome {
    edges::<C>(context, settings::windows(), settings::windows())
}

pub(super) fn linux<C: Calls>(context: &Context) -> Outcome {
    edges::<C>(context, Params::linux_client(), Params::linux_server())
}

/// The server returns each message; they are sent without waiting for that.
fn edges<C: Calls>(context: &Context, client: Params, server: Params) -> Outcome {
    let serving =
        Serving::start(ports::fresh(context), &Config::try_from(server)?, ListenOptions::default())?;
    let mut client = Client::<C>::connect(serving.at, &Config::try_from(client)?)?;
    let connection = &mut client.connection;
    let negotiated = connection.negotiated().ok_or("nothing was negotiated")?;
    let sizes = sizes(&negotiated);
    let message = |index: usize| pattern(index as u64, sizes[index]);
    for index in 0..sizes.len() {
        connection.send(message(index))?;
    }
    for (index, size) in sizes.iter().enumerate() {
        let got = connection.recv(PATIENCE)?;
        if (got.len(), digest(&got)) != (*size, digest(&message(index))) {
            return Err(format!("message {index} of {size} bytes came back as {} others", got.len()).into());
        }
    }
    refuses_more(connection, negotiated.max_fragmented_send_size)?;
    client.close()?;
    let stats = serving.ended(PATIENCE)?.stats;
    serving.stop()?;
    let (count, bytes) = (sizes.len() as u64, sizes.iter().sum::<usize>() as u64);
    if (stats.returned, stats.returned_bytes) != (count, bytes) {
        return Err(format!("{count} messages of {bytes} bytes were sent, the server says {stats:?}").into());
    }
    let max = negotiated.max_fragmented_send_size;
    Ok(format!("{count} sizes from 1 to {max} in fragments of {}", negotiated.max_send_size - HEADER))
}

fn sizes(negotiated: &Negotiated) -> Vec<usize> {
    let fragment = negotiated.max_send_size - HEADER;
    let max = negotiated.max_fragmented_send_size;
    let around = |size: u32| [size - 1, size, size + 1];
    let mut sizes = vec![1, 2, 3, 7, 8, 9];
    sizes.extend([fragment, 2 * fragment, 3 * fragment, 8192, 65_536].into_iter().flat_map(around));
    sizes.extend([max / 2, max - fragment, max - 1, max, 1]);
    sizes.into_iter().filter_map(|size| usize::try_from(size).ok()).collect()
}

fn refuses_more(connection: &mut impl Calls, max: u32) -> Result<(), Failure> {
    let len = max.saturating_add(1);
    match connection.send(pattern(0, usize::try_from(len)?)) {
        Err(blocking::Failure::Send(SendError::TooLong { len: told, max: limit }))
            if (told, limit) == (len, max) =>
        {
            Ok(())
        }
        other => Err(format!("a message of {len} bytes: {other:?}").into()),
    }
}
