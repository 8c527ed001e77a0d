//! The connections of a session: which of them a command is handed to, and where it goes on when one is lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use smbd_smb2::client::{self, Protection};
use tokio::sync::mpsc;

use super::carries::Carries;
use super::command::{Reply, What};
use super::ended::Ended;
use super::settings::{COMMANDS, Way};
use super::slot::{Slots, Teller};
use crate::Error;

/// Something to be done. Exactly one answer is given.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) what: What,
    pub(super) answer: Teller,
    /// Whether it was under way on a connection that is lost, so that nobody knows whether it was carried out.
    pub(super) is_replay: bool,
    /// If the server has put it off: how long it has waited in all, and the last time.
    pub(super) put_off: Option<(Duration, Duration)>,
    home: Weak<Channels>,
    /// Of the connection that has it.
    load: Option<Load>,
}

/// One of many commands that a connection has.
#[derive(Debug)]
struct Load(Arc<AtomicUsize>);

impl Load {
    fn new(of: &Arc<AtomicUsize>) -> Self {
        of.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(of))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The way to the driver of a connection. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    asked: mpsc::Sender<Command>,
    /// Commands that were another connection's before. There are no more than those have had.
    moved: mpsc::UnboundedSender<Command>,
    ended: Ended,
    carries: Carries,
    load: Arc<AtomicUsize>,
    /// How many commands for data it has had.
    given: Arc<AtomicUsize>,
}

/// Where a driver takes its commands from.
#[derive(Debug)]
pub(super) struct Inlet {
    pub(super) asked: mpsc::Receiver<Command>,
    pub(super) moved: mpsc::UnboundedReceiver<Command>,
    pub(super) ended: Ended,
    pub(super) carries: Carries,
}

/// For a connection over a transport; `rdma_first`: data go over TCP only if they cannot go otherwise.
pub(super) fn lane(limits: &client::Transport, rdma_first: bool) -> (Lane, Inlet) {
    let carries = Carries::over(limits, rdma_first);
    let (ended, load, given) = (Ended::default(), Arc::default(), Arc::default());
    let ((commands, asked), (moves, moved)) = (mpsc::channel(COMMANDS), mpsc::unbounded_channel());
    let lane = Lane {
        asked: commands,
        moved: moves,
        ended: Arc::clone(&ended),
        carries: carries.clone(),
        load,
        given,
    };
    (lane, Inlet { asked, moved, ended, carries })
}

impl Lane {
    fn is_live(&self) -> bool {
        self.ended.get().is_none()
    }

    /// A command is its own now.
    fn takes(&self, what: &What) -> Load {
        self.given.fetch_add(usize::from(what.is_data()), Ordering::Relaxed);
        Load::new(&self.load)
    }

    /// Its driver takes nothing any more. If it has not said why, somebody has dropped it.
    fn over(&self) {
        // It is said once.
        let _ = self.ended.set("its driver was dropped".into());
    }
}

/// The connections of a session, in the order in which they were made. Those that are lost stay.
#[derive(Debug)]
pub(super) struct Channels {
    lanes: Mutex<Vec<Lane>>,
    pub(super) slots: Slots,
}

impl Channels {
    pub(super) fn new(first: Lane) -> Arc<Self> {
        Arc::new(Self { lanes: Mutex::new(vec![first]), slots: Slots::default() })
    }

