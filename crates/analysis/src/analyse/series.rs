//! Slices as a table: complete rounds down, arms across.

use super::error::AnalyseError;
use crate::looks::looks;
use bakeoff_meter::catalogue::{self, RESPONSE_P50};
use bakeoff_meter::{
    Aggregation, Buckets, DecodeError, Histogram, HistogramDecoder, Meter, Side, SliceCounters, Sum, Times,
};
use bakeoff_plan::RoundDesign;
use bakeoff_results::{PlaceSetup, PopulationSetup, RoundKind, Setup, SliceRecord};
use bakeoff_stats::LookPlan;
use std::collections::BTreeMap;

/// One arm's slices of complete rounds, in the order of rounds. Histograms are kept whole once, for
/// all rounds together, and per round as the buckets that hold anything.
#[derive(Default)]
pub(super) struct Column {
    pub(super) counters: Vec<SliceCounters>,
    pub(super) merged: Times,
    /// Start of each slice, since the run began.
    pub(super) started_ns: Vec<u64>,
    response: Vec<Buckets>,
    service: Vec<Buckets>,
    response_p50: Vec<Option<f64>>,
    /// `files` workload: histograms by kind of operation.
    operations: BTreeMap<String, Histogram>,
}

/// Everything that was measured.
pub(super) struct Table {
    /// Rounds of the design, load by load; without loads only the plan's own clock.
    pub(super) loads: Vec<Series>,
    /// Index of the load that verdicts stand on.
    pub(super) decide_at: usize,
    /// The decision's load once more, the arms in turn.
    pub(super) in_turn: Series,
    /// The plan's own clock, if that is another load: full speed.
    pub(super) full_speed: Series,
    /// Rounds after which verdicts are judged.
    pub(super) looks: LookPlan,
    pub(super) is_duet: bool,
    /// Each population as if it had been alone, in the order of the plan.
    pub(super) populations: Vec<(PopulationSetup, Self)>,
    /// The share of each generator on another host as if it had been alone.
    pub(super) generators: Vec<GeneratorTable>,
}

/// The share of one generator.
pub(super) struct GeneratorTable {
    /// In words: `generator 2 (load-2)`.
    pub(super) name: String,
    /// Its share of the lanes.
    pub(super) share: f64,
    pub(super) alone: Table,
}

impl Table {
    pub(super) fn read(setup: &Setup, slices: &[SliceRecord], depth: Depth) -> Result<Self, AnalyseError> {
        let alone = |known: &PopulationSetup| {
            let own: Vec<_> =
                slices.iter().filter_map(|slice| slice.of_population(&known.population)).collect();
            let table = Self::of(setup, &own, depth)?;
            Ok((known.clone(), table))
        };
        let populations =
            setup.workload.populations.iter().map(alone).collect::<Result<_, AnalyseError>>()?;
        let lanes: u32 = setup.places.iter().map(|place| place.lanes).sum();
        let of_generator = |(index, place): (usize, &PlaceSetup)| {
            let own: Vec<_> = slices.iter().filter_map(|slice| slice.of_part(index as u32 + 1)).collect();
            let name = PlaceSetup::in_words(index + 1, &place.host);
            let share = f64::from(place.lanes) / f64::from(lanes.max(1));
            Ok(GeneratorTable { name, share, alone: Self::of(setup, &own, depth)? })
        };
        let generators =
            setup.places.iter().enumerate().map(of_generator).collect::<Result<_, AnalyseError>>()?;
        Ok(Self { populations, generators, ..Self::of(setup, slices, depth)? })
    }

