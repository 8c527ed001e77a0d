//! The client as a whole: it logs in, binds a second connection, has workers do something, and logs off.

use std::rc::Rc;

use smbd_client::{Remote, Session, Share};
use smbd_smb2::security::Credentials;
use tokio::sync::oneshot;

use super::crew::Crew;
use super::fate::Standing;
use super::worker::Worker;
use super::{Driver, channel, is_sound, open, remote};
use crate::work::{PASSWORD, USER};
use smbd_testkit::law;

impl Crew {
    /// All of it.
    pub async fn play(self: Rc<Self>) {
        let Some(way) = open(&self.stage, &self.site, 0).await else { return };
        let (remote, driver) = match remote(&self.stage, &self.scene, way) {
            Ok(made) => made,
            Err(error) => return self.judge(Err(format!("plan: {error}"))),
        };
        self.drive(0, driver);
        if self.work(&remote).await.is_some() && !self.has_failed.get() {
            self.notes().note(|seen| seen.is_done = true);
        }
        self.session.take();
    }

    /// From the login to the logoff. `None`: it could not go on.
    async fn work(self: &Rc<Self>, remote: &Remote) -> Option<()> {
        let session = self.log_in(remote).await;
        self.session.replace(session.clone());
        let (binder, may_bind) = oneshot::channel();
        self.binds.replace(Some(binder));
        let (tell, bound) = oneshot::channel();
        let (crew, of_binding) = (Rc::clone(self), session.clone());
        self.stage.spawn(async move {
            let may_bind = may_bind.await.unwrap_or(false);
            if let Some(session) = of_binding.filter(|_| may_bind) {
                crew.bind(&session).await;
            }
            // Whoever waits for it has gone, or waits for nothing else.
            let _ = tell.send(());
        });
        let done = match &session {
            Some(session) => self.share_out(session).await,
            None => None,
        };
        self.tell_binder(false);
        // What binds has a handle of the session.
        let _ = bound.await;
        done?;
        let standing = Standing::of(self);
        match session?.logoff().await {
            Ok(()) => Some(()),
            Err(error) => {
                standing.outcome(self, "LOGOFF", &error, false);
                None
            }
        }
    }

    /// Drives a connection, as a task of its own.
    fn drive(&self, number: usize, driver: Driver) {
        let notes = self.notes().clone();
        self.stage.spawn(async move {
            driver.await;
            notes.step(|| format!("client {number}: the connection is over"));
            notes.note(|seen| _ = seen.own.client_ended.get_or_insert_with(|| "its driver has ended".into()));
        });
    }

    async fn log_in(&self, remote: &Remote) -> Option<Session> {
        match remote.login(Credentials::of_password(USER, PASSWORD)).await {
            Ok(session) => Some(session),
            Err(error) => {
                self.fails_early("login", &error);
                None
            }
        }
    }

    /// Something fails that only the end of a connection lets fail.
    fn fails_early(&self, what: &str, error: &smbd_client::Error) {
        self.has_failed.set(true);
        let is_lost = [0, 1].iter().any(|number| !is_sound(&self.scene, *number));
        self.judge((|| {
            law!("results", is_lost, "{what}: {error}");
            Ok(())
        })());
    }

    /// Binds the second connection.
    async fn bind(&self, session: &Session) {
        let Some(way) = open(&self.stage, &self.site, 1).await else { return };
        let bound = match channel(&self.stage, &self.scene, session, way) {
            Ok((channel, driver)) => {
                self.drive(1, driver);
                channel.bind().await
            }
            Err(error) => Err(error),
        };
        match bound {
            Ok(()) => {
                self.notes().step(|| "client: the second connection is bound".into());
                self.notes().count("connections bound");
                self.is_bound.set(true);
            }
            Err(error) => {
                self.notes().step(|| format!("client: the second connection is not bound: {error}"));
                let failed = self.has_failed.get();
                self.fails_early("bind", &error);
                // It goes on with one.
                self.has_failed.set(failed);
            }
        }
    }

    /// Connects the shares, and waits until all workers have done their part.
    async fn share_out(self: &Rc<Self>, session: &Session) -> Option<()> {
        let names: &[&str] = if self.plan().protection.has_secret { &["data", "secret"] } else { &["data"] };
        let mut shares: Vec<Share> = Vec::new();
        for name in names {
            match session.connect(name).await {
                Ok(share) => shares.push(share),
                Err(error) => {
                    self.fails_early("connect", &error);
                    return None;
                }
            }
        }
        let workers = self.plan().channels.map_or(1, |channels| channels.workers);
        let mut ends = Vec::new();
        for number in 0..workers {
            let at = number % shares.len();
            let worker = Worker::new(self, number, (at, shares[at].clone()));
            let (tell, told) = oneshot::channel();
            self.stage.spawn(async move {
                worker.run().await;
                // Who waits for it waits to the end.
                let _ = tell.send(());
            });
            ends.push(told);
        }
        for end in ends {
            end.await.ok()?;
        }
        (!self.has_failed.get()).then_some(())
    }
}
