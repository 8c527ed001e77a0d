//! Which states of a side may come again.

use super::{Input, Space};

impl Space<'_> {
    /// For each state of a side that is known, whether it may come again without time.
    ///
    /// On a round of both sides, each side is on a round of its own, or has always the same state; and one of the two gets
    /// an input, because the connection is not lost twice. An input that leaves a side as it is makes a round, too. So on a round
    /// of both, the state of a side is one of these in every state.
    pub(in crate::search) fn returning(&self) -> Vec<bool> {
        let timeless = self.moves.iter().filter(|((_, code), _)| !Input::elapses(*code));
        let mut steps: Vec<_> = timeless.map(|((from, _), step)| (*from, step.next)).collect();
        steps.sort_unstable();
        steps.dedup();
        on_rounds(self.locals.len(), &steps)
    }
}

/// For each of so many points, whether it is on a round of steps, which are in order. (Tarjan 1972: points that can be reached
/// from each other are left together; more than one of them, or one with a step to itself, are on rounds.)
fn on_rounds(points: usize, steps: &[(u32, u32)]) -> Vec<bool> {
    let mut rounds = Rounds {
        steps,
        seen: vec![0; points],
        open: vec![false; points],
        stack: Vec::new(),
        found: vec![false; points],
        count: 0,
    };
    for point in 0..u32::try_from(points).unwrap_or(u32::MAX) {
        if rounds.seen[point as usize] == 0 {
            rounds.visit(point);
        }
    }
    rounds.found
}

struct Rounds<'a> {
    steps: &'a [(u32, u32)],
    /// When a point was seen first, from 1 on; later, the first one that can be reached from it.
    seen: Vec<u32>,
    /// Whether it is on the stack.
    open: Vec<bool>,
    stack: Vec<u32>,
    found: Vec<bool>,
    count: u32,
}

impl Rounds<'_> {
    fn enter(&mut self, point: u32) -> Visit {
        self.count += 1;
        self.seen[point as usize] = self.count;
        self.open[point as usize] = true;
        self.stack.push(point);
        let next = self.steps.partition_point(|(from, _)| *from < point);
        Visit { point, entered: self.count, next }
    }

    fn visit(&mut self, start: u32) {
        let mut way = vec![self.enter(start)];
        while let Some(visit) = way.last_mut() {
            let point = visit.point;
            if let Some((_, to)) = self.steps.get(visit.next).filter(|(from, _)| *from == point) {
                visit.next += 1;
                if self.seen[*to as usize] == 0 {
                    let entered = self.enter(*to);
                    way.push(entered);
                } else if self.open[*to as usize] {
                    self.found[point as usize] |= *to == point;
                    self.reach(point, self.seen[*to as usize]);
                }
                continue;
            }
            let entered = visit.entered;
            way.pop();
            let first = self.seen[point as usize];
            if first == entered {
                self.leave(point);
            } else if let Some(before) = way.last() {
                self.reach(before.point, first);
            }
        }
    }

    fn reach(&mut self, point: u32, first: u32) {
        let seen = &mut self.seen[point as usize];
        *seen = first.min(*seen);
    }

    /// `point` and all above it on the stack can be reached from each other.
    fn leave(&mut self, point: u32) {
        let from = self.stack.iter().rposition(|other| *other == point).unwrap_or(0);
        let several = self.stack.len() - from > 1;
        for other in self.stack.drain(from..) {
            self.open[other as usize] = false;
            self.found[other as usize] |= several;
        }
    }
}

struct Visit {
    point: u32,
    entered: u32,
    /// Which of the steps is next.
    next: usize,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::on_rounds;

    proptest! {
        #[test]
        fn a_point_is_on_a_round_if_it_can_be_reached_from_where_it_leads(
            mut steps in prop::collection::vec((0..12_u32, 0..12_u32), 0..30),
        ) {
            steps.sort_unstable();
            steps.dedup();
            let mut reached = [[false; 12]; 12];
            for (from, to) in &steps {
                reached[*from as usize][*to as usize] = true;
            }
            for via in 0..12 {
                for from in 0..12 {
                    for to in 0..12 {
                        reached[from][to] |= reached[from][via] && reached[via][to];
                    }
                }
            }
            let found = on_rounds(12, &steps);
            for point in 0..12 {
                prop_assert_eq!(found[point], reached[point][point], "{}", point);
            }
        }
    }
}
