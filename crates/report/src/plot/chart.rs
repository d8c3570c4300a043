//! Lines over an axis, as numbers for an SVG.
//!
//! All coordinates are in the units of the view box.

use crate::document::Drawing;
use crate::figures;
use serde::Serialize;
use serde_json::json;

/// The view box, and the room for the axes in it.
const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 26.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 30.0;
/// Width of a label's widest character.
const CHARACTER: f64 = 8.0;

/// So many points of a line are dots, each with its figures; more are a line.
const DOTS: usize = 40;
/// Points of a line over time; of a longer run each is the mean of several.
const POINTS: usize = 150;
/// Levels that lie so many times apart share no scale with equal steps.
const FAR: f64 = 50.0;
/// Steps of a scale of time, seconds.
const TIMES: [f64; 15] = [
    1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0,
];

/// One line to be drawn.
pub(crate) struct Series {
    /// Style class of its arm.
    pub(crate) key: String,
    /// Hint below the mouse pointer.
    pub(crate) label: String,
    pub(crate) dashed: bool,
    /// Name in the chart, at the last point.
    pub(crate) name: Option<String>,
    /// x, y, and whether the point is one of a trial that passed.
    pub(crate) points: Vec<(f64, f64, bool)>,
}

/// A place on the x axis that is marked from top to bottom.
pub(crate) struct Mark {
    pub(crate) key: String,
    pub(crate) at: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Scale of the y axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// From 0 on.
    Linear,
    /// Each step the same factor.
    Logarithmic,
}

/// Against the rate. `unit` as in [`figures::value`]; `None` when there is nothing to draw.
pub(crate) fn of(
    caption: &str,
    unit: &str,
    scale: Scale,
    series: &[Series],
    marks: &[Mark],
) -> Option<Drawing> {
    let axis = |most: f64| linear(most * 1.02);
    across(&axis, &|rate| figures::value("1/s", rate), caption, (unit, scale), series, marks)
}

/// Against the time, in seconds since something began.
pub(crate) fn over_time(caption: &str, unit: &str, mut series: Vec<Series>) -> Option<Drawing> {
    for one in &mut series {
        let mean = |group: &[(f64, f64, bool)], of: fn(&(f64, f64, bool)) -> f64| {
            group.iter().map(of).sum::<f64>() / group.len() as f64
        };
        let point = |group: &[(f64, f64, bool)]| (mean(group, |p| p.0), mean(group, |p| p.1), true);
        one.points = one.points.chunks(one.points.len().div_ceil(POINTS).max(1)).map(point).collect();
    }
    across(&times, &clock, caption, (unit, Scale::Linear), &series, &[])
}

/// Against the levels of a factor. They stand at equal factors of each other where they are far apart.
pub(crate) fn over(
    caption: &str,
    scaled: (&str, Scale),
    place: &dyn Fn(f64) -> String,
    series: &[Series],
) -> Option<Drawing> {
    let least = series.iter().flat_map(|one| &one.points).map(|(x, ..)| *x).fold(f64::INFINITY, f64::min);
    let axis =
        |most: f64| if least > 0.0 && most / least >= FAR { decades(least, most) } else { linear(most) };
    across(&axis, place, caption, scaled, series, &[])
}

