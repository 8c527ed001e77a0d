//! Every example is run, and does what it says.

#[path = "../examples/minimal.rs"]
mod minimal;

#[test]
fn the_minimal_embedding_says_hello_and_closes() {
    minimal::main().unwrap();
}
