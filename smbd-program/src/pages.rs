//! The manual and the completions of a program, made from its command line: the subcommands `manual` and `completions`, which all programs
//! have.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command, FromArgMatches as _, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;

/// The section of the manual that a program belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Programs of users.
    Commands = 1,
    /// Services, and programs of administrators.
    Administration = 8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Pages {
    /// Prints the completions of this program's options for a shell
    Completions {
        /// For example: source <(PROGRAM completions bash)
        shell: Shell,
    },
    /// Prints the manual as roff, or writes a page for each subcommand
    Manual {
        /// Directory for the pages; without it, the page of the program goes to standard output
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// `command` with the subcommands of this module. In a program without subcommands of its own they are not in the help.
pub(crate) fn extended(command: Command) -> Command {
    let has_others = command.has_subcommands();
    let command = Pages::augment_subcommands(command);
    if has_others {
        return command;
    }
    command
        .subcommand_required(false)
        .arg_required_else_help(false)
        .subcommand_negates_reqs(true)
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .mut_subcommands(|it| it.hide(true))
}

impl Pages {
    /// The subcommand of this module, if the command line has one.
    pub(crate) fn of(matches: &ArgMatches) -> Option<Self> {
        Self::has_subcommand(matches.subcommand_name()?).then(|| Self::from_arg_matches(matches).ok())?
    }

    /// The text for standard output. `command` is the command line of `program`.
    pub(crate) fn text(
        self,
        program: &str,
        section: Section,
        mut command: Command,
    ) -> Result<Vec<u8>, String> {
        match self {
            Self::Completions { shell } => {
                let mut text = Vec::new();
                clap_complete::generate(shell, &mut command, program, &mut text);
                Ok(text)
            }
            Self::Manual { out: None } => page(&command, section),
            Self::Manual { out: Some(folder) } => {
                command.build();
                write_pages(&command, section, &folder).map(|()| Vec::new())
            }
        }
    }
}

fn page(command: &Command, section: Section) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let man = Man::new(command.clone()).section((section as u8).to_string());
    man.render(&mut text).map_err(|error| error.to_string())?;
    Ok(text)
}

/// A page for the command, and one for each of its subcommands that the help shows: `smbd-cp.1`, `smbd-cp-get.1`.
fn write_pages(command: &Command, section: Section, folder: &Path) -> Result<(), String> {
    let shown = |below: &&Command| !below.is_hide_set() && below.get_name() != "help";
    for below in command.get_subcommands().filter(shown) {
        write_pages(below, section, folder)?;
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let path = folder.join(format!("{name}.{}", section as u8));
    std::fs::write(&path, page(command, section)?).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    #[command(name = "smbd-one")]
    struct One {
        #[arg(value_name = "ADDR")]
        _address: String,
    }

    #[derive(Debug, Subcommand)]
    enum Which {
        /// Copies files
        Get {
            #[arg(long)]
            check: bool,
        },
    }

    #[derive(Debug, Parser)]
    #[command(name = "smbd-many")]
    struct Many {
        #[command(subcommand)]
        _which: Which,
    }

    fn read(command: Command, line: &[&str]) -> Option<Pages> {
        Pages::of(&extended(command).try_get_matches_from(line).expect("the line is good"))
    }

    #[test]
    fn programs_with_and_without_subcommands_have_the_two() {
        for (command, other) in [(One::command(), "10.9.0.1"), (Many::command(), "get")] {
            let manual = read(command.clone(), &["x", "manual", "--out", "d"]);
            assert!(matches!(manual, Some(Pages::Manual { out: Some(_) })), "{manual:?}");
            let shell = read(command.clone(), &["x", "completions", "bash"]);
            assert!(matches!(shell, Some(Pages::Completions { shell: Shell::Bash })), "{shell:?}");
            assert!(read(command, &["x", other]).is_none());
        }
        assert!(extended(One::command()).try_get_matches_from(["x"]).is_err());
        let help = extended(One::command()).render_help().to_string();
        assert!(!help.contains("manual"), "{help}");
        assert!(extended(Many::command()).render_help().to_string().contains("manual"));
    }

    #[test]
    fn a_page_for_each_subcommand_that_the_help_shows() {
        let folder = std::env::temp_dir().join(format!("smbd-program-pages-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("there is room");
        let mut command = extended(Many::command());
        command.build();
        write_pages(&command, Section::Administration, &folder).expect("there is room");
        let names = std::fs::read_dir(&folder)
            .expect("it is there")
            .map(|entry| entry.expect("it is read").file_name());
        let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
        names.sort();
        let shown = ["completions", "get", "manual"].map(|name| format!("smbd-many-{name}.8"));
        assert_eq!(names[..3], shown, "{names:?}");
        let get = std::fs::read_to_string(folder.join("smbd-many-get.8")).expect("it is written");
        assert!(get.contains("Copies files") && get.contains("\\-\\-check"), "{get}");
        let why = write_pages(&command, Section::Commands, &folder.join("gone")).expect_err("no such folder");
        assert!(why.contains("gone/smbd-many-"), "{why}");
        std::fs::remove_dir_all(&folder).expect("it is this test's");
    }
}