    fn of(setup: &Setup, slices: &[SliceRecord], depth: Depth) -> Result<Self, AnalyseError> {
        let design = &setup.design;
        let of = |kind: RoundKind, load: Option<u32>, by: RoundDesign| {
            let is_of = |slice: &&SliceRecord| design.kind_of(slice) == kind && slice.load == load;
            let own: Vec<&SliceRecord> = slices.iter().filter(is_of).collect();
            let there = design.slices_of(kind, &setup.arms);
            Ok::<_, AnalyseError>(Series { load, design: by, ..Series::read(setup, &own, &there, depth)? })
        };
        let loads = match design.loads.len() as u32 {
            0 => vec![of(RoundKind::Main, None, design.design)?],
            all => {
                let main = (0..all).map(|load| of(RoundKind::Main, Some(load), design.design));
                main.collect::<Result<_, _>>()?
            }
        };
        Ok(Self {
            decide_at: (design.decide_at as usize).min(loads.len() - 1),
            loads,
            in_turn: of(RoundKind::InTurn, Some(design.decide_at), RoundDesign::Pairs)?,
            full_speed: of(RoundKind::FullSpeed, None, RoundDesign::Pairs)?,
            looks: looks(setup, slices),
            is_duet: design.is_duet(),
            populations: Vec::new(),
            generators: Vec::new(),
        })
    }

    /// The rounds that verdicts stand on.
    pub(super) fn main(&self) -> &Series {
        &self.loads[self.decide_at]
    }

    /// Number of complete rounds of all kinds.
    pub(super) fn rounds(&self) -> usize {
        self.main().rounds + self.after()
    }

    /// Rounds in turn after the verdict.
    pub(super) const fn after(&self) -> usize {
        self.in_turn.rounds + self.full_speed.rounds
    }

    /// The rounds in which a figure is undistorted. A duet gives what a subject uses for its own requests, and their
    /// outcomes. Times come from whole slices at the same load, and throughput from rounds in which nothing sets the
    /// pace.
    pub(super) fn valid_for(&self, meter: &Meter) -> &Series {
        let of_subject =
            meter.side == Side::Subject && meter.kind != Aggregation::Histogram && !meter.is_speed();
        match () {
            () if of_subject || meter.part_of.is_some() => self.main(),
            () if meter.is_speed() && self.full_speed.rounds > 0 => &self.full_speed,
            () => self.timed(),
        }
    }

    /// The rounds whose times hold.
    pub(super) fn timed(&self) -> &Series {
        match () {
            () if !self.is_duet => self.main(),
            () if self.in_turn.rounds > 0 || self.full_speed.rounds == 0 => &self.in_turn,
            () => &self.full_speed,
        }
    }

    /// All rounds, of all kinds.
    pub(super) fn all(&self) -> impl Iterator<Item = &Series> {
        self.loads.iter().chain([&self.in_turn, &self.full_speed])
    }

    /// The table as if only this kind of file operation had been measured.
    pub(super) fn alone(&self, operation: &str) -> Self {
        Self {
            loads: self.loads.iter().map(|series| series.alone(operation)).collect(),
            decide_at: self.decide_at,
            in_turn: self.in_turn.alone(operation),
            full_speed: self.full_speed.alone(operation),
            looks: self.looks.clone(),
            is_duet: self.is_duet,
            populations: Vec::new(),
            generators: Vec::new(),
        }
    }
}

/// All arms.
pub(super) struct Series {
    columns: BTreeMap<String, Column>,
    /// Counters of the arms that are in several blocks of a duet, block by block: a baseline's two processes.
    in_blocks: BTreeMap<(String, u32), Vec<SliceCounters>>,
    /// The block of every other arm.
    block_of: BTreeMap<String, u32>,
    rounds: usize,
    /// Numbers of the rounds, ascending.
    numbers: Vec<u32>,
    /// The design of their slices.
    pub(super) design: RoundDesign,
    /// Index of their load in the design's list; none: the plan's own clock.
    pub(super) load: Option<u32>,
    /// The start of the arms that each round belongs to.
    starts: Vec<u32>,
    pub(super) seconds_per_round: Option<f64>,
}

/// Whether histograms are needed: reading them takes most of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    Counters,
    Histograms,
}

