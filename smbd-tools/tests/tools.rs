//! The command lines of the tools: what needs no device.

use std::process::{Command, Output};

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().expect("the program starts")
}

const PING: &str = env!("CARGO_BIN_EXE_smbd-ping");
const ECHO: &str = env!("CARGO_BIN_EXE_smbd-echo");
const PERF: &str = env!("CARGO_BIN_EXE_smbd-perf");

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("plain text")
}

#[test]
fn help_tells_a_newcomer_what_to_do() {
    for (name, program) in [("ping", PING), ("echo", ECHO), ("perf", PERF)] {
        let help = run(program, &["--help"]);
        assert!(help.status.success());
        insta::assert_snapshot!(format!("help_{name}"), text(&help.stdout));
    }
}

#[test]
fn wrong_usage_ends_with_2_and_names_option_and_value() {
    for (program, arguments, wanted) in [
        (PING, &[][..], "<ADDR[:PORT]>"),
        (PING, &["10.9.0.1:0"], "'0' is no port; ports are 1 to 65535"),
        (PING, &["10.9.0.1", "--count", "0"], "'0'"),
        (PING, &["10.9.0.1", "--max-send-size", "9000"], "--max-send-size is 9000, must be 128 to 8136"),
        (PING, &["10.9.0.1", "--credits", "3"], "--credits is 3, must be 4 to 32767"),
        (PING, &["10.9.0.1", "--timeout", "0"], "must be above 0"),
        (PING, &["10.9.0.1", "--profile", "other"], "possible values: windows"),
        (ECHO, &[], "--listen <ADDR:PORT>"),
        (
            ECHO,
            &["--listen", "10.9.0.1"],
            "--listen is '10.9.0.1', must be an address of this host with a port",
        ),
        (ECHO, &["--listen", "0.0.0.0:445", "--max-connections", "0"], "'0'"),
        (
            ECHO,
            &["--listen", "0.0.0.0:445", "--max-backlog", "1000"],
            "--max-backlog is 1000, must be at least --max-message, which is 1048576",
        ),
        (PERF, &["10.9.0.1:445"], "<KIND>"),
        (PERF, &["10.9.0.1", "send"], "'10.9.0.1' has no port"),
        (PERF, &["10.9.0.1:445", "send", "--size", "0"], "'0'"),
        (PERF, &["10.9.0.1:445", "send", "--time", "1", "--count", "1"], "cannot be used with"),
        (PERF, &["10.9.0.1:445", "latency", "--verify"], "--verify is not for latency"),
    ] {
        let output = run(program, arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(wanted), "{arguments:?}: {wanted} is missing in\n{said}");
        assert!(output.stdout.is_empty());
    }
}
