//! Where a thread plays: the devices of a run, for code that is handed none of them.

use std::cell::RefCell;

use smbd_sim::loops::Stage;
use smbd_testkit::Breach;

#[derive(Debug, Default)]
struct Place {
    /// The devices of each connection. The first have none.
    stages: Vec<Stage>,
    /// Whose tasks are being polled.
    current: Option<usize>,
    breach: Option<Breach>,
    /// Slots that a broker has.
    slots: usize,
    /// The process that had them is gone: its system gives them back.
    is_dying: bool,
    /// The devices from this one on belong to a process that has not been killed.
    alive_from: usize,
}

thread_local! {
    static PLACE: RefCell<Place> = RefCell::default();
}

/// A run begins, or is over.
pub fn clear() {
    // What is dropped may look at the place.
    drop(PLACE.take());
}

/// New devices, by their number.
pub fn add(stage: Stage) -> usize {
    PLACE.with_borrow_mut(|place| {
        place.stages.push(stage);
        place.stages.len() - 1
    })
}

pub fn stages() -> usize {
    PLACE.with_borrow(|place| place.stages.len())
}

pub fn stage(number: usize) -> Option<Stage> {
    PLACE.with_borrow(|place| place.stages.get(number).cloned())
}

/// From now on tasks of these devices are polled.
pub fn enter(number: Option<usize>) {
    PLACE.with_borrow_mut(|place| place.current = number);
}

/// The devices whose tasks are being polled.
pub fn current() -> Option<usize> {
    PLACE.with_borrow(|place| place.current)
}

/// A law is broken.
pub fn broken(breach: Breach) {
    PLACE.with_borrow_mut(|place| _ = place.breach.get_or_insert(breach));
}

/// The first law that was broken by who knows no other place to tell it.
pub fn breach() -> Option<Breach> {
    PLACE.with_borrow(|place| place.breach.clone())
}

/// So many slots more, or less.
pub fn count_slots(change: isize) {
    PLACE.with_borrow_mut(|place| place.slots = place.slots.saturating_add_signed(change));
}

pub fn slots() -> usize {
    PLACE.with_borrow(|place| place.slots)
}

/// The process is gone that all devices belong to.
pub fn all_killed() {
    PLACE.with_borrow_mut(|place| place.alive_from = place.stages.len());
}

/// Whether the process is gone that has these devices.
pub fn is_killed(number: usize) -> bool {
    PLACE.with_borrow(|place| (1..place.alive_from).contains(&number))
}

pub fn set_dying(is_dying: bool) {
    PLACE.with_borrow_mut(|place| place.is_dying = is_dying);
}

pub fn is_dying() -> bool {
    PLACE.with_borrow(|place| place.is_dying)
}
