//! MessageIds that a client may use (3.3.1.1).

use std::collections::BTreeSet;

use smbd_smb2::wire::Header;

use crate::{Breach, law};

/// Credits that there are.
pub const CREDITS: usize = 64;

/// The MessageIds that a server has granted, and those that came.
#[derive(Debug)]
pub struct Window {
    came: BTreeSet<u64>,
    granted: u64,
}

impl Default for Window {
    fn default() -> Self {
        Self { came: BTreeSet::new(), granted: CREDITS as u64 }
    }
}

impl Window {
    /// 3.3.1.1, 3.3.5.2.3
    pub fn take(&mut self, header: &Header) -> Result<(), Breach> {
        let first = header.message_id.0;
        for id in first..first + u64::from(header.credit_charge) {
            law!("window", id < self.granted, "{id} is not below {}", self.granted);
            law!("window", self.came.insert(id), "{id} came twice");
        }
        Ok(())
    }

    /// Grants what a request has used, if the client has no more than [`CREDITS`] then.
    pub fn grant(&mut self, charge: u16) -> u16 {
        let room = CREDITS as u64 - (self.granted - self.came.len() as u64);
        let grants = u64::from(charge).min(room);
        self.granted += grants;
        grants as u16
    }

    /// Whether all MessageIds came.
    pub fn has_no_hole(&self) -> bool {
        self.came.len() as u64 == self.came.last().map_or(0, |last| last + 1)
    }
}
