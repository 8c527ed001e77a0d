//! Operations of a client, and the memory of their data.

use std::sync::Arc;

use smbd_link::transport::{Heap, Memory as _};
use smbd_smb2::server::{LinkId, Operation, OperationId};
use smbd_smb2::wire::NtStatus;

use super::carry::start;
use super::group::Group;
use super::host::Told;
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

    pub(super) fn start(&mut self, on: Option<LinkId>, id: OperationId, operation: Operation) {
        let data = match operation {
            Operation::ReadChannel { len, .. } => match self.memory(on, len) {
                Ok(memory) => Some(memory),
                Err(why) => return self.fail(on, id, why),
            },
            _ => self.data.remove(&id),
        };
        self.runs(id);
        start(Arc::clone(&self.host), &self.times.around, &self.turns, (self.number, id), operation, data);
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
        self.runs(id);
        self.host.tell(self.number, Told::Done(id, Err(NtStatus::INSUFFICIENT_RESOURCES), None));
        if let Some(on) = on {
            self.lose(on, why);
        }
    }

    /// The client does not want to wait for a lock. One that is still being tried is looked at when it waits.
    pub(super) fn cancel(&mut self, id: OperationId) {
        if self.running.has(id) {
            self.cancelled.insert(id);
        }
        let ended = self.host.files().cancel(self.number, id);
        if let Some(completion) = ended {
            self.host.tell(self.number, Told::Done(id, completion, None));
        }
    }
}
