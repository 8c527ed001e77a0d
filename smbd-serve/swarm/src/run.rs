//! A run: all of it, from its seed.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use smbd_client::drive::Driver;
use smbd_link::tcp::Tcp;
use smbd_link::transport::{Limits, Transport};
use smbd_sim::loops::Stage;
use smbd_sim::oracle::{Failure, Law};
use smbd_sim::{Rng, Side};
use smbd_smb2::client::{self, Client, RegistrationId};
use smbd_smb2::wire::Guid;

use crate::carrier::Overseen;
use crate::ends::{answers, asks};
use crate::judge::judge;
use crate::memory::{Memory, Watched};
use crate::plan::{Carrier, End, Plan};
use crate::scene::{self, Scene};
use crate::server::{Site, Store};
use crate::several;
use crate::shared::Shared;
use crate::work::Work;
use smbd_testkit::Chance;
use smbd_testkit::swarm::pipe::stream;
use smbd_testkit::swarm::{Place, Played, Show, TooLong, play, play_on};

const TOO_LONG: TooLong = TooLong(600_000);

/// What came of a run.
#[derive(Debug)]
pub struct Report {
    pub played: Played,
    pub plan: Rc<Plan>,
    pub client_ended: Option<String>,
    pub server_ended: Option<String>,
    pub counts: Vec<(&'static str, u64)>,
}

/// Runs a seed.
pub fn run(seed: u64, show: Show) -> Report {
    let plan = Rc::new(Plan::of(seed));
    let mut chance = Chance::new(seed ^ 0x7275_6e00);
    let stage = Stage::new(&plan.sim, show.trace(), Rng::new(chance.bits()));
    play_on(Some(Place {
        stage: stage.clone(),
        home: Side::Initiator,
        watches_both: true,
        shares_parts: true,
    }));
    let shares = if plan.protection.has_secret { 2 } else { 1 };
    let files: Vec<_> = (0..shares).map(|_| Store::new(chance.one_in(4))).collect();
    let scene = Rc::new(Scene::new(&plan, &stage, show == Show::All, chance));
    let site = Rc::new(Site::new(&scene, files).expect("a plan has a server"));
    scene::set(Some(Rc::clone(&scene)));
    match plan.carrier {
        _ if plan.channels.is_some() => several::spawn(&stage, &site),
        Carrier::Rdma => over_rdma(&stage, &site),
        Carrier::Tcp => over_tcp(&stage, &site),
    }
    to_end(&site)
}

fn over_tcp(stage: &Stage, site: &Rc<Site>) {
    let scene = &site.scene;
    let mut chance = scene.chance();
    let (near, far) = stream(stage, scene.shared.plan.stream, &mut chance);
    scene.shared.pipes.borrow_mut().extend([Rc::clone(&near.to_peer), Rc::clone(&near.from_peer)]);
    stage.spawn(Rc::clone(site).serve(0, Tcp::over(far)));
    stage.spawn(ask(Rc::clone(scene), Tcp::over(near)));
}

fn over_rdma(stage: &Stage, site: &Rc<Site>) {
    let (of_stage, of_server) = (stage.clone(), Rc::clone(site));
    stage.spawn(async move {
        let Some(transport) = answers(&of_stage, &of_server.scene).await else { return };
        of_server.serve(0, transport).await;
    });
    let (stage, of_client) = (stage.clone(), Rc::clone(&site.scene));
    stage.clone().spawn(async move {
        let Some(transport) = asks::<Memory>(&stage, &of_client).await else { return };
        ask(Rc::clone(&of_client), transport).await;
    });
}

/// What a client's connection carries.
fn limits(plan: &Plan, Limits { max_send, max_receive, rdma }: Limits) -> client::Transport {
    let rdma = rdma.map(|rdma| client::Rdma {
        threshold: plan.threshold,
        max_read_write: rdma.max_read_write,
        invalidates: rdma.remote_invalidation,
    });
    client::Transport { max_send, max_receive, rdma }
}

/// The client, to its end.
async fn ask<T>(scene: Rc<Scene>, transport: T)
where
    T: Transport<RegistrationId, Memory: Watched>,
{
    let changes = (scene.overheard.clone(), scene.changer(0, Side::Initiator));
    let transport = Overseen::of_client(transport, scene.shared.clone(), changes, false);
    let (plan, notes) = (&scene.shared.plan, &scene.shared.notes);
    let protection = &plan.protection;
    let defaults = client::Params::default();
    let params = client::Params {
        client_guid: Guid([0xC1; 16]),
        min_dialect: if protection.client_encrypts { protection.dialect } else { defaults.min_dialect },
        max_dialect: protection.dialect,
        ciphers: protection.ciphers.clone(),
        signing: protection.signing.clone(),
        require_signing: protection.client_signs,
        require_encryption: protection.client_encrypts,
        rdma_transforms: protection.transforms[0],
        salt: [plan.seed as u8; 32],
        transport: limits(plan, transport.limits()),
        credits: plan.credits[0],
        requests: plan.requests,
        pieces: plan.pieces,
        timeout: plan.timeout,
        // Who is hostile may say that it takes longer, and nothing else.
        pending_timeout: plan.mischief.map(|_| plan.timeout),
        ..defaults
    };
    let config = match client::Config::new(params) {
        Ok(config) => config,
        Err(error) => return notes.judge(Err(format!("plan: {error}"))),
    };
    let work = Work::new(&scene.shared, &scene.content, (scene.chance(), scene.tap.clone()));
    let driver = Driver::new(Client::new(config), transport, work, notes.stage().clone());
    let mut running = pin!(driver.run());
    poll_fn(|cx| {
        if running.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if plan.end == End::ClientVanishes && notes.seen().is_struck {
            scene.shared.tear();
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}

/// Whether a law of the devices was broken by somebody who changes messages: who names other memory has it used.
fn is_of_mischief(plan: &Plan, failure: &Failure) -> bool {
    plan.mischief.is_some() && matches!(failure.law, Law::Device | Law::Tokens)
}

fn to_end(site: &Site) -> Report {
    let scene = &*site.scene;
    let Shared { plan, notes, ledger, .. } = &scene.shared;
    let of_end = || {
        // What is dropped from now on goes with its run.
        scene::set(None);
        several::judge(scene)?;
        site.judge()?;
        judge(&scene.shared, (&site.files, &scene.content.borrow()), scene.labour.ends_in_order())
    };
    let played = play(notes, TOO_LONG, || Ok(()), of_end, |failure| is_of_mischief(plan, failure));
    // A law that is broken ends a run early.
    scene::set(None);
    let (seen, ledger) = (notes.seen(), ledger.borrow());
    let mut counts = seen.own.counts.clone();
    counts.extend([
        ("messages encrypted", ledger.sealed),
        ("messages signed", ledger.signed),
        ("requests with a channel", ledger.channel),
        ("operations that take long", ledger.slow),
        ("servers that end in order", scene.labour.ends_in_order().into()),
        ("transfers signed or encrypted", ledger.covered),
        ("messages changed", seen.own.changes),
    ]);
    Report {
        played,
        plan: Rc::clone(plan),
        client_ended: seen.own.client_ended.clone(),
        server_ended: seen.own.server_ended.clone(),
        counts: counts.into_iter().collect(),
    }
}
