//! Check of `[front.NAME]`, of the fronts that arms name, and of the lifetime that the origin gives to caches.

use super::super::error::suggestion;
use super::super::file::{
    ArmGroups, FrontSection, FrontWhat, PlanFile, ProductFront, RulesFront, WorkloadSection,
};
use super::super::{Arm, ArmKind, Work};
use super::named::{Named, env, text};
use super::{Checked, Context};
use crate::file::{Spanned, is_on};
use bakeoff_subject::{FrontFile, FrontKind, FrontSpec, Product, ProxyRefusal, Spec};
use bakeoff_units::{Bytes, Nanos};

/// The word of an arm without a front in a plan where others have one, so that it can be a level of a factor.
const NONE: &str = "none";
/// Default room for objects: more than the sites of most logs take.
const MEMORY: &str = "256MB";
/// The layer police as an attached front: its command, its ready line, its rules file.
const POLICE: [&str; 11] = [
    "{layers}",
    "police",
    "run",
    "--rules",
    "{dir}/rules.toml",
    "--server-pid",
    "{pid}",
    "--interface",
    "{interface}",
    "--status",
    POLICE_STATUS,
];
const POLICE_MODES: [&str; 3] = ["enforce", "log", "off"];
const POLICE_READY: &str = "armed";
const POLICE_RULES: &str = "rules.toml";
const POLICE_STATUS: &str = "{dir}/police.status";
const POLICE_PROOF: [&str; 7] = ["{layers}", "police", "proof", "--pid", "{pid}", "--status", POLICE_STATUS];
/// Lifetime longer than runs: nothing expires in one.
const MAX_AGE: Nanos = Nanos::from_secs(86_400);

