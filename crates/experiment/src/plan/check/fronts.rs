//! `[front.NAME]`, the fronts that arms name, and what caches are told by the origin.

use super::super::error::suggestion;
use super::super::file::{ArmSection, FrontSection, PlanFile, WorkloadSection};
use super::super::{Arm, ArmKind, Work};
use super::named::{Named, stranger, text};
use super::{Checked, Context};
use crate::plan::file::Spanned;
use bakeoff_subject::{FrontKind, FrontSpec, Product, ProxyRefusal, Spec};
use bakeoff_units::{Bytes, Nanos};

/// What an arm says that has nothing in front, where others have: so that it can be a level of a factor.
const NONE: &str = "none";
/// Room for objects, where a plan says nothing: more than the sites of most logs take.
const MEMORY: &str = "256MB";
/// Longer than runs take: nothing expires in one.
const MAX_AGE: Nanos = Nanos::from_secs(86_400);

impl Context<'_> {
    /// The plan's own fronts, and every product by its name.
    pub(super) fn own_fronts(&self, file: &PlanFile) -> Checked<Vec<FrontSpec>> {
        let mut fronts = Vec::new();
        for (name, section) in &file.front {
            fronts.push(self.front(name, section)?);
        }
        for product in Product::fronts() {
            let section = FrontSection::default();
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
        self.demand_name::<FrontSpec>(name)?;
        if name.as_ref() == NONE {
            let what = format!("`{NONE}` is no name for a front");
            return self.wrong(name.span(), what, "it means that there is none");
        }
        self.demand_status(&section.violations, &section.status)?;
        Ok(FrontSpec {
            name: name.as_ref().clone(),
            what: self.front_kind(name, section)?,
            proof: section.proof.as_ref().map(|argv| self.argv(argv)).transpose()?,
            status: text(&section.status),
            violations: text(&section.violations),
        })
    }

    fn front_kind(&self, name: &Spanned<String>, section: &FrontSection) -> Checked<FrontKind> {
        self.refuse_front_strangers(section)?;
        let ready = text(&section.ready);
        match (&section.command, &section.attach) {
            (Some(_), Some(attach)) => self.wrong(
                attach.span(),
                format!("the front `{}` is two programs", name.as_ref()),
                "give it `command` if it has a port of its own, or `attach` if it has none",
            ),
            (Some(argv), None) => {
                let env = section.env.as_ref().map(|env| env.as_ref().clone().into_iter().collect());
                let tls = section.tls.as_ref().is_some_and(|tls| *tls.as_ref());
                Ok(FrontKind::Command { argv: self.argv(argv)?, ready, env: env.unwrap_or_default(), tls })
            }
            (None, Some(argv)) => Ok(FrontKind::Attached { argv: self.argv(argv)?, ready }),
            (None, None) => {
                let typed = section.product.as_ref().unwrap_or(name);
                let known: Vec<&str> = Product::fronts().map(Product::label).collect();
                let Some(product) = Product::fronts().find(|product| product.label() == typed.as_ref())
                else {
                    let what =
                        format!("there is no product `{}` that stands before a server", typed.as_ref());
                    let help = format!(
                        "{}; any other is a `command`, or `attach`",
                        suggestion(typed.as_ref(), &known)
                    );
                    return self.wrong(typed.span(), what, help);
                };
                self.front_product(product, section)
            }
        }
    }

    fn front_product(&self, product: Product, section: &FrontSection) -> Checked<FrontKind> {
        let tls = section.tls.as_ref().filter(|tls| *tls.as_ref());
        if let Some(lines) = section.directives.as_ref().filter(|_| section.config.is_some()) {
            let what = "`directives` are for our configuration, and this front has its own";
            return self.wrong(lines.span(), what, "write them into the file that `config` names");
        }
        if product.stores_in().is_none()
            && let Some(room) = section.memory.as_ref().or(section.disk.as_ref())
        {
            let what = format!("{} keeps nothing, and needs no room", product.title());
            return self.wrong(room.span(), what, "take the line out");
        }
        let memory: Bytes = self.quantity(section.memory.as_ref(), MEMORY)?;
        let disk: Option<Bytes> = self.optional(section.disk.as_ref())?;
        let what = FrontKind::Product {
            product,
            config: section.config.as_ref().map(|config| self.base.join(config.as_ref())),
            directives: text(&section.directives),
            tls: tls.is_some(),
            memory_bytes: memory.get(),
            disk_bytes: disk.map(Bytes::get),
        };
        if let Some(refusal) = what.refusal() {
            let room = section.disk.as_ref().or(section.memory.as_ref()).map(Spanned::span);
            let tls = tls.map(Spanned::span);
            let key = if refusal == ProxyRefusal::NoTls { tls } else { room };
            return self.wrong(
                key.unwrap_or(0..0),
                format!("{}: {refusal}", product.title()),
                "see docs/plans.md",
            );
        }
        Ok(what)
    }

    /// Keys that mean nothing for this kind of front.
    fn refuse_front_strangers(&self, f: &FrontSection) -> Checked<()> {
        let (command, attach) = (f.command.is_some(), f.attach.is_some());
        let product = !command && !attach;
        let keys = [
            ("product", f.product.as_ref().map(Spanned::span), product),
            ("config", f.config.as_ref().map(Spanned::span), product),
            ("directives", f.directives.as_ref().map(Spanned::span), product),
            ("memory", f.memory.as_ref().map(Spanned::span), product),
            ("disk", f.disk.as_ref().map(Spanned::span), product),
            ("tls", f.tls.as_ref().map(Spanned::span), !attach),
            ("env", f.env.as_ref().map(Spanned::span), command),
            ("ready", f.ready.as_ref().map(Spanned::span), !product),
        ];
        match stranger(keys) {
            Some((key, span)) => {
                self.wrong(span, format!("`{key}` has no meaning for this front"), "take the line out")
            }
            None => Ok(()),
        }
    }

    /// What stands before an arm's server, outermost first.
    pub(super) fn fronts(
        &self,
        arm: &ArmSection,
        what: &ArmKind,
        known: &[FrontSpec],
    ) -> Checked<Vec<FrontSpec>> {
        let Some(list) = &arm.front else { return Ok(Vec::new()) };
        let words = list.as_ref().iter().filter(|word| word.as_ref() != NONE);
        let fronts = self.named(words, known, "stands before this arm", &[NONE])?;
        if !fronts.is_empty() {
            self.refuse_what_no_front_does(arm, what, &fronts, list)?;
        }
        Ok(fronts)
    }

    fn refuse_what_no_front_does<T>(
        &self,
        arm: &ArmSection,
        what: &ArmKind,
        fronts: &[FrontSpec],
        list: &Spanned<T>,
    ) -> Checked<()> {
        let ArmKind::Server(spec) = what else {
            return self.wrong(
                list.span(),
                "a front stands before a server, and this arm is none",
                "take the line out",
            );
        };
        let has_port = fronts.iter().any(|front| front.what.has_port());
        if has_port && spec.speaks_tls() {
            let span = arm.tls.as_ref().map_or(list.span(), Spanned::span);
            let help = "take `tls` from the arm, and say `tls = true` in the [front.NAME] that clients ask";
            return self.wrong(span, "a front asks the server behind it over plain HTTP", help);
        }
        let mut with_port = fronts.iter().filter(|front| front.what.has_port());
        if let Some(inner) =
            with_port.nth(1).into_iter().chain(with_port).find(|front| front.what.speaks_tls())
        {
            let what =
                format!("the front `{}` speaks TLS, and the one before it asks over plain HTTP", inner.name);
            return self.wrong(list.span(), what, "only the outermost one can have `tls = true`");
        }
        if let (true, Some(limits)) = (has_port, &arm.limits) {
            let help = "take `limits` or `front` out";
            return self.wrong(
                limits.span(),
                "limits hold for one server, and not for what stands before it",
                help,
            );
        }
        if let (Spec::Url { .. }, Some(attached)) =
            (spec, fronts.iter().find(|front| matches!(front.what, FrontKind::Attached { .. })))
        {
            let what = format!(
                "`{}` is attached to a server that bakeoff starts, and a URL's runs already",
                attached.name
            );
            return self.wrong(list.span(), what, "use `server` or `command`");
        }
        Ok(())
    }

    /// How long what our own servers send is fresh: where any arm has something in front, or where the plan says it.
    pub(super) fn for_caches(&self, w: &WorkloadSection, work: Work, arms: &[Arm]) -> Checked<Work> {
        let (Work::Requests(mut work), Some(w)) = (work.clone(), w.requests()) else { return Ok(work) };
        let asked = self.optional::<Nanos>(w.max_age.as_ref())?;
        let is_cached = arms.iter().any(|arm| !arm.fronts.is_empty());
        let says_it = |arm: &Arm| matches!(&arm.what, ArmKind::Server(spec) if spec.numbers_replies());
        let is_said = arms.iter().any(says_it);
        if let Some(key) = w.max_age.as_ref().filter(|_| !is_said) {
            let what = "no arm has a server that says it for us: they have configurations of their own, or say nothing";
            return self.wrong(key.span(), what, "say it in theirs, or take the line out");
        }
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
