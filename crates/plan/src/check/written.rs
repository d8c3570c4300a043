//! Check of `[file.NAME]`: texts that lie in every arm's private directory.

use super::super::Work;
use super::super::file::PlanFile;
use super::named::DOTTED;
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_subject::Written;
use std::path::PathBuf;

impl Context<'_> {
    /// The text of a file that the plan brings.
    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        let found = self.files.iter().find(|(own, _)| own.as_ref() == name);
        found.map(|(_, section)| section.text.as_str())
    }

    /// Path of a configuration: in the private directory if the plan brings it, else beside the plan.
    pub(super) fn config(&self, config: &Spanned<String>) -> PathBuf {
        let name = config.as_ref();
        self.text_of(name).map_or_else(|| self.base.join(name), |_| Written::path(name))
    }

    /// The plan's own files.
    pub(super) fn written(&self, file: &PlanFile, work: &Work) -> Checked<Vec<Written>> {
        let one = |(name, section): (&Spanned<String>, &super::super::file::FileSection)| {
            let characters = (DOTTED.0, "`-`, `_` and `.`, which does not come first");
            self.demand_name(name, "name for a file", characters)?;
            let what = "a `files` workload has no files of the plan's own";
            self.refuse(name.when(matches!(work, Work::Files(_))), what, "write it by a command of `setup`")?;
            Ok(Written { name: name.as_ref().clone(), text: section.text.clone() })
        };
        file.file.iter().map(one).collect()
    }
}
