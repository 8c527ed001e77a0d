//! Playing files again.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fmt, fs, io};

/// Whether what happens is printed: when files are played by hand.
static TRACE: AtomicBool = AtomicBool::new(false);

/// Prints what happens, if somebody is looking.
pub fn trace(what: fmt::Arguments<'_>) {
    if is_traced() {
        eprintln!("  {what}");
    }
}

/// Whether somebody is looking.
#[must_use]
pub fn is_traced() -> bool {
    TRACE.load(Ordering::Relaxed)
}

/// The files below a path, in order of their names; the path itself if it is one.
///
/// # Errors
/// There is nothing, or it cannot be read.
pub fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    found.sort();
    Ok(found)
}

/// Plays the files that are named on the command line. A find panics.
#[must_use]
pub fn main(name: &str, body: fn(&[u8])) -> ExitCode {
    let named: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    if named.is_empty() || named.iter().any(|path| path.as_os_str() == "--help") {
        println!(
            "usage: fuzz-{name} FILE|FOLDER ...\n\nPlays inputs of the fuzz target `{name}` again; panics where one finds something."
        );
        println!("To fuzz: fuzz/run {name}");
        return if named.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    TRACE.store(true, Ordering::Relaxed);
    match play(&named, body) {
        Ok(played) => {
            println!("{name}: {played} inputs, nothing found");
            ExitCode::SUCCESS
        }
        Err((path, error)) => {
            eprintln!("fuzz-{name}: {}: {error}", path.display());
            ExitCode::from(2)
        }
    }
}

fn play(named: &[PathBuf], body: fn(&[u8])) -> Result<usize, (PathBuf, io::Error)> {
    let mut played = 0;
    for path in named {
        for file in files(path).map_err(|error| (path.clone(), error))? {
            let bytes = fs::read(&file).map_err(|error| (file.clone(), error))?;
            eprintln!("{}", file.display());
            body(&bytes);
            played += 1;
        }
    }
    Ok(played)
}
