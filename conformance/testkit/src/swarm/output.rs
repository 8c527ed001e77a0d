//! How a swarm ends whose output cannot be written.

use std::fs::File;
use std::process::{Command, Output, Stdio};

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Demands of the swarm `name`, at the path `program`: a reader who has gone is no failure, and an output that cannot be written ends it
/// with 2.
pub fn check(name: &str, program: &str) {
    let file = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
    for arguments in [&["--help"][..], &["--seeds", "0..1"], &["--seed", "1"]] {
        let mut child = Command::new(program);
        let mut child = child.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""), "{arguments:?}");

        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(program).args(arguments).stdout(full).output().unwrap();
        let why = format!("{name}: standard output: No space left on device (os error 28)\n");
        assert_eq!((output.status.code(), said(&output)), (Some(2), why), "{arguments:?}");

        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -f 0; exec \"$@\"", "sh", program]).args(arguments);
        let output = limited.stdout(File::create(&file).unwrap()).output().unwrap();
        let why = format!("{name}: standard output: File too large (os error 27)\n");
        assert_eq!((output.status.code(), said(&output)), (Some(2), why), "{arguments:?}");
    }
    std::fs::remove_file(file).unwrap();
}
