//! Who may use a file at the same time (MS-FSA 2.1.5.1.2.2).

use crate::wire::{AccessMask, ShareAccess};

/// What an open does, and what it lets others do: for whoever writes a [`FileSystem`](super::FileSystem).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// What it does.
    pub access: AccessMask,
    /// What it lets others do.
    pub share: ShareAccess,
}

/// Rights, and what others have to be let do for them.
const RULES: [(u32, ShareAccess); 3] = [
    (AccessMask::READ_DATA.0 | AccessMask::EXECUTE.0, ShareAccess::READ),
    (AccessMask::WRITE_DATA.0 | AccessMask::APPEND_DATA.0, ShareAccess::WRITE),
    (AccessMask::DELETE.0, ShareAccess::DELETE),
];

impl Use {
    /// Whether both can have the file; if not, the second gets STATUS_SHARING_VIOLATION.
    #[must_use]
    pub fn goes_with(&self, other: &Self) -> bool {
        self.lets(other) && other.lets(self)
    }

    fn lets(&self, other: &Self) -> bool {
        // Who neither reads, writes nor deletes keeps nobody from it.
        let does_something = RULES.iter().any(|(rights, _)| self.access.0 & rights != 0);
        !does_something
            || RULES.iter().all(|(rights, share)| other.access.0 & rights == 0 || self.share.contains(*share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of(access: AccessMask, share: ShareAccess) -> Use {
        Use { access, share }
    }

    #[test]
    fn each_has_to_let_the_other_do_what_it_does() {
        let reader = of(AccessMask::READ_DATA, ShareAccess::READ);
        let writer = of(AccessMask::WRITE_DATA, ShareAccess(7));
        assert!(reader.goes_with(&reader));
        assert!(!reader.goes_with(&writer), "the reader lets nobody write");
        assert!(!writer.goes_with(&reader));
        assert!(of(AccessMask::READ_DATA, ShareAccess(3)).goes_with(&writer));
        assert!(
            !of(AccessMask::DELETE, ShareAccess(7)).goes_with(&of(AccessMask::READ_DATA, ShareAccess(3)))
        );
    }

    #[test]
    fn who_only_looks_at_attributes_is_in_nobodys_way() {
        let looker = of(AccessMask::READ_ATTRIBUTES, ShareAccess::NONE);
        let owner = of(AccessMask(0x001F_01FF), ShareAccess::NONE);
        assert!(looker.goes_with(&owner) && owner.goes_with(&looker));
    }
}
