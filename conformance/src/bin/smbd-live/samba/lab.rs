//! Functions of the lab (`conformance/lab/lib.sh`): Samba is started and stopped as a script does it.

use std::process::Command;

use crate::case::{Failure, Skipped};

/// Calls a function of the lab; what it prints.
pub(super) fn call(function: &str, arguments: &[&str]) -> Result<String, Failure> {
    if std::env::var_os("LAB").is_none() {
        return Err(Skipped::because("this is no guest of the lab, which starts Samba"));
    }
    let output = Command::new("bash")
        .args(["-c", r#". "$LAB/lib.sh" && "$@""#, "lab", function])
        .args(arguments)
        .output()
        .map_err(|error| format!("bash: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{function} {}: {}: {said}", arguments.join(" "), output.status).into())
}

/// Runs a command as a script would; what it prints.
pub(super) fn shell(command: &str) -> Result<String, Failure> {
    call("eval", &[command])
}
