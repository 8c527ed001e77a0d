//! Samba's settings, read by its own rules.
//!
//! Not by `testparm`: what that prints has no file and no line, and no quotes around what needs them (`interfaces`), so it cannot be
//! told from settings that lack them. And looking at a host starts none of its programs.

mod interface;
mod lines;
mod reader;
mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use smbd_daemon::finding::Place;

pub(crate) use interface::{Interface, Speed, network};
pub(crate) use values::{
    Level, Protocol, boolean, bytes, folded, is_domain_controller, level, list, protocol,
};

/// Samba's settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct SmbConf {
    /// Those of `[global]`, of which there may be several.
    pub(crate) global: Section,
    pub(crate) shares: Vec<Section>,
    /// Settings that are somewhere else.
    pub(crate) elsewhere: Vec<Elsewhere>,
    /// Whether a section begins anywhere.
    pub(crate) has_section: bool,
    /// Whether there is anything beside comments.
    pub(crate) has_lines: bool,
    /// The line that Samba does not understand: it refuses the whole file. What is behind it is not read.
    pub(crate) refused: Option<Place>,
}

/// Settings of one name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Section {
    pub(crate) name: String,
    settings: BTreeMap<String, Setting>,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The name of the parameter as it was written.
    name: String,
    pub(crate) text: String,
    pub(crate) place: Place,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{} = {}`", self.name, self.text)
    }
}

/// Settings that are not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Elsewhere {
    pub(crate) parameter: String,
    pub(crate) value: String,
    pub(crate) place: Place,
}

impl SmbConf {
    /// Reads a file and those that it includes.
    ///
    /// # Errors
    /// The file itself cannot be read. An included one that cannot be is told as [`Elsewhere`]; Samba passes over one that is missing.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let text =
            |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(Self::parse(path, &text(path)?, &mut |path| text(path)))
    }

    /// Reads the text of the file `path`. `included` reads those that it includes.
    pub(crate) fn parse(
        path: &Path,
        text: &str,
        included: &mut dyn FnMut(&Path) -> io::Result<String>,
    ) -> Self {
        reader::read(path, text, included)
    }

    /// What `interfaces` names; empty if it is not set.
    pub(crate) fn interfaces(&self) -> Vec<Interface> {
        let items = self.global.get("interfaces").map_or_else(Vec::new, |setting| list(&setting.text));
        items.iter().map(|item| Interface::parse(item)).collect()
    }

    /// `[global]` and all shares.
    pub(crate) fn sections(&self) -> impl Iterator<Item = &Section> {
        std::iter::once(&self.global).chain(&self.shares)
    }
}

impl Section {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), settings: BTreeMap::new() }
    }

    /// A parameter by any of its names.
    pub(crate) fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.get(&key(name))
    }

    fn set(&mut self, name: &str, setting: Setting) {
        self.settings.insert(key(name), setting);
    }

    /// Takes what is not set here (`copy`).
    fn copy(&mut self, other: &Self) {
        for (key, setting) in &other.settings {
            self.settings.entry(key.clone()).or_insert_with(|| setting.clone());
        }
    }
}

/// The name by which a parameter is kept: of several the first that `smb.conf(5)` has.
fn key(name: &str) -> String {
    let name = folded(name);
    match name.as_str() {
        "smbencrypt" => "serversmbencrypt",
        "maxprotocol" | "protocol" => "servermaxprotocol",
        "minprotocol" => "serverminprotocol",
        "allowhosts" => "hostsallow",
        "denyhosts" => "hostsdeny",
        _ => return name,
    }
    .to_owned()
}

#[cfg(test)]
mod tests;
