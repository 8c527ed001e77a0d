//! Mounts that are refused in good order.

use smbd_core::Params;
use smbd_core::error::CloseReason;
use smbd_core::wire::NegotiateRequest;

use super::kernel::{Mount, Parameter};
use super::server::{Session, listen, listen_by_link_type};
use crate::case::{Case, Context, Failure, Outcome, Target};
use crate::expect::{holds, same};
use crate::kernel_log::Log;
use crate::linux::Linux;
use crate::patience::PATIENCE;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "cifs::mount::ordinary",
        target: Target::Cifs,
        about: "negotiation, SMB2 NEGOTIATE and SESSION_SETUP; the kernel logs no error of SMB Direct",
        run: ordinary,
    },
    Case {
        name: "cifs::mount::ports",
        target: Target::Cifs,
        about: "a server at the port of its kind of link is found",
        run: ports,
    },
    Case {
        name: "cifs::mount::small_server",
        target: Target::Cifs,
        about: "a server that takes the least sizes and gives 4 credits: requests come in fragments",
        run: small_server,
    },
    Case {
        name: "cifs::mount::parameters_of_the_kernel",
        target: Target::Cifs,
        about: "a client set to other sizes and credits",
        run: parameters_of_the_kernel,
    },
    Case {
        name: "cifs::mount::again",
        target: Target::Cifs,
        about: "5 mounts one after the other",
        run: again,
    },
];

/// What cifs asks for unless told otherwise.
const DEFAULTS: NegotiateRequest = NegotiateRequest {
    min_version: 0x0100,
    max_version: 0x0100,
    credits_requested: 255,
    preferred_send_size: 1364,
    max_receive_size: 1364,
    max_fragmented_size: 173_910,
};

/// Refuses the session: the mount has to fail for that reason, and cifs to leave by itself.
fn refuse(session: Session, mount: Mount) -> Result<CloseReason, Failure> {
    let end = session.refuse()?;
    let said = mount.failure(PATIENCE)?;
    holds(said.contains("error(13)"), || format!("the mount failed otherwise than with EACCES: {said}"))?;
    // Of a send that was under way iWARP only says that it failed.
    holds(
        matches!(end, CloseReason::PeerClosed | CloseReason::Lost { .. } | CloseReason::Transport { .. }),
        || format!("it ended with: {end}"),
    )?;
    Ok(end)
}

/// A mount against a server with the parameters of ksmbd. With all classes off, what SMB Direct logs is errors.
fn ordinary(context: &Context) -> Outcome {
    let cifs = Linux::running()?.cifs();
    let _quiet = Parameter::logging(0)?;
    let log = Log::from_here()?;
    let mut listener = listen(context.address)?;
    let mount = Mount::begin(context.address)?;
    let session = Session::accept(&mut listener, Params::linux_server())?;
    same("Negotiate Request", session.request()?, DEFAULTS)?;
    let setup = session.setup_len();
    let stats = *session.connection.endpoint().connection().stats();
    let credits = session.connection.endpoint().connection().credits();
    // All of its 255 receives are granted, in an empty message before any data or with the first data.
    holds(stats.received.credits >= 255, || format!("{} credits granted", stats.received.credits))?;
    let empties = stats.received.empties;
    holds(cifs.empties.contains(&empties), || format!("{empties} empty messages, not {:?}", cifs.empties))?;
    same("credits asked for", credits.target(), 255)?;
    same("tolerances", stats.tolerances, smbd_core::Tolerances::default())?;
    let end = refuse(session, mount)?;
    for error in cifs.errors {
        let mut lines = log.lines(error)?;
        lines.retain(|line| !line.contains(cifs.nobody_at_5445));
        same("errors in the kernel's log", lines, vec![])?;
    }
    Ok(format!(
        "255/1364/1364/173910 asked for, {} credits in {} messages of which {} empty, SESSION_SETUP of {setup} bytes; {end}",
        stats.received.credits, stats.received.messages, stats.received.empties
    ))
}

/// cifs tries 5445, of 6.12 on any kind of link, and 445 after it found nobody there.
fn ports(context: &Context) -> Outcome {
    let log = Log::from_here()?;
    let mut listener = listen_by_link_type(context.address)?;
    let port = listener.local_addrs().next().ok_or("it listens nowhere")?.port();
    let mount = Mount::begin(context.address)?;
    let session = Session::accept(&mut listener, Params::linux_server())?;
    refuse(session, mount)?;
    let cifs = Linux::running()?.cifs();
    let (refused, expected) = (log.lines(cifs.nobody_at_5445)?.len(), usize::from(port == 445));
    // 7.3 logs ten such lines within 5 s, and no more.
    let is_good = if cifs.any_link_at_5445 { refused == expected } else { refused <= expected };
    holds(is_good, || format!("{refused} refusals at 5445 in the kernel's log, found at {port}"))?;
    Ok(format!("found at {port}"))
}

fn small_server(context: &Context) -> Outcome {
    let params = Params {
        max_receive_size: 128,
        max_fragmented_recv_size: 131_072,
        receive_credit_max: 4,
        send_credit_target: 2,
        ..Params::linux_server()
    };
    let mut listener = listen(context.address)?;
    let mount = Mount::begin(context.address)?;
    let session = Session::accept(&mut listener, params)?;
    let received = session.connection.endpoint().connection().stats().received;
    holds(received.fragments > 0, || format!("no fragments among {received:?}"))?;
    refuse(session, mount)?;
    Ok(format!(
        "{} bytes in {} messages, {} of them fragments",
        received.bytes, received.messages, received.fragments
    ))
}

fn parameters_of_the_kernel(context: &Context) -> Outcome {
    let _set = [
        Parameter::set("smbd_receive_credit_max", 32)?,
        Parameter::set("smbd_send_credit_target", 16)?,
        Parameter::set("smbd_max_send_size", 1200)?,
        Parameter::set("smbd_max_receive_size", 2000)?,
        Parameter::set("smbd_max_fragmented_recv_size", 140_000)?,
    ];
    let mut listener = listen(context.address)?;
    let mount = Mount::begin(context.address)?;
    let session = Session::accept(&mut listener, Params { strict: true, ..Params::linux_server() })?;
    let request = session.request()?;
    let expected = NegotiateRequest {
        credits_requested: 16,
        preferred_send_size: 1200,
        max_receive_size: 2000,
        max_fragmented_size: 140_000,
        ..DEFAULTS
    };
    same("Negotiate Request", request, expected)?;
    let settled = session.connection.negotiated().ok_or("nothing was settled on")?;
    same("own MaxSendSize", settled.max_send_size, 1364)?;
    same("own MaxReceiveSize", settled.max_receive_size, 1200)?;
    let granted = session.connection.endpoint().connection().stats().received.credits;
    refuse(session, mount)?;
    Ok(format!("16/1200/2000/140000 asked for, {granted} credits granted"))
}

fn again(context: &Context) -> Outcome {
    let mut listener = listen(context.address)?;
    for number in 1..=5 {
        let mount = Mount::begin(context.address)?;
        let session = Session::accept(&mut listener, Params::linux_server());
        session
            .and_then(|session| refuse(session, mount))
            .map_err(|error| format!("mount {number}: {error}"))?;
    }
    same("connections left", listener.connections(), 0)?;
    Ok("5 mounts refused, no connection left".into())
}
