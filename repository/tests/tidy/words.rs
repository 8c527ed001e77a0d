//! One word for a thing, and the one that the field uses: those of MS-SMBD, verbs, tokio, Rust, or of the glossary in
//! ARCHITECTURE.md.

use std::fs;

use crate::files;

/// What is not said, and what is said instead. Whole words, in any case, also as parts of names with underscores.
const DENIED: [(&str, &str); 28] = [
    ("agenda", "event queue"),
    ("bury", "destroy"),
    ("correspondent", "scripted upper layer"),
    ("cutoff", "EngineError"),
    ("ear", "receive script"),
    ("errand", "scripted message"),
    ("errands", "script"),
    ("glance", "poll_events"),
    ("grave", "deferred destroy"),
    ("happening", "scheduled event"),
    ("in force", "valid"),
    ("keepalive question", "keepalive probe"),
    ("lend max", "borrowed_max"),
    ("lends", "hands out"),
    ("lent", "borrowed"),
    ("localmemory", "BufferLookup"),
    ("manners", "behaviour"),
    ("mouth", "transmit script"),
    ("nomemory", "UnknownBuffer"),
    ("office", "workload"),
    ("postedqueue", "WorkQueue"),
    ("postedqueues", "WorkQueues"),
    ("sign of life", "keepalive response"),
    ("signs of life", "keepalive responses"),
    ("stranger", "other"),
    ("the books", "the records, the work queues"),
    ("the letter", "literally, strict"),
    ("work books", "work queues"),
];

/// The words of `line`, in lower case, with one space between them and around.
fn words(line: &str) -> String {
    let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(" ".to_owned(), |text, word| text + &word.to_lowercase() + " ")
}

fn denied(line: &str) -> Option<(&'static str, &'static str)> {
    let words = words(line);
    DENIED.into_iter().find(|(word, _)| words.contains(&format!(" {word} ")))
}

#[test]
fn nothing_has_a_word_of_its_own_where_the_field_has_one() {
    let texts = files(&["rs", "md", "toml", "patch", "sh", "snap"]);
    assert!(texts.len() > 700, "{}", texts.len());
    let found: Vec<_> = texts
        .iter()
        .filter(|path| !path.ends_with("repository/tests/tidy/words.rs"))
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            let lines = text.lines().enumerate().filter_map(|(at, line)| {
                let (word, instead) = denied(line)?;
                Some(format!("{}:{}: '{word}'; say: {instead}", path.display(), at + 1))
            });
            lines.collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "{} places:\n{}", found.len(), found.join("\n"));
}

#[test]
fn whole_words_are_denied_in_any_case_and_parts_of_words_are_not() {
    assert_eq!(denied("/// A Sign of life.").map(|(word, _)| word), Some("sign of life"));
    assert_eq!(denied("let lent = 3;").map(|(word, _)| word), Some("lent"));
    assert_eq!(denied("fn is_in_force(&self)").map(|(word, _)| word), Some("in force"));
    assert_eq!(denied("silent, year, relented"), None);
}
