//! Access that is not allowed: the connection ends with a reason on both sides, and no byte changes.

use std::sync::Arc;

use smbd_core::error::{CloseReason, OpError, WorkError};
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token, WrId};
use smbd_verbs::Buffer;
use smbd_verbs::blocking::{Connection, Failure as Blocked};

use super::pair::{Pair, buffer_of, contents, only};
use super::resources::Leaks;
use crate::case::{Context, Failure, Outcome};
use crate::device;
use crate::patience::PATIENCE;
use crate::settings;

const LEN: u32 = 5000;
/// Seeds of the memory of victim and offender.
const FAR: u64 = 1;
const NEAR: u64 = 2;

/// What is wrong with an access.
#[derive(Clone, Copy, Debug)]
enum Wrong {
    Right,
    Token,
    Deregistered,
    OneBeyond,
    OneBefore,
}

pub(super) fn rights(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    offend(context, RdmaVerb::Write, Access::Read, Wrong::Right)?;
    let quirks = device::quirks(context.address)?;
    let read = if quirks.read_right_unchecked {
        unchecked_read(context)?;
        format!("read of write-only memory NOT refused: {} checks no right of a read", quirks.name)
    } else {
        offend(context, RdmaVerb::Read, Access::Write, Wrong::Right)?;
        "read of write-only memory refused".to_owned()
    };
    leaks.none(context)?;
    Ok(format!("write to read-only memory refused, {read}"))
}

pub(super) fn tokens(context: &Context) -> Outcome {
    refused(context, &[Wrong::Token, Wrong::Deregistered])
}

pub(super) fn bounds(context: &Context) -> Outcome {
    refused(context, &[Wrong::OneBeyond, Wrong::OneBefore])
}

fn refused(context: &Context, all: &[Wrong]) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let mut ends = Vec::new();
    for verb in [RdmaVerb::Read, RdmaVerb::Write] {
        for wrong in all {
            ends.push(offend(context, verb, Access::ReadWrite, *wrong)?);
        }
    }
    leaks.none(context)?;
    Ok(ends.join("; "))
}

/// One access that must fail; says how both sides ended.
fn offend(context: &Context, verb: RdmaVerb, access: Access, wrong: Wrong) -> Outcome {
    let mut pair = Pair::new(context, &settings::of_the_kit()?)?;
    let (far, near) = (buffer_of(FAR, LEN)?, buffer_of(NEAR, LEN)?);
    let registration = pair.acceptor.register(&far, access)?;
    let mut remote = only(&registration)?;
    pair.valid()?;
    match wrong {
        Wrong::Right => {}
        Wrong::Token => remote.token = Token(remote.token.0 ^ 0x0001_0100),
        Wrong::Deregistered => pair.acceptor.deregister(&registration)?,
        Wrong::OneBeyond => remote.offset += 1,
        Wrong::OneBefore => remote.offset -= 1,
    }
    let what = format!("{verb:?}, {wrong:?}");
    let end = ends(pair, verb, &near, remote).map_err(|error| format!("{what}: {error}"))?;
    unchanged(&far, FAR).and_then(|()| unchanged(&near, NEAR)).map_err(|error| format!("{what}: {error}"))?;
    Ok(format!("{what}: {end}"))
}

/// The initiator's access ends both sides.
fn ends(
    mut pair: Pair,
    verb: RdmaVerb,
    near: &Buffer,
    remote: BufferDescriptorV1,
) -> Result<String, Failure> {
    let len = remote.length;
    let remote: Arc<[BufferDescriptorV1]> = [remote].into();
    let result = pair.initiator.rdma(verb, near, &remote, 0, len);
    match &result {
        // On a byte stream a write is complete when it was handed over.
        Ok(()) if verb == RdmaVerb::Write => {}
        Err(Blocked::Operation(OpError::Work(_) | OpError::Aborted(_)) | Blocked::Closed(_)) => {}
        other => return Err(format!("the access gave {other:?}").into()),
    }
    let (offender, victim) = (end_of(pair.initiator)?, end_of(pair.acceptor)?);
    let is_offenders = match offender {
        CloseReason::PeerClosed | CloseReason::Lost { .. } => true,
        CloseReason::Transport { id: WrId::Rdma(_), error } => matches!(
            error,
            WorkError::RemoteAccess
                | WorkError::RemoteOperation
                | WorkError::RemoteInvalidRequest
                // On a byte stream the connection may be gone before the write was handed over.
                | WorkError::LocalOperation
        ),
        _ => false,
    };
    if !is_offenders
        || !matches!(
            victim,
            CloseReason::PeerClosed | CloseReason::Lost { .. } | CloseReason::Transport { .. }
        )
    {
        return Err(format!("the offender says '{offender}', its peer '{victim}'").into());
    }
    Ok(format!("'{offender}', '{victim}'"))
}

/// How a connection ends by itself.
pub(super) fn end_of(mut connection: Connection) -> Result<CloseReason, Failure> {
    match connection.idle(PATIENCE) {
        Err(Blocked::Closed(_)) => Ok(connection.drain()?),
        Ok(()) => Err(format!("the connection is still up after {} s", PATIENCE.as_secs()).into()),
        Err(other) => Err(other.into()),
    }
}

fn unchanged(buffer: &Buffer, seed: u64) -> Result<(), Failure> {
    if contents(buffer)? == contents(&buffer_of(seed, buffer.len())?)? {
        return Ok(());
    }
    Err(format!("the memory with the pattern {seed} was changed").into())
}

/// Where the right to read is not checked, the read succeeds: otherwise the quirk table is out of date.
fn unchecked_read(context: &Context) -> Result<(), Failure> {
    let mut pair = Pair::new(context, &settings::of_the_kit()?)?;
    let (far, near) = (buffer_of(FAR, LEN)?, buffer_of(NEAR, LEN)?);
    let registration = pair.acceptor.register(&far, Access::Write)?;
    let remote: Arc<[BufferDescriptorV1]> = registration.descriptors.into();
    pair.valid()?;
    pair.initiator.rdma(RdmaVerb::Read, &near, &remote, 0, LEN)?;
    unchanged(&near, FAR)?;
    pair.close()
}

/// A token of one connection is worth nothing on another.
pub(super) fn foreign(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let mut seen = Vec::new();
    for verb in [RdmaVerb::Read, RdmaVerb::Write] {
        let (mut own, other) =
            (Pair::new(context, &settings::of_the_kit()?)?, Pair::new(context, &settings::of_the_kit()?)?);
        let (far, near) = (buffer_of(FAR, LEN)?, buffer_of(NEAR, LEN)?);
        let registration = own.acceptor.register(&far, Access::ReadWrite)?;
        let remote = only(&registration)?;
        // A token that is not valid yet would be refused to anybody.
        own.valid()?;
        seen.push(ends(other, verb, &near, remote)?);
        unchanged(&far, FAR)?;
        unchanged(&near, NEAR)?;
        // The connection it belongs to lives and works.
        own.check()?;
        own.initiator.rdma(RdmaVerb::Write, &near, &[remote].into(), 0, LEN)?;
        own.check()?;
        unchanged(&far, NEAR)?;
        own.close()?;
    }
    leaks.none(context)?;
    Ok(seen.join("; "))
}
