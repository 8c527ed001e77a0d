//! All targets over their corpora, and the canary.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::{fs, io};

use smbd_fuzz::replay::files;
use smbd_fuzz::targets;

fn corpus(name: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    files(&folder)?.into_iter().map(|path| Ok((path.display().to_string(), fs::read(path)?))).collect()
}

#[test]
fn nothing_is_found_in_any_corpus() {
    for (name, body) in targets::ALL {
        let inputs = corpus(name).unwrap_or_else(|error| panic!("corpus/{name}: {error}"));
        assert!(!inputs.is_empty(), "{name} has no corpus");
        for (path, bytes) in inputs {
            let played = catch_unwind(AssertUnwindSafe(|| body(&bytes)));
            assert!(played.is_ok(), "{name} finds something in {path}");
        }
    }
}

#[test]
fn the_canary_dies() {
    let inputs = corpus("canary").expect("there is a corpus");
    assert!(!inputs.is_empty());
    for (path, bytes) in inputs {
        // What kills the canary is no find of the honest target.
        targets::connection(&bytes);
        let died = catch_unwind(AssertUnwindSafe(|| targets::canary(&bytes)));
        assert!(died.is_err(), "the canary survives {path}");
    }
}
