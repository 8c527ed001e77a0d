//! All tests.

use crate::case::{Case, Target};
use crate::{cifs, hostile, kit, ksmbd, ours, pair, samba};

/// Those against `target`, if given, whose names contain one of `filters`, if there are any.
pub(crate) fn cases(target: Option<Target>, filters: &[String]) -> Vec<Case> {
    let mut all = kit::CASES.to_vec();
    all.extend(ours::CASES);
    all.extend(ksmbd::cases());
    all.extend(cifs::cases());
    all.extend(pair::cases());
    all.extend(hostile::CASES);
    all.extend(samba::cases());
    let wanted = |case: &Case| {
        target.is_none_or(|target| case.target == target)
            && (filters.is_empty() || filters.iter().any(|filter| case.name.contains(filter.as_str())))
    };
    all.into_iter().filter(wanted).collect()
}
