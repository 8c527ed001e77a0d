//! What is installed is a library that programs find and run with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder with the libraries for C that belong to this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let has_both = |folder: &&Path| {
        ["so", "a"].iter().all(|end| folder.join(format!("libsmbd_broker_c.{end}")).is_file())
    };
    test.ancestors().skip(1).take(2).find(has_both).unwrap().to_owned()
}

#[test]
fn a_program_is_built_with_what_is_installed_and_runs_with_it() {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let (root, place) =
        (Path::new(env!("CARGO_MANIFEST_DIR")), Path::new(env!("CARGO_TARGET_TMPDIR")).join("install"));
    let _ = fs::remove_dir_all(&place);
    let made = Command::new("make")
        .arg("-C")
        .arg(root)
        .args(["install", "PREFIX=/usr"])
        .arg(format!("LIBRARIES={}", libraries().display()))
        .arg(format!("DESTDIR={}", place.display()))
        .output()
        .unwrap_or_else(|error| panic!("make cannot be run ({error}): `./test packages` installs it"));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let installed = place.join("usr");
    for file in ["lib/libsmbd-broker.a", "lib/pkgconfig/smbd-broker.pc", "share/man/man3/libsmbd-broker.3"] {
        assert!(installed.join(file).is_file(), "{file}");
    }
    let (source, program) = (place.join("program.c"), place.join("program"));
    let text = "#include <smbd-broker.h>\nint main(void) { return smbd_broker_close(-1) < 0 ? 7 : 1; }\n";
    fs::write(&source, text).unwrap();
    let built = Command::new(&compiler)
        .arg(&source)
        .arg(format!("-I{}", installed.join("include").display()))
        .arg(format!("-L{}", installed.join("lib").display()))
        .args(["-lsmbd-broker", "-o"])
        .arg(&program)
        .output()
        .unwrap_or_else(|error| panic!("{compiler} cannot be run ({error}): `./test packages` installs gcc"));
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let status = Command::new(program).env("LD_LIBRARY_PATH", installed.join("lib")).status().unwrap();
    assert_eq!(status.code(), Some(7));
}
