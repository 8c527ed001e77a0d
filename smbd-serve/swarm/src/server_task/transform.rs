//! Data that go by RDMA signed or encrypted: what the server has done to them, and what happens to them on their way.

use smbd_smb2::server::OperationId;

use super::ServerTask;
use crate::common::law;
use crate::transforms::tamper;

impl ServerTask {
    /// What becomes of data on their way by RDMA.
    pub(super) fn tamper(&mut self, bytes: &mut [u8]) {
        if tamper(&mut self.chance, self.shared.plan.tampers, bytes) {
            self.shared.notes.step(|| format!("{} bytes are changed on their way by RDMA", bytes.len()));
            self.shared.notes.count("data changed on their way by RDMA");
        }
    }

    /// Signs, encrypts, verifies or decrypts data.
    pub(super) fn transform(&mut self, id: OperationId, len: usize) {
        let mut bytes = self.buffers.remove(&id).unwrap_or_default();
        let before = bytes.clone();
        let part = bytes.get_mut(..len).unwrap_or_default();
        self.say(|connection, now| connection.transform(now, id, &mut [part]));
        let is_changed = bytes != before;
        let kind = if is_changed { "data encrypted or decrypted" } else { "data signed or verified" };
        self.shared.notes.count(kind);
        // What somebody had fetched from other memory may be zeros. After the end nothing is done.
        let is_known = self.shared.plan.mischief.is_none() && !self.has_lost();
        let is_encrypted = self.shared.ledger.borrow().is_encrypted() && is_known;
        // Few bytes may be the same by chance.
        let judged = (|| {
            law!("protection", is_changed || !is_encrypted || len < 8, "{id:?} has {len} bytes in clear");
            Ok(())
        })();
        self.shared.notes.judge(judged);
        self.buffers.insert(id, bytes);
    }
}
