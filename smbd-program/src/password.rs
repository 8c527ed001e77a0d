//! A password: from whoever sits at the terminal, or the first line of what has it.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The most bytes of a password.
pub const BYTES_MAX: u64 = 4096;

/// Why nobody has typed one.
#[derive(Debug)]
pub enum Untyped {
    /// Ctrl-C was typed.
    Cancelled,
    /// There is no terminal, or it fails.
    Terminal(io::Error),
}

impl fmt::Display for Untyped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("nobody wants to tell it"),
            Self::Terminal(error) => write!(f, "there is no terminal to ask at ({error})"),
        }
    }
}

impl std::error::Error for Untyped {}

/// Asks at the terminal of the process, which does not show what is typed. Waits for the end of a line.
///
/// # Errors
/// Nobody has typed a password.
pub fn ask(prompt: &str) -> Result<String, Untyped> {
    let open = || OpenOptions::new().read(true).write(true).open("/dev/tty");
    let terminal = open().map_err(Untyped::Terminal)?;
    let mut terminal = &terminal;
    let silence = Silence::new(terminal).map_err(Untyped::Terminal)?;
    write!(terminal, "{prompt}: ").map_err(Untyped::Terminal)?;
    let typed = typed(&mut terminal);
    drop(silence);
    // That nobody sees the end of the line changes nothing.
    let _ = writeln!(terminal);
    typed
}

/// The first line; `None` if it has more than [`BYTES_MAX`] bytes. Reads at most as many.
///
/// # Errors
/// It cannot be read, or is no UTF-8.
pub fn first_line(from: impl Read) -> io::Result<Option<String>> {
    let mut text = String::new();
    from.take(BYTES_MAX).read_to_string(&mut text)?;
    if text.len() as u64 == BYTES_MAX && !text.contains('\n') {
        return Ok(None);
    }
    Ok(Some(text.lines().next().unwrap_or_default().to_string()))
}

/// What is typed up to the end of a line.
fn typed(terminal: &mut impl Read) -> Result<String, Untyped> {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const CTRL_U: u8 = 21;
    const BACKSPACES: [u8; 2] = [8, 127];
    let mut line = Vec::new();
    for byte in io::BufReader::new(terminal).bytes().take(usize::try_from(BYTES_MAX).unwrap_or(usize::MAX)) {
        match byte.map_err(Untyped::Terminal)? {
            CTRL_C => return Err(Untyped::Cancelled),
            CTRL_U => line.clear(),
            b'\n' | b'\r' | CTRL_D => break,
            byte if BACKSPACES.contains(&byte) => {
                // All bytes of a character of UTF-8, of which all but the first begin with 10.
                while line.pop().is_some_and(|byte| byte & 0xC0 == 0x80) {}
            }
            byte => line.push(byte),
        }
    }
    String::from_utf8(line).map_err(|error| Untyped::Terminal(io::Error::other(error)))
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
    fn a_password_is_the_first_line_and_a_line_without_an_end_is_none() {
        let of = |text: &[u8]| first_line(text).unwrap();
        assert_eq!(of(b"secret\r\nrest").as_deref(), Some("secret"));
        assert_eq!(of(b"").as_deref(), Some(""));
        assert_eq!(of(&[b'a'; 5000]), None);
        assert!(first_line(&b"\xff\n"[..]).is_err());
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
