//! Search of all orders in which things can happen, in cases that are small enough.
//!
//! A state is what is tested and its surroundings as text. Each is left by every step that is possible in it; from where no step leads
//! on, all has to be done.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What is tested, and all around it.
pub trait World: Debug {
    /// What happens in it, and what has to become of it.
    type Case;
    type Step: Copy + Debug;

    fn new(case: &Self::Case) -> Self;

    /// Does nothing if the step is not possible.
    fn step(&mut self, case: &Self::Case, step: Self::Step);

    /// What has to be at an end.
    fn check(&self, case: &Self::Case, path: &[Self::Step]);
}

fn fingerprint(world: &impl World) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{world:?}").hash(&mut hasher);
    hasher.finish()
}

fn played<W: World>(case: &W::Case, path: &[W::Step]) -> W {
    let mut world = W::new(case);
    path.iter().for_each(|step| world.step(case, *step));
    world
}

/// Goes through all states, and prints how many there are and how many of them are ends.
pub fn search<W: World>(name: &str, case: &W::Case, steps: &[W::Step]) {
    let mut seen = BTreeSet::from([fingerprint(&W::new(case))]);
    let (mut open, mut ends) = (vec![Vec::new()], 0);
    while let Some(path) = open.pop() {
        let mut is_end = true;
        for step in steps {
            let mut world = played::<W>(case, &path);
            let before = fingerprint(&world);
            world.step(case, *step);
            let after = fingerprint(&world);
            if after == before {
                continue;
            }
            if seen.insert(after) {
                open.push([&path[..], &[*step]].concat());
            }
            // One that only changes whose turn it is leads nowhere.
            world.step(case, *step);
            is_end &= fingerprint(&world) == before;
        }
        if is_end {
            played::<W>(case, &path).check(case, &path);
            ends += 1;
        }
    }
    println!("{name}: {} states, {ends} ends", seen.len());
    assert!(seen.len() > 100 && ends > 0, "{name}: {} states", seen.len());
}
