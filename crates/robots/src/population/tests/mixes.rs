//! Ratios and shares that follow from the plan.

use super::stage::*;
use crate::judge::RequestKind;
use std::collections::{HashMap, HashSet};

const ASKED: usize = 100_000;

/// Three standard errors of a hit ratio of 55 % over 100,000 requests. Not those of independent draws: an
/// object is cachable or not each time it is asked for. With recurrence r the i-th of n objects is asked
/// again r/(1-r) ln(n/i) times on average, so the square of that number is about 12 on average; times n
/// and 0.8 x 0.2 that is a variance of 59,500 requests, with the draws of repeats 73,000: 0.27 %.
const THREE_ERRORS: f64 = 0.0081;

#[test]
fn offered_hits_are_recurrence_times_cachable_and_an_ideal_cache_gets_them_all() {
    let spec = spec("rate = '250/s'\nrecurrence = '68.75%'", &requests(ASKED as u64));
    let mut population = population(POLYMIX_1, spec, setting());
    let run = run(&mut population, usize::MAX, at_once);
    assert_eq!(run.seen.len(), ASKED);
    assert!(run.seen.iter().all(Seen::basic));
    assert_share(share(&run.seen, |seen| seen.flight.repeat), 0.6875, ASKED);
    let offered = share(&run.seen, Seen::offered);
    assert!((offered - 0.55).abs() < THREE_ERRORS, "{offered}");
    let hits = share(&run.seen, |seen| seen.hit);
    assert_eq!(hits, offered, "replies at once: what is offered is hit");
    assert_eq!(
        population.working_set().size().0,
        run.seen.iter().filter(|seen| !seen.flight.repeat).count() as u64
    );
}

#[test]
fn phases_multiply_recurrence() {
    let phase = format!("{}\nrecurrence = {{ begin = '20%' }}", requests(20_000));
    let spec = spec("rate = '250/s'\nrecurrence = '50%'", &phase);
    let run = run(&mut population(POLYMIX_1, spec, setting()), usize::MAX, at_once);
    assert_share(share(&run.seen, |seen| seen.flight.repeat), 0.1, 20_000);
}

#[test]
fn polymix_4_has_its_mix_at_its_rate() {
    let robots = "robots = 1000\nrate = '0.4/s per robot'\nrecurrence = '68.75%'";
    let mut population = population(POLYMIX_4, spec(robots, &lasting(250)), setting());
    let run = run(&mut population, usize::MAX, at_once);
    // 400/s in all; embedded objects take the place of pages, and the last pages' images may be missing.
    let n = run.seen.len();
    let pages = population.tally().pages as usize;
    assert!((n as f64 / 250.0 - 400.0).abs() < 6.0, "{n}");
    // Of pages 42.857 % are HTML with 4.4541 images each (13 - ln 13! / ln 14): 1.9089 images a page.
    let images = 0.42857 * (13.0 - 22.552_163_853 / 14_f64.ln());
    let kinds = |kind: u8| share(&run.seen, |seen| seen.flight.name.kind == kind);
    let total = 1.0 + images;
    // Objects of a page come and go together, and repeats bring the same number again: wider than three errors.
    assert!((kinds(0) - images / total).abs() < 0.01, "{}", kinds(0));
    for (kind, direct) in [(1, 0.42857), (2, 0.014_286), (3, 0.557_14)] {
        let of_pages = kinds(kind) * n as f64 / pages as f64;
        assert_share(of_pages, direct, pages);
        assert!((kinds(kind) - direct / total).abs() < 0.01);
    }
    assert!((kinds(0) - 0.65).abs() < 0.02, "the standard mix says 65 %");
}

