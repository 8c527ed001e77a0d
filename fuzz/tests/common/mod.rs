//! Seeds as they are kept in the corpora.

use std::path::Path;
use std::{env, fs};

/// Compares seeds with the files of these names in `fuzz/corpus`, after writing them if UPDATE_SEEDS is set.
pub fn kept(seeds: impl IntoIterator<Item = (String, Vec<u8>)>) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, bytes) in seeds {
        let path = corpus.join(&name);
        if env::var_os("UPDATE_SEEDS").is_some() {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, &bytes).expect("a file");
        }
        let kept =
            fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}; UPDATE_SEEDS=1 writes it"));
        assert!(kept == bytes, "{name} is another now: UPDATE_SEEDS=1 writes all of them");
    }
}
