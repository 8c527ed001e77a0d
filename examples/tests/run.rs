//! Every example is run, and does what it says.

use clap::Parser;

#[path = "../examples/minimal.rs"]
mod minimal;
#[expect(dead_code, reason = "main parses the arguments of the test program")]
#[path = "../examples/rdma.rs"]
mod rdma;

#[test]
fn the_minimal_embedding_says_hello_and_closes() {
    minimal::main().unwrap();
}

#[test]
fn a_text_comes_back_in_capitals_by_rdma_whatever_its_length_and_the_device() {
    for bytes in ["1", "16384", "16385", "1048576"] {
        for arguments in [vec!["rdma", "--bytes", bytes], vec!["rdma", "--bytes", bytes, "--iwarp"]] {
            let options = rdma::Options::parse_from(&arguments);
            rdma::run(&options).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
        }
    }
}
