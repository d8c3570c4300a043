//! Check of `[wrap.NAME]`, and of the wraps that arms name.

use super::super::file::{PlanFile, StartSection, WrapSection};
use super::named::{Named, text};
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_subject::WrapSpec;

/// Name of a wrap whose words stand in the arm itself.
const NAMELESS: &str = "wrap";

impl Context<'_> {
    /// The plan's own wraps.
    pub(super) fn own_wraps(&self, file: &PlanFile) -> Checked<Vec<WrapSpec>> {
        file.wrap.iter().map(|(name, section)| self.wrap(name, section)).collect()
    }

    fn wrap(&self, name: &Spanned<String>, section: &WrapSection) -> Checked<WrapSpec> {
        self.demand_section_name(name, WrapSpec::NOUN)?;
        self.demand_status(&section.violations, &section.status)?;
        Ok(WrapSpec {
            name: name.as_ref().clone(),
            words: self.argv(&section.words)?,
            proof: section.proof.as_ref().map(|argv| self.argv(argv)).transpose()?,
            status: text(&section.status),
            violations: text(&section.violations),
        })
    }

    /// Wraps of an arm's server or command, outermost first; words without a name are the innermost.
    pub(super) fn wraps(&self, start: &StartSection, known: &[WrapSpec]) -> Checked<Vec<WrapSpec>> {
        let words = start.wraps.iter().flat_map(|list| list.as_ref());
        let mut wraps = self.named(words, known, "is put before this arm", &[])?;
        if let Some(words) = &start.wrap {
            let words = self.argv(words)?;
            wraps.push(WrapSpec { name: NAMELESS.to_owned(), words, ..WrapSpec::default() });
        }
        Ok(wraps)
    }
}

impl Named for WrapSpec {
    const NOUN: &'static str = "wrap";

    fn name(&self) -> &str {
        &self.name
    }
}