fn across(
    axis: &dyn Fn(f64) -> Axis,
    place: &dyn Fn(f64) -> String,
    caption: &str,
    (unit, scale): (&str, Scale),
    series: &[Series],
    marks: &[Mark],
) -> Option<Drawing> {
    let drawn = |y: f64| y.is_finite() && (y > 0.0 || scale == Scale::Linear);
    let points = || series.iter().flat_map(|one| &one.points).filter(|(_, y, _)| drawn(*y));
    let most = points().map(|(x, ..)| *x).chain(marks.iter().map(|mark| mark.high)).fold(0.0, f64::max);
    let (low, high) = points().fold((f64::INFINITY, 0.0_f64), |(l, h), (_, y, _)| (l.min(*y), h.max(*y)));
    if most <= 0.0 || high <= 0.0 {
        return None;
    }
    let across = axis(most);
    let up = match scale {
        Scale::Linear => linear(high),
        Scale::Logarithmic => decades(low, high),
    };
    let x = |rate: f64| round(LEFT + across.share(rate) * (WIDTH - LEFT - RIGHT));
    let y = |figure: f64| round(HEIGHT - BOTTOM - up.share(figure) * (HEIGHT - TOP - BOTTOM));
    let label = |figure: f64| figures::value(unit, figure);
    let stripe = |mark: &Mark| {
        let (from, to) = (x(mark.low), x(mark.high));
        json!({ "key": mark.key, "at": x(mark.at), "from": from, "width": round(to - from) })
    };
    let drawn_line = |one: &Series| {
        let points = one.points.iter().filter(|(_, figure, _)| drawn(*figure));
        let dots = points.map(|(at, figure, filled)| Dot {
            x: x(*at),
            y: y(*figure),
            ends: None,
            filled: *filled,
            title: format!("{} at {}: {}", one.label, place(*at), label(*figure)),
        });
        let dots: Vec<Dot> = dots.collect();
        let mut drawn = line(&one.key, &one.label, one.dashed, &dots, usize::MAX);
        drawn["name"] = json!(dots.last().zip(one.name.as_ref()).map(|(last, name)| name_at(last, name)));
        drawn
    };
    Some(json!({
        "caption": caption,
        "wide": false,
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "top": TOP,
        "bottom": HEIGHT - BOTTOM,
        "across": thinned(ticks(&across.ticks, x, place)),
        "up": ticks(&up.ticks, y, &label),
        "marks": marks.iter().map(stripe).collect::<Vec<_>>(),
        "lines": series.iter().map(drawn_line).collect::<Vec<_>>(),
        "floor": "",
        "zero": null,
        "apart": null,
    }))
}

/// A point, with the ends of its interval where it has one.
#[derive(Serialize)]
pub(crate) struct Dot {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) ends: Option<(f64, f64)>,
    pub(crate) filled: bool,
    pub(crate) title: String,
}

/// A line's name beside a point of it, to the side that has room.
fn name_at(dot: &Dot, name: &str) -> Drawing {
    let (at, anchor) = if dot.x > WIDTH / 2.0 { (dot.x, "end") } else { (dot.x + 7.0, "start") };
    let over = if anchor == "end" { -8.0 } else { 4.0 };
    json!({ "x": round(at), "y": round(dot.y + over), "anchor": anchor, "text": name })
}

/// A line through the first `joined` of the dots.
pub(crate) fn line(key: &str, label: &str, dashed: bool, dots: &[Dot], joined: usize) -> Drawing {
    let corner = |dot: &Dot| format!("{},{}", dot.x, dot.y);
    let path: Vec<String> = dots.iter().take(joined).map(corner).collect();
    let dotted = dots.len() <= DOTS;
    json!({ "key": key, "label": label, "dashed": dashed, "dotted": dotted, "path": path.join(" "), "dots": dots, "name": null })
}

/// A label and its place.
#[derive(Serialize)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) label: String,
}

/// Places and labels of an axis. Zero has no unit.
pub(crate) fn ticks(figures: &[f64], at: impl Fn(f64) -> f64, label: &dyn Fn(f64) -> String) -> Vec<Tick> {
    let said = |figure: f64| if figure == 0.0 { "0".to_owned() } else { label(figure) };
    figures.iter().map(|figure| Tick { at: at(*figure), label: said(*figure) }).collect()
}

/// An axis: what it shows, and where its labels are.
pub(crate) struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    pub(crate) ticks: Vec<f64>,
}

impl Axis {
    /// Place of a figure, from 0 to 1.
    pub(crate) fn share(&self, figure: f64) -> f64 {
        match self.logarithmic {
            true => (figure / self.low).ln() / (self.high / self.low).ln(),
            false => (figure - self.low) / (self.high - self.low),
        }
    }
}

/// Labels side by side, as many as have room: every one, every second, ...
fn thinned(ticks: Vec<Tick>) -> Vec<Tick> {
    let longest = ticks.iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0);
    let room = (WIDTH - LEFT - RIGHT) / ticks.len().saturating_sub(1).max(1) as f64;
    let step = ((longest as f64 + 1.0) * CHARACTER / room).ceil().max(1.0) as usize;
    ticks.into_iter().step_by(step).collect()
}

