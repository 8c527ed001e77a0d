//! What becomes of halves: looked up for every step.

use super::Map;

/// As many as lie together in a cache line: hardly any half has more.
const ROOM: usize = 7;

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Row {
    /// The code of what happens, and the half after it.
    after: [(u32, u32); ROOM],
    len: u8,
}

/// By half and code.
#[derive(Debug, Default)]
pub(super) struct Changes {
    rows: Vec<Row>,
    /// Of rows that are full.
    more: Map<(u32, u32), u32>,
}

impl Changes {
    pub(super) fn get(&self, half: u32, code: u32) -> Option<u32> {
        let row = self.rows.get(half as usize)?;
        let after = &row.after[..usize::from(row.len).min(ROOM)];
        if let Some((_, next)) = after.iter().find(|(known, _)| *known == code) {
            return Some(*next);
        }
        if after.len() < ROOM {
            return None;
        }
        self.more.get(&(half, code)).copied()
    }

    pub(super) fn insert(&mut self, half: u32, code: u32, next: u32) {
        let at = half as usize;
        if self.rows.len() <= at {
            self.rows.resize(at + 1, Row::default());
        }
        let row = &mut self.rows[at];
        let len = usize::from(row.len);
        if len < ROOM {
            row.after[len] = (code, next);
            row.len += 1;
        } else {
            self.more.insert((half, code), next);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_change_is_what_it_was_and_no_other(
            known in prop::collection::btree_map((0..9_u32, 0..24_u32), any::<u32>(), 0..120),
        ) {
            let known: BTreeMap<(u32, u32), u32> = known;
            let mut changes = Changes::default();
            for ((half, code), next) in &known {
                prop_assert_eq!(changes.get(*half, *code), None);
                changes.insert(*half, *code, *next);
            }
            for half in 0..12 {
                for code in 0..24 {
                    prop_assert_eq!(changes.get(half, code), known.get(&(half, code)).copied());
                }
            }
        }
    }
}
