//! `smbd-serve user`: users of a file.

use std::io::{IsTerminal as _, stdin};
use std::path::Path;
use std::process::ExitCode;

use smbd_program::output;
use smbd_program::password::{BYTES_MAX, ask, first_line};
use smbd_smb2::security::NtHash;

use crate::PROGRAM;
use crate::options::{Named, User};
use crate::users::{NoUsers, UserFile};

/// Does it. Exit status: 0, or 1 with what is wrong on standard error.
pub(crate) fn run(user: User) -> ExitCode {
    let done = match user {
        User::Add(Named { file, name }) => add(&file, &name).map(|said| format!("{said}\n")),
        User::Remove(Named { file, name }) => remove(&file, &name).map(|said| format!("{said}\n")),
        User::List { file } => list(&file),
    };
    match done {
        Ok(said) => output::print(PROGRAM, &said),
        Err(why) => {
            output::complain(PROGRAM, &why);
            ExitCode::FAILURE
        }
    }
}

fn add(path: &Path, name: &str) -> Result<String, String> {
    let told = |error: NoUsers| error.to_string();
    // What is wrong with the file or the name is told before anybody types.
    let mut file = UserFile::read_or_new(path).map_err(told)?;
    UserFile::check_name(name)?;
    let hash = NtHash::of_password(&password(name)?);
    let is_new = file.set(name, &hash);
    file.write(path).map_err(told)?;
    let what = if is_new { "added" } else { "has another password" };
    Ok(format!("{name}: {what}"))
}

fn remove(path: &Path, name: &str) -> Result<String, String> {
    let told = |error: NoUsers| error.to_string();
    let mut file = UserFile::read(path).map_err(told)?;
    if !file.remove(name) {
        return Err(format!("{name} is no user of {}", path.display()));
    }
    file.write(path).map_err(told)?;
    Ok(format!("{name}: removed"))
}

fn list(path: &Path) -> Result<String, String> {
    let file = UserFile::read(path).map_err(|error| error.to_string())?;
    Ok(file.names().map(|name| format!("{name}\n")).collect())
}

/// Typed twice at a terminal, because nobody sees it; or else a line of standard input.
fn password(name: &str) -> Result<String, String> {
    let password = if stdin().is_terminal() {
        let ask = |prompt: String| ask(&prompt).map_err(|error| format!("no password: {error}"));
        let password = ask(format!("Password of {name}"))?;
        if ask("The same again".into())? != password {
            return Err("these are two passwords; nothing is changed".into());
        }
        password
    } else {
        let line = first_line(stdin().lock()).map_err(|error| format!("standard input: {error}"))?;
        line.ok_or_else(|| format!("standard input: the first line has more than {BYTES_MAX} bytes"))?
    };
    if password.is_empty() { Err("the password is empty; nothing is changed".into()) } else { Ok(password) }
}
