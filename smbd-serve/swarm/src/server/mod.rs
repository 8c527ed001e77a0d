//! The server of a run as it ships, over a file system in memory: what is around it, and who watches it.

mod around;
mod carried;
mod store;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use smbd_link::transport::Transport;
use smbd_serve::{Host, News, serve_in};
use smbd_sim::Side;
use smbd_smb2::security::{NtHash, capital};
use smbd_smb2::server::{OperationId, Params, Server, Share};
use smbd_smb2::wire::Guid;

use crate::carrier::Overseen;
use crate::customs::Customs;
use crate::plan::Plan;
use crate::scene::Scene;
use crate::work::{PASSWORD, USER};
use smbd_testkit::{Breach, law};

use around::Around;
use carried::Carried;
pub use store::Store;

/// How long the end of a connection may take.
const CLOSES_WITHIN: Duration = Duration::from_secs(5);
/// Threads that look for names in large directories.
const READERS: usize = 2;

/// The server of a run.
pub struct Site {
    pub scene: Rc<Scene>,
    /// The file systems that the host serves.
    pub files: Vec<Store>,
    host: Arc<Host<Store, Around>>,
}

/// A host that serves these file systems.
fn host(plan: &Plan, files: &[Store]) -> Result<Arc<Host<Store, Around>>, Breach> {
    let protection = &plan.protection;
    let mut params = Params::new(Guid([0x51; 16]), "SERVER");
    params.shares = vec![Share::new("data")];
    if protection.has_secret {
        params.shares.push(Share { is_encrypted: true, ..Share::new("secret") });
    }
    params.signing_required = protection.server_signs;
    params.encrypted = protection.server_encrypts;
    params.rdma_transforms = protection.transforms[1];
    params.channels_max = if plan.channels.is_some() { 2 } else { 1 };
    params.credits_max = plan.credits[1];
    let most = u32::from(plan.credits[1]) << 16;
    params.max_read_size = params.max_read_size.min(most);
    params.max_write_size = params.max_write_size.min(most);
    params.max_transact_size = params.max_transact_size.min(most);
    let accounts =
        |user: &str, _: &str| (capital(user) == capital(USER)).then(|| NtHash::of_password(PASSWORD));
    let server = Server::new(params, accounts).map_err(|error| format!("plan: {error}"))?;
    let host = Host::new_in(Arc::new(server), files.to_vec(), READERS);
    Ok(Arc::new(host.interim_after(plan.pace.prolongs)))
}

impl Site {
    /// The server of a scene, which serves these file systems.
    pub fn new(scene: &Rc<Scene>, files: Vec<Store>) -> Result<Self, Breach> {
        let host = host(&scene.shared.plan, &files)?;
        Ok(Self { scene: Rc::clone(scene), files, host })
    }

    /// Serves a connection of the client, to its end.
    pub async fn serve<T>(self: Rc<Self>, number: usize, transport: T)
    where
        T: Transport<OperationId> + 'static,
    {
        let scene = &self.scene;
        let shared = scene.of(number).clone();
        let notes = shared.notes.clone();
        let changer = scene.changer(number, Side::Acceptor);
        let customs = Customs::new(shared.clone(), scene.chance());
        let transport = Carried::new(Overseen::of_server(transport, shared, changer, customs));
        let (stops, dropped) = (scene.labour.stops(), scene.labour.drops(number));
        let drain = scene.labour.begins_to_serve(number);
        let (began, is_logged_in) = (notes.now(), Arc::new(AtomicBool::new(false)));
        let hears = Arc::clone(&is_logged_in);
        let news = move |news: News<'_>| {
            hears.fetch_or(matches!(news, News::LoggedIn(_)), Ordering::Relaxed);
        };
        let served = serve_in(Arc::clone(&self.host), transport, (stops, drain), news, Around { number });
        let why = tokio::select! {
            biased;
            _ = dropped => "nobody serves it any more".to_owned(),
            end = served => end.why,
        };
        notes.step(|| format!("server {number}: the connection is over: {why}"));
        scene.labour.has_served(number);
        // Units of 100 ns. The first message has as much time, and the login behind it.
        let setup = Duration::from_nanos(self.host.server().params().setup_timeout * 100 * 2);
        let took = notes.now().saturating_since(began);
        notes.judge((|| {
            let is_logged_in = is_logged_in.load(Ordering::Relaxed);
            let is_left_alone = !scene.has_jumped();
            law!(
                "setup",
                is_logged_in || !is_left_alone || took <= setup + CLOSES_WITHIN,
                "nobody has logged in for {took:?}"
            );
            Ok(())
        })());
        if scene.labour.serves_any() {
            notes.count("connections lost by a session that goes on");
        } else if !scene.labour.has_dropped() {
            // Whoever is dropped hears of no end.
            notes.judge(self.judge());
        }
        notes.note(|seen| _ = seen.own.server_ended.get_or_insert(why));
    }

    /// The laws of a server all of whose connections are over.
    pub fn judge(&self) -> Result<(), Breach> {
        let (known, open) = (self.host.open_count(), self.files.iter().map(Store::open_count).sum::<usize>());
        law!(
            "ends",
            known == 0 && open == 0,
            "{known} of {open} open files are known, and all connections are over"
        );
        self.scene.labour.is_over()
    }
}
