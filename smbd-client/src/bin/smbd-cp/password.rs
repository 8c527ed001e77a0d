//! The password: from a file, from the environment, or from whoever sits at the terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use thiserror::Error;

/// The variable that may have it.
const VARIABLE: &str = "SMBD_PASSWORD";
/// The most bytes of a file that has it.
const FILE_MAX: u64 = 4096;

/// Why there is none.
#[derive(Debug, Error)]
pub(crate) enum NoPassword {
    #[error("--password-file {path}: {error}")]
    File { path: String, error: io::Error },
    #[error("--password-file {0}: its first line has more than {FILE_MAX} bytes")]
    TooLong(String),
    #[error("nobody wants to tell it")]
    Cancelled,
    #[error("SMBD_PASSWORD is not UTF-8")]
    Variable,
    #[error(
        "there is no password: use --password-file or SMBD_PASSWORD; there is no terminal to ask at ({0})"
    )]
    Terminal(io::Error),
}

/// The password of a user.
pub(crate) fn password(file: Option<&Path>, who: &str) -> Result<String, NoPassword> {
    if let Some(path) = file {
        return of_file(path);
    }
    match std::env::var(VARIABLE) {
        Ok(password) => Ok(password),
        Err(std::env::VarError::NotUnicode(_)) => Err(NoPassword::Variable),
        Err(std::env::VarError::NotPresent) => ask(who),
    }
}

/// The first line of a file.
fn of_file(path: &Path) -> Result<String, NoPassword> {
    let name = || path.display().to_string();
    let wrong = |error| NoPassword::File { path: name(), error };
    let mut text = String::new();
    File::open(path).map_err(wrong)?.take(FILE_MAX).read_to_string(&mut text).map_err(wrong)?;
    if text.len() as u64 == FILE_MAX && !text.contains('\n') {
        return Err(NoPassword::TooLong(name()));
    }
    Ok(text.lines().next().unwrap_or_default().to_string())
}

/// Asks at the terminal, which does not show what is typed.
fn ask(who: &str) -> Result<String, NoPassword> {
    let open = || OpenOptions::new().read(true).write(true).open("/dev/tty");
    let terminal = open().map_err(NoPassword::Terminal)?;
    let mut terminal = &terminal;
    let silence = Silence::new(terminal).map_err(NoPassword::Terminal)?;
    write!(terminal, "Password of {who}: ").map_err(NoPassword::Terminal)?;
    let typed = typed(&mut terminal);
    drop(silence);
    // That nobody sees the end of the line changes nothing.
    let _ = writeln!(terminal);
    typed
}

/// What is typed up to the end of a line.
fn typed(terminal: &mut impl io::Read) -> Result<String, NoPassword> {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const CTRL_U: u8 = 21;
    const BACKSPACES: [u8; 2] = [8, 127];
    let mut line = Vec::new();
    for byte in io::BufReader::new(terminal).bytes().take(usize::try_from(FILE_MAX).unwrap_or(usize::MAX)) {
        match byte.map_err(NoPassword::Terminal)? {
            CTRL_C => return Err(NoPassword::Cancelled),
            CTRL_U => line.clear(),
            b'\n' | b'\r' | CTRL_D => break,
            byte if BACKSPACES.contains(&byte) => {
                // All bytes of a character of UTF-8, of which all but the first begin with 10.
                while line.pop().is_some_and(|byte| byte & 0xC0 == 0x80) {}
            }
            byte => line.push(byte),
        }
    }
    String::from_utf8(line).map_err(|error| NoPassword::Terminal(io::Error::other(error)))
}

/// A terminal that does not show what is typed, until this is dropped.
struct Silence<'t> {
    terminal: &'t File,
    before: Termios,
}

impl<'t> Silence<'t> {
    fn new(terminal: &'t File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut silent = before.clone();
        // Neither are there signals: Ctrl-C would leave the terminal like this.
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(terminal, OptionalActions::Flush, &silent)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Silence<'_> {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_in(bytes: &[u8]) -> Result<String, String> {
        typed(&mut &bytes[..]).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_typed_can_be_corrected_and_cancelled() {
        assert_eq!(type_in(b"secret\nrest"), Ok("secret".into()));
        assert_eq!(type_in("sec\u{fc}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}x\r".as_bytes()), Ok("x".into()));
        assert_eq!(type_in("a\u{20ac}\u{8}b\n".as_bytes()), Ok("ab".into()));
        assert_eq!(type_in(b"wrong\x15right\n"), Ok("right".into()));
        assert_eq!(type_in(b"wrong\x03"), Err("nobody wants to tell it".into()));
    }
}
