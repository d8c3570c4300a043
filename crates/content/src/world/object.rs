//! Object of a world, and its version at a moment.
//!
//! Hot in origin and robots: made anew from its name for every request, on the stack, without
//! allocation. The moment is given, in whole seconds since 1970 as in HTTP's dates.

use super::{Base, ContentKind, Expiry, LifeCycle, ObjectName, purpose, shares};
use crate::{Body, GZIP_AT_MOST_BYTES, mix64};

/// The last moment that is told from later ones: some nine million years away, where seconds still are whole in an
/// `f64`.
const LAST_SECS: u64 = 1 << 48;

/// The properties that follow from a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Object {
    /// Its name.
    pub name: ObjectName,
    /// Its kind: the index in the model.
    pub kind: usize,
    /// Length of its body, in bytes: the same in all versions.
    pub size: u64,
    /// Whether it may be cached.
    pub cachable: bool,
    /// Whether it exists in two forms: as it is, and in gzip.
    pub gzip: bool,
    filler_percent: u8,
    life: Option<Life>,
    embeds: Option<(u8, u16)>,
}

/// The version of an object at a moment, until the next change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Counts the changes, 0 for objects that never change.
    pub number: u64,
    /// Last-Modified, in seconds since 1970: the last change, if the object shows it.
    pub last_modified: Option<u64>,
    /// Expires, in seconds since 1970, if the object shows it.
    pub expires: Option<u64>,
    /// When the next version begins, in seconds since 1970; `u64::MAX`: never.
    pub next_change: u64,
    /// The entity tag, as a number; names object and version.
    pub etag: u64,
}

/// An object's own life cycle. It changes at birth + k cycles + drift, for all whole k.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Life {
    /// At least 1.
    cycle_secs: f64,
    /// From 0 to below a cycle.
    birth_secs: f64,
    /// Most that a change is early or late; at most half a cycle, so that changes stay in order.
    drift_secs: f64,
    shows_last_modified: bool,
    expires: Option<(Base, i64)>,
}

impl Object {
    pub(super) fn new(name: &ObjectName, kind: &ContentKind) -> Self {
        let size = kind.size.draw(&mut purpose::random(name, purpose::SIZE));
        let count = |embeds: &super::Embeds| {
            let count = embeds.count.draw(&mut purpose::random(name, purpose::EMBEDDED_COUNT));
            (embeds.kind as u8, count.round().clamp(0.0, ObjectName::EMBEDDED_AT_MOST as f64) as u16)
        };
        let size = size.ceil() as u64; // the conversion takes sizes below zero for zero
        Self {
            name: *name,
            kind: usize::from(name.kind),
            size,
            cachable: purpose::random(name, purpose::CACHABLE).unit() < kind.cachable,
            gzip: kind.gzip && size <= GZIP_AT_MOST_BYTES,
            filler_percent: kind.filler_percent(),
            life: kind.life.as_ref().map(|cycle| Life::new(name, cycle)),
            embeds: kind.embeds.as_ref().map(count),
        }
    }

    /// Its version at this moment, in seconds since 1970. Only cachable objects show Last-Modified and Expires.
    pub fn at(&self, unix_secs: u64) -> Version {
        let key = self.name.key();
        let Some(life) = &self.life else {
            let etag = etag(key, 0);
            return Version { number: 0, last_modified: None, expires: None, next_change: u64::MAX, etag };
        };
        let now = unix_secs.min(LAST_SECS) as i64;
        let (number, changed, next) = life.around(key, now);
        let shown = |moment: i64| moment.max(0) as u64;
        let expires = life.expires.map(|(base, offset)| match base {
            Base::LastChange => changed.saturating_add(offset),
            Base::NextChange => next.saturating_add(offset),
            Base::Now => now.saturating_add(offset),
        });
        Version {
            number,
            last_modified: (self.cachable && life.shows_last_modified).then(|| shown(changed)),
            expires: expires.filter(|_| self.cachable).map(shown),
            next_change: shown(next),
            etag: etag(key, number),
        }
    }

    /// The bytes of the version with this number.
    pub fn body(&self, version: u64) -> Body {
        Body::compressible(self.name.version_id(version), self.size, self.filler_percent)
    }

    /// The moment from which no version older than that of `unix_secs` can be fresh by what the origin said of it; `None`:
    /// the object shows no Expires. Of those whose Expires counts from the reply the latest is taken.
    pub fn older_stale_from(&self, unix_secs: u64) -> Option<u64> {
        let life = self.life.as_ref()?;
        let (_, offset) = life.expires?;
        let (_, changed, _) = life.around(self.name.key(), unix_secs.min(LAST_SECS) as i64);
        Some(changed.saturating_add(offset).max(0) as u64)
    }

    /// Whether its Expires counts from the moment of the reply, and so is another one at each moment.
    pub fn expires_moves(&self) -> bool {
        self.life.is_some_and(|life| life.expires.is_some_and(|(base, _)| base == Base::Now))
    }

    /// The names of the objects it embeds.
    pub fn embedded(&self) -> impl ExactSizeIterator<Item = ObjectName> + use<> {
        let name = self.name;
        let (kind, count) = self.embeds.unwrap_or((0, 0));
        (0..count).map(move |index| name.embedded(kind, index as u8))
    }
}

impl Life {
    fn new(name: &ObjectName, cycle: &LifeCycle) -> Self {
        let unit = |purpose| purpose::random(name, purpose).unit();
        let cycle_secs = cycle.length.draw(&mut purpose::random(name, purpose::CYCLE_LENGTH)).max(1.0);
        Self {
            cycle_secs,
            birth_secs: cycle_secs * unit(purpose::BIRTH),
            drift_secs: cycle.variance * cycle_secs / 2.0,
            shows_last_modified: unit(purpose::SHOWS_LAST_MODIFIED) < cycle.last_modified,
            expires: expiry(name, &cycle.expires, unit(purpose::EXPIRY)),
        }
    }

    /// The version at `now`: its number, when it began, when it ends (which is after `now`).
    fn around(&self, key: u64, now: i64) -> (u64, i64, i64) {
        // Drift and rounding move changes by less than two cycles: from one that is still to come,
        // back to the last that was.
        let mut cycle = ((now as f64 - self.birth_secs) / self.cycle_secs).floor() as i64 + 2;
        let mut next = self.change(key, cycle + 1);
        loop {
            let changed = self.change(key, cycle);
            if changed <= now {
                // Change -2 is the earliest that can be the last one at 1970.
                return ((cycle + 2).max(0) as u64, changed, next);
            }
            next = changed;
            cycle -= 1;
        }
    }

    /// When change `cycle` is, in whole seconds since 1970.
    fn change(&self, key: u64, cycle: i64) -> i64 {
        let mut secs = self.birth_secs + cycle as f64 * self.cycle_secs;
        if self.drift_secs > 0.0 {
            let unit = purpose::version_random(key, cycle as u64, purpose::DRIFT).unit();
            secs += self.drift_secs * (2.0 * unit - 1.0);
        }
        secs.floor() as i64
    }
}

/// The entry of this object, and its offset.
fn expiry(name: &ObjectName, entries: &[Expiry], unit: f64) -> Option<(Base, i64)> {
    let entry = &entries[shares::pick(entries.iter().map(|entry| entry.share), unit)?];
    let secs = entry.offset.draw(&mut purpose::random(name, purpose::EXPIRY_OFFSET)).max(0.0).round() as i64;
    Some((entry.base, if entry.early { -secs } else { secs }))
}

fn etag(key: u64, version: u64) -> u64 {
    mix64(key ^ purpose::version_random(key, version, purpose::ETAG).next_u64())
}
