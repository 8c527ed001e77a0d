//! The lines of `smb.conf` as Samba joins them.

/// A line without what is around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Of the file's lines the one on which it begins, from 1 on.
    pub(super) number: u32,
    pub(super) text: String,
}

/// What C's `isspace` calls white space.
pub(super) const fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{b}'
}

/// All lines but empty ones and comments. One that ends with a backslash goes on in the next, which is no comment then, whatever it
/// begins with. White space in a row is one of them.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    let mut open: Option<Line> = None;
    for (number, physical) in (1_u32..).zip(text.split_inclusive('\n')) {
        let (physical, has_end) = physical.strip_suffix('\n').map_or((physical, false), |line| (line, true));
        let mut line = match open.take() {
            Some(line) => line,
            None if physical.trim_start_matches(is_space).is_empty() => continue,
            None if physical.trim_start_matches(is_space).starts_with(['#', ';']) => continue,
            None => Line { number, text: String::new() },
        };
        let is_first = line.text.is_empty() && line.number == number;
        let physical = if is_first { physical.trim_start_matches(is_space) } else { physical };
        for c in physical.chars() {
            if !(is_space(c) && line.text.ends_with(is_space)) {
                line.text.push(c);
            }
        }
        if has_end && goes_on(&mut line.text) {
            open = Some(line);
        } else {
            found.push(line);
        }
    }
    found.extend(open);
    found
}

/// Whether the line goes on in the next one: takes the backslash away.
fn goes_on(line: &mut String) -> bool {
    let text = line.as_str();
    let len = text.strip_suffix(is_space).unwrap_or(text).strip_suffix('\\').map(str::len);
    if let Some(len) = len {
        line.truncate(len);
    }
    len.is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(text: &str) -> Vec<(u32, String)> {
        lines(text).into_iter().map(|line| (line.number, line.text)).collect()
    }

    #[test]
    fn lines_are_joined_as_samba_joins_them() {
        for (text, expected) in [
            ("a = b\nc = d", &[(1, "a = b"), (2, "c = d")][..]),
            ("# a\n  ; b\n\n \t\nc = d\n", &[(5, "c = d")]),
            ("a = b \\\n  c\nd = e", &[(1, "a = b c"), (3, "d = e")]),
            ("a = b\\ \r\n  c\n", &[(1, "a = b c")]),
            // What goes on is no comment, and a comment does not go on.
            ("a = b\\\n# c\n# d\\\ne = f", &[(1, "a = b# c"), (4, "e = f")]),
            ("a   b \t=  c", &[(1, "a b = c")]),
            ("a = b\\", &[(1, "a = b\\")]),
            ("a = \\\n", &[(1, "a = ")]),
            ("", &[]),
        ] {
            let expected: Vec<_> =
                expected.iter().map(|(number, text)| (*number, (*text).to_owned())).collect();
            assert_eq!(joined(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_line_has_an_end_of_line_and_each_begins_where_it_says(text in "([a-z#;=\\\\ \t\r]{0,6}\n?){0,12}") {
            let physical: Vec<&str> = text.split('\n').collect();
            for line in lines(&text) {
                prop_assert!(!line.text.contains('\n'));
                let first = physical[line.number as usize - 1].trim_start_matches(is_space);
                prop_assert!(!first.is_empty() && !first.starts_with(['#', ';']), "{line:?}");
            }
        }
    }
}