#[test]
fn special_requests_have_their_shares() {
    let robots = "rate = '1000/s'\nrecurrence = '50%'\n\
        special = { ims200 = '5%', ims304 = '10%', reload = '5%', range = '4%', abort = '2%', head = '1%', post = '3%', etag200 = '3%', etag304 = '6%' }";
    let half = format!("{}\nspecial = {{ begin = '50%' }}", requests(50_000));
    for (phase, factor) in [(requests(50_000), 1.0), (half, 0.5)] {
        let run = run(&mut population(POLYMIX_1, spec(robots, &phase), setting()), usize::MAX, at_once);
        let kinds = |label: &str| share(&run.seen, |seen| seen.flight.kind.label() == label);
        let get = 1.0 - 0.04 * factor;
        // Uncachable objects show no Last-Modified and are requested plainly.
        for (label, expected) in [
            ("head", 0.01 * factor),
            ("ims200", 0.05 * factor * get * 0.8),
            ("ims304", 0.1 * factor * get * 0.8),
            ("reload", 0.05 * factor * get),
            ("range", 0.04 * factor * get),
            ("abort", 0.02 * factor * get),
            ("etag200", 0.03 * factor * get * 0.8),
            ("etag304", 0.06 * factor * get * 0.8),
            ("post", 0.03 * factor),
        ] {
            let (got, error) = (kinds(label), (expected * (1.0 - expected) / 50_000_f64).sqrt());
            assert!((got - expected).abs() < 5.0 * error, "{label}: {got} of {expected}");
        }
    }
}

#[test]
fn what_is_embedded_follows_its_page_and_repeats_with_it() {
    let spec = spec(
        "rate = '400/s'\nrecurrence = '50%'\nspecial = { head = '5%', ims304 = '5%', range = '5%', abort = '5%' }",
        &requests(20_000),
    );
    let run = run(&mut population(POLYMIX_4, spec, setting()), usize::MAX, at_once);
    let mut whole = HashSet::new();
    for seen in run.seen.iter().filter(|seen| seen.flight.embedded) {
        assert_eq!(seen.flight.name.kind, 0);
        // All replies are good here, and a page's first request is a plain GET: its images come with it.
        assert_eq!(seen.flight.repeat, !whole.insert(seen.flight.name), "a repeat is one exactly");
    }
    let first_pages = run.seen.iter().filter(|seen| seen.flight.name.kind == 1 && !seen.flight.repeat);
    let (mut first, mut with_images) = (0, 0);
    for seen in first_pages {
        first += 1;
        with_images += u32::from(seen.basic());
    }
    assert!(with_images > 1000 && with_images == first, "{with_images} of {first}");
    let direct = |seen: &&Seen| !seen.flight.embedded && seen.flight.name.kind == 1;
    let asked_whole = run.seen.iter().filter(direct).filter(|seen| seen.basic()).count();
    assert!(asked_whole > 1000 && whole.len() > 1000);
    let stamps: HashSet<u64> = run.seen.iter().map(|seen| seen.flight.stamp).collect();
    assert_eq!(stamps.len(), run.seen.len(), "no stamp comes twice");
    assert!(!stamps.contains(&0));
    assert!(run.pages.iter().all(|(page, _)| !page.failed && page.objects >= 1));
}

/// As in Web Polygraph, which says 3.7 % If-Modified-Since (304) and 85.0 % basic; objects without a date count there,
/// and are plain here. If each image were drawn for itself it would be 8 %.
#[test]
fn images_are_asked_for_as_their_page_was() {
    let robots = "robots = 1000\nrate = '0.4/s per robot'\nrecurrence = '68.75%'\n\
        special = { ims200 = '5%', ims304 = '10%', reload = '5%', abort = '0.1%', head = '0.1%', post = '1.5%' }";
    let run =
        run(&mut population(POLYMIX_4, spec(robots, &requests(100_000)), setting()), usize::MAX, at_once);
    let mut pages = HashMap::new();
    for Seen { flight, .. } in &run.seen {
        let label = flight.kind.label();
        match pages.get(&flight.page) {
            // Objects without a date get no condition here either.
            Some(of_page) if flight.embedded => {
                assert!([*of_page, "basic", "abort"].contains(&label), "{flight:?}")
            }
            _ => drop(pages.insert(flight.page, label)),
        }
    }
    let of = |label: &str, of_images: bool| {
        let is = |seen: &&Seen| seen.flight.embedded == of_images;
        let all: Vec<&Seen> = run.seen.iter().filter(is).collect();
        share(&all, |seen| seen.flight.kind.label() == label)
    };
    assert_eq!(of("ims304", true), 0.0, "a 304 embeds nothing");
    // Of pages that bring their images: 5 of 90 %, for images with a date, 80 %. Images come a page at a time.
    assert!((of("reload", true) - 0.0556).abs() < 0.01, "{}", of("reload", true));
    assert!((of("ims200", true) - 0.0444).abs() < 0.01, "{}", of("ims200", true));
    let of_all = |label: &str| share(&run.seen, |seen| seen.flight.kind.label() == label);
    // 10 % of direct requests for objects with a date, but of pages only repeats; that is 0.068 of 2.7 requests a page.
    assert!((of_all("ims304") - 0.025).abs() < 0.004, "{}", of_all("ims304"));
    assert!((of_all("basic") - 0.88).abs() < 0.02, "{}", of_all("basic"));
}

