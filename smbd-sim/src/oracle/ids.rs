use smbd_core::WrId;

/// Names of work in use, by table slot, with the last name each slot had.
#[derive(Clone, Debug)]
pub(super) struct Ids<T> {
    slots: Vec<(u64, Option<T>)>,
    used: u32,
}

/// Why a name cannot be handed out.
pub(super) type Wrong = &'static str;

impl<T> Ids<T> {
    pub(super) fn new(slots: u32) -> Self {
        Self { slots: (0..slots).map(|_| (0, None)).collect(), used: 0 }
    }

    pub(super) const fn used(&self) -> u32 {
        self.used
    }

    pub(super) fn free(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX) - self.used
    }

    /// A name is handed out.
    pub(super) fn open(&mut self, slot: u16, id: impl Into<WrId>, item: T) -> Result<(), Wrong> {
        let raw = id.into().to_raw();
        let Some((last, held)) = self.slots.get_mut(usize::from(slot)) else {
            return Err("slot beyond the budget");
        };
        if held.is_some() {
            return Err("slot still in use");
        }
        if *last == raw {
            return Err("name used before");
        }
        (*last, *held) = (raw, Some(item));
        self.used += 1;
        Ok(())
    }

    /// The last name of a slot, which has just come back, is in use again.
    pub(super) fn reopen(&mut self, slot: u16, item: T) -> bool {
        let Some((_, held @ None)) = self.slots.get_mut(usize::from(slot)) else { return false };
        *held = Some(item);
        self.used += 1;
        true
    }

    pub(super) fn get(&self, slot: u16, id: impl Into<WrId>) -> Option<&T> {
        let (raw, held) = self.slots.get(usize::from(slot))?;
        held.as_ref().filter(|_| *raw == id.into().to_raw())
    }

    pub(super) fn get_mut(&mut self, slot: u16, id: impl Into<WrId>) -> Option<&mut T> {
        let (raw, held) = self.slots.get_mut(usize::from(slot))?;
        held.as_mut().filter(|_| *raw == id.into().to_raw())
    }

    /// A name comes back.
    pub(super) fn close(&mut self, slot: u16, id: impl Into<WrId>) -> Option<T> {
        let (raw, held) = self.slots.get_mut(usize::from(slot))?;
        if *raw != id.into().to_raw() {
            return None;
        }
        let item = held.take()?;
        self.used -= 1;
        Some(item)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        // Asked after every action: stops behind the last one in use.
        self.slots.iter().filter_map(|(_, held)| held.as_ref()).take(self.used as usize)
    }
}
