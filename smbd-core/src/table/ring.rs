use alloc::boxed::Box;
use alloc::vec;

/// A queue of fixed capacity.
#[derive(Clone, Debug)]
pub(crate) struct Ring<T> {
    places: Box<[T]>,
    head: usize,
    len: usize,
}

impl<T: Copy> Ring<T> {
    /// `filler` stands in places not in use.
    pub(crate) fn new(capacity: usize, filler: T) -> Self {
        Self { places: vec![filler; capacity].into_boxed_slice(), head: 0, len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.len == self.places.len()
    }

    /// Appends `value`; false if there is no room.
    #[must_use]
    pub(crate) fn push(&mut self, value: T) -> bool {
        if self.is_full() {
            return false;
        }
        let end = self.head.wrapping_add(self.len);
        let index = end.checked_sub(self.places.len()).unwrap_or(end);
        let Some(place) = self.places.get_mut(index) else { return false };
        *place = value;
        self.len = self.len.wrapping_add(1);
        true
    }

    pub(crate) fn front(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.places.get(self.head) }
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let value = *self.front()?;
        let next = self.head.wrapping_add(1);
        self.head = if next == self.places.len() { 0 } else { next };
        self.len = self.len.wrapping_sub(1);
        Some(value)
    }

    /// From front to back.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let upto = self.head.wrapping_add(self.len).min(self.places.len());
        let wrapped = self.len.wrapping_sub(upto.wrapping_sub(self.head));
        let first = self.places.get(self.head..upto).unwrap_or_default();
        first.iter().chain(self.places.get(..wrapped).unwrap_or_default())
    }
}
