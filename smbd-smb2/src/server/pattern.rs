//! Which names a directory query wants (MS-FSCC 2.1.4, MS-FSA 2.1.4.4).

use alloc::collections::BTreeMap;
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
        let mut pattern: Vec<char> =
            if pattern.is_empty() { alloc::vec!['*'] } else { capital(&pattern).chars().collect() };
        // A star behind a star adds no name.
        pattern.dedup_by(|next, last| *next == '*' && *last == '*');
        Self(pattern)
    }

    /// Whether the pattern matches this name, whatever the capitals of both. Each character of the pattern takes one step of a few
    /// instructions for each 64 characters of the name.
    pub(super) fn matches(&self, name: &str) -> bool {
        if self.0 == ['*'] {
            return true;
        }
        let name = Name::new(name);
        // Which beginnings of the name are matched by the pattern so far.
        let mut matched = Set::new(name.len);
        matched.insert(0);
        for c in &self.0 {
            name.advance(*c, &mut matched);
            if matched.is_empty() {
                return false;
            }
        }
        matched.contains(name.len)
    }
}

/// A name, by the places of its characters. Place `n` is in front of the character `n`, and the last place is the end.
struct Name {
    len: usize,
    places: BTreeMap<char, Set>,
    last_dot: Option<usize>,
    none: Set,
}

impl Name {
    fn new(name: &str) -> Self {
        let chars: Vec<char> = capital(name).chars().collect();
        let (len, last_dot) = (chars.len(), chars.iter().rposition(|c| *c == '.'));
        let mut places: BTreeMap<char, Set> = BTreeMap::new();
        for (at, c) in chars.iter().enumerate() {
            places.entry(*c).or_insert_with(|| Set::new(len)).insert(at);
        }
        Self { len, places, last_dot, none: Set::new(len) }
    }

    fn of(&self, c: char) -> &Set {
        self.places.get(&c).unwrap_or(&self.none)
    }

    /// What is matched with one more character of the pattern.
    fn advance(&self, c: char, matched: &mut Set) {
        match c {
            '*' => matched.fill(self.len, None),
            // DOS_STAR: up to the last dot, without it, or to the end of what follows it.
            '<' => matched.fill(self.len, self.last_dot),
            '?' => matched.step(self.len),
            // DOS_QM: a character, or nothing in front of a dot and at the end.
            '>' => {
                let mut stays = matched.clone();
                stays.retain(self.of('.'));
                let ends = matched.contains(self.len);
                matched.remove(self.of('.'));
                matched.step(self.len);
                matched.add(&stays);
                if ends {
                    matched.insert(self.len);
                }
            }
            // DOS_DOT: a dot, or nothing at the end.
            '"' => {
                let ends = matched.contains(self.len);
                matched.retain(self.of('.'));
                matched.step(self.len);
                if ends {
                    matched.insert(self.len);
                }
            }
            c => {
                matched.retain(self.of(c));
                matched.step(self.len);
            }
        }
    }
}

/// Places of a name, 64 in a word.
#[derive(Clone)]
struct Set(Vec<u64>);

impl Set {
    /// None of the places up to `last`.
    fn new(last: usize) -> Self {
        Self(alloc::vec![0; (last >> 6).saturating_add(1)])
    }

    const fn bit(at: usize) -> u64 {
        1 << (at & 63)
    }

    fn insert(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at >> 6) {
            *word |= Self::bit(at);
        }
    }

    fn contains(&self, at: usize) -> bool {
        self.0.get(at >> 6).is_some_and(|word| word & Self::bit(at) != 0)
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn retain(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }

    fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    /// Forgets places behind `last`.
    fn trim(&mut self, last: usize) {
        if let Some(word) = self.0.get_mut(last >> 6) {
            *word &= up_to(last);
        }
    }

    /// Each place becomes the next; the last goes.
    fn step(&mut self, last: usize) {
        let mut carry = 0;
        for word in &mut self.0 {
            (*word, carry) = ((*word << 1) | carry, *word >> 63);
        }
        self.trim(last);
    }

    /// From each place on all places behind it, but from none up to `barrier` to one behind it.
    fn fill(&mut self, last: usize, barrier: Option<usize>) {
        let mut run = false;
        for (at, word) in self.0.iter_mut().enumerate() {
            if let Some(barrier) = barrier.filter(|barrier| barrier >> 6 == at) {
                let low = up_to(barrier);
                let behind = filled(*word & !low, false);
                *word = (filled(*word & low, run) & low) | behind;
                run = behind != 0;
            } else {
                *word = filled(*word, run);
                run = *word != 0;
            }
        }
        self.trim(last);
    }
}

/// The bits of a word up to that of a place, with it.
fn up_to(place: usize) -> u64 {
    let behind = u32::try_from(63_usize.saturating_sub(place & 63)).unwrap_or(0);
    u64::MAX.checked_shr(behind).unwrap_or(0)
}

/// All from the lowest on; all of them, if a run reaches into the word.
const fn filled(word: u64, run: bool) -> u64 {
    if run { u64::MAX } else { word | word.wrapping_neg() }
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

    /// Place by place, in time that grows with both lengths.
    fn by_places(pattern: &[char], name: &[char]) -> bool {
        let last_dot = name.iter().rposition(|c| *c == '.');
        let mut matched: Vec<bool> = (0..=name.len()).map(|at| at == 0).collect();
        for c in pattern {
            matched = advance(*c, &matched, name, last_dot);
        }
        matched.last().copied().unwrap_or(false)
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
        fn a_set_of_places_matches_what_they_match_one_by_one(
            pattern in "[AB.*?<>\"]{1,10}",
            name in prop_oneof!["[AB.]{0,10}", "[AB.]{60,70}", "[AB.]{120,255}"],
        ) {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &name), by_places(&chars(&pattern), &chars(&name)));
        }

        #[test]
        fn a_pattern_matches_what_it_matches_by_definition(pattern in "[AB.*?]{0,8}", name in "[AB.]{0,10}") {
            prop_assume!(!pattern.is_empty());
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(matches(&pattern, &name), slow(&chars(&pattern), &chars(&name)));
        }
    }
}
