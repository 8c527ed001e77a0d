//! Descriptors of registered memory, in lists that are used again.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::wire::BufferDescriptorV1;

/// Lists that are kept, and the descriptors of the longest of them. When so many are in use, each further one is allocated.
const KEPT_MAX: usize = 16;
const LONGEST: usize = 4;

/// Lists of descriptors (2.2.3.1). Up to 16 lists of up to 4 descriptors are kept, and used again when nobody else has them.
#[derive(Debug, Default)]
pub struct Lists {
    kept: Vec<Arc<[BufferDescriptorV1]>>,
}

impl Lists {
    /// A list of these, of which there are `len`.
    #[must_use]
    pub fn list(
        &mut self,
        len: usize,
        descriptors: impl Iterator<Item = BufferDescriptorV1>,
    ) -> Arc<[BufferDescriptorV1]> {
        if len > LONGEST {
            return descriptors.collect();
        }
        for kept in &mut self.kept {
            let Some(free) = Arc::get_mut(kept) else { continue };
            if free.len() == len {
                free.iter_mut().zip(descriptors).for_each(|(place, descriptor)| *place = descriptor);
            } else {
                *kept = descriptors.collect();
            }
            return Arc::clone(kept);
        }
        let list: Arc<[_]> = descriptors.collect();
        if self.kept.len() < KEPT_MAX {
            self.kept.push(Arc::clone(&list));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use allocation_counter::measure;

    use super::*;
    use crate::wire::Token;

    fn list(lists: &mut Lists, count: u32, first: u32) -> Arc<[BufferDescriptorV1]> {
        let descriptors =
            (0..count).map(|at| BufferDescriptorV1 { offset: 0, token: Token(first + at), length: 1 });
        lists.list(count as usize, descriptors)
    }

    fn tokens(list: &[BufferDescriptorV1]) -> Vec<u32> {
        list.iter().map(|descriptor| descriptor.token.0).collect()
    }

    #[test]
    fn a_list_that_nobody_has_is_used_again_and_no_other() {
        let mut lists = Lists::default();
        let first = list(&mut lists, 2, 1);
        let second = list(&mut lists, 2, 3);
        assert_eq!((tokens(&first), tokens(&second)), (vec![1, 2], vec![3, 4]));
        drop(first);
        let allocated = measure(|| assert_eq!(list(&mut lists, 2, 5).len(), 2));
        assert_eq!(allocated.count_total, 0);
        assert_eq!(tokens(&list(&mut lists, 3, 7)), [7, 8, 9]);
        assert_eq!(tokens(&second), [3, 4]);
    }

    #[test]
    fn only_so_many_short_lists_are_kept() {
        let mut lists = Lists::default();
        let all: Vec<_> = (0..100).map(|first| list(&mut lists, 1, first)).collect();
        assert_eq!(lists.kept.len(), KEPT_MAX);
        drop(all);
        assert_eq!(list(&mut lists, 1000, 0).len(), 1000);
        assert!(lists.kept.iter().all(|kept| kept.len() <= LONGEST));
    }
}
