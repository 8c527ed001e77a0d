//! RDMA Reads and Writes through many descriptors, begun by either side.

use std::sync::Arc;

use smbd_core::error::RdmaError;
use smbd_core::{Access, BufferDescriptorV1, Config, RdmaVerb};
use smbd_tools::exercise::{Answer, Request, digest, pattern};
use smbd_verbs::blocking::Failure as Refused;
use smbd_verbs::{Buffer, ListenOptions};

use super::calls::Calls;
use super::client::Client;
use super::pair::{buffer_of, contents, only};
use super::pieces::Pieces;
use super::ports;
use super::serving::Serving;
use crate::case::{Context, Failure, Outcome};
use crate::patience::PATIENCE;
use crate::settings;

/// Bytes of a buffer that descriptors point into.
const LEN: u32 = 1 << 20;
/// Numbers of descriptors: one, two, some, and as many as fit into the 64 KiB of an SMB2 request.
const COUNTS: [u32; 4] = [1, 2, 31, 4095];

pub(super) fn through_descriptors<C: Calls>(context: &Context) -> Outcome {
    let config = Config::try_from(settings::windows())?;
    let serving = Serving::start(ports::fresh(context), &config, ListenOptions::default())?;
    let mut client = Client::<C>::connect(serving.at, &config)?;
    let mut bytes = 0_u64;
    for count in COUNTS {
        let pieces = Pieces::new(LEN, count);
        let total = pieces.total();
        for (offset, len) in [(0, total), (1, (total - 2) | 1), (total / 2, 1)] {
            let what = |error: Failure| format!("{count} descriptors, {len} bytes from {offset} on: {error}");
            write_of_this_side(&mut client, &pieces, offset, len).map_err(what)?;
            read_of_this_side(&mut client, &pieces, offset, len).map_err(what)?;
            read_of_the_server(&mut client, &pieces, offset, len).map_err(what)?;
            write_of_the_server(&mut client, &pieces, offset, len).map_err(what)?;
            bytes += 4 * u64::from(len);
        }
    }
    client.close()?;
    serving.ended(PATIENCE)?;
    serving.stop()?;
    Ok(format!("{bytes} bytes through {COUNTS:?} descriptors, both verbs from both sides"))
}

fn write_of_this_side(
    client: &mut Client<impl Calls>,
    pieces: &Pieces,
    offset: u32,
    len: u32,
) -> Result<(), Failure> {
    let offered = client.offer(LEN, Access::Write, 10)?;
    let source = buffer_of(11, len)?;
    let remote = pieces.descriptors(offered.whole);
    client.connection.rdma(RdmaVerb::Write, &source, &remote, offset.into(), len)?;
    let mut expected = pattern(10, LEN as usize).to_vec();
    pieces.scatter(&mut expected, offset, &contents(&source)?);
    let hash = client.hash(offered)?;
    client.withdraw(offered)?;
    same("after a write the server's memory", hash, digest(&expected))
}

fn read_of_this_side(
    client: &mut Client<impl Calls>,
    pieces: &Pieces,
    offset: u32,
    len: u32,
) -> Result<(), Failure> {
    let offered = client.offer(LEN, Access::Read, 12)?;
    // A byte more at either end would show.
    let sink = Buffer::new(len + 1)?;
    let remote = pieces.descriptors(offered.whole);
    client.connection.rdma(RdmaVerb::Read, &sink, &remote, offset.into(), len)?;
    let mut expected = pieces.gather(&pattern(12, LEN as usize), offset, len);
    expected.push(0);
    client.withdraw(offered)?;
    same("what was read", digest(&contents(&sink)?), digest(&expected))
}

fn read_of_the_server(
    client: &mut Client<impl Calls>,
    pieces: &Pieces,
    offset: u32,
    len: u32,
) -> Result<(), Failure> {
    let buffer = buffer_of(13, LEN)?;
    let registration = client.connection.register(&buffer, Access::Read)?;
    let remote = pieces.descriptors(only(&registration)?);
    let hash = client.be_read(&remote, offset.into(), len)?;
    client.connection.deregister(&registration)?;
    let expected = pieces.gather(&contents(&buffer)?, offset, len);
    same("what the server read", hash, digest(&expected))
}

