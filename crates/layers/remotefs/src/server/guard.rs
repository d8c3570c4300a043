//! What a session may do: the operations that each request needs, held against its grant.
//!
//! Measured side, server process, hot: once or twice a request. An object is judged by all its names, a name that is to be made
//! or removed by itself. What was decided is kept until the grant ends or the rules change. Owns neither the rules nor who
//! somebody is (`principals` does), and changes nothing of the export.
//!
//! A name is told to whoever may do something with what has it, or with something below it; listing needs a right of its own. Permission
//! bits that are told are what the session may do, as its owner's; so its kernel refuses most of what would be refused here.

use super::No;
use super::coherence::Coherence;
use super::counters::{Count, Tally};
use super::objects::{Object, Objects, Path, ROOT};
use super::principals::{Principal, Principals};
use crate::frame::{Attributes, Kind, Name, New, Request, Times, Way};
use crate::lease::{Object as Number, Session};
use crate::refusal::Refusal;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_credentials::grant::Rights;
use bakeoff_layers_credentials::operation::{Operation, Operations};
use std::fmt::Write;
use std::sync::Arc;

/// The longest answer to WHY: what a symbolic link can say.
const MOST_SENTENCES: usize = 4000;

/// Who stands before the export.
pub(super) struct Guard {
    objects: Arc<Objects>,
    principals: Arc<Principals>,
    tally: Arc<Tally>,
}

impl Guard {
    pub(super) fn new(objects: Arc<Objects>, principals: Arc<Principals>, tally: Arc<Tally>) -> Self {
        Self { objects, principals, tally }
    }

    /// Refuses what the session may not do. Names that are looked up, and what is told of an object, are looked at when they
    /// are known ([`sees`](Self::sees), [`effective`](Self::effective)).
    pub(super) fn allow(&self, session: Session, request: &Request<'_>) -> Result<(), No> {
        use Operation::{Create, List, Read, Remove, Write};
        let who = self.principals.of(session)?;
        let needs = |object, enough: &dyn Fn(Operations) -> bool| self.needs(&who, object, enough);
        let needs_at = |directory, name, enough: &dyn Fn(Operations) -> bool| {
            self.needs_at(&who, (directory, name), enough)
        };
        match *request {
            Request::Read { object, .. } | Request::ReadLink { object } => needs(object, &|may| may.has(Read)),
            Request::List { directory, .. } => needs(directory, &|may| may.has(List)),
            Request::Write { object, bytes, .. } => {
                needs(object, &|may| may.has(Write))?;
                self.counts(&who, object, bytes.len() as u64)
            }
            Request::Commit { object } => needs(object, &|may| may != Operations::NONE),
            Request::SetAttributes { object, new } => needs(object, &|may| is_enough_to_set(&new, may)),
            Request::Create { directory, name, truncate, .. } => {
                needs_at(directory, name, &|may| may.has(Create) && (may.has(Write) || !truncate))
            }
            Request::MakeDirectory { directory, name, .. } | Request::SymLink { directory, name, .. } => {
                needs_at(directory, name, &|may| may.has(Create))
            }
            // One more name is as good as a copy, and makes those who may not use it lose the others.
            Request::Link { object, directory, name } => {
                needs(object, &|may| may.has(Read) && may.has(Remove))?;
                needs_at(directory, name, &|may| may.has(Create))
            }
            Request::Remove { directory, name } | Request::RemoveDirectory { directory, name } => {
                needs_at(directory, name, &|may| may.has(Remove))
            }
            Request::Rename { from, name, to, new_name, way } => {
                self.may_rename(&who, (from, name), (to, new_name), way)
            }
            _ => Ok(()),
        }
    }

