//! The unit of systemd that comes with the program.

use std::path::Path;
use std::process::Command;

/// The unit, with the program that was built in place of an installed one.
fn unit() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("systemd/smbd-gateway.service");
    let text = std::fs::read_to_string(path).expect("the unit is there");
    text.replace("/usr/local/bin/smbd-gateway", env!("CARGO_BIN_EXE_smbd-gateway"))
}

/// Lines that give a setting a value.
fn values<'t>(unit: &'t str, name: &str) -> Vec<&'t str> {
    unit.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('=')).collect()
}

#[test]
fn systemd_finds_no_fault_in_the_unit() {
    let folder = std::env::temp_dir().join(format!("smbd-gateway-unit-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder is made");
    let path = folder.join("smbd-gateway.service");
    std::fs::write(&path, unit()).expect("the unit is written");
    let verified = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output();
    std::fs::remove_dir_all(folder).expect("the folder is there");
    let Ok(output) = verified else {
        println!("systemd_finds_no_fault_in_the_unit skipped: there is no systemd-analyze");
        return;
    };
    // Unknown keys are told, and no failure.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}

#[test]
fn the_unit_waits_until_the_gateway_is_ready_and_gives_it_one_capability() {
    let unit = unit();
    assert_eq!(values(&unit, "Type"), ["notify"]);
    assert_eq!(values(&unit, "AmbientCapabilities"), ["CAP_NET_BIND_SERVICE"]);
    assert_eq!(values(&unit, "CapabilityBoundingSet"), ["CAP_NET_BIND_SERVICE"]);
    assert_eq!(values(&unit, "DeviceAllow"), ["/dev/infiniband/rdma_cm rw", "char-infiniband_verbs rw"]);
    assert_eq!(values(&unit, "RuntimeDirectory"), ["smbd-gateway"]);
}
