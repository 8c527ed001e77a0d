//! What a check is about: its statements, and what of them it can break.
//!
//! A check names its statements in one string. `"2.2.2-19 +3.1.5.6-14"`: both are shown when the check holds, and only the
//! first is broken when it does not. A sign in front belongs to the id behind it, so strings can be joined.
//!
//! What may be done need not be done. A check cannot break such a statement, whatever its string says: what it finds is a
//! fact about the implementation under test, and no fault of it. Nor does an acceptor break the duty of an initiator.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::catalogue::{Catalogue, Level, Role, Statement, UnderTest};

/// How binding each statement is, and on whom.
static DUTIES: LazyLock<BTreeMap<String, (Level, Role)>> = LazyLock::new(|| {
    let statements = Catalogue::load().map(|catalogue| catalogue.statements).unwrap_or_default();
    let duty = |statement: Statement| (statement.id.to_string(), (statement.level, statement.role));
    statements.into_iter().map(duty).collect()
});

fn is_permitted(id: &str) -> bool {
    DUTIES.get(id).is_some_and(|(level, _)| *level == Level::May)
}

/// Whether that side has to do it: the other one cannot break it.
fn is_duty_of(id: &str, side: UnderTest) -> bool {
    DUTIES.get(id).is_none_or(|(_, role)| match role {
        Role::Active => side == UnderTest::Initiator,
        Role::Passive => side == UnderTest::Acceptor,
        Role::Both | Role::Upper | Role::Provider => true,
    })
}

/// The statements of one check.
#[derive(Clone, Copy, Debug)]
pub(super) struct About<'a>(pub(super) &'a str);

impl<'a> About<'a> {
    /// All of them: what a check shows that holds.
    pub(super) fn shown(self) -> impl Iterator<Item = &'a str> {
        self.0.split_whitespace().map(|id| id.strip_prefix('+').unwrap_or(id))
    }

    /// Those that this side breaks if it does not hold.
    pub(super) fn broken(self, side: UnderTest) -> impl Iterator<Item = &'a str> {
        self.named().filter(move |id| !is_permitted(id) && is_duty_of(id, side))
    }

    /// Those that are not done if it does not hold, and that nobody has to do.
    pub(super) fn not_done(self) -> impl Iterator<Item = &'a str> {
        self.named().filter(|id| is_permitted(id))
    }

    fn named(self) -> impl Iterator<Item = &'a str> {
        self.0.split_whitespace().filter(|id| !id.starts_with('+'))
    }
}

#[cfg(test)]
mod tests {
    use super::{About, DUTIES, is_permitted};
    use crate::catalogue::UnderTest::{Acceptor, Initiator};

    #[test]
    fn a_check_breaks_what_has_no_sign_and_shows_all() {
        let about = About("2.2.2-19 +3.1.5.6-14  +2.2-04 3.1.5.3-13");
        assert!(about.shown().eq(["2.2.2-19", "3.1.5.6-14", "2.2-04", "3.1.5.3-13"]));
        assert!(about.broken(Acceptor).eq(["2.2.2-19", "3.1.5.3-13"]));
        assert_eq!((About("").shown().count(), about.not_done().count()), (0, 0));
    }

    #[test]
    fn what_may_be_done_cannot_be_broken() {
        let permitted: Vec<_> = DUTIES.keys().filter(|id| is_permitted(id)).collect();
        assert_eq!(permitted.len(), 12, "{permitted:?}");
        for id in permitted {
            let about = About(id);
            let broken = [Acceptor, Initiator].map(|side| about.broken(side).count());
            assert_eq!((broken, about.shown().count()), ([0, 0], 1), "{id}");
            assert!(about.not_done().eq([id.as_str()]), "{id}");
        }
    }

    #[test]
    fn nobody_breaks_the_duty_of_the_other_side() {
        let about = About("2.2.1-12 2.2.2-18 2.2-04");
        assert!(about.broken(Acceptor).eq(["2.2.2-18", "2.2-04"]));
        assert!(about.broken(Initiator).eq(["2.2.1-12", "2.2-04"]));
    }
}