fn write_of_the_server(
    client: &mut Client<impl Calls>,
    pieces: &Pieces,
    offset: u32,
    len: u32,
) -> Result<(), Failure> {
    let buffer = buffer_of(14, LEN)?;
    let registration = client.connection.register(&buffer, Access::Write)?;
    let descriptors = pieces.descriptors(only(&registration)?);
    let write =
        Request::Write { seed: 15, offset: offset.into(), length: len, invalidate: None, descriptors };
    if client.ask(&write)? != Answer::Done {
        return Err("a write of the server was not answered with Done".into());
    }
    client.connection.deregister(&registration)?;
    let mut expected = pattern(14, LEN as usize).to_vec();
    // The pattern begins where the transfer does.
    let data = pattern(15, (offset + len) as usize).slice(offset as usize..);
    pieces.scatter(&mut expected, offset, &data);
    same("after a write of the server this memory", digest(&contents(&buffer)?), digest(&expected))
}

fn same(what: &str, got: u64, expected: u64) -> Result<(), Failure> {
    if got == expected {
        return Ok(());
    }
    Err(format!("{what} has the hash {got:016x}, expected {expected:016x}").into())
}

/// Nothing at all, all that was negotiated, and a byte more.
pub(super) fn edges<C: Calls>(context: &Context) -> Outcome {
    let config = Config::try_from(settings::windows())?;
    let serving = Serving::start(ports::fresh(context), &config, ListenOptions::default())?;
    let mut client = Client::<C>::connect(serving.at, &config)?;
    let max = client.connection.negotiated().ok_or("nothing was negotiated")?.max_read_write_size;
    let offered = client.offer(max, Access::ReadWrite, 20)?;
    let whole: Arc<[BufferDescriptorV1]> = [offered.whole].into();
    let (source, sink) = (buffer_of(21, max)?, Buffer::new(max)?);
    let nowhere: Arc<[BufferDescriptorV1]> = [].into();
    for verb in [RdmaVerb::Read, RdmaVerb::Write] {
        client.connection.rdma(verb, &sink, &whole, 0, 0)?;
        client.connection.rdma(verb, &sink, &nowhere, 0, 0)?;
        client.connection.rdma(verb, &sink, &whole, max.into(), 0)?;
        refused(&mut client, verb, &sink, &whole, (0, max + 1), RdmaError::TooLong { len: max + 1, max })?;
        let beyond = RdmaError::BeyondDescriptors { offset: 1, len: max, total: max.into() };
        refused(&mut client, verb, &sink, &whole, (1, max), beyond)?;
    }
    same("memory that nothing was done with", client.hash(offered)?, digest(&pattern(20, max as usize)))?;
    client.connection.rdma(RdmaVerb::Write, &source, &whole, 0, max)?;
    client.connection.rdma(RdmaVerb::Read, &sink, &whole, 0, max)?;
    same("memory that was written", client.hash(offered)?, digest(&contents(&source)?))?;
    same("what was read back", digest(&contents(&sink)?), digest(&contents(&source)?))?;
    client.close()?;
    serving.ended(PATIENCE)?;
    serving.stop()?;
    Ok(format!("0 and {max} bytes done, {} refused", max + 1))
}

fn refused(
    client: &mut Client<impl Calls>,
    verb: RdmaVerb,
    buffer: &Buffer,
    remote: &Arc<[BufferDescriptorV1]>,
    (offset, len): (u64, u32),
    expected: RdmaError,
) -> Result<(), Failure> {
    match client.connection.rdma(verb, buffer, remote, offset, len) {
        Err(Refused::Rdma(error)) if error == expected => Ok(()),
        other => Err(format!("{verb:?} of {len} bytes from {offset} on: {other:?}").into()),
    }
}
