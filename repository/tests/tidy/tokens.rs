//! Rust as far as imports need it: names, `::` and single signs, without comments and literals.

/// The tokens of a text. Test modules inside of it are left out.
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    without_tests(&all(text))
}

fn all(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => comment_len(rest),
            '"' => string_len(rest),
            '\'' => quote_len(rest),
            'r' | 'b' | 'c' if literal_len(rest) > 0 => literal_len(rest),
            _ if first.is_alphanumeric() || first == '_' => {
                let len = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                found.push(&rest[..len]);
                len
            }
            _ => {
                let len = if rest.starts_with("::") { 2 } else { first.len_utf8() };
                if !first.is_whitespace() {
                    found.push(&rest[..len]);
                }
                len
            }
        };
        rest = &rest[len..];
    }
    found
}

/// Comments nest.
fn comment_len(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn string_len(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let is_end = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// Of a character, or of the quote of a lifetime alone.
fn quote_len(text: &str) -> usize {
    let mut after = text.chars().skip(1);
    match (after.next(), after.next()) {
        (Some('\\'), _) => text[3..].find('\'').map_or(text.len(), |at| at + 4),
        (Some(c), Some('\'')) => 2 + c.len_utf8(),
        _ => 1,
    }
}

/// Of a literal with letters in front; 0 if it is none.
fn literal_len(text: &str) -> usize {
    let letters = text.len() - text.trim_start_matches(['r', 'b', 'c']).len();
    let (prefix, rest) = text.split_at(letters);
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    if !rest[hashes..].starts_with('"') {
        return 0;
    }
    if !prefix.contains('r') {
        return if hashes == 0 { letters + string_len(rest) } else { 0 };
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let body = letters + hashes + 1;
    text[body..].find(&end).map_or(text.len(), |at| body + at + end.len())
}

fn without_tests<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let behind = tokens.get(at + MARK.len()..).unwrap_or_default();
        if tokens[at..].starts_with(&MARK) && behind.first() == Some(&"mod") && behind.get(2) == Some(&"{") {
            let mut depth = 0;
            at += MARK.len();
            at +=
                behind.iter().position(|token| closes(token, &mut depth)).map_or(behind.len(), |end| end + 1);
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// Whether this is the brace that ends what the first one began.
fn closes(token: &str, depth: &mut usize) -> bool {
    match token {
        "{" => *depth += 1,
        "}" => *depth -= 1,
        _ => return false,
    }
    *depth == 0
}
