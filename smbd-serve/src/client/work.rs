//! Operations of a client, and the memory of their data.

use std::sync::Arc;

use smbd_link::transport::{Heap, Memory as _};
use smbd_smb2::server::{LinkId, Operation, OperationId};
use smbd_smb2::wire::NtStatus;

use super::carry::{Begun, begin};
use super::group::Group;
use super::inbox::Completed;
use super::surroundings::Surroundings;
use crate::link::Data;
use crate::served::Served;

impl<F: Served, A: Surroundings> Group<F, A> {
    /// Signs, encrypts or looks at data, which are not where a device knows them meanwhile.
    pub(super) fn transform(&mut self, id: OperationId, len: u32) {
        let (data, mut bytes) = (self.data.get(&id), Vec::new());
        // Without its data a request fails.
        let is_there = data.is_some_and(|data| data.append_to(0, len, &mut bytes).is_ok());
        let pieces = if is_there { &mut bytes[..] } else { &mut [] };
        let transformed = self.client.transform(self.times.now(), id, &mut [pieces]);
        self.expected(transformed);
        if let Some(data) = self.data.get(&id) {
            // They were there.
            let _ = data.fill(0, &bytes);
        }
    }

    /// Carries out an operation, or begins it.
    pub(super) fn start(&mut self, on: Option<LinkId>, id: OperationId, operation: Operation) {
        let data = match operation {
            Operation::ReadChannel { len, .. } => match self.memory(on, len) {
                Ok(memory) => Some(memory),
                Err(why) => return self.fail(on, id, why),
            },
            _ => self.data.remove(&id),
        };
        let key = (self.number, id);
        match begin(&self.host, &self.times.around, &self.turns, key, operation, data) {
            Begun::Completed(completed) => self.on_completed(self.times.last(), completed),
            Begun::Waits => {
                let told = self.client.prolong(self.times.last(), id);
                self.expected(told);
            }
            Begun::Runs => self.running.begin(id, self.times.last()),
        }
    }

    /// Memory of a connection for data of an operation.
    fn memory(&mut self, on: Option<LinkId>, len: u32) -> Result<Data, String> {
        match on.and_then(|on| self.members.get_mut(&on)) {
            Some(member) => member.link.memory(len),
            // Of a connection that is there no more: nobody gets the data.
            None => Ok(Arc::new(Heap::allocate(len).map_err(|error| error.to_string())?)),
        }
    }

    /// There is no memory for an operation, which fails, and its connection with it.
    fn fail(&mut self, on: Option<LinkId>, id: OperationId, why: String) {
        let completion = Err(NtStatus::INSUFFICIENT_RESOURCES);
        self.on_completed(self.times.last(), Completed { id, completion, data: None });
        if let Some(on) = on {
            self.lose(on, why);
        }
    }

    /// The client no longer wants to wait for a lock.
    pub(super) fn cancel(&mut self, id: OperationId) {
        let ended = self.host.files().cancel(self.number, id);
        if let Some(completion) = ended {
            self.on_completed(self.times.last(), Completed { id, completion, data: None });
        }
    }
}
