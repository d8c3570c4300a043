//! Reference model of the kernel programs' decisions, in plain Rust: the oracle that they are tested against.
//!
//! Measured side, pure: time, queues and packets come in, decisions go out. Simple before fast; never forgets a
//! connection or a prefix, while the kernel's maps drop the least recently used.
//!
//! A SYN with data is refused if there are rules for requests, as nothing in it is read. Then come the source's rule,
//! its `per` bucket, its own bucket, and the queue of its class. A segment with payload: does its connection stand,
//! what of it has the server not taken yet, is that of a body, is it a plain head? Then comes the rule of its path, or
//! that for odd heads; its bucket; if the rule names a class, that class's queue; and the rule for connections that
//! are not read any more. A packet that one bucket let pass and a later one refused has still taken from the first.

mod bucket;
pub mod head;
mod packet;

pub use bucket::Bucket;
pub use packet::{Flow, Fragment, Load, PacketDecision, PacketKind, PacketOutcome, Reason, Syn, TcpSegment};

use crate::rules::AddressPrefix;
use crate::rules::table::{Refuse, RuleAction, RuleId, RuleTable, StageRule, When};
use head::{After, BrokenHead, SegmentHead, Unread};
use std::collections::HashMap;
use std::net::IpAddr;

/// State of the rules.
#[derive(Clone, Debug)]
pub struct Police {
    table: RuleTable,
    /// Queues and bounds at the time of the next packet.
    pub load: Load,
    own: Vec<Bucket>,
    per: HashMap<(RuleId, AddressPrefix), Bucket>,
    flows: HashMap<Flow, Known>,
}

/// State of a connection; none is kept for one whose next segment begins a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    /// The sequence number behind the segment that it was read from.
    from: u32,
    within: Within,
    /// The server has taken all before `from`.
    sure: bool,
    /// Something was passed on the strength of it before that.
    leaned: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    /// Everything before this sequence number is of a body.
    Body(u32),
    /// Not read any more.
    Unread,
    /// In a head.
    Long(BrokenHead),
    /// Starts of requests are unknown: any segment may hold one.
    Odd,
}

/// What a segment was read as.
#[derive(Clone, Copy)]
struct SegmentReading<'p> {
    seen: PacketKind,
    /// The path of a plain head.
    path: Option<&'p [u8]>,
    /// Its connection is not read from here on.
    unread: Option<Unread>,
}

const ODD: SegmentReading<'static> = SegmentReading { seen: PacketKind::Odd, path: None, unread: None };

impl Police {
    /// With full buckets, no queues and no connections.
    pub fn new(table: &RuleTable) -> Self {
        let own = vec![Bucket::default(); table.rules.len()];
        let (per, flows) = (HashMap::new(), HashMap::new());
        Self { table: table.clone(), load: Load::default(), own, per, flows }
    }

    /// Loads other rules. A rule of the same name and rates keeps its buckets; connections stay known.
    pub fn swap(&mut self, table: &RuleTable) {
        let before = std::mem::replace(self, Self::new(table));
        let same = |rule: &StageRule| {
            let mut olds = before.table.rules.iter();
            olds.position(|old| (&old.name, old.action, old.per) == (&rule.name, rule.action, rule.per))
        };
        for (index, rule) in table.rules.iter().enumerate() {
            let Some(old) = same(rule) else { continue };
            self.own[index] = before.own[old];
            let (new, old) = (RuleId(index as u16), RuleId(old as u16));
            let kept = before.per.iter().filter(|((id, _), _)| *id == old);
            self.per.extend(kept.map(|((_, prefix), bucket)| ((new, *prefix), *bucket)));
        }
        (self.load, self.flows) = (before.load, before.flows);
    }

    /// Decides about a SYN; `now_ns` from any monotonic clock.
    pub fn syn(&mut self, now_ns: u64, syn: &Syn) -> PacketDecision {
        let class = self.table.lowest();
        let pass = PacketDecision {
            seen: PacketKind::Syn,
            rule: None,
            class: None,
            outcome: PacketOutcome::Pass,
            unread: None,
            unread_outcome: None,
        };
        if !self.ours(syn.flow.port) || syn.fragment == Fragment::Later {
            return PacketDecision { seen: PacketKind::Other, ..pass };
        }
        let dropped =
            |reason| PacketDecision { outcome: PacketOutcome::Refuse { reason, how: Refuse::Drop }, ..pass };
        if syn.fragment == Fragment::CutHead {
            return dropped(Reason::Fragment);
        }
        if self.class_port(syn.flow.port) {
            let outcome = PacketOutcome::Refuse { reason: Reason::ClassPort, how: Refuse::Reset };
            return PacketDecision { outcome, ..pass };
        }
        if syn.data && self.table.has_requests() {
            return dropped(Reason::SynData);
        }
        let rule = self.source(syn.flow.source, syn.flow.destination);
        let class = rule.and_then(|id| self.table.rule(id)?.class).or(class);
        let reason = self.refusal(rule, now_ns, syn.flow.source).or_else(|| self.queue(class));
        let outcome = self.outcome(rule, reason, Refuse::Drop);
        if outcome == PacketOutcome::Pass {
            self.flows.remove(&syn.flow);
        }
        PacketDecision { rule, class, outcome, ..pass }
    }

