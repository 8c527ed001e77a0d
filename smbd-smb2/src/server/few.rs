//! Lists that mostly have one entry.

use alloc::vec::Vec;

/// A list whose first entry needs no memory of its own.
#[derive(Debug)]
pub(super) struct Few<T> {
    first: Option<T>,
    /// None without a first one.
    others: Vec<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: None, others: Vec::new() }
    }
}

impl<T> Few<T> {
    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()).saturating_add(self.others.len())
    }

    pub(super) fn push(&mut self, entry: T) {
        match self.first {
            None => self.first = Some(entry),
            Some(_) => self.others.push(entry),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        match index.checked_sub(1) {
            None => self.first.as_ref(),
            Some(index) => self.others.get(index),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.first.iter().chain(&self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_in_their_order() {
        let mut few = Few::default();
        assert!(few.is_empty());
        for entry in 0..4 {
            few.push(entry);
            assert_eq!(few.len(), entry + 1);
        }
        assert_eq!(few.iter().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!([0, 1, 3, 4].map(|index| few.get(index).copied()), [Some(0), Some(1), Some(3), None]);
    }
}
