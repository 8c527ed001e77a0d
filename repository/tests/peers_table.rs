//! What docs/peers.md says about models is about the models there are.

use smbd_sim::peers::Kind;

const DOCUMENT: &str = include_str!("../../docs/peers.md");

#[test]
fn every_model_is_described_and_has_its_row_of_figures_without_a_failure() {
    let figures = DOCUMENT.split("## Figures").nth(1).expect("a section with figures");
    for kind in Kind::ALL {
        let name = format!("`{}`", kind.name());
        assert!(DOCUMENT.matches(&name).count() > 1, "{name} is not described in docs/peers.md");
        let row = figures.lines().find(|line| line.starts_with(&format!("| {name} |")));
        let row = row.unwrap_or_else(|| panic!("{name} has no figures in docs/peers.md"));
        assert!(row.ends_with("| 0 |"), "{row}");
    }
}