    /// Decides about a segment without SYN.
    pub fn segment(&mut self, now_ns: u64, segment: &TcpSegment<'_>) -> PacketDecision {
        let SegmentReading { seen, path, unread } = self.told(segment);
        let source = segment.flow.source;
        let rule = match (seen, path) {
            (PacketKind::Plain, Some(path)) => self.path(path),
            (PacketKind::Odd, _) => self.table.odd,
            _ => None,
        };
        let class = rule.and_then(|id| self.table.rule(id)?.class);
        let reason = self.refusal(rule, now_ns, source).or_else(|| self.queue(class));
        let outcome = self.outcome(rule, reason, Refuse::Status503);
        let asked = self.table.unread.filter(|_| unread.is_some() && outcome == PacketOutcome::Pass);
        let unread_outcome = asked.map(|id| {
            let class = self.table.rule(id).and_then(|rule| rule.class);
            let reason = self.refusal(Some(id), now_ns, source).or_else(|| self.queue(class));
            self.outcome(Some(id), reason, Refuse::Reset)
        });
        PacketDecision { seen, rule, class, outcome, unread, unread_outcome }
    }

    /// The rule of a source: of all matching ones the longest source decides, then the longest destination.
    pub fn source(&self, source: IpAddr, destination: IpAddr) -> Option<RuleId> {
        let mut holding: Vec<_> = self.table.sources.iter().collect();
        holding.retain(|rule| rule.prefix.holds(source) && rule.to.is_none_or(|to| to.holds(destination)));
        holding.sort_by_key(|rule| (rule.prefix.length(), rule.to.map(AddressPrefix::length)));
        holding.last().map(|rule| rule.rule)
    }

    /// The rule of a plain path.
    pub fn path(&self, path: &[u8]) -> Option<RuleId> {
        let exact = self.table.exact.iter().find(|(whole, _)| whole == path);
        let prefixes = self.table.prefixes.iter().filter(|(begin, _)| path.starts_with(begin));
        let longest = || prefixes.max_by_key(|(begin, _)| begin.len());
        let within = |part: &[u8]| path.windows(part.len().max(1)).any(|window| window == part);
        let first = || self.table.contains.iter().find(|(part, _)| within(part));
        exact.or_else(longest).or_else(first).map(|(_, id)| *id)
    }

    fn ours(&self, port: u16) -> bool {
        self.table.ports.contains(&port) || self.class_port(port)
    }

    fn class_port(&self, port: u16) -> bool {
        self.table.classes.iter().any(|class| class.port == port)
    }

