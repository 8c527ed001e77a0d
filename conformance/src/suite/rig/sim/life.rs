//! The life and death of a server that is simulated.

use std::cell::Cell;
use std::fmt;
use std::rc::Rc;

/// What a server dies of: a message, from its first byte on.
pub type Poison = fn(&[u8]) -> bool;

/// The life of the server, over all rigs.
#[derive(Clone)]
pub(super) struct Life {
    poison: Poison,
    restarts_after: Option<u32>,
    /// Connections refused since it died; `None` as long as it lives.
    refused: Rc<Cell<Option<u32>>>,
}

impl fmt::Debug for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Life").field("refused", &self.refused.get()).finish_non_exhaustive()
    }
}

impl Life {
    /// One that ends with such a message, for so many connections or for ever.
    pub(super) fn of(poison: Poison, restarts_after: Option<u32>) -> Self {
        Self { poison, restarts_after, refused: Rc::default() }
    }

    /// A message comes; whether the server dies of it.
    pub(super) fn takes(&self, message: &[u8]) -> bool {
        let dies = self.refused.get().is_none() && (self.poison)(message);
        if dies {
            self.refused.set(Some(0));
        }
        dies
    }

    /// A connection is asked for; whether it is refused.
    pub(super) fn refuses(&self) -> bool {
        let Some(refused) = self.refused.get() else { return false };
        let is_back = self.restarts_after.is_some_and(|most| refused >= most);
        self.refused.set((!is_back).then_some(refused.saturating_add(1)));
        !is_back
    }
}
