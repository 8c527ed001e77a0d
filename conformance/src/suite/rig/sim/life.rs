//! The life and death of a server that is simulated.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

/// What a server dies of: a message, from its first byte on.
pub type Poison = fn(&[u8]) -> bool;

/// What a server does about a message before any other code of it looks at that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// It takes it as it is.
    Takes,
    /// It takes its credits, and neither uses nor refuses its payload.
    Swallows,
    /// It dies.
    Dies,
}

/// What a server does about each message, by the number of its connection and its bytes.
type Constitution = dyn FnMut(usize, &[u8]) -> Reaction;

/// The life of the server, over all rigs.
#[derive(Clone)]
pub(super) struct Life {
    constitution: Rc<RefCell<Constitution>>,
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
    /// One that goes on and ends like this, for so many connections or for ever.
    pub(super) fn of(
        constitution: impl FnMut(usize, &[u8]) -> Reaction + 'static,
        restarts_after: Option<u32>,
    ) -> Self {
        Self { constitution: Rc::new(RefCell::new(constitution)), restarts_after, refused: Rc::default() }
    }

    /// What the server does about a message that comes.
    pub(super) fn takes(&self, connection: usize, message: &[u8]) -> Reaction {
        if self.refused.get().is_some() {
            return Reaction::Takes;
        }
        let reaction = (self.constitution.borrow_mut())(connection, message);
        if reaction == Reaction::Dies {
            self.refused.set(Some(0));
        }
        reaction
    }

    /// A connection is asked for; whether it is refused.
    pub(super) fn refuses(&self) -> bool {
        let Some(refused) = self.refused.get() else { return false };
        let is_back = self.restarts_after.is_some_and(|most| refused >= most);
        self.refused.set((!is_back).then_some(refused.saturating_add(1)));
        !is_back
    }
}
