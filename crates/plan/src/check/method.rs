//! Check of the method: design, study, violations.

use super::super::error::near_miss;
use super::super::file::{ExperimentSection, ViolationsSection};
use super::super::{
    Arm, Baselines, DEFAULT_MARGIN, DesignChoice, RequestSource, RequestWork, ViolationPlan, Violations, Work,
};
use super::{Checked, Context, names};
use crate::file::{Spanned, place_of};
use crate::needs::Need;
use crate::study;
use bakeoff_meter::{Unit, catalogue};
use bakeoff_stats::Margin;
use bakeoff_units::{Nanos, Ratio};

/// The arms that are run, and those that are left out.
type Arms<'a> = (&'a [Arm], &'a [(String, Need)]);

/// Statuses with which servers and layers refuse. Not 404: that also means never there.
const REFUSED: [u16; 4] = [403, 451, 500, 503];

/// Names that other tools give to replies a second.
const RATES: [&str; 4] = ["requests_per_second", "throughput", "rps", "qps"];

impl Context<'_> {
    /// Commands and files have one design only, regardless of what `auto` chooses elsewhere.
    pub(super) fn design(&self, e: &ExperimentSection, work: &Work) -> Checked<DesignChoice> {
        match (self.choice(&e.design, "design", &["auto", "pairs", "duet"], "auto", |word| word)?, work) {
            ("duet", Work::Requests(_)) => {
                let what = "a duet cannot be made over a link, which its arms would share";
                let help = "use design = \"pairs\", or \"auto\", or take the link out";
                self.refuse(e.design.as_ref().filter(|_| e.link.is_some()), what, help)?;
                Ok(DesignChoice::Duet)
            }
            ("duet", _) => {
                self.wrong(place_of(&e.design), "`duet` is for servers under load", "take the line out")
            }
            ("auto", Work::Requests(_)) => Ok(DesignChoice::Auto),
            _ => Ok(DesignChoice::Pairs),
        }
    }

    /// A share of the baseline's figure, or a time if the figure is one.
    pub(super) fn margin(&self, e: &ExperimentSection) -> Checked<Margin> {
        let Some(value) = &e.margin else { return Ok(Margin::Share(DEFAULT_MARGIN)) };
        let is_time = value.as_ref().trim_end().ends_with('s');
        let in_time = e.primary.as_ref().and_then(|name| catalogue::find(name.as_ref()));
        let other = in_time.filter(|meter| is_time && meter.unit != Unit::Nanoseconds).map(|_| value);
        self.refuse(other, "the primary figure is no time", "give a share of it, such as \"1%\"")?;
        let hint = "a time such as \"0.5us\" would do, too; the default is \"1%\"";
        let margin = match is_time {
            true => Margin::Amount(self.quantity::<Nanos>(&e.margin, "1%")?.get() as f64),
            false => Margin::Share(self.read::<Ratio>(value, hint)?.get()),
        };
        let none = value.when(margin.size() <= 0.0);
        self.refuse(none, "this must be above zero", "such as \"1%\", the default, or \"0.5us\"")?;
        Ok(margin)
    }

    pub(super) fn primary(&self, e: &ExperimentSection) -> Checked<Option<String>> {
        let Some(name) = &e.primary else { return Ok(None) };
        let known: Vec<&str> = bakeoff_meter::CATALOGUE
            .iter()
            .filter(|m| m.more_is_worse && m.quantile.is_none_or(|q| q == 0.5))
            .map(|m| m.name)
            .collect();
        let meter = catalogue::find(name.as_ref());
        if meter.is_some_and(|meter| known.contains(&meter.name)) {
            return Ok(Some(name.as_ref().clone()));
        }
        let is_rate = RATES.contains(&name.as_ref().as_str());
        let better = name.when(meter.map_or(is_rate, |meter| !meter.more_is_worse));
        let what = format!("of `{}` more is better, and a verdict says what a layer costs", name.as_ref());
        self.refuse(better, what, "`elapsed` is the time for the same requests: take that")?;
        let what = format!("`{}` is no meter that a verdict can stand on", name.as_ref());
        let help = near_miss(name.as_ref(), &known)
            .unwrap_or_else(|| "`bakeoff meters` lists them; of times it is the median".to_owned());
        self.wrong(name.span(), what, help)
    }

    pub(super) fn study(&self, e: &ExperimentSection) -> Checked<Option<String>> {
        let Some(name) = &e.study else { return Ok(None) };
        let known: Vec<&str> = study::names().collect();
        Ok(Some(self.one_of(name, "study", &known, |known| known)?.to_owned()))
    }

    pub(super) fn violations(
        &self,
        section: Option<&ViolationsSection>,
        work: &Work,
        arms: Arms<'_>,
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
        self.refuse(v.denied.as_ref(), "`denied` is about a `files` workload", "take the line out")?;
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
    fn denied(&self, v: &ViolationsSection, arms: Arms<'_>, baselines: &Baselines) -> Checked<ViolationPlan> {
        let planted = [v.urls.is_some(), v.files.is_some(), v.digests.is_some()];
        let is_other = planted.contains(&true) || v.share.is_some() || v.refused.is_some();
        let Some(denied) = v.denied.as_ref().filter(|denied| *denied.as_ref() > 0 && !is_other) else {
            let what = "in a `files` workload violations are `denied` files alone";
            let help = "such as denied = 20, with a `deny` in the arms that must refuse them";
            return self.wrong(v.span(), what, help);
        };
        let what = Violations::Denied(*denied.as_ref() as usize);
        Ok(ViolationPlan {
            share: Ratio::default(),
            what,
            refused: Vec::new(),
            enforced_by: self.enforced_by(v, arms, baselines)?,
        })
    }

    fn violating_share(&self, v: &ViolationsSection, what: &Violations) -> Checked<Ratio> {
        if matches!(what, Violations::Digests(_)) {
            let what = "`digests` are asked for as often as the workload does";
            self.refuse(v.share.as_ref(), what, "take the line out")?;
            return Ok(Ratio::default());
        }
        let share: Ratio = self.positive(&v.share, "0.5%")?;
        let most = v.share.as_ref().filter(|_| share.get() > 0.5);
        self.refuse(most, "more than half of the requests would be violations", "such as \"0.5%\"")?;
        Ok(share)
    }

    fn violating_files(&self, files: &Spanned<u64>, requests: &RequestWork) -> Checked<usize> {
        let has_site = !matches!(requests.source, RequestSource::Get(_));
        let help = "use a `replay`, `walk` or `webstone` workload, which writes a site, and at least 1 file";
        self.refuse(files.when(!has_site || *files.as_ref() == 0), "there is no file to alter", help)?;
        Ok(*files.as_ref() as usize)
    }

    fn violating_urls(&self, urls: &Spanned<Vec<Spanned<String>>>) -> Checked<Violations> {
        for url in urls.as_ref().iter().filter(|url| !url.as_ref().starts_with('/')) {
            self.refuse(Some(url), format!("`{}` is no path", url.as_ref()), "paths start with /")?;
        }
        let none = urls.when(urls.as_ref().is_empty());
        self.refuse(none, "there is nothing to refuse", "name at least one path")?;
        Ok(Violations::Urls(urls.as_ref().iter().map(|url| url.as_ref().clone()).collect()))
    }

    fn enforced_by(
        &self,
        v: &ViolationsSection,
        (arms, left_out): Arms<'_>,
        baselines: &Baselines,
    ) -> Checked<Vec<String>> {
        let known = names(arms);
        let Some(list) = &v.enforced_by else {
            let others = known.iter().enumerate().filter(|(index, _)| !baselines.is(*index));
            return Ok(others.map(|(_, name)| (*name).to_owned()).collect());
        };
        let arm = |name| self.one_of(name, "arm", &known, |known| known).map(str::to_owned);
        let is_out = |name: &Spanned<String>| left_out.iter().any(|(out, _)| out == name.as_ref());
        list.as_ref().iter().filter(|name| !is_out(name)).map(arm).collect()
    }
}