    /// What has the new name would be replaced: that needs a right, too. Asked while nobody else can change the name.
    pub(super) fn may_replace(&self, session: Session, place: (Number, Name<'_>)) -> Result<(), No> {
        self.needs_at(&self.principals.of(session)?, place, &|may| may.has(Operation::Remove))
    }

    /// Attributes of an object as the session is told them, if it is told anything of it.
    pub(super) fn effective(
        &self,
        session: Session,
        object: &Object,
        told: Attributes,
    ) -> Result<Attributes, No> {
        let who = self.principals.of(session)?;
        let may = self.rights(&who, object)?.operations;
        let is_told = may != Operations::NONE || object.number == ROOT || {
            let acl = self.principals.acl();
            let leads = |path: &Path| who.grant.leads(&acl, path);
            object.kind == Kind::Directory && self.objects.paths(object)?.iter().any(leads)
        };
        match is_told {
            true => Ok(Attributes { mode: mode(object.kind, may, told.mode), ..told }),
            false => Err(Refusal::Denied.into()),
        }
    }

    /// Refused unless the session may know that a name is not there.
    pub(super) fn sees(&self, session: Session, (directory, name): (Number, Name<'_>)) -> Result<(), No> {
        let who = self.principals.of(session)?;
        let path = self.objects.below(directory, name.bytes())?;
        let acl = self.principals.acl();
        let may = who.grant.rights(&acl, &path).operations != Operations::NONE || who.grant.leads(&acl, &path);
        if may { Ok(()) } else { Err(Refusal::Denied.into()) }
    }

    /// What decides about an object, or a name in a directory: a line an operation.
    pub(super) fn why(&self, session: Session, number: Number, name: Option<Name<'_>>) -> Result<String, No> {
        let who = self.principals.of(session)?;
        let paths = match name {
            Some(name) => vec![self.objects.below(number, name.bytes())?],
            None => match self.objects.paths(&self.objects.find(number)?) {
                Err(No::Refused(refusal)) => return Ok(refusal.to_string()),
                paths => paths?,
            },
        };
        let acl = self.principals.acl();
        let mut text = String::new();
        for operation in Operation::ALL.into_iter().filter(|operation| *operation != Operation::Acl) {
            let each = || paths.iter().map(|path| who.grant.because(&acl, path, operation));
            let Some(because) = each().find(|because| !because.granted).or_else(|| each().next()) else { continue };
            let word = if because.granted { "yes" } else { "no" };
            // A string takes all that is written to it.
            let _ = writeln!(text, "{} {word}: {}", operation.word(), because.reason);
        }
        text.truncate(text.floor_char_boundary(MOST_SENTENCES));
        Ok(text)
    }

    /// An object has another name, or a name more: what was decided about it is void. So is what is below it, of a directory
    /// or of what nobody knows, and all are told.
    pub(super) fn moved(&self, object: Option<&Object>, coherence: &Coherence) {
        match object {
            Some(object) if object.kind != Kind::Directory => self.principals.void(object.number),
            _ => self.principals.rules_changed(coherence),
        }
    }

    fn needs(
        &self,
        who: &Principal,
        object: Number,
        enough: &dyn Fn(Operations) -> bool,
    ) -> Result<(), No> {
        let object = self.objects.find(object)?;
        match enough(self.rights(who, &object)?.operations) {
            true => Ok(()),
            false => Err(Refusal::Denied.into()),
        }
    }

    fn needs_at(
        &self,
        who: &Principal,
        (directory, name): (Number, Name<'_>),
        enough: &dyn Fn(Operations) -> bool,
    ) -> Result<(), No> {
        let path = self.objects.below(directory, name.bytes())?;
        match enough(who.grant.rights(&self.principals.acl(), &path).operations) {
            true => Ok(()),
            false => Err(Refusal::Denied.into()),
        }
    }

    /// What it may do with an object: the least of what it may under each of its names.
    fn rights(&self, who: &Principal, object: &Object) -> Result<Rights, No> {
        let (key, now_unix_s) = ((who.session, object.number), now_unix_s());
        if let Some(rights) = self.principals.kept.look_up(&key, now_unix_s) {
            return Ok(rights);
        }
        let ticket = self.principals.kept.ticket(key);
        self.tally.add(Count::Decisions, 1);
        let acl = self.principals.acl();
        let all = Rights { operations: Operations::ALL, most_bytes: None };
        let rights = self.objects.paths(object)?.iter().map(|path| who.grant.rights(&acl, path)).fold(all, least);
        ticket.keep(rights, Some(who.grant.expires_unix_s), || true);
        Ok(rights)
    }

    /// Counts what is to be written, where that has a limit.
    fn counts(&self, who: &Principal, object: Number, bytes: u64) -> Result<(), No> {
        let object = self.objects.find(object)?;
        if self.rights(who, &object)?.most_bytes.is_none() {
            return Ok(());
        }
        let paths = self.objects.paths(&object)?;
        let limits: Vec<_> = paths.iter().flat_map(|path| who.grant.limits(path)).collect();
        self.principals.count(&limits, bytes)
    }

    /// A rename takes a name away and makes one. It may not make a right out of none: whoever could not read what he moves must not
    /// be able to do more with it under the new name; and rules stay where they are, so nothing moves from above them.
    fn may_rename(
        &self,
        who: &Principal,
        from: (Number, Name<'_>),
        to: (Number, Name<'_>),
        way: Way,
    ) -> Result<(), No> {
        use Operation::{Create, List, Read, Remove};
        let acl = self.principals.acl();
        let look = |(directory, name): (Number, Name<'_>)| -> Result<_, No> {
            let path = self.objects.below(directory, name.bytes())?;
            let may = who.grant.rights(&acl, &path).operations;
            if acl.has_rules_below(&path) { Err(Refusal::RulesBelow.into()) } else { Ok(may) }
        };
        let (old, new) = (look(from)?, look(to)?);
        let gains = |old: Operations, new: Operations| {
            (from.0 != to.0 || !new.is_within(old)) && !(old.has(Read) && old.has(List))
        };
        let both = way == Way::Exchange;
        let may = old.has(Remove)
            && new.has(Create)
            && !gains(old, new)
            && (!both || (old.has(Create) && new.has(Remove) && !gains(new, old)));
        if may { Ok(()) } else { Err(Refusal::Denied.into()) }
    }
}

/// Size is contents; the rest is attributes, but that who may write may say that he did.
fn is_enough_to_set(new: &New, may: Operations) -> bool {
    use Operation::{Attributes, Write};
    let at = |times: Times| matches!(times, Times::At(_));
    let now = |times: Times| times == Times::Now;
    let attributes = new.mode.is_some() || at(new.atime) || at(new.mtime);
    (new.size.is_none() || may.has(Write))
        && (!attributes || may.has(Attributes))
        && (!(now(new.atime) || now(new.mtime)) || may.has(Write) || may.has(Attributes))
}

fn least(one: Rights, other: Rights) -> Rights {
    let most_bytes = [one.most_bytes, other.most_bytes].into_iter().flatten().min();
    Rights { operations: one.operations.and(other.operations), most_bytes }
}

/// What may be done as permission bits of the owner. Whoever is told of a directory may look for names in it.
fn mode(kind: Kind, may: Operations, mode: u16) -> u16 {
    use Operation::{Create, List, Read, Remove, Write};
    let bit = |so: bool, bit: u16| if so { bit } else { 0 };
    match kind {
        Kind::File => {
            bit(may.has(Read), 0o400)
                | bit(may.has(Write), 0o200)
                | bit(may.has(Read) && mode & 0o111 != 0, 0o100)
        }
        Kind::Directory => bit(may.has(List), 0o400) | bit(may.has(Create) || may.has(Remove), 0o200) | 0o100,
        Kind::Link => 0o777,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> Operations {
        Operations::of_words(words).unwrap()
    }

    #[test]
    fn permission_bits_say_what_may_be_done() {
        let table = [
            (Kind::File, "read", 0o755, 0o500),
            (Kind::File, "read,write", 0o644, 0o600),
            (Kind::File, "write", 0o755, 0o200),
            (Kind::File, "list,create,remove", 0o777, 0),
            (Kind::Directory, "list", 0o777, 0o500),
            (Kind::Directory, "read", 0o777, 0o100),
            (Kind::Directory, "create", 0o1777, 0o300),
            (Kind::Directory, "all", 0o000, 0o700),
        ];
        for (kind, words, true_mode, told) in table {
            assert_eq!(mode(kind, of(words), true_mode), told, "{kind:?} {words}");
        }
    }

    #[test]
    fn setting_needs_the_right_for_each_part() {
        let size = New { size: Some(0), ..New::default() };
        let bits = New { mode: Some(0o600), ..New::default() };
        let touched = New { atime: Times::Now, mtime: Times::Now, ..New::default() };
        let dated = New { mtime: Times::At(crate::frame::Moment { s: 1, ns: 0 }), ..New::default() };
        let table = [(size, "write"), (bits, "attributes"), (touched, "write"), (touched, "attributes"), (dated, "attributes")];
        for (new, words) in table {
            assert!(is_enough_to_set(&new, of(words)), "{new:?} {words}");
        }
        for (new, words) in [(size, "attributes"), (bits, "write"), (touched, "read"), (dated, "write")] {
            assert!(!is_enough_to_set(&new, of(words)), "{new:?} {words}");
        }
        assert!(!is_enough_to_set(&New { size: Some(0), ..bits }, of("write")));
    }
}
