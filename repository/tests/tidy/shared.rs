//! What threads share: an engine and all that it has belong to one thread, so that two of them are twice as fast as one.

use std::path::Path;

use super::sources;
use crate::tokens::tokens;

/// Words of what several threads may write: locks, and values that are written through a shared reference.
const SHARED: [&str; 8] =
    ["Mutex", "RwLock", "Condvar", "OnceLock", "LazyLock", "UnsafeCell", "thread_local", "LocalKey"];

/// Files that have one, and what for. None of them is on the way of a message between an engine and its device.
const KNOWN: [(&str, &str); 11] = [
    ("smbd-link/src/handles/shared.rs", "what handles of async calls tell their driver"),
    (
        "smbd-link/src/link/alarm.rs",
        "which task the device wakes: locked when it has something, not for a message",
    ),
    ("smbd-link/src/transport/memory.rs", "memory on the heap, for transports that copy"),
    ("smbd-verbs/src/connection/call.rs", "a call that connects, on a thread of its own"),
    ("smbd-verbs/src/engine/reaper.rs", "ends that are over, on threads that destroy them"),
    ("smbd-verbs/src/ffi/buffer.rs", "copies to and from a buffer of the upper layer; its number"),
    ("smbd-verbs/src/ffi/cm.rs", "calls of the connection manager"),
    ("smbd-verbs/src/ffi/device.rs", "devices that were opened"),
    ("smbd-verbs/src/ffi/mod.rs", "how a lock is taken"),
    ("smbd-verbs/src/ffi/window.rs", "a memory window, whose region a bind keeps"),
    ("smbd-verbs/src/permit.rs", "limits of a listener, when a connection comes and when it is gone"),
];

fn is_shared(token: &str) -> bool {
    SHARED.contains(&token) || token.starts_with("Atomic") && token.len() > "Atomic".len()
}

#[test]
fn nothing_on_the_way_of_a_message_is_shared_by_threads() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for package in ["smbd-core/src", "smbd-link/src", "smbd-verbs/src"] {
        for (file, text) in sources(&workspace.join(package)) {
            let name = format!("{package}/{}", file.display());
            let is_for_tests = ["fake.rs", "scripted.rs"].iter().any(|end| name.ends_with(end));
            if !is_for_tests && tokens(&text).into_iter().any(is_shared) {
                found.push(name);
            }
        }
    }
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), KNOWN.map(|(file, _)| file));
}
