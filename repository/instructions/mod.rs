//! Instructions of operations, counted by callgrind and held against the numbers in a file of `docs/benchmarks`.
//!
//! A benchmark of a package has scenes and calls [`main`]. `cargo bench -p PACKAGE --bench instructions` fails if a number is more
//! than 2 % above the one in its file, if there is none, and if there is one of no operation. With `SMBD_BENCH_UPDATE=1` it
//! writes the file instead, and its table in `docs/benchmarks.md`: see [`page`].
//!
//! No benchmark harness: a count needs neither statistics nor a second tool to install, and the gate is a file in the
//! repository. The program runs itself under valgrind, once for each number, and callgrind collects only what happens inside the
//! entry points of its module `scenes::measured`. What functions of its module `scenes::hardware` do is taken off: the work of a
//! device that there is not.

mod callgrind;
mod commit;
mod compare;
pub mod page;
mod profile;
mod record;

use std::any::Any;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use record::Record;

/// Tells the copy of a program under valgrind what to run.
const RUN: &str = "SMBD_BENCH_RUN";
const UPDATE: &str = "SMBD_BENCH_UPDATE";

/// In words.
pub type Failure = String;

/// The measured calls of a prepared scene. What they leave is handed back, so that its end is not measured.
pub type Work = Box<dyn FnOnce() -> Box<dyn Any>>;

/// Something done many times. Its cost is the slope between `few` and `many` repetitions.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its name in the file.
    pub name: &'static str,
    /// What one repetition is.
    pub what: &'static str,
    /// The number to hold, in instructions.
    pub goal: Option<u32>,
    /// The operation whose number is shown beside its own: the same by other code.
    pub beside: Option<&'static str>,
    /// A number of repetitions; 0 stands for no instructions.
    pub few: u32,
    /// A larger one.
    pub many: u32,
    /// Prepares that many repetitions.
    pub scene: fn(u32) -> Work,
    /// Only a part of each repetition counts, and the last one is taken: all are alike.
    pub part: Option<Part>,
    /// Not instructions are counted, but the bytes that the scene holds when so many repetitions have been played.
    pub held: Option<Held>,
}

/// Counts the bytes that a scene holds.
pub type Held = fn(scene: fn(u32) -> Work, count: u32) -> i64;

/// What is between two calls: the last of one function, and the next of another.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The function whose begin is the begin.
    pub from: &'static str,
    /// The function whose begin is the end.
    pub to: &'static str,
}

impl Operation {
    /// An operation without a goal.
    pub const fn new(name: &'static str, what: &'static str, scene: fn(u32) -> Work) -> Self {
        Self { name, what, goal: None, beside: None, few: 1, many: 65, scene, part: None, held: None }
    }

    /// With a goal.
    #[must_use]
    pub const fn goal(self, goal: u32) -> Self {
        Self { goal: Some(goal), ..self }
    }

    /// With another operation beside it.
    #[must_use]
    pub const fn beside(self, other: &'static str) -> Self {
        Self { beside: Some(other), ..self }
    }

    /// With what counts of each repetition: what is between the calls of two functions, named as callgrind names them.
    #[must_use]
    pub const fn part(self, from: &'static str, to: &'static str) -> Self {
        Self { part: Some(Part { from, to }), ..self }
    }

    /// With the bytes that it holds in the place of instructions.
    #[must_use]
    pub const fn held(self, held: Held) -> Self {
        Self { held: Some(held), ..self }
    }

    /// With other numbers of repetitions.
    #[must_use]
    pub const fn between(self, few: u32, many: u32) -> Self {
        Self { few, many, ..self }
    }
}

/// The operations of a package.
#[derive(Clone, Copy, Debug)]
pub struct Suite {
    /// Its name.
    pub package: &'static str,
    /// What cargo is told besides, as `./test` tells it: another choice of features may be compiled otherwise.
    pub options: &'static str,
    /// The name of the benchmark.
    pub bench: &'static str,
    /// The file in `docs/benchmarks`.
    pub file: &'static str,
    /// What is counted.
    pub operations: &'static [Operation],
}

