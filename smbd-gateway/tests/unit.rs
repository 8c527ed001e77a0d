//! The unit of systemd that comes with the program.

/// The unit.
const UNIT: &str = include_str!("../systemd/smbd-gateway.service");

/// Lines that give a setting a value.
fn values(name: &str) -> Vec<&'static str> {
    UNIT.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('=')).collect()
}

#[test]
fn the_unit_waits_until_the_gateway_is_ready_and_gives_it_one_capability() {
    assert_eq!(values("Type"), ["notify"]);
    assert_eq!(values("AmbientCapabilities"), ["CAP_NET_BIND_SERVICE"]);
    assert_eq!(values("CapabilityBoundingSet"), ["CAP_NET_BIND_SERVICE"]);
    assert_eq!(values("DeviceAllow"), ["/dev/infiniband/rdma_cm rw", "char-infiniband_verbs rw"]);
    assert_eq!(values("RuntimeDirectory"), ["smbd-gateway"]);
}
