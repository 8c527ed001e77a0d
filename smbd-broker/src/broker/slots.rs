//! The slots of an owner: each belongs to one side at a time.

use super::action::TransferId;
use super::reason::Reason;
use crate::wire::Area;

/// The slots of an owner.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// By which transfer each is used. It is the owner's if by none.
    used_by: Vec<Option<TransferId>>,
}

impl Slots {
    pub(super) fn len(&self) -> u16 {
        u16::try_from(self.used_by.len()).unwrap_or(u16::MAX)
    }

    /// How many the device uses.
    pub(super) fn in_use(&self) -> u16 {
        u16::try_from(self.used_by.iter().flatten().count()).unwrap_or(u16::MAX)
    }

    /// New slots behind the others.
    pub(super) fn add(&mut self, count: u16) {
        let len = self.used_by.len().saturating_add(count.into());
        self.used_by.resize(len, None);
    }

    /// Takes the slots of a transfer from the owner: all of them, or none.
    pub(super) fn take(&mut self, areas: &[Area], slot_len: u32, by: TransferId) -> Result<(), Reason> {
        for (at, area) in areas.iter().enumerate() {
            if let Err(reason) = self.take_one(*area, slot_len, by) {
                for area in areas.iter().take(at) {
                    self.give_one(area.slot, by);
                }
                return Err(reason);
            }
        }
        Ok(())
    }

    /// Gives the slots of a transfer back.
    pub(super) fn give(&mut self, areas: &[Area], by: TransferId) {
        for area in areas {
            self.give_one(area.slot, by);
        }
    }

    /// Whether no transfer uses any.
    pub(super) fn are_all_back(&self) -> bool {
        self.used_by.iter().all(Option::is_none)
    }

    fn take_one(&mut self, Area { slot, len }: Area, slot_len: u32, by: TransferId) -> Result<(), Reason> {
        let Some(place) = self.used_by.get_mut(usize::from(slot)) else {
            return Err(Reason::Slot { slot, what: "not there" });
        };
        if place.is_some() {
            return Err(Reason::Slot { slot, what: "used by a transfer" });
        }
        if len > slot_len {
            return Err(Reason::Area { len, slot_len });
        }
        *place = Some(by);
        Ok(())
    }

    fn give_one(&mut self, slot: u16, by: TransferId) {
        if let Some(place) = self.used_by.get_mut(usize::from(slot)).filter(|place| **place == Some(by)) {
            *place = None;
        }
    }
}