    fn with<T>(&self, of: impl FnOnce(&mut Vec<Lane>) -> T) -> T {
        of(&mut self.lanes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn add(&self, lane: Lane) {
        self.with(|lanes| lanes.push(lane));
    }

    /// The connection that the others were bound to.
    pub(super) fn first(&self) -> Option<Lane> {
        self.with(|lanes| lanes.first().cloned())
    }

    /// How many are there, and how many are lost.
    pub(super) fn count(&self) -> (usize, usize) {
        self.with(|lanes| {
            let live = lanes.iter().filter(|lane| lane.is_live()).count();
            (live, lanes.len().saturating_sub(live))
        })
    }

    /// Session.ChannelSequence: how many connections are lost (3.2.7.1). The number wraps.
    pub(super) fn sequence(&self) -> u16 {
        let (_, lost) = self.count();
        u16::try_from(lost & usize::from(u16::MAX)).unwrap_or(u16::MAX)
    }

    /// How data that are protected so go: over each connection that takes them, each way once.
    pub(super) fn ways(&self, protection: Protection) -> Vec<Way> {
        self.with(|lanes| {
            let live = || lanes.iter().filter(|lane| lane.is_live());
            let yields = live().all(|lane| lane.carries.yields());
            let mut ways = Vec::new();
            for lane in live().filter(|lane| yields || !lane.carries.yields()) {
                let way = lane.carries.way(protection);
                if !ways.contains(&way) {
                    ways.push(way);
                }
            }
            ways
        })
    }

    /// For data, of several connections that with the fewest commands, and of these that which has had the fewest, those over TCP only if
    /// there are no others and that is wanted; the first for anything else (3.2.4.1.7, 3.2.5.14.11). What uses memory that a device knows goes to the connection of that device.
    fn pick(&self, what: &What) -> Option<Lane> {
        let is_home = |lane: &&Lane| what.buffer().is_some_and(|buffer| buffer.at(&lane.ended).is_some());
        let home = self.with(|lanes| lanes.iter().find(is_home).cloned());
        if let Some(home) = home.filter(Lane::is_live) {
            return Some(home);
        }
        let load = |lane: &&Lane| match what.is_data() {
            true => {
                let (load, given) = (lane.load.load(Ordering::Relaxed), lane.given.load(Ordering::Relaxed));
                (lane.carries.yields(), load, given)
            }
            false => (false, 0, 0),
        };
        self.with(|lanes| lanes.iter().filter(|lane| lane.is_live()).min_by_key(load).cloned())
    }

    /// Why the session has no connection any more.
    pub(super) fn why(&self) -> Error {
        let why = self.with(|lanes| lanes.iter().rev().find_map(|lane| lane.ended.get().cloned()));
        Error::Ended(why.unwrap_or_else(|| "its driver was dropped".into()))
    }

    /// Hands a command to a connection. Waits for room.
    pub(super) async fn ask(self: &Arc<Self>, what: What, answer: Teller) -> Result<(), Error> {
        let mut command = self.command(what, answer);
        while let Some(lane) = self.pick(&command.what) {
            command.load = Some(lane.takes(&command.what));
            match lane.asked.send(command).await {
                Ok(()) => return Ok(()),
                Err(back) => {
                    lane.over();
                    command = back.0;
                }
            }
        }
        Err(self.why())
    }

    /// Hands over a command if there is room; nobody waits for it.
    pub(super) fn tell(self: &Arc<Self>, what: What) {
        let (answer, _) = self.slots.open();
        if let Some(lane) = self.pick(&what) {
            // Without room, or without a driver, it is not done: what it would free ends with the share.
            let _ = lane.asked.try_send(self.command(what, answer));
        }
    }

    fn command(self: &Arc<Self>, what: What, answer: Teller) -> Command {
        Command { what, answer, is_replay: false, put_off: None, home: Arc::downgrade(self), load: None }
    }
}

impl Command {
    /// The connections of its session; `None` if nobody has a handle of it any more.
    pub(super) fn home(&self) -> Option<Arc<Channels>> {
        self.home.upgrade()
    }

    pub(super) fn answer(self, result: Result<Reply, Error>) {
        self.answer.tell(result);
    }

    /// Whether the server may put it off, because the session has lost a connection on which something was under way.
    pub(super) fn can_wait(&self) -> bool {
        self.what.can_repeat() && self.home().is_some_and(|home| home.sequence() > 0)
    }

    /// Whether it closes a file that may be closed already.
    pub(super) const fn closes_again(&self) -> bool {
        self.is_replay && self.what.closes()
    }

    /// Goes on at another connection of its session. `was_sent`: nobody knows whether it was carried out; then it is only done if twice
    /// is the same as once.
    pub(super) fn go_on(mut self, was_sent: bool, why: Arc<str>) {
        let Some(home) = self.home().filter(|home| home.pick(&self.what).is_some()) else {
            return self.answer(Err(Error::Ended(why)));
        };
        if was_sent && !self.what.can_repeat() {
            let what = self.what.name();
            return self.answer(Err(Error::Unknown { what, why }));
        }
        self.is_replay |= was_sent;
        while let Some(lane) = home.pick(&self.what) {
            self.load = Some(lane.takes(&self.what));
            match lane.moved.send(self) {
                Ok(()) => return,
                Err(back) => {
                    lane.over();
                    self = back.0;
                }
            }
        }
        self.answer(Err(home.why()));
    }
}
