//! The gateway's memory as the server of a run has it: what it has read by RDMA, and what it will write by RDMA before its answer.

use std::collections::{BTreeMap, BTreeSet};

use smbd_core::{Access, BufferDescriptorV1, Token};
use smbd_sim::Side;
use smbd_sim::loops::Stage;
use smbd_testkit::Breach;
use smbd_testkit::relay::reverse;

pub struct Device {
    stage: Stage,
    /// By token: memory that was read for a WRITE.
    fetched: BTreeMap<u32, Vec<u8>>,
    drafts: Vec<Draft>,
    /// Of tokens whose request was answered: what was written there.
    closed: BTreeMap<u32, Vec<u8>>,
    over: BTreeSet<u32>,
    breach: Option<Breach>,
}

/// Memory of a READ.
struct Draft {
    remote: BufferDescriptorV1,
    before: Vec<u8>,
    now: Vec<u8>,
}

impl Device {
    pub fn new(stage: &Stage) -> Self {
        Self {
            stage: stage.clone(),
            fetched: BTreeMap::new(),
            drafts: Vec::new(),
            closed: BTreeMap::new(),
            over: BTreeSet::new(),
            breach: None,
        }
    }

    /// Whether the gateway's connection is over: nobody knows then what it has of its memory.
    pub fn is_over(&self) -> bool {
        self.stage.is_down(Side::Initiator)
    }

    /// All memory that a token opens, in bytes.
    pub fn len(&self, token: Token) -> Option<u32> {
        self.stage.opened(Side::Initiator, token).and_then(|bytes| u32::try_from(bytes.len()).ok())
    }

    /// Memory was read.
    pub fn fetch(&mut self, token: Token, bytes: Vec<u8>) {
        self.fetched.insert(token.0, bytes);
    }

    /// Requests with these tokens are answered. What has to be written before: where, and the bytes.
    pub fn answered(
        &mut self,
        tokens: impl Iterator<Item = u32>,
    ) -> Result<Vec<(BufferDescriptorV1, Vec<u8>)>, Breach> {
        self.over.extend(tokens);
        let drafts = std::mem::take(&mut self.drafts).into_iter().filter_map(|draft| {
            let Draft { remote, before, now } = draft;
            let changed = before.iter().zip(&now).rposition(|(before, now)| before != now);
            let bytes = changed.map(|last| now[..=last].to_vec());
            self.closed.insert(remote.token.0, now);
            let bytes = bytes?;
            Some((BufferDescriptorV1 { length: bytes.len() as u32, ..remote }, bytes))
        });
        let writes = drafts.collect();
        self.breach.take().map_or(Ok(writes), Err)
    }
}

impl reverse::Device for Device {
    fn is_open(&self, token: u32) -> bool {
        self.stage.opened(Side::Initiator, Token(token)).is_some()
    }

    fn closed(&self, token: u32) -> &[u8] {
        &self.closed[&token]
    }

    /// `None` if the request was answered. Late use would break the connection, and the gateway
    /// can do nothing about that.
    fn access(&mut self, descriptor: &BufferDescriptorV1, access: Access) -> Option<&mut Vec<u8>> {
        let token = descriptor.token;
        if self.over.contains(&token.0) {
            return None;
        }
        if access == Access::Read {
            return self.fetched.get_mut(&token.0);
        }
        let before = self.stage.opened(Side::Initiator, token)?;
        if before.iter().any(|byte| *byte != 0) {
            self.breach.get_or_insert(format!("zeros: {token} is registered with bytes in it"));
        }
        self.drafts.push(Draft { remote: *descriptor, now: before.clone(), before });
        self.drafts.last_mut().map(|draft| &mut draft.now)
    }
}