    /// Kind of a segment; updates the state of its connection.
    fn told<'p>(&mut self, segment: &TcpSegment<'p>) -> SegmentReading<'p> {
        let plainly = |seen| SegmentReading { seen, path: None, unread: None };
        let TcpSegment { flow, mut sequence, mut payload, next } = *segment;
        if !self.ours(flow.port) || !self.table.has_requests() {
            return plainly(PacketKind::Other);
        }
        let end = sequence.wrapping_add(payload.len() as u32);
        let known = self.flows.get(&flow).copied();
        let of_body = |until| !is_before(until, end);
        match known {
            _ if payload.is_empty() => return plainly(PacketKind::Rest),
            Some(Known { within: Within::Unread, sure: true, .. }) => return plainly(PacketKind::Rest),
            Some(Known { within: Within::Body(until), sure: true, from, .. })
                if !is_before(sequence, from) && of_body(until) =>
            {
                return plainly(PacketKind::Body);
            }
            _ => {}
        }
        let Some(next) = next else { return plainly(PacketKind::Rest) };
        if is_before(sequence, next) {
            // The server has that much of it.
            if !is_before(next, end) {
                return plainly(PacketKind::Rest);
            }
            payload = payload.get(next.wrapping_sub(sequence) as usize..).unwrap_or_default();
            sequence = next;
        }
        let unsure = known.is_some_and(|known| !known.sure && is_before(next, known.from));
        // What was read of it was not taken, and comes again, perhaps as something else.
        let anew =
            known.filter(|known| unsure && known.within != Within::Odd && is_before(sequence, known.from));
        if let Some(known) = self.flows.get_mut(&flow) {
            known.sure = !unsure;
            known.leaned |= unsure && anew.is_none();
        }
        let within = known.filter(|_| anew.is_none()).map(|known| (known.within, known.from));
        let read = match within {
            Some((Within::Unread, _)) => return plainly(PacketKind::Rest),
            Some((Within::Body(until), _)) if is_before(sequence, until) => {
                if of_body(until) {
                    return plainly(PacketKind::Body);
                }
                None
            }
            Some((Within::Long(broken), from)) if sequence == from => {
                Some(read(head::rest(payload, broken), true))
            }
            Some((Within::Long(_) | Within::Odd, _)) => None,
            Some((Within::Body(_), _)) | None => (sequence == next).then(|| read(head::head(payload), false)),
        };
        let (mut reading, after) = read.unwrap_or((ODD, After::Odd));
        let mut now = Known { from: end, within: Within::Odd, sure: false, leaned: false };
        now.within = match after {
            After::Head if anew.is_none_or(|before| !before.leaned) => {
                self.flows.remove(&flow);
                return reading;
            }
            After::Body(end) => Within::Body(sequence.wrapping_add(end)),
            After::Unread(_) => Within::Unread,
            After::Long(broken) => Within::Long(broken),
            After::Odd | After::Head => Within::Odd,
        };
        if let Some(before) = anew.filter(|before| before.leaned) {
            now.leaned = true;
            if now.within != before.within || matches!(now.within, Within::Long(_) | Within::Odd) {
                now.within = Within::Odd;
                reading = ODD;
            }
        }
        self.flows.insert(flow, now);
        reading
    }

    /// The refusal of a rule's action, if it refuses.
    fn refusal(&mut self, rule: Option<RuleId>, now_ns: u64, source: IpAddr) -> Option<Reason> {
        let id = rule?;
        let rule = self.table.rule(id)?;
        let rate = match rule.action {
            RuleAction::Pass => return None,
            RuleAction::Refuse => return Some(Reason::Refused),
            RuleAction::Police(_) if !self.rates_hold() => return None,
            RuleAction::Police(rate) => rate,
        };
        if let Some((per, prefix)) =
            rule.per.and_then(|per| Some((per, AddressPrefix::of(source, per.length)?)))
            && !self.per.entry((id, prefix)).or_default().conforms(per.rate, now_ns)
        {
            return Some(Reason::RatePer);
        }
        let own = self.own.get_mut(usize::from(id.0))?;
        (!own.conforms(rate, now_ns)).then_some(Reason::Rate)
    }

    fn rates_hold(&self) -> bool {
        let when = self.table.overload.as_ref().map_or(When::Always, |overload| overload.when);
        when == When::Always || (0..self.load.bounds.len()).any(|class| self.is_full(class))
    }

    fn queue(&self, class: Option<u8>) -> Option<Reason> {
        let full = self.table.overload.is_some() && self.is_full(usize::from(class?));
        full.then_some(Reason::Queue)
    }

    /// Whether the queues of a class and those above it are at its bound.
    fn is_full(&self, class: usize) -> bool {
        let waiting: u64 = self.load.queues.iter().take(class + 1).map(|queue| u64::from(*queue)).sum();
        self.load.bounds.get(class).is_some_and(|bound| *bound > 0 && waiting >= u64::from(*bound))
    }

    fn outcome(&self, rule: Option<RuleId>, reason: Option<Reason>, unsaid: Refuse) -> PacketOutcome {
        let how = rule.and_then(|id| self.table.rule(id)).map_or(unsaid, |rule| rule.refuse);
        reason.map_or(PacketOutcome::Pass, |reason| PacketOutcome::Refuse { reason, how })
    }
}

/// What a head is, and what comes after it. `rest`: it began in another segment.
fn read(head: SegmentHead<'_>, rest: bool) -> (SegmentReading<'_>, After) {
    let unread = if let After::Unread(kind) = head.after { Some(kind) } else { None };
    let seen = match head.plain {
        Some(_) if rest => PacketKind::Rest,
        Some(_) => PacketKind::Plain,
        None if unread.is_some_and(|kind| !kind.begins_with_head()) => PacketKind::Rest,
        None => PacketKind::Odd,
    };
    (SegmentReading { seen, path: head.plain.filter(|_| !rest), unread }, head.after)
}

/// Whether a sequence number is before another: within 2^31, as TCP compares.
const fn is_before(sequence: u32, other: u32) -> bool {
    sequence.wrapping_sub(other) > u32::MAX / 2
}