/// `2:05`, `1:02:05`
fn clock(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// From 0 to at least so many seconds.
fn times(most: f64) -> Axis {
    let step = TIMES.into_iter().find(|step| most / step <= 6.0).unwrap_or(most);
    let count = (most / step).floor() as u32;
    let ticks = (0..=count).map(|n| f64::from(n) * step).collect();
    Axis { low: 0.0, high: most, logarithmic: false, ticks }
}

/// From 0 to at least `most`, in steps of 1, 2 or 5.
pub(crate) fn linear(most: f64) -> Axis {
    let step = step(most);
    let count = (most / step).ceil() as u32;
    let ticks = (0..=count).map(|n| f64::from(n) * step).collect();
    Axis { low: 0.0, high: f64::from(count) * step, logarithmic: false, ticks }
}

/// From at most `low` to at least `high`, which lie on both sides of 0, in steps of 1, 2 or 5.
pub(crate) fn spanning(low: f64, high: f64) -> Axis {
    let step = step(high - low);
    let (first, last) = ((low / step).floor() as i32, (high / step).ceil() as i32);
    let ticks = (first..=last).map(|n| f64::from(n) * step).collect();
    Axis { low: f64::from(first) * step, high: f64::from(last) * step, logarithmic: false, ticks }
}

/// Of 1, 2 or 5 times a power of ten, so that at most five fit.
fn step(most: f64) -> f64 {
    let size = 10_f64.powf((most / 5.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * size).into_iter().find(|step| most / step <= 5.0);
    step.unwrap_or(most)
}

/// Powers of ten around the figures.
fn decades(low: f64, high: f64) -> Axis {
    let first = low.log10().floor() as i32;
    let last = (high.log10().ceil() as i32).max(first + 1);
    let ticks: Vec<f64> = (first..=last).map(|power| 10_f64.powi(power)).collect();
    Axis { low: 10_f64.powi(first), high: 10_f64.powi(last), logarithmic: true, ticks }
}

/// To a tenth of a unit.
pub(crate) fn round(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_steps() {
        assert_eq!(linear(7.0).ticks, [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(linear(5200.0).ticks, [0.0, 2000.0, 4000.0, 6000.0]);
        assert_eq!(spanning(-3.0, 7.0).ticks, [-4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(decades(3e5, 2e7).ticks, [1e5, 1e6, 1e7, 1e8]);
        assert_eq!(decades(1e6, 1e6).ticks, [1e6, 1e7]);
        assert_eq!((linear(7.0).share(4.0), decades(3e5, 2e7).share(1e8)), (0.5, 1.0));
    }

    #[test]
    fn a_scale_of_time_reads_as_a_clock_and_labels_have_room() {
        assert_eq!(
            (clock(0.0), clock(125.0), clock(3_725.0)),
            ("0:00".into(), "2:05".into(), "1:02:05".into())
        );
        assert_eq!(times(95.0).ticks, [0.0, 20.0, 40.0, 60.0, 80.0]);
        let tick = |n: u32| Tick { at: f64::from(n), label: format!("{n}00000/s") };
        let kept: Vec<f64> = thinned((1..=6).map(tick).collect()).iter().map(|tick| tick.at).collect();
        assert_eq!(kept, [1.0, 3.0, 5.0]);
    }

    #[test]
    fn points_lie_where_they_belong_and_what_is_no_figure_is_left_out() {
        let points = vec![(0.0, 1e6, true), (50.0, 1e7, false), (100.0, f64::NAN, true)];
        let series = Series {
            key: "arm-0".to_owned(),
            label: "p99".to_owned(),
            dashed: false,
            name: Some("p99".to_owned()),
            points,
        };
        let chart = of("Times", "ns", Scale::Logarithmic, &[series], &[]).unwrap();
        let dots = chart["lines"][0]["dots"].as_array().unwrap();
        assert_eq!(dots.len(), 2);
        assert_eq!((&dots[0]["x"], &dots[0]["y"]), (&json!(LEFT), &json!(HEIGHT - BOTTOM)));
        assert_eq!((&dots[1]["y"], &dots[1]["filled"]), (&json!(TOP), &json!(false)));
        assert_eq!(dots[1]["title"], "p99 at 50/s: 10 ms");
        assert_eq!(
            (&chart["lines"][0]["name"]["text"], &chart["lines"][0]["name"]["anchor"]),
            (&json!("p99"), &json!("end"))
        );
        let points = vec![(1.0, 1e6, true), (10_000.0, 2e6, true)];
        let series =
            Series { key: "arm-0".to_owned(), label: "off".to_owned(), dashed: false, name: None, points };
        let chart = over("CPU", ("ns", Scale::Linear), &|x| x.to_string(), &[series]).unwrap();
        assert_eq!(chart["lines"][0]["dots"][1]["title"], "off at 10000: 2 ms");
        assert_eq!(chart["lines"][0]["name"], json!(null));
        assert_eq!(chart["across"].as_array().map(Vec::len), Some(5), "a label each ten times");
        assert!(of("Nothing", "ns", Scale::Linear, &[], &[]).is_none());
    }
}