impl Series {
    /// `there`: the slices of a complete round, each an arm and a block. An arm of several blocks has one column, with
    /// what it did in all of them.
    fn read(
        setup: &Setup,
        slices: &[&SliceRecord],
        there: &[(&str, u32)],
        depth: Depth,
    ) -> Result<Self, AnalyseError> {
        let mut by_round: BTreeMap<u32, BTreeMap<(&str, u32), &SliceRecord>> = BTreeMap::new();
        for slice in slices {
            by_round.entry(slice.round).or_default().insert((&slice.arm, slice.block), slice);
        }
        by_round.retain(|_, round| there.iter().all(|slice| round.contains_key(slice)));
        let complete: Vec<_> = by_round.values().collect();
        let mut decoder = HistogramDecoder::default();
        let mut series = Self {
            columns: BTreeMap::new(),
            in_blocks: BTreeMap::new(),
            block_of: BTreeMap::new(),
            rounds: complete.len(),
            numbers: by_round.keys().copied().collect(),
            design: RoundDesign::Pairs,
            load: None,
            starts: Vec::new(),
            seconds_per_round: seconds_per_round(slices, complete.len()),
        };
        for arm in &setup.arms {
            let blocks: Vec<u32> =
                there.iter().filter(|(of, _)| of == arm).map(|(_, block)| *block).collect();
            let of_block = |block: u32| complete.iter().map(move |round| round[&(arm.as_str(), block)]);
            let mut column =
                blocks.first().map_or_else(Column::default, |first| Column::counted(of_block(*first)));
            let own = |block: &u32| {
                let counters = of_block(*block).map(|slice| slice.counters.clone()).collect();
                ((arm.clone(), *block), counters)
            };
            match blocks.as_slice() {
                [_, further @ ..] if !further.is_empty() => {
                    further.iter().for_each(|block| column.add(of_block(*block)));
                    series.in_blocks.extend(blocks.iter().map(own));
                }
                first => series.block_of.extend(first.first().map(|block| (arm.clone(), *block))),
            }
            if depth == Depth::Histograms {
                column.time(blocks.iter().map(|block| of_block(*block).collect()), &mut decoder)?;
            }
            series.columns.insert(arm.clone(), column);
        }
        let first = setup.design.blocks_of(&setup.baseline).next().unwrap_or(0);
        let of_baseline = (setup.baseline.as_str(), first);
        series.starts = complete.iter().filter_map(|round| Some(round.get(&of_baseline)?.start)).collect();
        Ok(series)
    }

    pub(super) const fn rounds(&self) -> usize {
        self.rounds
    }

    /// Numbers of the rounds, ascending.
    pub(super) fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// The start of the arms that each round belongs to.
    pub(super) fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The column of an arm of the set-up.
    pub(super) fn column(&self, arm: &str) -> &Column {
        &self.columns[arm]
    }

    /// The figure of each slice; `None` when one slice has none. The median response time is the only quantile that is
    /// judged per slice: it stands on thousands of replies.
    pub(super) fn figures(&self, arm: &str, meter: &Meter) -> Option<Vec<f64>> {
        let column = self.column(arm);
        if meter.name == RESPONSE_P50 {
            return column.response_p50.iter().copied().collect();
        }
        column.counters.iter().map(meter.of_slice).collect()
    }

    /// The same of the slices that another arm shared: what stood beside it in its block of a duet.
    pub(super) fn figures_beside(&self, other: &str, arm: &str, meter: &Meter) -> Option<Vec<f64>> {
        let block = self.block_of.get(other);
        match block.and_then(|block| self.in_blocks.get(&(arm.to_owned(), *block))) {
            Some(counters) => counters.iter().map(meter.of_slice).collect(),
            None => self.figures(arm, meter),
        }
    }
}

impl Series {
    /// The series as if only this kind of file operation had been measured.
    pub(super) fn alone(&self, operation: &str) -> Self {
        let columns = self.columns.iter().map(|(arm, column)| (arm.clone(), column.alone(operation)));
        Self {
            columns: columns.collect(),
            in_blocks: BTreeMap::new(),
            block_of: BTreeMap::new(),
            rounds: self.rounds,
            numbers: self.numbers.clone(),
            design: self.design,
            load: self.load,
            starts: self.starts.clone(),
            seconds_per_round: self.seconds_per_round,
        }
    }
}

impl Column {
    fn alone(&self, operation: &str) -> Self {
        let of = |counters: &SliceCounters| {
            let counts = counters.operations.get(operation);
            counts.map_or_else(SliceCounters::default, |counts| counts.alone(operation))
        };
        let (counters, started_ns) = (self.counters.iter().map(of).collect(), self.started_ns.clone());
        let mut column = Self { counters, started_ns, ..Self::default() };
        if let Some(times) = self.operations.get(operation) {
            column.merged.response = times.clone();
        }
        column
    }

