//! What docs/search.md says was counted, is what is counted.

use smbd_sim::search::{Limits, Size, all, search, table};

const DOCUMENT: &str = include_str!("../../docs/search.md");

#[test]
fn the_table_of_the_documentation_is_that_of_the_program() {
    let small = all().into_iter().filter(|setup| setup.size == Size::Small);
    let reports: Vec<_> = small.map(|setup| search(&setup, &Limits::default(), &mut |_| true)).collect();
    for row in table(&reports).lines() {
        assert!(DOCUMENT.lines().any(|line| line == row), "not in docs/search.md:\n{row}");
    }
}

#[test]
fn every_configuration_is_in_the_documentation() {
    for setup in all() {
        assert!(DOCUMENT.contains(&format!("`{}`", setup.name)), "{} is not in docs/search.md", setup.name);
        let row = format!("| `{}` | {} |", setup.name, setup.about);
        assert!(setup.size == Size::Huge || DOCUMENT.contains(&row), "not in docs/search.md: {row}");
    }
}
