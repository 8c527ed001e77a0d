//! The header is what the code says.

use std::path::{Path, PathBuf};

/// The header that cbindgen makes of the code.
fn made() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let sources = ["types.rs", "api/owner.rs", "api/connection.rs", "api/slots.rs"];
    let builder = cbindgen::Builder::new().with_config(config);
    let builder =
        sources.iter().fold(builder, |builder, source| builder.with_src(root.join("src").join(source)));
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn the_header_that_is_committed_is_that_of_the_code() {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/smbd-broker.h");
    let made = made();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(made == committed, "make it again: UPDATE_HEADER=1 cargo test -p smbd-broker-c --test header");
}
