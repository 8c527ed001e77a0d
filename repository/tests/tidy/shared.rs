//! What threads share: an engine and all that it has belong to one thread, so that two of them are twice as fast as one.
//!
//! The rule: whatever several threads may write has a line above it that begins with `// Shared: ` and says when it is locked or written,
//! and so why no message between an engine and its device waits for it. The core shares nothing at all.

use std::path::Path;

use super::sources;
use crate::tokens::tokens;

/// Words of what several threads may write: locks, and values that are written through a shared reference.
const SHARED: [&str; 8] =
    ["Mutex", "RwLock", "Condvar", "OnceLock", "LazyLock", "UnsafeCell", "thread_local", "LocalKey"];
/// What the line above says.
const REASON: &str = "// Shared: ";
/// The code on the way of a message, from the protocol to the device and to what drives both.
const ON_THE_WAY: [&str; 5] =
    ["smbd-core/src", "smbd-link/src", "smbd-verbs/src", "smbd-client/src/drive", "smbd-gateway/src/pump"];

fn is_shared(token: &str) -> bool {
    SHARED.contains(&token) || token.starts_with("Atomic") && token.len() > "Atomic".len()
}

/// Whether a line declares something that is shared. Where a value is made its type is followed by `::`, and where one is borrowed it is
/// declared elsewhere.
fn declares(line: &str) -> bool {
    let tokens = tokens(line);
    let is_declared = |at: usize| {
        let is_borrowed = at > 0 && ["&", "mut"].contains(&tokens[at - 1]);
        is_shared(tokens[at]) && tokens.get(at + 1) != Some(&"::") && !is_borrowed
    };
    !tokens.contains(&"fn") && (0..tokens.len()).any(is_declared)
}

/// Lines of a file that declare something shared and have no reason above them, beside the attributes and the documentation.
fn without_reason(text: &str) -> Vec<&str> {
    let (text, _) = text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((text, ""));
    let mut found = Vec::new();
    let (mut has_reason, mut is_use) = (false, false);
    for line in text.lines().map(str::trim) {
        is_use |= line.starts_with("use ") || line.starts_with("pub use ");
        if !is_use && declares(line) && !has_reason {
            found.push(line);
        }
        let stays = line.starts_with("//") || line.starts_with("#[");
        has_reason =
            line.strip_prefix(REASON).is_some_and(|reason| reason.ends_with('.')) || has_reason && stays;
        is_use &= !line.ends_with(';');
    }
    found
}

#[test]
fn whatever_threads_share_says_why_no_message_waits_for_it() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut files, mut unsaid) = (0, Vec::new());
    for folder in ON_THE_WAY {
        for (file, text) in sources(&workspace.join(folder)) {
            files += 1;
            unsaid.extend(
                without_reason(&text).iter().map(|line| format!("{folder}/{}: {line}", file.display())),
            );
            let shares = text.lines().any(|line| line.trim().starts_with(REASON));
            assert!(!shares || folder != "smbd-core/src", "{}: the core shares nothing", file.display());
        }
    }
    assert!(files > 150, "{files}");
    assert!(unsaid.is_empty(), "shared, and nothing says why:\n{}", unsaid.join("\n"));
}

#[test]
fn what_is_shared_is_found_wherever_it_is_declared_and_a_reason_is_a_sentence() {
    for shared in [
        "struct Bell {\n    has_rung: AtomicBool,\n}",
        "pub(super) struct Shared(Mutex<State>);",
        "static KEPT: Mutex<Vec<u8>> = Mutex::new(Vec::new());",
        "thread_local! {\n    static TAKEN: Cell<u8> = const { Cell::new(0) };\n}",
        "struct A {\n    /// All.\n    all: Arc<RwLock<u8>>,\n}",
        "// Shared: \nstruct A(Mutex<u8>);",
        "// Shared: locked when it ends.\nstruct A(Mutex<u8>);\nstruct B(Mutex<u8>);",
        "use std::sync::{\n    Arc,\n    Mutex,\n};\ntype Place = Arc<Mutex<u8>>;",
    ] {
        assert_eq!(without_reason(shared).len(), 1, "{shared}");
    }
    for other in [
        "use std::sync::{Arc, Mutex};",
        "pub use std::sync::{\n    Arc,\n    Mutex,\n};",
        "fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {",
        "let bell = Bell { task: Mutex::default() };",
        "    listing: &Mutex<Listing>,",
        "// A Mutex.",
        "// Shared: locked when it ends.\n#[derive(Debug)]\n/// One.\nstruct A(Mutex<u8>);",
        "#[cfg(test)]\nmod tests {\n    struct Count(AtomicUsize);\n}",
    ] {
        assert_eq!(without_reason(other), [""; 0], "{other}");
    }
}