impl Context<'_> {
    /// The plan's own fronts, and every product by its name.
    pub(super) fn own_fronts(&self, file: &PlanFile) -> Checked<Vec<FrontSpec>> {
        let own = file.front.iter().map(|(name, section)| self.front(name, section));
        let mut fronts = own.collect::<Checked<Vec<_>>>()?;
        for product in Product::fronts() {
            let section = ProductFront::default();
            fronts.push(FrontSpec {
                name: product.label().to_owned(),
                what: self.front_product(product, &section)?,
                proof: None,
                status: None,
                violations: None,
            });
        }
        Ok(fronts)
    }

    fn front(&self, name: &Spanned<String>, section: &FrontSection) -> Checked<FrontSpec> {
        self.demand_section_name(name, FrontSpec::NOUN)?;
        let taken = name.when(name.as_ref() == NONE);
        self.refuse(taken, format!("`{NONE}` is no name for a front"), "it means that there is none")?;
        let told = &section.told;
        self.demand_status(&told.violations, &told.status)?;
        let of_police = matches!(section.what, FrontWhat::Rules(_));
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let proof = told.proof.as_ref().map(|argv| self.argv(argv)).transpose()?;
        Ok(FrontSpec {
            name: name.as_ref().clone(),
            what: self.front_kind(name, &section.what)?,
            proof: proof.or_else(|| of_police.then(|| own(&POLICE_PROOF))),
            status: text(&told.status).or_else(|| of_police.then(|| POLICE_STATUS.to_owned())),
            violations: text(&told.violations),
        })
    }

    fn front_kind(&self, name: &Spanned<String>, what: &FrontWhat) -> Checked<FrontKind> {
        match what {
            FrontWhat::Command(front) => Ok(FrontKind::Command {
                argv: self.argv(&front.command)?,
                ready: text(&front.ready),
                env: env(&front.env),
                tls: is_on(&front.tls),
            }),
            FrontWhat::Attach(front) => Ok(FrontKind::Attached {
                argv: self.argv(&front.attach)?,
                ready: text(&front.ready),
                file: None,
            }),
            FrontWhat::Rules(front) => self.police(front),
            FrontWhat::Product(front) => {
                let typed = front.product.as_ref().unwrap_or(name);
                let word = typed.as_ref().as_str();
                let Some(product) = Product::fronts().find(|product| product.label() == word) else {
                    let known: Vec<&str> = Product::fronts().map(Product::label).collect();
                    let what = format!("there is no product `{word}` that stands before a server");
                    let help = format!("{}; any other is a `command`, or `attach`", suggestion(word, &known));
                    return self.wrong(typed.span(), what, help);
                };
                self.front_product(product, front)
            }
        }
    }

    /// The layer police: its command, and the rules in its private directory.
    fn police(&self, front: &RulesFront) -> Checked<FrontKind> {
        let mode = self.choice(&front.mode, "mode", &POLICE_MODES, POLICE_MODES[0], |mode| mode)?;
        let mut argv: Vec<String> =
            POLICE.iter().chain(&["--mode", mode]).map(|word| (*word).to_owned()).collect();
        let flags = [(&front.xdp, "--xdp"), (&front.count_time, "--count-time")];
        let asked = flags.iter().filter(|(key, _)| is_on(key));
        argv.extend(asked.map(|(_, flag)| (*flag).to_owned()));
        let (name, origin) = (POLICE_RULES.to_owned(), front.rules.as_ref().clone());
        let file = FrontFile { name, origin, from: self.config(&front.rules) };
        Ok(FrontKind::Attached { argv, ready: Some(POLICE_READY.to_owned()), file: Some(file) })
    }

    fn front_product(&self, product: Product, section: &ProductFront) -> Checked<FrontKind> {
        self.one_configuration("front", ("directives", &section.directives), &section.config)?;
        let room = section.memory.as_ref().or(section.disk.as_ref());
        let what = format!("{} keeps nothing, and needs no room", product.title());
        self.refuse(room.filter(|_| product.stores_in().is_none()), what, "take the line out")?;
        let memory: Bytes = self.quantity(&section.memory, MEMORY)?;
        let disk: Option<Bytes> = self.optional(&section.disk)?;
        let what = FrontKind::Product {
            product,
            config: section.config.as_ref().map(|config| self.config(config)),
            directives: text(&section.directives),
            tls: is_on(&section.tls),
            memory_bytes: memory.get(),
            disk_bytes: disk.map(Bytes::get),
        };
        if let Some(refusal) = what.refusal() {
            let room = section.disk.as_ref().or(section.memory.as_ref()).map(Spanned::span);
            let tls = section.tls.as_ref().map(Spanned::span);
            let key = if refusal == ProxyRefusal::NoTls { tls } else { room };
            let what = format!("{}: {refusal}", product.title());
            return self.wrong(key.unwrap_or(0..0), what, "see docs/plans.md");
        }
        Ok(what)
    }

    /// The fronts of an arm's server, outermost first.
    pub(super) fn fronts(
        &self,
        arm: &ArmGroups,
        what: &ArmKind,
        known: &[FrontSpec],
    ) -> Checked<Vec<FrontSpec>> {
        let (Some(list), ArmKind::Server(spec)) = (&arm.asked.front, what) else { return Ok(Vec::new()) };
        let words = list.as_ref().iter().filter(|word| word.as_ref() != NONE);
        let fronts = self.named(words, known, "stands before this arm", &[NONE])?;
        self.refuse_what_no_front_does(arm, spec, &fronts, list)?;
        Ok(fronts)
    }

    fn refuse_what_no_front_does<T>(
        &self,
        arm: &ArmGroups,
        spec: &Spec,
        fronts: &[FrontSpec],
        list: &Spanned<T>,
    ) -> Checked<()> {
        let has_port = fronts.iter().any(|front| front.what.has_port());
        if has_port && spec.speaks_tls() {
            let span = arm.stand.tls.as_ref().map_or(list.span(), Spanned::span);
            let help = "take `tls` from the arm, and say `tls = true` in the [front.NAME] that clients ask";
            return self.wrong(span, "a front asks the server behind it over plain HTTP", help);
        }
        let mut inner = fronts.iter().filter(|front| front.what.has_port()).skip(1);
        if let Some(inner) = inner.find(|front| front.what.speaks_tls()) {
            let what =
                format!("the front `{}` speaks TLS, and the one before it asks over plain HTTP", inner.name);
            return self.wrong(list.span(), what, "only the outermost one can have `tls = true`");
        }
        let limits = arm.stand.limits.as_ref().filter(|_| has_port);
        let what = "limits hold for one server, and not for what stands before it";
        self.refuse(limits, what, "take `limits` or `front` out")?;
        let attached = fronts.iter().find(|front| matches!(front.what, FrontKind::Attached { .. }));
        if let (Spec::Url { .. }, Some(attached)) = (spec, attached) {
            let what = format!(
                "`{}` is attached to a server that bakeoff starts, and a URL's runs already",
                attached.name
            );
            return self.wrong(list.span(), what, "use `server` or `command`");
        }
        Ok(())
    }

    /// Lifetime of replies of our own servers: if any arm has a front, or if the plan gives it.
    pub(super) fn for_caches(&self, w: &WorkloadSection, work: Work, arms: &[Arm]) -> Checked<Work> {
        let (Work::Requests(mut work), Some(w)) = (work.clone(), w.requests()) else { return Ok(work) };
        let asked = self.optional::<Nanos>(&w.max_age)?;
        let is_cached = arms.iter().any(|arm| !arm.fronts.is_empty());
        let says_it = |arm: &Arm| matches!(&arm.what, ArmKind::Server(spec) if spec.numbers_replies());
        let is_said = arms.iter().any(says_it);
        let what =
            "no arm has a server that says it for us: they have configurations of their own, or say nothing";
        let idle = w.max_age.as_ref().filter(|_| !is_said);
        self.refuse(idle, what, "say it in theirs, or take the line out")?;
        work.max_age = asked.or((is_cached && is_said).then_some(MAX_AGE));
        Ok(Work::Requests(work))
    }
}

impl Named for FrontSpec {
    const NOUN: &'static str = "front";

    fn name(&self) -> &str {
        &self.name
    }
}
