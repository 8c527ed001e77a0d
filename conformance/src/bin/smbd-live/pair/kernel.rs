//! smbd here, the kernel there.

use std::time::Duration;

use smbd_core::{Keepalive, Params};

use super::link::{Side, meet, side};
use super::numbers;
use crate::case::{Case, Context, Outcome, Target};
use crate::cifs::{self, Mount, Session};
use crate::expect::{holds, same};
use crate::ksmbd;
use crate::linux::Linux;
use crate::patience::{PATIENCE, until};
use crate::settings;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "pair::cifs::mount",
        target: Target::Pair,
        about: "cifs of side b mounts from a server on side a, until its session is refused",
        run: mount,
    },
    Case {
        name: "pair::ksmbd::negotiate",
        target: Target::Pair,
        about: "on side b only: the numbers of ksmbd on side a, an SMB2 NEGOTIATE, keepalive",
        run: negotiate,
    },
];

const MEET: u16 = 20_005;

fn mount(context: &Context) -> Outcome {
    if side()? == Side::A {
        let mut listener = cifs::listen(context.address)?;
        meet(context, MEET)?;
        let session = Session::accept(&mut listener, Params::linux_server())?;
        let request = session.request()?;
        let end = session.refuse()?;
        return Ok(format!(
            "asked for {} credits, {} and {} bytes; {end}",
            request.credits_requested, request.max_receive_size, request.max_fragmented_size
        ));
    }
    meet(context, MEET)?;
    let said = Mount::begin(context.peer)?.failure(PATIENCE)?;
    holds(said.contains("error(13)"), || format!("the mount failed otherwise than with EACCES: {said}"))?;
    Ok("the mount failed with EACCES, as the server wanted".into())
}

fn negotiate(context: &Context) -> Outcome {
    same("side", side()?, Side::B)?;
    let keepalive = Some(Keepalive { interval: Duration::from_millis(500), answer_timeout: PATIENCE });
    let params = Params { keepalive, ..settings::windows() };
    let expected = Linux::running()?.ksmbd().grants(params.send_credit_target);
    let mut connection = ksmbd::connect(context.peer, params)?;
    let response = ksmbd::response_of(&connection)?;
    same("CreditsGranted", response.credits_granted, expected)?;
    let agreed = ksmbd::smb2_negotiate(&mut connection)?;
    // The second is not asked before the first is answered.
    until(&mut connection, "two probes", |connection| {
        connection.endpoint().connection().stats().sent.keepalives >= 2
    })?;
    let asked = connection.endpoint().connection().stats().sent.keepalives;
    numbers::note(connection, ksmbd::port())?;
    Ok(format!("granted {}, SMB {}, {asked} probes", response.credits_granted, agreed))
}
