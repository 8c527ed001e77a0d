//! What README.md shows is code.

#[expect(dead_code, reason = "it is compiled; a backend that runs it is in the example `minimal`")]
mod run_loop;

#[test]
fn the_run_loop_in_the_readme_is_the_one_compiled_here() {
    let readme = include_str!("../../../README.md");
    let blocks: Vec<_> =
        readme.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks, [include_str!("run_loop.rs")]);
}