impl Suite {
    /// What records it.
    fn command(&self) -> String {
        let words = ["cargo bench -p", self.package, self.options, "--bench", self.bench];
        let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
        format!("{UPDATE}=1 {}", words.join(" "))
    }
}

/// The program of a benchmark.
#[must_use]
pub fn main(suite: &Suite) -> ExitCode {
    if let Ok(scene) = env::var(RUN) {
        return run(suite, &scene);
    }
    // `cargo test --benches` runs this too; then it is enough that all scenes play.
    if !env::args().any(|arg| arg == "--bench") {
        suite.operations.iter().for_each(|operation| drop((operation.scene)(operation.many)()));
        return ExitCode::SUCCESS;
    }
    match gate(suite) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Plays one scene: the name of its operation, and how often.
fn run(suite: &Suite, scene: &str) -> ExitCode {
    let found = scene.split_once(' ').and_then(|(name, count)| {
        let operation = suite.operations.iter().find(|operation| operation.name == name)?;
        Some((operation, count.parse().ok()?))
    });
    let Some((operation, count)) = found else { return ExitCode::FAILURE };
    drop((operation.scene)(count)());
    ExitCode::SUCCESS
}

fn gate(suite: &Suite) -> Result<ExitCode, Failure> {
    let committed = Record::read(&record::path(suite))?;
    let mut measured = Record::of(suite)?;
    println!("{:<17} {:>12} {:>9} {:>5}  one repetition", "operation", "counted", "recorded", "goal");
    for operation in suite.operations {
        let now = cost(operation)?;
        let numbers = if operation.held.is_some() { &mut measured.bytes } else { &mut measured.instructions };
        numbers.insert(operation.name.to_owned(), now);
        let (before, goal) = (committed.number(operation.name), operation.goal);
        let text = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
        println!(
            "{:<17} {now:>12.1} {:>9} {:>5}  {}",
            operation.name,
            text(before.map(|before| format!("{before:.1}"))),
            text(goal.map(|goal| goal.to_string())),
            operation.what,
        );
    }
    if env::var_os(UPDATE).is_some() {
        measured.keep_before(&committed);
        write(suite, &measured)?;
        return Ok(ExitCode::SUCCESS);
    }
    compare::better(&measured, &committed).iter().for_each(|better| println!("{better}"));
    let complaints = compare::complaints(&measured, &committed);
    if complaints.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(difference) = compare::difference(&measured, &committed) {
        eprintln!("{difference}");
    }
    Err(format!("{}\n{} records what is counted", complaints.join("\n"), suite.command()))
}

/// Writes a record, and its table in the page.
fn write(suite: &Suite, record: &Record) -> Result<(), Failure> {
    let (file, page) = (record::path(suite), page::path());
    let failed = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    let name = suite.file.trim_end_matches(".toml");
    let text = fs::read_to_string(&page).map_err(|error| failed(&page, error))?;
    let text = page::put(&text, name, &page::table(record)?)?;
    fs::write(&file, record.text()).map_err(|error| failed(&file, error))?;
    fs::write(&page, text).map_err(|error| failed(&page, error))?;
    println!("written: {}, and its table in {}", file.display(), page.display());
    Ok(())
}

/// Instructions of one repetition, or bytes.
fn cost(operation: &Operation) -> Result<f64, Failure> {
    let repetitions = f64::from(operation.many - operation.few);
    if let Some(held) = operation.held {
        let more = held(operation.scene, operation.many) - held(operation.scene, operation.few);
        return i32::try_from(more)
            .map(|more| f64::from(more) / repetitions)
            .map_err(|_| format!("{more} bytes"));
    }
    let exact = |count: u64| u32::try_from(count).map(f64::from).map_err(|_| format!("{count} instructions"));
    if operation.part.is_some() {
        return exact(callgrind::collect(operation, operation.many)?);
    }
    let few = if operation.few == 0 { 0 } else { callgrind::collect(operation, operation.few)? };
    let many = callgrind::collect(operation, operation.many)?;
    Ok((exact(many)? - exact(few)?) / repetitions)
}