#[test]
fn a_part_of_what_is_embedded_is_always_the_same_part() {
    let robots = "rate = '400/s'\nrecurrence = '50%'\nembedded = '30%'";
    let run =
        run(&mut population(POLYMIX_4, spec(robots, &requests(20_000)), setting()), usize::MAX, at_once);
    let mut pages = HashSet::new();
    let mut images = HashSet::new();
    for seen in &run.seen {
        let flight = &seen.flight;
        if flight.embedded {
            assert_eq!(flight.repeat, !images.insert(flight.name), "a repeat is one exactly");
        } else {
            assert_eq!(flight.repeat, !pages.insert(flight.name));
        }
    }
    let html = run.seen.iter().filter(|seen| seen.flight.name.kind == 1).count() as f64;
    let per_page = run.seen.iter().filter(|seen| seen.flight.embedded).count() as f64 / html;
    // 6,000 pages, of which most are repeats: standard error about 0.05.
    assert!((per_page - 0.3 * 4.454).abs() < 0.15, "{per_page}");
}

#[test]
fn discrimination_asks_for_small_objects_and_keeps_the_ratio_of_documents() {
    let mean = |share: &str| {
        let robots = format!("rate = '250/s'\nrecurrence = '68.75%'\nbyte_hit_discrimination = '{share}'");
        let mut population = population(POLYMIX_1, spec(&robots, &requests(20_000)), setting());
        let run = run(&mut population, usize::MAX, at_once);
        let repeats: Vec<_> = run.seen.iter().filter(|seen| seen.flight.repeat).collect();
        let bytes = |seen: &&Seen| population.object(&seen.flight.name).unwrap().size;
        repeats.iter().map(bytes).sum::<u64>() as f64 / repeats.len() as f64
    };
    let (plain, small) = (mean("0%"), mean("100%"));
    // The smallest of about 7.2 exponential sizes is on average 1/7.2 of their mean (more where few are
    // cachable).
    assert!((plain / 13_312.0 - 1.0).abs() < 0.06, "{plain}");
    assert!((0.12..0.2).contains(&(small / 13_312.0)), "{small}");
}

#[test]
fn servers_are_asked_alike_and_what_cannot_be_repeated_is_counted() {
    let robots = "rate = '250/s'\nservers = 100\nrecurrence = '50%'";
    let mut population = population(POLYMIX_1, spec(robots, &requests(50_000)), setting());
    let run = run(&mut population, usize::MAX, at_once);
    let mut counts = [0_f64; 100];
    run.seen.iter().for_each(|seen| counts[usize::from(seen.flight.name.server)] += 1.0);
    let chi_square: f64 = counts.iter().map(|count| (count - 500.0).powi(2) / 500.0).sum();
    assert!((50.0..160.0).contains(&chi_square), "{chi_square}: 99 expected");
    // Each server's first request is new, whatever was drawn; half of the draws ask for a repeat. Standard
    // deviation 5.
    let lacked = population.tally().lacked;
    assert!((35..65).contains(&lacked), "{lacked}: 50 expected");
    assert!(run.seen.iter().all(|seen| seen.flight.kind == RequestKind::Basic));
}
