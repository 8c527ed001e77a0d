//! Units of systemd that come with programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All units: those in a folder `systemd` of a package.
fn units() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let packages = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path().join("systemd"));
    let units = packages.filter(|folder| folder.is_dir()).flat_map(|folder| fs::read_dir(folder).unwrap());
    units.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn systemd_finds_no_fault_in_any_unit() {
    let folder = std::env::temp_dir().join(format!("smbd-units-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut written = Vec::new();
    for unit in units() {
        let name = unit.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&unit).unwrap();
        // Systemd looks whether the program is there: here it need not be installed.
        let program = format!("/usr/local/bin/{name} ");
        assert!(text.contains(&program), "{} starts no {program}", unit.display());
        let path = folder.join(unit.file_name().unwrap());
        fs::write(&path, text.replace(&program, "/bin/true ")).unwrap();
        written.push(path);
    }
    for name in ["smbd-broker.service", "smbd-gateway.service", "smbd-serve.service"] {
        assert!(written.iter().any(|path| path.ends_with(name)), "{name} is missing: {written:?}");
    }
    let verified = Command::new("systemd-analyze").args(["verify", "--man=no"]).args(&written).output();
    fs::remove_dir_all(folder).unwrap();
    let output = verified.unwrap_or_else(|error| {
        panic!("systemd-analyze cannot be run ({error}): `./test packages` installs it")
    });
    // Unknown keys are told, and no failure.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}
