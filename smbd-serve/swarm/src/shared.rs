//! What everybody of a connection shares.

use std::cell::RefCell;
use std::rc::Rc;

use crate::ledger::Ledger;
use crate::notes::Notes;
use crate::plan::{Carrier, Plan};
use smbd_testkit::swarm::pipe::Pipe;

/// A FILETIME of 2026.
pub const EPOCH: u64 = 0x01dc_5000_0000_0000;

/// What everybody of a connection shares.
#[derive(Clone)]
pub struct Shared {
    pub plan: Rc<Plan>,
    /// Which of the client's connections it is; the first is 0.
    pub number: usize,
    pub notes: Notes,
    pub ledger: Rc<RefCell<Ledger>>,
    /// Both directions of the stream, if there is one.
    pub pipes: Rc<RefCell<Vec<Rc<RefCell<Pipe>>>>>,
}

impl Shared {
    /// Whether it is a connection over a device.
    pub fn is_device(&self) -> bool {
        self.plan.carrier_of(self.number) == Carrier::Rdma
    }

    /// One of both is gone: what was under way on the stream is lost.
    pub fn tear(&self) {
        self.pipes.borrow().iter().for_each(|pipe| pipe.borrow_mut().reset());
    }
}
