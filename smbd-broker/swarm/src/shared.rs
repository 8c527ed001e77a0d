//! What everybody in a run knows.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::task::Waker;

use smbd_broker::server::Hub;

use crate::host::Host;
use crate::ledger::{Ledger, OwnerNumber};
use crate::notes::Notes;
use crate::plan::Plan;
use crate::socket::Sockets;
use smbd_testkit::Chance;
use smbd_testkit::host::Process;

/// A broker that runs.
#[derive(Clone)]
pub struct Running {
    pub process: Process,
    pub hub: Hub<Host>,
    pub instance: u64,
}

pub struct Shared<Mail> {
    pub plan: Plan,
    pub notes: Notes,
    pub ledger: RefCell<Ledger>,
    pub sockets: Sockets,
    pub host: Host,
    pub broker: RefCell<Option<Running>>,
    pub chance: RefCell<Chance>,
    /// What owners give each other.
    boxes: RefCell<BTreeMap<OwnerNumber, Letters<Mail>>>,
    /// Clients that have not come to their end.
    pub clients: Cell<usize>,
    pub owners: Cell<usize>,
}

struct Letters<Mail> {
    mail: VecDeque<Mail>,
    waker: Option<Waker>,
}

impl<Mail> Shared<Mail> {
    pub fn new(plan: &Plan, notes: &Notes, sockets: &Sockets, host: &Host, chance: Chance) -> Rc<Self> {
        Rc::new(Self {
            plan: plan.clone(),
            notes: notes.clone(),
            ledger: RefCell::default(),
            sockets: sockets.clone(),
            host: host.clone(),
            broker: RefCell::new(None),
            chance: RefCell::new(chance),
            boxes: RefCell::default(),
            clients: Cell::new(0),
            owners: Cell::new(0),
        })
    }

    /// A stream of chance of its own.
    pub fn draw(&self) -> Chance {
        Chance::new(self.chance.borrow_mut().bits())
    }

    /// A new process that is an owner.
    pub fn new_owner(&self) -> OwnerNumber {
        self.owners.set(self.owners.get() + 1);
        self.owners.get()
    }

    /// From now on an owner takes what others give it.
    pub fn open_box(&self, owner: OwnerNumber) {
        self.boxes.borrow_mut().insert(owner, Letters { mail: VecDeque::new(), waker: None });
    }

    pub fn close_box(&self, owner: OwnerNumber) {
        let letters = self.boxes.borrow_mut().remove(&owner);
        drop(letters);
    }

    /// Somebody who takes what is given; with `other`, not this one if there is another.
    pub fn somebody(&self, other: OwnerNumber, chance: &mut Chance) -> OwnerNumber {
        let all: Vec<_> = self.boxes.borrow().keys().copied().filter(|owner| *owner != other).collect();
        if all.is_empty() { other } else { chance.pick(&all) }
    }

    /// Gives an owner something. It comes back if nobody takes it.
    pub fn give(&self, owner: OwnerNumber, mail: Mail) -> Option<Mail> {
        let mut boxes = self.boxes.borrow_mut();
        let Some(letters) = boxes.get_mut(&owner) else { return Some(mail) };
        letters.mail.push_back(mail);
        let waker = letters.waker.take();
        drop(boxes);
        waker.into_iter().for_each(Waker::wake);
        None
    }

    /// What was given to an owner.
    pub fn take(&self, owner: OwnerNumber, waker: &Waker) -> Option<Mail> {
        let mut boxes = self.boxes.borrow_mut();
        let letters = boxes.get_mut(&owner)?;
        let mail = letters.mail.pop_front();
        letters.waker = Some(waker.clone());
        mail
    }

    /// Wakes all owners: there is a broker, or there are no clients any more.
    pub fn wake_all(&self) {
        let wakers: Vec<_> = self.boxes.borrow_mut().values_mut().filter_map(|l| l.waker.take()).collect();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The number of the broker that runs.
    pub fn instance(&self) -> Option<u64> {
        self.broker.borrow().as_ref().map(|running| running.instance)
    }
}

impl<Mail> fmt::Debug for Shared<Mail> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("plan", &self.plan.seed).finish_non_exhaustive()
    }
}
