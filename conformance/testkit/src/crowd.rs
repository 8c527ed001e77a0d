//! Many connections of one server, some busy and all others idle: what a busy one costs beside idle ones, and what each holds.

use std::cell::Cell;

use smbd_repository::instructions::Work;

/// Connections that are busy.
pub const BUSY: u32 = 100;

thread_local! {
    /// Bytes that are held of what was counted, if they are counted.
    static HELD: Cell<Option<i64>> = const { Cell::new(None) };
}

/// Whether bytes are counted.
pub fn is_counted() -> bool {
    HELD.get().is_some()
}

/// The bytes that are allocated by the work and kept. This crate counts none: the allocator that does would count in all benchmarks.
pub type Bytes = fn(work: &mut dyn FnMut()) -> i64;

/// Counts the bytes that are allocated by this and kept.
pub fn counted<T>(bytes: Bytes, work: impl FnOnce() -> T) -> T {
    let (mut work, mut done) = (Some(work), None);
    let kept = bytes(&mut || done = work.take().map(|work| work()));
    HELD.set(HELD.get().map(|held| held + kept));
    done.expect("it was called")
}

/// Bytes that a scene holds when it has been played.
pub fn held(scene: fn(u32) -> Work, count: u32) -> i64 {
    HELD.set(Some(0));
    let left = scene(count)();
    let held = HELD.take().expect("it is counted");
    drop(left);
    held
}

/// Connections in the order in which they are made; those that will be busy lie between the others. Returns the busy ones and the idle ones.
pub fn crowd<T>(idle: u32, mut connect: impl FnMut(u32) -> T) -> (Vec<T>, Vec<T>) {
    let every = 1 + idle / BUSY;
    let (busy, idle): (Vec<_>, Vec<_>) = (0..BUSY + idle)
        .map(|number| (number % every == 0, connect(number)))
        .partition(|(is_busy, _)| *is_busy);
    let all = |side: Vec<(bool, T)>| side.into_iter().map(|(_, connection)| connection).collect::<Vec<_>>();
    (all(busy), all(idle))
}
