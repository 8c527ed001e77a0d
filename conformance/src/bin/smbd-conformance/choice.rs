//! Which cases.

use std::time::Duration;

use smbd_conformance::catalogue::{Case, Catalogue, Level, UnderTest};

/// Which cases. Several options have to hold together.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Choice {
    /// Cases whose name contains one of these
    names: Vec<String>,
    /// Cases that assert something about this section or one below it, such as 3.1.5
    #[arg(long, value_name = "SECTION")]
    section: Option<String>,
    /// Cases of this group, such as `credits` or `SmbdCreditMgmt`
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Cases that assert a statement of this level
    #[arg(long, value_name = "LEVEL", ignore_case = true)]
    level: Option<LevelName>,
    /// Those behind this one, in the order of `list`: what an earlier run did not come to
    #[arg(long, value_name = "CASE")]
    after: Option<String>,
    /// Cases that wait for so many seconds at most to see that nothing comes, as `list` has it
    #[arg(long, value_name = "SECONDS")]
    within: Option<u64>,
    /// Only with this side under test
    #[arg(long, value_name = "ROLE")]
    role: Option<RoleName>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LevelName {
    Must,
    Should,
    May,
    Layout,
    Product,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum RoleName {
    Acceptor,
    Initiator,
}

/// What is said if no case is chosen.
pub const NONE: &str = "no case is like that; `smbd-conformance list` has all";

impl Choice {
    /// The cases chosen, in the order of the catalogue.
    pub fn cases<'a>(&'a self, catalogue: &'a Catalogue) -> impl Iterator<Item = &'a Case> {
        let begin = self.after.as_ref().map_or(Some(0), |name| {
            catalogue.cases.iter().position(|case| case.name == *name).map(|at| at + 1)
        });
        let behind = begin.and_then(|begin| catalogue.cases.get(begin..)).unwrap_or_default();
        behind.iter().filter(|case| self.takes(case, catalogue))
    }

    /// The same for commands that are nothing without a case.
    ///
    /// # Errors
    /// None is like that, or that behind which they begin is not there.
    pub fn some<'a>(&'a self, catalogue: &'a Catalogue) -> Result<Vec<&'a Case>, String> {
        self.before(catalogue)?;
        let cases: Vec<_> = self.cases(catalogue).collect();
        if cases.is_empty() { Err(NONE.into()) } else { Ok(cases) }
    }

    /// The case behind which it begins.
    ///
    /// # Errors
    /// There is no such case.
    pub fn before<'a>(&self, catalogue: &'a Catalogue) -> Result<Option<&'a Case>, String> {
        let Some(name) = &self.after else { return Ok(None) };
        catalogue.case(name).map(Some).ok_or_else(|| format!("--after {name}: there is no such case"))
    }

    /// The sides of a case that are to be played.
    pub fn sides(&self, case: &Case) -> impl Iterator<Item = UnderTest> {
        let wanted = self.role.map(|role| match role {
            RoleName::Acceptor => UnderTest::Acceptor,
            RoleName::Initiator => UnderTest::Initiator,
        });
        let under_test = case.role;
        smbd_conformance::suite::SIDES
            .into_iter()
            .filter(move |side| under_test.includes(*side) && wanted.is_none_or(|wanted| wanted == *side))
    }

    fn takes(&self, case: &Case, catalogue: &Catalogue) -> bool {
        let named = self.names.is_empty() || self.names.iter().any(|name| case.name.contains(name.as_str()));
        let grouped = self.group.as_ref().is_none_or(|group| case.group == *group);
        let in_section = self.section.as_ref().is_none_or(|section| {
            case.statements.iter().any(|id| {
                let rest = id.section().strip_prefix(section.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        });
        let binding = self.level.is_none_or(|level| {
            let of_level = |id| catalogue.statement(id).is_some_and(|statement| level.is(statement.level));
            case.statements.iter().any(of_level)
        });
        let short = self.within.is_none_or(|most| case.time <= Duration::from_secs(most));
        named && grouped && in_section && binding && short && self.sides(case).next().is_some()
    }
}

impl LevelName {
    const fn is(self, level: Level) -> bool {
        matches!(
            (self, level),
            (Self::Must, Level::Must)
                | (Self::Should, Level::Should)
                | (Self::May, Level::May)
                | (Self::Layout, Level::Layout)
                | (Self::Product, Level::Product)
        )
    }
}
