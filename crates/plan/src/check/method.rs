//! Check of the method: design, study, violations.

use super::super::error::suggestion;
use super::super::file::{ExperimentSection, ViolationsSection};
use super::super::{
    Arm, Baselines, DEFAULT_MARGIN, DesignChoice, RequestSource, RequestWork, ViolationPlan, Violations, Work,
};
use super::{Checked, Context};
use crate::file::Spanned;
use crate::study;
use bakeoff_meter::{Unit, catalogue};
use bakeoff_stats::Margin;
use bakeoff_units::{Nanos, Ratio};

/// Statuses with which servers and layers refuse. Not 404: that also means never there.
const REFUSED: [u16; 4] = [403, 451, 500, 503];

impl Context<'_> {
    /// Commands and files have one design only, regardless of what `auto` chooses elsewhere.
    pub(super) fn design(&self, e: &ExperimentSection, work: &Work) -> Checked<DesignChoice> {
        let span = || e.design.as_ref().map_or(0..0, Spanned::span);
        match (self.one_of(e.design.as_ref(), "design", &["auto", "pairs", "duet"])?, work) {
            ("duet", Work::Requests(_)) if e.link.is_some() => {
                let what = "a duet cannot be made over a link, which its arms would share";
                self.wrong(span(), what, "use design = \"pairs\", or \"auto\", or take the link out")
            }
            ("duet", Work::Requests(_)) => Ok(DesignChoice::Duet),
            ("duet", _) => self.wrong(span(), "`duet` is for servers under load", "take the line out"),
            ("auto", Work::Requests(_)) => Ok(DesignChoice::Auto),
            _ => Ok(DesignChoice::Pairs),
        }
    }

    /// A share of the baseline's figure, or a time if the figure is one.
    fn margin_share(&self, value: &Spanned<String>) -> Checked<Ratio> {
        let hint = "a time such as \"0.5us\" would do, too; the default is \"1%\"";
        value.as_ref().parse::<Ratio>().or_else(|why| self.wrong(value.span(), why.to_string(), hint))
    }

    pub(super) fn margin(&self, e: &ExperimentSection) -> Checked<Margin> {
        let Some(value) = &e.margin else { return Ok(Margin::Share(DEFAULT_MARGIN)) };
        let is_time = value.as_ref().trim_end().ends_with('s');
        let in_time = e.primary.as_ref().and_then(|name| catalogue::find(name.as_ref()));
        if is_time && in_time.is_some_and(|meter| meter.unit != Unit::Nanoseconds) {
            return self.wrong(
                value.span(),
                "the primary figure is no time",
                "give a share of it, such as \"1%\"",
            );
        }
        let margin = match is_time {
            true => Margin::Amount(self.quantity::<Nanos>(Some(value), "1%")?.get() as f64),
            false => Margin::Share(self.margin_share(value)?.get()),
        };
        if margin.size() > 0.0 {
            return Ok(margin);
        }
        self.wrong(value.span(), "this must be above zero", "such as \"1%\", the default, or \"0.5us\"")
    }

    pub(super) fn primary(&self, e: &ExperimentSection) -> Checked<Option<String>> {
        let Some(name) = &e.primary else { return Ok(None) };
        let known: Vec<&str> = bakeoff_meter::CATALOGUE
            .iter()
            .filter(|m| m.more_is_worse && m.quantile.is_none_or(|q| q == 0.5))
            .map(|m| m.name)
            .collect();
        if catalogue::find(name.as_ref()).is_some_and(|meter| known.contains(&meter.name)) {
            return Ok(Some(name.as_ref().clone()));
        }
        if catalogue::find(name.as_ref()).is_some_and(|meter| !meter.more_is_worse) {
            let what =
                format!("of `{}` more is better, and a verdict says what a layer costs", name.as_ref());
            return self.wrong(name.span(), what, "`elapsed` is the time for the same requests: take that");
        }
        let what = format!("`{}` is no meter that a verdict can stand on", name.as_ref());
        self.wrong(name.span(), what, suggestion(name.as_ref(), &known))
    }

    pub(super) fn study(&self, e: &ExperimentSection) -> Checked<Option<String>> {
        let Some(name) = &e.study else { return Ok(None) };
        let known: Vec<&str> = study::names().collect();
        if known.contains(&name.as_ref().as_str()) {
            return Ok(Some(name.as_ref().clone()));
        }
        let what = format!("there is no study `{}`", name.as_ref());
        self.wrong(name.span(), what, suggestion(name.as_ref(), &known))
    }

    pub(super) fn violations(
        &self,
        section: Option<&ViolationsSection>,
        work: &Work,
        arms: &[Arm],
        baselines: &Baselines,
    ) -> Checked<Option<ViolationPlan>> {
        let Some(v) = section else { return Ok(None) };
        let span = v.span();
        let requests = match work {
            Work::Requests(requests) => requests,
            Work::Files(_) => return self.denied(v, arms, baselines).map(Some),
            Work::Command(_) | Work::Calls(_) => {
                return self.wrong(span, "violations are requests", "choose a workload of requests");
            }
        };
        if let Some(denied) = &v.denied {
            return self.wrong(denied.span(), "`denied` is about a `files` workload", "take the line out");
        }
        let what = match (&v.urls, &v.files, &v.digests) {
            (Some(urls), None, None) => self.violating_urls(urls)?,
            (None, Some(files), None) => Violations::Files(self.violating_files(files, requests)?),
            (None, None, Some(files)) => Violations::Digests(self.violating_files(files, requests)?),
            _ => {
                return self.wrong(
                    span,
                    "what must be noticed?",
                    "give one of `urls`, `files` and `digests`",
                );
            }
        };
        let refused = v.refused.as_ref().map_or_else(|| REFUSED.to_vec(), |list| list.as_ref().clone());
        let enforced_by = self.enforced_by(v, arms, baselines)?;
        Ok(Some(ViolationPlan { share: self.violating_share(v, &what)?, what, refused, enforced_by }))
    }

    /// Files that must not open.
    fn denied(&self, v: &ViolationsSection, arms: &[Arm], baselines: &Baselines) -> Checked<ViolationPlan> {
        let others = [
            v.urls.is_some(),
            v.files.is_some(),
            v.digests.is_some(),
            v.share.is_some(),
            v.refused.is_some(),
        ];
        let denied = match &v.denied {
            Some(denied) if *denied.as_ref() > 0 && !others.contains(&true) => *denied.as_ref() as usize,
            _ => {
                let help = "such as denied = 20, with a `deny` in the arms that must refuse them";
                return self.wrong(
                    v.span(),
                    "in a `files` workload violations are `denied` files alone",
                    help,
                );
            }
        };
        let what = Violations::Denied(denied);
        Ok(ViolationPlan {
            share: Ratio::default(),
            what,
            refused: Vec::new(),
            enforced_by: self.enforced_by(v, arms, baselines)?,
        })
    }

    fn violating_share(&self, v: &ViolationsSection, what: &Violations) -> Checked<Ratio> {
        if let (Violations::Digests(_), Some(share)) = (what, &v.share) {
            let what = "`digests` are asked for as often as the workload does";
            return self.wrong(share.span(), what, "take the line out");
        }
        if matches!(what, Violations::Digests(_)) {
            return Ok(Ratio::default());
        }
        let share: Ratio = self.positive(v.share.as_ref(), "0.5%", Ratio::get)?;
        if share.get() <= 0.5 {
            return Ok(share);
        }
        let span = v.share.as_ref().map_or(0..0, Spanned::span);
        self.wrong(span, "more than half of the requests would be violations", "such as \"0.5%\"")
    }

    fn violating_files(&self, files: &Spanned<u64>, requests: &RequestWork) -> Checked<usize> {
        let has_site = !matches!(requests.source, RequestSource::Get(_));
        if has_site && *files.as_ref() > 0 {
            return Ok(*files.as_ref() as usize);
        }
        let help = "use a `replay`, `walk` or `webstone` workload, which writes a site, and at least 1 file";
        self.wrong(files.span(), "there is no file to alter", help)
    }

    fn violating_urls(&self, urls: &Spanned<Vec<Spanned<String>>>) -> Checked<Violations> {
        if let Some(wrong) = urls.as_ref().iter().find(|url| !url.as_ref().starts_with('/')) {
            return self.wrong(
                wrong.span(),
                format!("`{}` is no path", wrong.as_ref()),
                "paths start with /",
            );
        }
        if urls.as_ref().is_empty() {
            return self.wrong(urls.span(), "there is nothing to refuse", "name at least one path");
        }
        Ok(Violations::Urls(urls.as_ref().iter().map(|url| url.as_ref().clone()).collect()))
    }

    fn enforced_by(
        &self,
        v: &ViolationsSection,
        arms: &[Arm],
        baselines: &Baselines,
    ) -> Checked<Vec<String>> {
        let known: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        let Some(list) = &v.enforced_by else {
            let others = known.iter().enumerate().filter(|(index, _)| !baselines.is(*index));
            return Ok(others.map(|(_, name)| (*name).to_owned()).collect());
        };
        if let Some(wrong) = list.as_ref().iter().find(|name| !known.contains(&name.as_ref().as_str())) {
            let what = format!("there is no arm `{}`", wrong.as_ref());
            return self.wrong(wrong.span(), what, suggestion(wrong.as_ref(), &known));
        }
        Ok(list.as_ref().iter().map(|name| name.as_ref().clone()).collect())
    }

    pub(super) fn one_of(
        &self,
        value: Option<&Spanned<String>>,
        what: &str,
        known: &[&'static str],
    ) -> Checked<&'static str> {
        let word = value.map_or(known[0], |value| value.as_ref().as_str());
        match known.iter().copied().find(|known| *known == word) {
            Some(known) => Ok(known),
            None => self.wrong(
                value.map_or(0..0, Spanned::span),
                format!("there is no {what} `{word}`"),
                suggestion(word, known),
            ),
        }
    }
}