    fn counted<'a>(slices: impl Iterator<Item = &'a SliceRecord>) -> Self {
        let (counters, started_ns) = slices.map(|slice| (slice.counters.clone(), slice.started_ns)).unzip();
        Self { counters, started_ns, ..Self::default() }
    }

    /// Adds the slices of a further block, round by round.
    fn add<'a>(&mut self, slices: impl Iterator<Item = &'a SliceRecord>) {
        for (counters, slice) in self.counters.iter_mut().zip(slices) {
            counters.add_part(&slice.counters);
        }
    }

    /// Times of each block, and those of the first one round by round: a duet's times are not judged.
    fn time<'a>(
        &mut self,
        blocks: impl Iterator<Item = Vec<&'a SliceRecord>>,
        decoder: &mut HistogramDecoder,
    ) -> Result<(), AnalyseError> {
        let mut sums = Sums::default();
        for (index, slice) in
            blocks.enumerate().flat_map(|(index, block)| block.into_iter().map(move |s| (index, s)))
        {
            let damaged = |why| AnalyseError::Histogram { round: slice.round, arm: slice.arm.clone(), why };
            let (response, service) = sums.add(slice, decoder).map_err(damaged)?;
            if index > 0 {
                continue;
            }
            self.response_p50.push((response.count() > 0).then(|| response.quantile(0.5).get() as f64));
            self.response.push(response);
            self.service.push(service);
        }
        self.merged = sums.times();
        self.operations = sums.operations.iter().map(|(name, sum)| (name.clone(), sum.histogram())).collect();
        Ok(())
    }

    /// The histogram that a quantile meter reads: merged, and round by round.
    pub(super) fn histogram(&self, meter: &Meter) -> (&Histogram, &[Buckets]) {
        if meter.is_of_service() {
            (&self.merged.service, &self.service)
        } else {
            (&self.merged.response, &self.response)
        }
    }
}

/// All rounds together, while they are read.
#[derive(Default)]
struct Sums {
    response: Sum,
    service: Sum,
    first_byte: Sum,
    connect: Sum,
    handshake: Sum,
    lateness: Sum,
    operations: BTreeMap<String, Sum>,
}

impl Sums {
    /// Gives the slice's own response and service times.
    fn add(
        &mut self,
        slice: &SliceRecord,
        decoder: &mut HistogramDecoder,
    ) -> Result<(Buckets, Buckets), DecodeError> {
        let mut read = |text: &str, sum: &mut Sum| {
            let buckets = decoder.read(text)?;
            sum.add(&buckets);
            Ok(buckets)
        };
        let times = &slice.times;
        let own = (read(&times.response, &mut self.response)?, read(&times.service, &mut self.service)?);
        read(&times.first_byte, &mut self.first_byte)?;
        read(&times.connect, &mut self.connect)?;
        read(&times.handshake, &mut self.handshake)?;
        read(&times.lateness, &mut self.lateness)?;
        for (operation, counts) in &slice.counters.operations {
            read(&counts.times, self.operations.entry(operation.clone()).or_default())?;
        }
        Ok(own)
    }

    fn times(&self) -> Times {
        Times {
            response: self.response.histogram(),
            service: self.service.histogram(),
            first_byte: self.first_byte.histogram(),
            connect: self.connect.histogram(),
            handshake: self.handshake.histogram(),
            lateness: self.lateness.histogram(),
        }
    }
}

fn seconds_per_round(slices: &[&SliceRecord], rounds: usize) -> Option<f64> {
    let start = slices.iter().map(|slice| slice.started_ns).min()?;
    let end = slices.iter().map(|slice| slice.ended_ns).max()?;
    (rounds > 0).then(|| (end - start) as f64 / 1e9 / rounds as f64)
}

/// The meter that the verdict stands on.
pub(super) fn primary(setup: &Setup) -> &'static Meter {
    catalogue::find(&setup.primary).unwrap_or(&bakeoff_meter::CATALOGUE[0])
}
