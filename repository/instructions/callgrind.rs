//! The program under callgrind.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

use super::{Failure, Operation, Part, RUN, profile};

/// What is nobody's code: see [`super`].
const APART: &str = "scenes::hardware::";

/// Instructions spent inside the measured entry points while a scene plays, but for those of the device.
pub(super) fn collect(operation: &Operation, count: u32) -> Result<u64, Failure> {
    let folder = env::temp_dir().join(format!("smbd-bench.{}", process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let collected = play(operation, count, &folder);
    // It was read, or there is none.
    let _ = fs::remove_dir_all(&folder);
    collected.and_then(|text| {
        let apart = profile::inside(&text, APART);
        profile::total(&text)
            .filter(|total| *total > 0)
            .map(|total| total.saturating_sub(apart))
            .ok_or_else(|| format!("{}: callgrind collected nothing; are symbols stripped?", operation.name))
    })
}

/// Plays a scene; the profile that counts.
fn play(operation: &Operation, count: u32, folder: &Path) -> Result<String, Failure> {
    let program = env::current_exe().map_err(|error| format!("own program: {error}"))?;
    let profile = folder.join("profile");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--toggle-collect=*scenes::measured::*"]);
    command.arg(format!("--callgrind-out-file={}", profile.display()));
    if let Some(Part { from, to }) = operation.part {
        command.args([format!("--zero-before={from}"), format!("--dump-before={to}")]);
    }
    let scene = format!("{} {count}", operation.name);
    let output = command.arg(program).env(RUN, scene).output().map_err(|error| {
        format!("valgrind cannot be run ({error}): it counts the instructions, please install it")
    })?;
    if !output.status.success() {
        let log = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} failed under valgrind ({}):\n{log}", operation.name, output.status));
    }
    match operation.part {
        None => read(&profile),
        Some(_) => last_part(&profile),
    }
}

/// Of the profiles that were written on the way, the last in which something was collected.
fn last_part(profile: &Path) -> Result<String, Failure> {
    let nth = |number: u32| PathBuf::from(format!("{}.{number}", profile.display()));
    let written: Vec<_> = (1..).map(nth).take_while(|path| path.exists()).collect();
    let is_empty =
        |text: &Result<String, Failure>| text.as_deref().is_ok_and(|text| profile::total(text) == Some(0));
    written.iter().rev().map(|path| read(path)).find(|text| !is_empty(text)).unwrap_or(Ok(String::new()))
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
