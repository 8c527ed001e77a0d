//! RDMA operations, and the use of invalidated tokens.

use std::collections::BTreeSet;

use smbd_core::wire::Token;
use smbd_sim::decode::{Message, RdmaOperation};

use super::rules::behaviour as rules;
use super::verdict::{At, Journal, reversed, sender};

/// Tokens that are remembered for each side; beyond that it starts anew.
const TOKENS_MAX: usize = 65_536;

/// Tokens that each side (initiator, acceptor) has invalidated at the other.
#[derive(Debug)]
pub(super) struct Rdma {
    ordered: bool,
    gone: [BTreeSet<u32>; 2],
}

impl Rdma {
    pub(super) const fn new(ordered: bool) -> Self {
        Self { ordered, gone: [BTreeSet::new(), BTreeSet::new()] }
    }

    /// What is missing may have made tokens good again.
    pub(super) fn lost(&mut self) {
        self.gone = Default::default();
    }

    /// A data message: it may invalidate a token, and may tell of its own that were made anew.
    pub(super) fn message(&mut self, at: At, message: &Message) {
        let (own, peer) = (sender(at.direction), sender(reversed(at.direction)));
        let known = &mut self.gone[peer];
        if (message.bytes.len() as u64) < message.len {
            known.clear();
        }
        if !known.is_empty() {
            // The payload is not this protocol's: a token that stands anywhere in it, in either byte order (MR-4 in
            // `docs/spec-issues.md`), counts as registered again.
            for bytes in message.bytes.windows(4).filter_map(<[u8]>::first_chunk) {
                known.remove(&u32::from_le_bytes(*bytes));
                known.remove(&u32::from_be_bytes(*bytes));
            }
        }
        if let Some(Token(token)) = message.invalidate {
            if self.gone[own].len() >= TOKENS_MAX {
                self.gone[own].clear();
            }
            self.gone[own].insert(token);
        }
    }

    /// An RDMA Write or a request for an RDMA Read.
    pub(super) fn request(
        &mut self,
        at: At,
        operation: &RdmaOperation,
        most: Option<u32>,
        journal: &mut Journal,
    ) {
        match most {
            Some(most) if operation.length > u64::from(most) => {
                let seen = format!("{} bytes", operation.length);
                journal.broken(&rules::RDMA_TOO_LONG, at, seen, format!("at most {most}"));
            }
            Some(_) => {}
            None => journal.not_judged(&rules::RDMA_TOO_LONG),
        }
        let Some(Token(token)) = operation.token else { return };
        if !self.gone[sender(at.direction)].contains(&token) {
            return;
        }
        if self.ordered {
            let seen = format!("token {token:#010x}, invalidated by its user");
            journal.broken(&rules::RDMA_INVALIDATED, at, seen, "a token that is registered");
        } else {
            journal.not_judged(&rules::RDMA_INVALIDATED);
        }
    }
}
