//! The commit that something is counted on.

use std::path::Path;
use std::process::Command;

/// A commit of a checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Commit {
    /// As `git describe --always --dirty` has it: with `-dirty` if there are changes beside it.
    pub(super) name: String,
    /// Its day.
    pub(super) date: String,
}

const DIRTY: &str = "-dirty";

impl Commit {
    /// That of the checkout which `folder` is the root of, if it is one of git.
    ///
    /// What is changed in `docs` is no part of what is counted: a record that was written leaves the next one clean.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let head = git(folder, &["log", "-1", "--format=%h %cs"])?;
        let (name, date) = head.trim().split_once(' ')?;
        let of_code = [":(top)", ":(top,exclude)docs"];
        let changes = git(folder, &[&["status", "--porcelain", "-uno", "--"][..], &of_code].concat())?;
        let dirty = if changes.is_empty() { "" } else { DIRTY };
        Some(Self { name: format!("{name}{dirty}"), date: date.to_owned() })
    }

    /// In words.
    pub(super) fn text(&self) -> String {
        match self.name.strip_suffix(DIRTY) {
            Some(name) => format!("{name} ({}) and changes that were no commit yet", self.date),
            None => format!("{} ({})", self.name, self.date),
        }
    }
}

/// What git prints, if it can.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::{env, fs, process};

    use super::{Commit, git};

    /// A folder that is gone with it.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            // What is left is in the folder for such things.
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_commit_is_dirty_with_changes_of_code_and_not_with_those_of_docs() {
        let folder = Folder(env::temp_dir().join(format!("smbd-commit.{}", process::id())));
        fs::create_dir_all(folder.0.join("docs")).unwrap();
        let write = |path: &str, text: &str| fs::write(folder.0.join(path), text).unwrap();
        let run = |arguments: &[&str]| git(&folder.0, arguments).expect("git");
        assert_eq!(Commit::of(&folder.0), None, "no checkout");
        run(&["init", "-q"]);
        assert_eq!(Commit::of(&folder.0), None, "no commit");
        write("code", "1");
        write("docs/page", "1");
        run(&["add", "."]);
        let day = "2026-11-27T12:00:00+0000";
        run(&["config", "user.name", "nobody"]);
        run(&["config", "user.email", "nobody@localhost"]);
        run(&["-c", "commit.gpgsign=false", "commit", "-q", "--date", day, "-m", "1"]);
        let commit = Commit::of(&folder.0).unwrap();
        let name = run(&["describe", "--always"]);
        assert_eq!(commit.name, name.trim());
        assert_eq!(commit.text(), format!("{} ({})", commit.name, commit.date));
        write("docs/page", "2");
        assert_eq!(Commit::of(&folder.0), Some(commit.clone()));
        write("code", "2");
        let dirty = Commit::of(&folder.0).unwrap();
        assert_eq!(dirty.name, format!("{}-dirty", commit.name));
        assert!(dirty.text().ends_with(") and changes that were no commit yet"), "{}", dirty.text());
    }
}
