//! The filters of docs/users/wireshark.md, on the captures of the repository.

use std::path::Path;
use std::process::Command;

const OPTIONS: [&str; 4] = ["-o", "tcp.try_heuristic_first:TRUE", "--disable-protocol", "rpcordma"];

/// Number of frames of a capture that a filter leaves.
fn frames(capture: &Path, filter: &str) -> usize {
    let output = Command::new("tshark").arg("-r").arg(capture).args(OPTIONS).args(["-Y", filter]).output();
    let output = output
        .unwrap_or_else(|error| panic!("tshark cannot be run ({error}): `./test packages` installs it"));
    assert!(output.status.success(), "{filter}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().count()
}

#[test]
fn each_filter_of_the_page_finds_frames_but_the_one_of_probes_of_which_there_are_none() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/users/wireshark.md")).unwrap();
    let captures = ["linux-6.12-roce-default.pcap", "linux-6.12-iwarp-default.pcap"];
    let captures = captures.map(|name| root.join("smbd-sim/tests/captures").join(name));
    let table = page.lines().skip_while(|line| *line != "| filter | shows |").skip(2);
    let mut filters = 0;
    for row in table.take_while(|line| line.starts_with('|')) {
        for filter in row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2) {
            let found: usize = captures.iter().map(|capture| frames(capture, filter)).sum();
            assert_eq!(found > 0, !filter.contains("response_requested"), "{filter}: {found} frames");
            filters += 1;
        }
    }
    assert_eq!(filters, 7);
}
