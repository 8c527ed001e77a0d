//! The heap that a relay uses, by the allocator.

use allocation_counter::measure;

/// Counts what is allocated and freed by the work it is given. What a relay has handed out is freed in it too.
#[derive(Default)]
pub struct Heap {
    now: i64,
    /// The most bytes so far.
    pub most: u64,
}

impl Heap {
    pub fn count<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let mut result = None;
        let info = measure(|| result = Some(work()));
        self.most = self.most.max(self.now.unsigned_abs() + info.bytes_max);
        self.now += info.bytes_current;
        result.unwrap()
    }
}
