//! A run: all of it, from its seed.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use smbd_client::drive::Driver;
use smbd_link::Messages;
use smbd_link::link::{Link, Owned, Rest};
use smbd_link::tcp::Tcp;
use smbd_link::transport::{Limits, Transport};
use smbd_sim::device::Placed;
use smbd_sim::loops::{LoopEnd, Stage};
use smbd_sim::oracle::{Failure, Law};
use smbd_sim::swarm::FaultKind;
use smbd_sim::{Rng, Side};
use smbd_smb2::client::{self, Client, RegistrationId};
use smbd_smb2::server::OperationId;
use smbd_smb2::wire::Guid;

use crate::carrier::Overseen;
use crate::judge::judge;
use crate::ledger::{From, Ledger, Nonces};
use crate::memory::{Memory, OfServer, Watched};
use crate::mischief::{Changer, Overheard, Tap};
use crate::notes::Notes;
use crate::plan::{Carrier, End, Plan};
use crate::server::{self, Crossing, Labour, Served, Store, serve};
use crate::several;
use crate::shared::Shared;
use crate::work::{File, Work};
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

/// Everything that both sides of a run are made of.
pub struct Scene {
    pub shared: Shared,
    /// Of a client's second connection.
    pub second: Shared,
    pub host: Served,
    /// The file systems that the host serves.
    pub files: Vec<Store>,
    pub labour: Labour,
    pub crossing: RefCell<Crossing>,
    pub content: Rc<RefCell<Vec<File>>>,
    chance: RefCell<Chance>,
    overheard: Option<Rc<RefCell<Overheard>>>,
    tap: Tap,
}

impl Scene {
    /// What is known of a connection of the client.
    pub const fn of(&self, number: usize) -> &Shared {
        if number == 0 { &self.shared } else { &self.second }
    }

    pub fn chance(&self) -> Chance {
        Chance::new(self.chance.borrow_mut().bits())
    }

    /// Whether the clock has jumped: much time has passed in which nobody could do anything.
    pub fn has_jumped(&self) -> bool {
        let mut counted = FaultKind::ALL.iter().zip(self.shared.notes.stage().faults());
        counted.any(|(kind, count)| *kind == FaultKind::ClockJump && count > 0)
    }

    /// Whoever changes messages of a side, on one of the client's connections.
    pub fn changer(&self, number: usize, side: Side) -> Option<Changer> {
        if self.shared.plan.channels.is_some_and(|channels| !channels.changed[number]) {
            return None;
        }
        let mischief = self.shared.plan.mischief.filter(|mischief| mischief.of == side)?;
        let from = if side == Side::Initiator { From::Client } else { From::Server };
        let changer =
            Changer::new(mischief, from, self.overheard.as_ref()?, (self.chance(), &self.shared.notes));
        Some(changer.of_protected(self.shared.plan.protection.is_whole()))
    }
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
    let tap = Tap::default();
    let shares = if plan.protection.has_secret { 2 } else { 1 };
    let files: Vec<_> = (0..shares).map(|_| Store::new()).collect();
    let nonces = Nonces::default();
    let ledger = |number| Rc::new(RefCell::new(Ledger::new(&plan, &nonces, number)));
    let shared = Shared {
        plan: Rc::clone(&plan),
        number: 0,
        notes: Notes::new(&stage, show == Show::All),
        ledger: ledger(0),
        pipes: Rc::default(),
    };
    let host = server::host(&plan, &files).expect("a plan has a server");
    let scene = Scene {
        second: Shared { number: 1, ledger: ledger(1), pipes: Rc::default(), ..shared.clone() },
        shared,
        host,
        files,
        labour: Labour::new(Chance::new(chance.bits())),
        crossing: RefCell::default(),
        content: Rc::default(),
        overheard: plan.mischief.map(|_| Overheard::new(&plan, tap.clone())),
        chance: RefCell::new(chance),
        tap,
    };
    let scene = Rc::new(scene);
    SCENE.set(Some(Rc::clone(&scene)));
    match plan.carrier {
        _ if plan.channels.is_some() => several::spawn(&stage, &scene),
        Carrier::Rdma => over_rdma(&stage, &scene),
        Carrier::Tcp => over_tcp(&stage, &scene),
    }
    to_end(&scene)
}

