//! What somebody meant who wrote an unknown name.

/// The name that an error of serde names as expected and that is most like the unknown one; `None` if none is.
pub fn closest(error: &str) -> Option<String> {
    let mut names = error.split('`').skip(1).step_by(2);
    let unknown = names.next()?;
    let (distance, name) = names.map(|name| (distance(unknown, name), name)).min()?;
    (distance <= unknown.len().div_ceil(3)).then(|| name.to_owned())
}

/// How many characters have to be changed, added or removed (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (done, letter) in from.chars().enumerate() {
        let mut diagonal = done;
        let mut left = done.saturating_add(1);
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, other) in row.iter_mut().skip(1).zip(to.chars()) {
            let changed = diagonal.saturating_add(usize::from(letter != other));
            diagonal = *cell;
            left = changed.min(left.saturating_add(1)).min(diagonal.saturating_add(1));
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keys_finds_the_name_and_another_word_finds_none() {
        let error =
            |unknown: &str| format!("unknown field `{unknown}`, expected one of `server`, `allow`, `limits`");
        for (unknown, meant) in [("sever", Some("server")), ("alow", Some("allow")), ("colour", None)] {
            assert_eq!(closest(&error(unknown)).as_deref(), meant, "{unknown}");
        }
        assert_eq!(closest("invalid type: integer"), None);
    }

    #[test]
    fn distances_are_those_of_levenshtein() {
        for (from, to, steps) in
            [("", "abc", 3), ("kitten", "sitting", 3), ("same", "same", 0), ("ab", "ba", 2)]
        {
            assert_eq!(distance(from, to), steps, "{from} {to}");
        }
    }
}
