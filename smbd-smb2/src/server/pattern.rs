//! Which names a directory query wants (MS-FSCC 2.1.4).

use alloc::string::String;
use alloc::vec::Vec;

use crate::security::capital;
use crate::wire::Text;

/// The most characters of a pattern; what is behind them is left out.
const PATTERN_MAX: usize = 512;

/// A pattern of names: `*` and `?`, and `<`, `>` and `"`, which clients put in the place of those of DOS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<char>);

impl Pattern {
    /// An empty one is every name.
    pub(super) fn new(text: Text<'_>) -> Self {
        let pattern: String = text.chars().take(PATTERN_MAX).collect();
        Self(if pattern.is_empty() { alloc::vec!['*'] } else { capital(&pattern).chars().collect() })
    }

    /// Whether it is this name's, whatever their capitals. It takes time in proportion to both lengths, multiplied.
    pub(super) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = capital(name).chars().collect();
        let last_dot = name.iter().rposition(|c| *c == '.');
        // Which beginnings of the name are matched by the pattern so far.
        let mut matched: Vec<bool> = (0..=name.len()).map(|at| at == 0).collect();
        for c in &self.0 {
            matched = advance(*c, &matched, &name, last_dot);
        }
        matched.last().copied().unwrap_or(false)
    }
}

/// What is matched with one more character of the pattern.
fn advance(c: char, matched: &[bool], name: &[char], last_dot: Option<usize>) -> Vec<bool> {
    let mut next = Vec::with_capacity(matched.len());
    // Whether the run of a star reaches this far.
    let mut run = false;
    for (end, reached) in matched.iter().enumerate() {
        let before = end.checked_sub(1);
        let is_before = before.and_then(|at| matched.get(at)).copied().unwrap_or(false);
        let taken = before.and_then(|at| name.get(at)).copied();
        let is_end = end == name.len();
        next.push(match c {
            '*' => {
                run |= *reached;
                run
            }
            // DOS_STAR: up to the last dot, without it, or to the end of what follows it.
            '<' => {
                if before.is_some() && before == last_dot {
                    run = false;
                }
                run |= *reached;
                run
            }
            '?' => is_before && taken.is_some(),
            // DOS_QM: a character, or nothing in front of a dot and at the end.
            '>' => {
                (is_before && taken.is_some_and(|c| c != '.'))
                    || (*reached && (is_end || name.get(end) == Some(&'.')))
            }
            // DOS_DOT: a dot, or nothing at the end.
            '"' => (is_before && taken == Some('.')) || (*reached && is_end),
            c => is_before && taken == Some(c),
        });
    }
    next
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Pattern::new(Text::from(pattern)).matches(name)
    }

    #[test]
    fn stars_and_question_marks_match_as_everywhere() {
        for (pattern, name, expected) in [
            ("*", "anything.txt", true),
            ("", "anything.txt", true),
            ("*.txt", "a.TXT", true),
            ("*.txt", "a.txt.bak", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("Name", "nAME", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn the_wildcards_of_dos_match_what_they_did_there() {
        for (pattern, name, expected) in [
            // *.txt and *.* of DOS.
            ("<.txt", "a.b.txt", true),
            ("<.txt", "a.txt.bak", false),
            ("<\"*", "file", true),
            ("<\"*", "file.c", true),
            (">>>\"txt", "ab.txt", true),
            (">>>\"txt", "abcd.txt", false),
            ("ab\"", "ab", true),
            ("ab\"", "ab.", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_of_stars_takes_no_more_time_than_any_other() {
        assert!(!matches(&"*a".repeat(200), &"a".repeat(199)));
    }

    /// By recursion, without the wildcards of DOS.
    fn slow(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (None, Some(_)) => false,
            (Some(('*', rest)), None) => slow(rest, name),
            (Some(('*', rest)), Some((_, behind))) => slow(rest, name) || slow(pattern, behind),
            (Some(_), None) => false,
            (Some((c, rest)), Some((first, behind))) => (*c == '?' || c == first) && slow(rest, behind),
        }
    }

    proptest! {
        #[test]
        fn a_pattern_matches_what_it_matches_by_definition(pattern in "[AB.*?]{0,8}", name in "[AB.]{0,10}") {
            prop_assume!(!pattern.is_empty());
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &name), slow(&chars(&pattern), &chars(&name)));
        }
    }
}