fn over_tcp(stage: &Stage, scene: &Rc<Scene>) {
    let mut chance = scene.chance();
    let (near, far) = stream(stage, scene.shared.plan.stream, &mut chance);
    scene.shared.pipes.borrow_mut().extend([Rc::clone(&near.to_peer), Rc::clone(&near.from_peer)]);
    stage.spawn(serve(Rc::clone(scene), 0, Tcp::over(far)));
    stage.spawn(ask(Rc::clone(scene), Tcp::over(near)));
}

fn over_rdma(stage: &Stage, scene: &Rc<Scene>) {
    let (of_stage, of_server) = (stage.clone(), Rc::clone(scene));
    stage.spawn(async move {
        let Some(transport) = answers(&of_stage, &of_server).await else { return };
        serve(of_server, 0, transport).await;
    });
    let (stage, of_client) = (stage.clone(), Rc::clone(scene));
    stage.clone().spawn(async move {
        let Some(transport) = asks::<Memory>(&stage, &of_client).await else { return };
        ask(Rc::clone(&of_client), transport).await;
    });
}

/// The client's end of a connection over the devices.
pub async fn asks<M: Placed + Send + Sync + 'static>(
    stage: &Stage,
    scene: &Scene,
) -> Option<Owned<LoopEnd<M>, RegistrationId, impl Messages + use<M>>> {
    let nics = &scene.shared.plan.sim.nics;
    let invalidates = nics[0].windows && nics[1].send_with_invalidate;
    let link = end(stage, scene, Side::Initiator).await;
    link.map(|link| link.with_remote_invalidation(invalidates))
}

/// The server's end of a connection over the devices.
pub async fn answers(
    stage: &Stage,
    scene: &Scene,
) -> Option<Owned<LoopEnd<OfServer>, OperationId, impl Messages + use<>>> {
    end(stage, scene, Side::Acceptor).await
}

/// An end of a connection over the devices, which the task of its side drives.
async fn end<M: Placed + Send + Sync + 'static, N: Copy + PartialEq + 'static>(
    stage: &Stage,
    scene: &Scene,
    side: Side,
) -> Option<Owned<LoopEnd<M>, N, impl Messages + use<M, N>>> {
    let waiting = scene.shared.plan.waiting[if side == Side::Initiator { 0 } else { 1 }];
    match Link::new(stage.machine(side), stage.end(side), waiting).established(leave).await {
        Ok((link, _)) => Some(link),
        Err(failure) => {
            refused(scene, &failure);
            None
        }
    }
}

thread_local! {
    /// The run that is played, for who is not handed it.
    static SCENE: RefCell<Option<Rc<Scene>>> = const { RefCell::new(None) };
}

/// The run that this thread plays. Behind its end, none.
pub fn scene() -> Option<Rc<Scene>> {
    SCENE.with_borrow(Clone::clone)
}

/// What is left of a connection is a task of its own.
fn leave<M: Placed + 'static, N: Copy + PartialEq + 'static>(
    rest: Rest<LoopEnd<M>, N, impl Messages + 'static>,
) {
    // That of one that is over is its device's end. Behind the end of a run nothing goes on.
    if rest.is_over() {
        return;
    }
    let Some(scene) = scene() else { return };
    scene.shared.notes.stage().spawn(async move {
        rest.await;
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

fn refused(scene: &Scene, failure: &impl std::fmt::Display) {
    scene.shared.notes.step(|| format!("not established: {failure}"));
    scene.shared.notes.note(|seen| seen.is_refused = true);
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

fn to_end(scene: &Scene) -> Report {
    let Shared { plan, notes, ledger, .. } = &scene.shared;
    let of_end = || {
        // What is dropped from now on goes with its run.
        SCENE.set(None);
        several::judge(scene)?;
        server::judge(scene)?;
        judge(&scene.shared, (&scene.files, &scene.content.borrow()), scene.labour.ends_in_order())
    };
    let played = play(notes, TOO_LONG, || Ok(()), of_end, |failure| is_of_mischief(plan, failure));
    // A law that is broken ends a run early.
    SCENE.set(None);
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
