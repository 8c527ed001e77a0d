//! Files in memory: mapping one takes code that Rust cannot check, so a child does it.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::case::Failure;

/// Maps a file once for each line that it reads: `r OFFSET LENGTH`, or `w OFFSET BYTES` in hexadecimal.
const PROGRAM: &str = "
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
for line in sys.stdin:
    what, offset, rest = line.split(' ')
    offset = int(offset)
    rest = int(rest) if what == 'r' else bytes.fromhex(rest)
    length = rest if what == 'r' else len(rest)
    start = offset - offset % mmap.PAGESIZE
    with mmap.mmap(file, offset + length - start, offset=start) as memory:
        at = slice(offset - start, offset - start + length)
        if what == 'w':
            memory[at] = rest
            memory.flush()
        print(memory[at].hex() if what == 'r' else 'ok', flush=True)
";

/// A file that is read and written through memory.
#[derive(Debug)]
pub(super) struct Mapping {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Mapping {
    /// Opens a file.
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        let mut command = Command::new("python3");
        command.args(["-c", PROGRAM]).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("python3: {error}"))?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Self { child, output })
    }

    fn ask(&mut self, line: &str) -> Result<String, Failure> {
        let input = self.child.stdin.as_mut().ok_or("no input")?;
        writeln!(input, "{line}")?;
        input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        let answer = answer.trim();
        if answer.is_empty() {
            Err("the child that maps files has ended".into())
        } else {
            Ok(answer.to_owned())
        }
    }

    /// Bytes of the file, at least one.
    pub(super) fn read(&mut self, offset: usize, len: usize) -> Result<Vec<u8>, Failure> {
        let answer = self.ask(&format!("r {offset} {len}"))?;
        let digits = answer.as_bytes().chunks(2);
        digits.map(|pair| Ok(u8::from_str_radix(str::from_utf8(pair)?, 16)?)).collect()
    }

    /// Writes bytes inside the file, at least one, and has the system write them to the server.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        let mut line = format!("w {offset} ");
        for byte in bytes {
            write!(line, "{byte:02x}")?;
        }
        self.ask(&line).map(drop)
    }

    /// Closes the file.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        drop(self.child.stdin.take());
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the child that maps files: {status}").into()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // Most often it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
