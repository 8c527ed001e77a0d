//! What an RDMA Read brings is written by the peer, where a device needs that: the peer may write the bytes that are read, as long as they
//! are being read. Devices that do not need it are treated as if they did.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use smbd_core::error::OpError;
use smbd_core::{Access, BufferDescriptorV1, Config, RdmaVerb, Token};
use smbd_tools::exercise::pattern;
use smbd_verbs::blocking::{Connection, Failure as Blocked};
use smbd_verbs::{Buffer, Clock, ReadSink};

use super::access::end_of;
use super::pair::{Pair, buffer_of, contents, only, say};
use super::pieces::Pieces;
use super::resources::{Leaks, held};
use crate::case::{Context, Failure, Outcome};
use crate::expect::{holds, same};
use crate::patience::PATIENCE;
use crate::settings;

/// Bytes of the memory that is read.
const LEN: u32 = 200_000;
/// Descriptors that name it, and so RDMA Reads.
const PIECES: u32 = 31;
/// Seeds of the memory that is read, and of what the peer would write.
const FAR: u64 = 21;
const OTHER: u64 = 22;
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Two operations at once, each of many Reads into parts of a buffer.
pub(super) fn work(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let mut pair = opened(context)?;
    let far = buffer_of(FAR, LEN)?;
    let registration = pair.acceptor.register(&far, Access::Read)?;
    let pieces = Pieces::new(LEN, PIECES);
    let remote = pieces.descriptors(only(&registration)?);
    pair.valid()?;
    let memory = pattern(FAR, LEN as usize);
    let total = pieces.total();
    let cuts = [(0, total), (1001, total - 5000)];
    // A byte more would show.
    let near: Vec<_> = cuts.iter().map(|(_, len)| Buffer::new(len + 1)).collect::<Result<_, _>>()?;
    for ((offset, len), near) in cuts.into_iter().zip(&near) {
        pair.initiator.start_rdma(RdmaVerb::Read, near, &remote, offset.into(), len)?;
    }
    while pair.initiator.rdma_in_flight() > 0 {
        pair.initiator.next_rdma(PATIENCE)?.1?;
    }
    for ((offset, len), near) in cuts.into_iter().zip(&near) {
        let mut expected = pieces.gather(&memory, offset, len);
        expected.push(0);
        holds(contents(near)? == expected, || format!("{len} bytes from {offset} on are others"))?;
    }
    let sinks = pair.initiator.backend().read_sinks();
    let opened: u64 = sinks.iter().map(|sink| u64::from(sink.descriptor.length)).sum();
    same("bytes that were open to the peer", opened, cuts.iter().map(|(_, len)| u64::from(*len)).sum())?;
    closed(&sinks)?;
    pair.check()?;
    pair.close()?;
    leaks.none(context)?;
    Ok(format!("{} Reads of two operations, {opened} bytes", sinks.len()))
}

/// The peer knows where a Read wrote, and writes there behind it.
pub(super) fn writes(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let mut pair = opened(context)?;
    let far = buffer_of(FAR, LEN)?;
    let registration = pair.acceptor.register(&far, Access::Read)?;
    let remote: Arc<[_]> = registration.descriptors.into();
    pair.valid()?;
    let near = Buffer::new(LEN)?;
    let before = held()?;
    pair.initiator.rdma(RdmaVerb::Read, &near, &remote, 0, LEN)?;
    let sinks = pair.initiator.backend().read_sinks();
    let [sink] = &sinks[..] else { return Err(format!("{} sinks for one Read", sinks.len()).into()) };
    same("bytes of the sink", sink.descriptor.length, LEN)?;
    closed(&sinks)?;
    same("what the kernel has of this process", held()?, before)?;
    let source = buffer_of(OTHER, 100)?;
    let target: Arc<[_]> = [BufferDescriptorV1 { length: 100, ..sink.descriptor }].into();
    let result = pair.acceptor.rdma(RdmaVerb::Write, &source, &target, 0, 100);
    let is_refused = matches!(
        result,
        // On a byte stream a Write is complete when it was handed over.
        Ok(()) | Err(Blocked::Operation(OpError::Work(_) | OpError::Aborted(_)) | Blocked::Closed(_))
    );
    holds(is_refused, || format!("the Write gave {result:?}"))?;
    let (offender, victim) = (end_of(pair.acceptor)?, end_of(pair.initiator)?);
    holds(contents(&near)? == contents(&far)?, || "what was read was changed by the peer".to_owned())?;
    leaks.none(context)?;
    Ok(format!("a Write behind the Read: '{offender}', '{victim}'"))
}

/// Reads that fail, and those under way when the connection ends, leave nothing open.
pub(super) fn ends(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let mut seen = Vec::new();
    for wrong_token in [true, false] {
        let Pair { mut initiator, mut acceptor } = opened(context)?;
        let far = buffer_of(FAR, LEN)?;
        let registration = acceptor.register(&far, Access::Read)?;
        let mut whole = only(&registration)?;
        if wrong_token {
            whole.token = Token(whole.token.0 ^ 0x0001_0100);
        }
        say(&mut acceptor, &mut initiator, 1)?;
        let (near, pieces) = (Buffer::new(LEN)?, Pieces::new(LEN, PIECES));
        initiator.start_rdma(RdmaVerb::Read, &near, &pieces.descriptors(whole), 0, pieces.total())?;
        // What was started is with the device.
        initiator.try_recv().map(drop).or_else(unless_ended)?;
        let sinks = initiator.backend().read_sinks();
        holds(!sinks.is_empty(), || "nothing was read".to_owned())?;
        if wrong_token {
            // It is the device that refuses.
            all_closed_in(&mut initiator)?;
            drop(acceptor);
        } else {
            drop(acceptor);
            all_closed_in(&mut initiator)?;
        }
        seen.push(format!("{} Reads: '{}'", sinks.len(), initiator.drain()?));
    }
    leaks.none(context)?;
    Ok(seen.join("; "))
}

/// A connection whose initiator treats its device as one that needs sinks.
fn opened(context: &Context) -> Result<Pair, Failure> {
    let mut pair = Pair::new(context, &Config::try_from(settings::windows())?)?;
    pair.initiator.backend_mut().open_read_sinks()?;
    Ok(pair)
}

fn closed(sinks: &[ReadSink]) -> Result<(), Failure> {
    let open = sinks.iter().filter(|sink| sink.is_open()).count();
    same("sinks that are open behind their Reads", open, 0)
}

/// Waits until no sink is open, while the connection is there.
fn all_closed_in(connection: &mut Connection) -> Result<(), Failure> {
    let until = Clock::start();
    loop {
        connection.idle(POLL_INTERVAL).or_else(unless_ended)?;
        let closed = closed(&connection.backend().read_sinks());
        if closed.is_ok() || until.now().as_nanos() > PATIENCE.as_nanos() as u64 {
            return closed;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn unless_ended(failure: Blocked) -> Result<(), Failure> {
    match failure {
        Blocked::Closed(_) => Ok(()),
        other => Err(other.into()),
    }
}
