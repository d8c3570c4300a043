//! `[wrap.NAME]`, and the wraps that arms name.

use super::super::ArmKind;
use super::super::error::suggestion;
use super::super::file::{ArmSection, PlanFile, WrapSection};
use super::{Checked, Context};
use crate::plan::file::Spanned;
use bakeoff_subject::{Spec, WrapSpec};

/// The name of the words that an arm gives without one.
const NAMELESS: &str = "wrap";

impl Context<'_> {
    /// The plan's own wraps.
    pub(super) fn own_wraps(&self, file: &PlanFile) -> Checked<Vec<WrapSpec>> {
        file.wrap.iter().map(|(name, section)| self.wrap(name, section)).collect()
    }

    fn wrap(&self, name: &Spanned<String>, section: &WrapSection) -> Checked<WrapSpec> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.as_ref().is_empty() || !name.as_ref().chars().all(fits) {
            let what = format!("`{}` is no name for a wrap", name.as_ref());
            return self.wrong(name.span(), what, "letters, digits, `-` and `_`");
        }
        if let Some(counter) = section.violations.as_ref().filter(|_| section.status.is_none()) {
            let what = "`violations` names a counter of its status, and there is none";
            return self.wrong(counter.span(), what, "add `status`, the file with its counters");
        }
        let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.as_ref().clone());
        Ok(WrapSpec {
            name: name.as_ref().clone(),
            words: self.argv(&section.words)?,
            proof: section.proof.as_ref().map(|argv| self.argv(argv)).transpose()?,
            status: text(&section.status),
            violations: text(&section.violations),
        })
    }

    /// What an arm's server or command is started through, outermost first; words without a name are the innermost.
    pub(super) fn wraps(
        &self,
        arm: &ArmSection,
        what: &ArmKind,
        known: &[WrapSpec],
    ) -> Checked<Vec<WrapSpec>> {
        let mut wraps: Vec<WrapSpec> = Vec::new();
        for word in arm.wraps.iter().flat_map(|list| list.as_ref()) {
            let Some(wrap) = known.iter().find(|wrap| wrap.name == *word.as_ref()) else {
                let names: Vec<&str> = known.iter().map(|wrap| wrap.name.as_str()).collect();
                let help = format!("{}; each is a [wrap.NAME]", suggestion(word.as_ref(), &names));
                return self.wrong(word.span(), format!("there is no wrap `{}`", word.as_ref()), help);
            };
            if wraps.contains(wrap) {
                let what = format!("the wrap `{}` is put before this arm twice", wrap.name);
                return self.wrong(
                    word.span(),
                    what,
                    "take one out; the wraps of an arm and of its levels add up",
                );
            }
            wraps.push(wrap.clone());
        }
        if let Some(words) = &arm.wrap {
            wraps.push(WrapSpec {
                name: NAMELESS.to_owned(),
                words: self.argv(words)?,
                ..WrapSpec::default()
            });
        }
        let span = arm.wraps.as_ref().map(Spanned::span).or_else(|| arm.wrap.as_ref().map(Spanned::span));
        match (what, span) {
            (ArmKind::Server(Spec::Url { .. }), Some(span)) => self.wrong(
                span,
                "a running server is not started through anything",
                "use `server` or `command`",
            ),
            _ => Ok(wraps),
        }
    }
}
