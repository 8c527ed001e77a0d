//! A client with two connections: the handles of `smbd-client`, which share out what is asked for between the connections of a session,
//! and go on at one when the other is lost.

mod around;
mod crew;
mod directory;
mod fate;
mod names;
mod play;
mod transfer;
mod worker;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use smbd_client::{Channel, Error, Remote, Session, Settings};
use smbd_link::Messages;
use smbd_link::link::Owned;
use smbd_link::tcp::Tcp;
use smbd_link::transport::Transport;
use smbd_sim::Side;
use smbd_sim::loops::{LoopEnd, Stage};
use smbd_smb2::client::RegistrationId;

use crate::carrier::Overseen;
use crate::ends::{answers, asks};
use crate::memory::Pooled;
use crate::plan::{Carrier, Channels, Plan};
use crate::scene::Scene;
use crate::server::Site;
use around::Around;
use crew::Crew;
use smbd_testkit::law;
use smbd_testkit::swarm::pipe::{End, stream};

/// Bytes of a small file that are asked for.
const LOOKED_AT: u32 = 1000;

/// What drives a connection of the client.
type Driver = Pin<Box<dyn Future<Output = ()>>>;

/// The client's end of a connection.
enum Way<C: Messages> {
    Rdma(Box<Owned<LoopEnd<Pooled>, RegistrationId, C>>),
    Tcp(Box<Tcp<End>>),
}

/// Starts the client; the server with its first connection.
pub fn spawn(stage: &Stage, site: &Rc<Site>) {
    let plan = &site.scene.shared.plan;
    let protection = &plan.protection;
    let is_plain = !protection.is_whole() && !protection.has_secret;
    Pooled::begin((plan.transfer_max as u32).max(LOOKED_AT), is_plain);
    let crew = Rc::new(Crew::new(stage, site));
    stage.spawn(async move { crew.play().await });
}

fn settings(plan: &Plan) -> Settings {
    let protection = &plan.protection;
    let usual = Settings::new("server");
    Settings {
        encrypt: protection.client_encrypts,
        sign: protection.client_signs,
        ciphers: protection.ciphers.clone(),
        signing: protection.signing.clone(),
        rdma_transforms: protection.transforms[0],
        min_dialect: if protection.client_encrypts { protection.dialect } else { usual.min_dialect },
        max_dialect: protection.dialect,
        buffers: plan.channels.map_or(usual.buffers, |channels| channels.buffers),
        timeout: plan.timeout,
        rdma_threshold: Some(plan.threshold),
        channels: 2,
        rdma_first: plan.channels.is_some_and(|channels| channels.rdma_first),
        ..usual
    }
}

/// A connection between both sides; `None` if there was none to be had.
async fn open(stage: &Stage, site: &Rc<Site>, number: usize) -> Option<Way<impl Messages + use<>>> {
    let (scene, of_server) = (&site.scene, Rc::clone(site));
    let plan = &scene.shared.plan;
    if plan.carrier_of(number) == Carrier::Tcp {
        let (near, far) = stream(stage, plan.stream, &mut scene.chance());
        let pipes = [Rc::clone(&near.to_peer), Rc::clone(&near.from_peer)];
        scene.of(number).pipes.borrow_mut().extend(pipes);
        stage.spawn(async move {
            of_server.serve(number, Tcp::over(far)).await;
        });
        return Some(Way::Tcp(Box::new(Tcp::over(near))));
    }
    let of_stage = stage.clone();
    stage.spawn(async move {
        if let Some(transport) = answers(&of_stage, &of_server.scene).await {
            of_server.serve(number, transport).await;
        }
    });
    Some(Way::Rdma(Box::new(asks(stage, scene).await?)))
}

fn seen<T>(scene: &Scene, number: usize, transport: T) -> Overseen<T, RegistrationId>
where
    T: Transport<RegistrationId>,
{
    let changer = scene.changer(number, Side::Initiator);
    Overseen::of_client(transport, scene.of(number).clone(), (None, changer), true)
}

/// The client, with its first connection.
fn remote(
    stage: &Stage,
    scene: &Scene,
    way: Way<impl Messages + 'static>,
) -> Result<(Remote, Driver), Error> {
    let (settings, around) = (settings(&scene.shared.plan), Around::new(stage, scene, 0));
    Ok(match way {
        Way::Rdma(transport) => {
            let (remote, driver) = Remote::over_in(seen(scene, 0, *transport), &settings, around)?;
            (remote, Box::pin(driver))
        }
        Way::Tcp(transport) => {
            let (remote, driver) = Remote::over_in(seen(scene, 0, *transport), &settings, around)?;
            (remote, Box::pin(driver))
        }
    })
}

/// The second connection of a session.
fn channel(
    stage: &Stage,
    scene: &Scene,
    session: &Session,
    way: Way<impl Messages + 'static>,
) -> Result<(Channel, Driver), Error> {
    let around = Around::new(stage, scene, 1);
    Ok(match way {
        Way::Rdma(transport) => {
            let (channel, driver) = session.channel_in(seen(scene, 1, *transport), around)?;
            (channel, Box::pin(driver))
        }
        Way::Tcp(transport) => {
            let (channel, driver) = session.channel_in(seen(scene, 1, *transport), around)?;
            (channel, Box::pin(driver))
        }
    })
}

/// Whether nothing has ended a connection, from when it is bound. When the clock jumps, nobody has said anything for so long, on any.
fn is_sound(scene: &Scene, number: usize) -> bool {
    let plan = &scene.shared.plan;
    let is_left_alone = |channels: &Channels| channels.is_sound(number, plan.is_gentle);
    !scene.has_jumped() && plan.channels.as_ref().is_some_and(is_left_alone)
}

/// The laws of a run that is over.
pub fn judge(scene: &Scene) -> Result<(), smbd_testkit::Breach> {
    Pooled::forget_all();
    let (plan, seen) = (&scene.shared.plan, scene.shared.notes.seen());
    if plan.channels.is_none() {
        return Ok(());
    }
    // The laws of operations say which may fail: then nothing else is in the way.
    let is_sound = |number| is_sound(scene, number);
    law!(
        "ends",
        seen.is_done || !is_sound(0),
        "not everything was done, and nothing has ended the first connection"
    );
    for number in [0, 1] {
        if seen.is_done && is_sound(number) && !seen.is_asked {
            scene.of(number).ledger.borrow().is_over()?;
        }
    }
    Ok(())
}
