//! Connections of one client, each with what the server asks of it, and the files that all of them use.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use smbd_smb2::server::{
    Action, Client, Completion, Files, LinkId, Memory, Misuse, Operation, OperationId, Server, Transport,
};

/// A connection of a client. It looks like one that has no others.
pub struct Port {
    shared: Rc<RefCell<Shared>>,
    on: LinkId,
}

struct Shared {
    client: Client,
    /// What goes through connections that were not asked.
    mail: BTreeMap<LinkId, VecDeque<Action>>,
}

impl Port {
    pub fn new(server: Arc<Server>, transport: Transport, now: u64, seed: [u8; 32]) -> Self {
        let client = Client::new(server, transport, now, seed);
        Self { shared: Rc::new(RefCell::new(Shared { client, mail: BTreeMap::new() })), on: LinkId::FIRST }
    }

    /// Another connection of the same client.
    pub fn join(&self, transport: Transport, now: u64) -> Option<Self> {
        let on = self.shared.borrow_mut().client.join(transport, now)?;
        Some(Self { shared: Rc::clone(&self.shared), on })
    }

    pub fn received(&self, now: u64, message: &mut [u8]) {
        self.shared.borrow_mut().client.received(now, self.on, message);
    }

    pub fn past_request(&self, now: u64, request: &[u8]) {
        self.shared.borrow_mut().client.past_request(now, self.on, request);
    }

    pub fn past_response(&self, now: u64, response: &[u8]) {
        self.shared.borrow_mut().client.past_response(now, self.on, response);
    }

    pub fn completed(&self, now: u64, id: OperationId, completion: Completion) -> Result<(), Misuse> {
        self.shared.borrow_mut().client.completed(now, id, completion)
    }

    pub fn prolong(&self, now: u64, id: OperationId) -> Result<(), Misuse> {
        self.shared.borrow_mut().client.prolong(now, id)
    }

    pub fn rdma_done(&self, now: u64, id: OperationId, is_success: bool) -> Result<(), Misuse> {
        self.shared.borrow_mut().client.rdma_done(now, id, is_success)
    }

    pub fn transform(&self, now: u64, id: OperationId, pieces: &mut [&mut [u8]]) -> Result<(), Misuse> {
        self.shared.borrow_mut().client.transform(now, id, pieces)
    }

    pub fn end_session(&self, now: u64, session_id: u64, user: &str) {
        self.shared.borrow_mut().client.end_session(now, session_id, user);
    }

    pub fn deadline(&self) -> Option<u64> {
        self.shared.borrow().client.deadline()
    }

    pub fn timeout(&self, now: u64) {
        self.shared.borrow_mut().client.timeout(now);
    }

    pub fn closed(&self) {
        self.shared.borrow_mut().client.closed(self.on);
    }

    /// Whether all connections are over.
    pub fn has_ended(&self) -> bool {
        self.shared.borrow().client.has_ended()
    }

    /// Whether this connection is over.
    pub fn is_over(&self) -> bool {
        self.shared.borrow().client.is_over(self.on)
    }

    /// What is to be done on this connection, or with files.
    pub fn poll(&self) -> Option<Action> {
        let mut shared = self.shared.borrow_mut();
        let own = shared.mail.get_mut(&self.on).and_then(VecDeque::pop_front);
        if own.is_some() {
            return own;
        }
        while let Some((on, action)) = shared.client.poll() {
            match on.filter(|on| *on != self.on) {
                Some(other) => shared.mail.entry(other).or_default().push_back(action),
                None => return Some(action),
            }
        }
        None
    }
}

/// Files, as one client has them.
#[derive(Clone)]
pub struct Shelf(Rc<RefCell<Files<Memory>>>);

impl Shelf {
    pub fn new(files: Files<Memory>) -> Self {
        Self(Rc::new(RefCell::new(files)))
    }

    pub fn open_count(&self) -> usize {
        self.0.borrow().open_count()
    }

    /// Bytes in the first share.
    pub fn used(&self) -> u64 {
        self.0.borrow().shares()[0].used()
    }

    pub fn carry_out(
        &self,
        id: OperationId,
        operation: Operation,
        buffer: Option<&mut Vec<u8>>,
        now: u64,
    ) -> Option<Completion> {
        self.0.borrow_mut().carry_out(1, id, operation, buffer, now)
    }

    pub fn retry(&self) -> Vec<(OperationId, Completion)> {
        let ended = self.0.borrow_mut().retry();
        ended.into_iter().map(|(_, id, completion)| (id, completion)).collect()
    }

    pub fn cancel(&self, id: OperationId) -> Option<Completion> {
        self.0.borrow_mut().cancel(1, id)
    }

    pub fn end(&self, now: u64) {
        self.0.borrow_mut().end(1, now);
    }
}
