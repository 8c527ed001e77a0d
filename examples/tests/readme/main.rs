//! What docs/embedding/layers.md and the front page of smbd-core show is the example `echo`; as a doctest it runs.

const PAGE: &str = include_str!("../../../docs/embedding/layers.md");
const FRONT_PAGE: &str = include_str!("../../../smbd-core/src/lib.rs");

/// The example without its first line.
fn echo() -> &'static str {
    let (_, code) = include_str!("../../examples/echo.rs").split_once("\n\n").expect("a line on what it is");
    code
}

#[test]
fn the_code_on_the_page_of_layers_is_the_example() {
    let blocks: Vec<_> =
        PAGE.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks, [echo()]);
}

#[test]
fn the_code_on_the_front_page_is_the_example() {
    let page = FRONT_PAGE.lines().map_while(|line| line.strip_prefix("//!"));
    let page: Vec<_> = page.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let page = page.join("\n");
    let (_, rest) = page.split_once("```\n").expect("a block");
    assert_eq!(rest.split("```").next(), Some(echo()));
}
