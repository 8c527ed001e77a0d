//! Data that go by RDMA, as they are in files and as they are on their way (MS-SMB2 2.2.43).

use std::collections::BTreeMap;

use smbd_sim::memory::Buffer;

use crate::shared::Shared;
use crate::transforms::tamper;
use smbd_testkit::Chance;
use smbd_testkit::law;

/// Fewer bytes may be the same by chance when they are encrypted.
const FEW: usize = 8;

/// Data in the server's memory.
#[derive(Debug, Default)]
pub struct Crossing {
    /// As they were read from a file, until they leave.
    read: BTreeMap<Buffer, Vec<u8>>,
    /// As they have come, until they are written to a file.
    come: BTreeMap<Buffer, Vec<u8>>,
}

impl Crossing {
    /// A file was read to this memory.
    pub fn is_read(&mut self, buffer: Buffer, bytes: Vec<u8>) {
        self.read.insert(buffer, bytes);
    }

    /// Memory leaves, as it is now.
    pub fn leaves(&mut self, shared: &Shared, buffer: Buffer, bytes: &[u8]) {
        if let Some(read) = self.read.remove(&buffer) {
            compare(shared, &read, bytes);
        }
    }

    /// Memory was filled by the client's data.
    pub fn comes(&mut self, buffer: Buffer, bytes: Vec<u8>) {
        self.come.insert(buffer, bytes);
    }

    /// Memory goes to a file, as it is now.
    pub fn is_written(&mut self, shared: &Shared, buffer: Buffer, bytes: &[u8]) {
        if let Some(come) = self.come.remove(&buffer) {
            compare(shared, bytes, &come);
        }
    }
}

/// Compares data of a file with those on their way. What is to be encrypted is not in clear there.
fn compare(shared: &Shared, plain: &[u8], on_way: &[u8]) {
    let is_changed = plain != on_way;
    let (plan, ledger) = (&shared.plan, shared.ledger.borrow());
    if is_changed {
        shared.notes.count("data encrypted or decrypted");
    } else if ledger.is_signed() && plan.protection.common().signing {
        shared.notes.count("data signed or verified");
    }
    // Whoever changes messages may have the server use other memory, with zeros.
    let is_known = ledger.is_encrypted() && plan.mischief.is_none();
    let len = plain.len();
    let judged = (|| {
        law!("protection", is_changed || !is_known || len < FEW, "{len} bytes go by RDMA in clear");
        Ok(())
    })();
    shared.notes.judge(judged);
}

/// What becomes of data on their way by RDMA. Whether they are others now.
pub fn tampered(shared: &Shared, chance: &mut Chance, bytes: &mut [u8]) -> bool {
    let is_changed = tamper(chance, shared.plan.tampers, bytes);
    if is_changed {
        shared.notes.step(|| format!("{} bytes are changed on their way by RDMA", bytes.len()));
        shared.notes.count("data changed on their way by RDMA");
    }
    is_changed
}
