//! Operations that threads carry out.

use std::collections::{BTreeMap, BTreeSet};

use smbd_smb2::server::OperationId;

/// The operations of a client that threads carry out.
#[derive(Debug, Default)]
pub(super) struct Running {
    /// When each began: a FILETIME.
    quick: BTreeMap<OperationId, u64>,
    /// Those for which the client had an interim response.
    slow: BTreeSet<OperationId>,
}

impl Running {
    pub(super) fn begin(&mut self, id: OperationId, now: u64) {
        self.quick.insert(id, now);
    }

    pub(super) fn end(&mut self, id: OperationId) {
        if self.quick.remove(&id).is_none() {
            self.slow.remove(&id);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.quick.is_empty() && self.slow.is_empty()
    }

    /// When the operation began that the client has asked for first, of those without an interim response.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.quick.first_key_value().map(|(_, began)| *began)
    }

    /// The next operation that began before `then`, which counts as slow from now on.
    pub(super) fn take_slow(&mut self, then: u64) -> Option<OperationId> {
        let first = self.quick.first_entry().filter(|first| *first.get() <= then)?;
        let id = *first.key();
        first.remove();
        self.slow.insert(id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_slow_once_and_runs_until_it_ends() {
        let mut running = Running::default();
        let [first, second] = [1, 2].map(OperationId);
        running.begin(first, 10);
        running.begin(second, 20);
        assert_eq!((running.oldest(), running.take_slow(9)), (Some(10), None));
        assert_eq!((running.take_slow(10), running.take_slow(10)), (Some(first), None));
        assert_eq!(running.oldest(), Some(20));
        running.end(second);
        assert!(running.oldest().is_none() && !running.is_empty());
        running.end(first);
        assert!(running.is_empty());
    }
}
