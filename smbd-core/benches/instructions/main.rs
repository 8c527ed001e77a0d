//! Instructions of each operation, counted by callgrind and held against the numbers in
//! `docs/benchmarks/instructions.toml`.
//!
//! `cargo bench -p smbd-core --bench instructions` fails if a number is more than 2 % above the one in the file;
//! with `SMBD_BENCH_UPDATE=1` it writes the file instead.
//!
//! No benchmark harness: a count needs neither statistics nor a second tool to install, and the gate is a file in the
//! repository. This program runs itself under valgrind, once for each number, and callgrind collects only what
//! happens inside the entry points of [`scenes::measured`].

mod record;
#[path = "../scenes/mod.rs"]
mod scenes;

use std::process::{Command, ExitCode};

use record::Record;
use scenes::{OPERATIONS, Operation};

/// Tells the copy of this program under valgrind what to run.
const RUN: &str = "SMBD_BENCH_RUN";
const UPDATE: &str = "SMBD_BENCH_UPDATE";

type Failure = String;

fn main() -> ExitCode {
    if let Ok(scene) = std::env::var(RUN) {
        return run(&scene);
    }
    // `cargo test --benches` runs this too; then it is enough that all scenes play.
    if !std::env::args().any(|arg| arg == "--bench") {
        OPERATIONS.iter().for_each(|operation| drop((operation.scene)(operation.many)()));
        return ExitCode::SUCCESS;
    }
    match gate() {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Plays one scene: the name of its operation, and how often.
fn run(scene: &str) -> ExitCode {
    let found = scene.split_once(' ').and_then(|(name, count)| {
        let operation = OPERATIONS.iter().find(|operation| operation.name == name)?;
        Some((operation, count.parse().ok()?))
    });
    let Some((operation, count)) = found else { return ExitCode::FAILURE };
    drop((operation.scene)(count)());
    ExitCode::SUCCESS
}

fn gate() -> Result<ExitCode, Failure> {
    let committed = Record::read()?;
    let mut measured = Record::of_this_machine()?;
    println!("{:<17} {:>12} {:>9} {:>5}  one repetition", "operation", "instructions", "recorded", "goal");
    for operation in OPERATIONS {
        let now = cost(operation)?;
        measured.set(operation.name, now);
        let (before, goal) = (committed.get(operation.name), operation.goal);
        let text = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
        println!(
            "{:<17} {now:>12.1} {:>9} {:>5}  {}",
            operation.name,
            text(before.map(|before| format!("{before:.1}"))),
            text(goal.map(|goal| goal.to_string())),
            operation.what,
        );
    }
    if std::env::var_os(UPDATE).is_some() {
        measured.write()?;
        println!("written: {}", record::path().display());
        return Ok(ExitCode::SUCCESS);
    }
    let complaints = measured.complaints(&committed);
    if complaints.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(difference) = measured.difference(&committed) {
        eprintln!("{difference}");
    }
    Err(format!("{}\n{UPDATE}=1 records the new numbers", complaints.join("\n")))
}

/// Instructions of one repetition.
fn cost(operation: &Operation) -> Result<f64, Failure> {
    let few = if operation.few == 0 { 0 } else { collect(operation.name, operation.few)? };
    let many = collect(operation.name, operation.many)?;
    let exact = |count: u64| u32::try_from(count).map(f64::from).map_err(|_| format!("{count} instructions"));
    let repetitions = f64::from(operation.many - operation.few);
    Ok((exact(many)? - exact(few)?) / repetitions)
}

/// Instructions spent inside the measured entry points while a scene plays.
fn collect(name: &str, count: u32) -> Result<u64, Failure> {
    let program = std::env::current_exe().map_err(|error| format!("own program: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--toggle-collect=*scenes::measured::*", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .env(RUN, format!("{name} {count}"))
        .output()
        .map_err(|error| {
            format!("valgrind cannot be run ({error}): it counts the instructions, please install it")
        })?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{name} failed under valgrind ({}):\n{log}", output.status));
    }
    log.lines()
        .find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
        .filter(|count| *count > 0)
        .ok_or_else(|| format!("{name}: callgrind collected nothing; are symbols stripped?\n{log}"))
}
