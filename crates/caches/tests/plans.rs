//! Plans of bake-offs: the shipped ones, and refusals with their messages.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_caches::plan::{CachePlan, Entrant, EntrantKind, PeakSource, PlanChanges, RateSchedule};
use bakeoff_caches::{Takes, TimeScale, shipped};
use bakeoff_content::Distribution;
use bakeoff_robots::Connections;
use bakeoff_robots::phases::Phase;
use bakeoff_robots::working_set::GrowthLimit;
use bakeoff_subject::{Product, ProxyMode as Mode};
use bakeoff_units::{Nanos, PerSecond, Ratio};
use std::num::NonZeroU32;

fn text(name: &str) -> &'static str {
    shipped::PLANS.iter().find(|plan| plan.name == name).unwrap().text
}

fn parse(text: &str) -> Result<CachePlan, String> {
    parse_with(text, &PlanChanges::default())
}

fn parse_with(text: &str, changes: &PlanChanges) -> Result<CachePlan, String> {
    CachePlan::parse("plan", "plan.toml", text, changes).map_err(|error| error.to_string())
}

fn at_scale(scale: &str) -> PlanChanges {
    PlanChanges { scale: Some(scale.parse().unwrap()), ..PlanChanges::default() }
}

fn rate(per_second: f64) -> PerSecond {
    PerSecond::new(per_second).unwrap()
}

#[test]
fn every_shipped_plan_is_one_and_says_what_it_would_do() {
    for plan in shipped::PLANS {
        assert!(plan.summary().len() > 20, "{}", plan.name);
        let words = parse(plan.text).unwrap_or_else(|error| panic!("{}: {error}", plan.name)).in_words();
        let first = if plan.name == "downtime-2" { "entrants: nginx, squid" } else { "entrants: none" };
        assert!(words.contains(first), "{words}");
    }
}

/// By time or by requests at the rate of 50/s; the duration of a fill is not known.
#[test]
fn how_long_a_run_is_measured_is_told_beforehand_where_it_can_be() {
    let measured = |text: &str| parse(text).unwrap().measured_time();
    assert_eq!(measured(text("polymix-1")), Some(Nanos::from_secs(54 * 60)));
    let requests = text("polymix-1").replace("duration = \"54min\", errors", "transactions = 200, errors");
    assert_ne!(requests, text("polymix-1"));
    assert_eq!(measured(&requests), Some(Nanos::from_secs(4)));
    assert_eq!(measured(text("polyfill")), None);
}

#[test]
fn polymix_1_has_its_published_parameters() {
    let plan = parse(text("polymix-1")).unwrap();
    let robots = plan.robots_at(rate(50.0));
    assert_eq!((robots.recurrence, robots.robots.get()), (Ratio::new(0.6875).unwrap(), 1));
    assert_eq!(plan.model.kinds()[0].cachable, 0.8);
    // Repeated requests that may be cached: 55 %.
    assert!((0.6875_f64 * 0.8 - plan.hit_ratio.unwrap().get()).abs() < 1e-12);
    let minutes: Vec<Option<Nanos>> = plan.phases().iter().map(|phase| phase.goal.duration).collect();
    assert_eq!(minutes, [6, 54, 1].map(|minutes| Some(Nanos::from_secs(60 * minutes))));
    // The normal is clipped at 0: 3 s and a little.
    assert!((plan.think_mean().as_secs_f64() - 3.0127).abs() < 1e-3);
    assert_eq!(robots.reuse(1), bakeoff_loadgen::Reuse::Never);
}

#[test]
fn polymix_4_has_its_published_parameters() {
    let plan = parse_with(text("polymix-4"), &at_scale("1/240")).unwrap();
    let robots = plan.robots_at(rate(400.0));
    assert_eq!((robots.robots.get(), robots.servers.get()), (1000, 600));
    assert_eq!(robots.connections, Connections::Each(NonZeroU32::new(4).unwrap()));
    // 400 x 0.45 x 80 % x 4 h / 240.
    assert_eq!(robots.working_set, GrowthLimit::Objects(8640));
    let fill = &plan.phases()[1];
    assert_eq!((fill.goal.fill_bytes, fill.goal.lock.unwrap().frozen), (Some(2 * plan.memory_bytes), true));
    // Four hours would shrink to a minute; a scale does not fill a store sooner.
    assert_eq!(fill.goal.lock.unwrap().at_most, Nanos::from_secs(600));
    let measured: Vec<(&str, Option<Nanos>)> = plan
        .phases()
        .iter()
        .filter(|phase| phase.measured)
        .map(|phase| (phase.name.as_str(), phase.goal.duration))
        .collect();
    assert_eq!(measured, ["top1", "top2"].map(|name| (name, Some(Nanos::from_secs(60)))));
    // Image 65 %, HTML 15 %, Download 0.5 %, Other 19.5 %, with 13 - ln 13! / ln 14 images a page.
    let kinds = plan.model.kinds();
    let images = kinds[1].share * (13.0 - 22.552_163_853 / 14_f64.ln());
    for (kind, share) in [(1, 0.15), (2, 0.005), (3, 0.195)] {
        assert!((kinds[kind].share / (1.0 + images) - share).abs() < 0.006, "{}", kinds[kind].name);
    }
}

/// `simple` over TLS.
fn over_tls(mode: &str) -> String {
    let text = text("simple").replacen("[bakeoff]", &format!("[bakeoff]\nmode = \"{mode}\""), 1);
    format!("{text}\n").replacen("[origin]", "[origin]\ntls = true", 1)
}

#[test]
fn over_tls_proxies_are_asked_for_tunnels_and_fill_no_store() {
    let plan = parse(&over_tls("forward")).unwrap();
    assert!(plan.tls && !plan.fills() && !plan.world.contains("tls"), "{}", plan.world);
    let words = plan.in_words();
    assert!(words.contains("over TLS: ") && words.contains("the hit ratio is 0 by design"), "{words}");
    let plain = parse(&over_tls("reverse").replacen("tls = true", "tls = false", 1)).unwrap();
    assert!(!plain.tls && !plain.in_words().contains("over TLS"));
}

#[test]
fn over_tls_no_proxy_is_asked_in_reverse() {
    let address = "127.0.0.1:3128".parse().unwrap();
    let asked = |mode: &str, of| {
        let entrants = vec![Entrant::running(address, of)];
        parse_with(&over_tls(mode), &PlanChanges { entrants, ..PlanChanges::default() })
    };
    assert!(asked("forward", Mode::Forward).is_ok());
    for said in
        [asked("forward", Mode::Reverse), asked("reverse", Mode::Forward), parse(&over_tls("reverse"))]
    {
        let said = said.unwrap_err();
        assert!(said.contains("`tls`") && said.contains("mode = \"forward\""), "{said}");
    }
    let text = over_tls("forward").replacen("tls = true", "tls = \"yes\"", 1);
    assert!(parse(&text).unwrap_err().contains("write true or false"));
}

#[test]
fn webaxe_4_has_its_published_parameters() {
    let plan = parse_with(text("webaxe-4"), &at_scale("1/480")).unwrap();
    let robots = plan.robots_at(rate(500.0));
    // One site at any rate; 1 GB in objects of 11 KB.
    assert_eq!((robots.robots.get(), robots.servers.get()), (1250, 1));
    assert_eq!(robots.working_set, GrowthLimit::Objects((1 << 30) / (11 << 10)));
    assert_eq!(robots.connections, Connections::Each(NonZeroU32::new(4).unwrap()));
    assert_eq!((robots.recurrence.get(), robots.byte_hit_discrimination.get()), (0.95, 0.9));
    let hot = robots.hot_set.unwrap();
    assert_eq!((hot.share.get(), hot.probability.get()), (0.01, 0.1));
    assert_eq!(robots.requests_per_connection, Distribution::parse_count("zipf:16").ok());
    assert!(
        plan.world.contains("zipf:64") && plan.world.contains("idle_timeout = \"15s\""),
        "{}",
        plan.world
    );
    assert!((plan.think_mean().as_secs_f64() - 0.3).abs() < 1e-3);
    // Contents and phases are PolyMix-4's, and so are the requests that are not basic.
    let polymix = parse_with(text("polymix-4"), &at_scale("1/480")).unwrap();
    assert_eq!(plan.model, polymix.model);
    assert_eq!(robots.special, polymix.robots_at(rate(500.0)).special);
    let goals = |plan: &CachePlan| {
        let goal =
            |phase: &Phase| (phase.name.clone(), phase.goal.duration, phase.population, phase.measured);
        plan.phases().iter().map(goal).collect::<Vec<_>>()
    };
    assert_eq!(goals(&plan), goals(&polymix));
    assert_eq!(plan.phases()[1].goal.fill_bytes, Some(2 * (plan.memory_bytes + plan.disk_bytes.unwrap())));
    assert!(plan.not_scaled().iter().any(|line| line.contains("95325 objects, whatever the scale")));
}

#[test]
fn polyfill_has_its_published_parameters_and_no_rate() {
    let plan = parse_with(text("polyfill"), &at_scale("1/60")).unwrap();
    assert_eq!((&plan.schedule, plan.hit_ratio), (&RateSchedule::BestEffort, None));
    let robots = plan.robots_at(None::<PerSecond>);
    assert_eq!((robots.rate, robots.recurrence.get()), (None, 0.05));
    let kinds = plan.model.kinds();
    let measured = &kinds[..kinds.len() / 2];
    assert!(measured.iter().all(|kind| kind.cachable == 1.0));
    let shares: Vec<f64> = measured.iter().map(|kind| kind.share).collect();
    assert!(shares.iter().zip([0.0, 0.95, 0.008, 0.042]).all(|(got, known)| (got - known).abs() < 1e-9));
    let [warm, meas, cool] = plan.phases() else { panic!("{:?}", plan.phases()) };
    assert_eq!(
        (warm.goal.duration, cool.goal.duration),
        (Some(Nanos::from_secs(10)), Some(Nanos::from_secs(1)))
    );
    let store = plan.memory_bytes + plan.disk_bytes.unwrap();
    assert_eq!((meas.goal.fill_bytes, meas.goal.duration, meas.measured), (Some(2 * store), None, true));
    let lock = meas.goal.lock.unwrap();
    assert_eq!((lock.frozen, lock.told, lock.at_most), (false, false, Nanos::from_secs(600)));
    assert!(
        plan.in_words().contains("rates: none; robots ask as fast as replies come"),
        "{}",
        plan.in_words()
    );
}

#[test]
fn a_plan_without_a_rate_takes_nothing_that_needs_one() {
    let polyfill = text("polyfill");
    let given = PlanChanges { rate: Some(rate(50.0)), ..PlanChanges::default() };
    let said = parse_with(polyfill, &given).unwrap_err();
    assert!(said.contains("as fast as replies come, at no rate; take --rate out"), "{said}");
    let effort = "rate = \"best effort\"";
    for (to, words) in [
        ("rate = \"best effort\"\nhit_ratio = \"55%\"", "`hit_ratio`: it is for the rule of 1999"),
        ("rate = \"best effort\"\nrates = [\"50%\"]", "give either `rate`"),
        ("rate = \"best\"", "rate above zero"),
    ] {
        let said = parse(&polyfill.replacen(effort, to, 1)).expect_err(to);
        assert!(said.contains(words), "{said}");
    }
    let many = polyfill.replacen("[robots]", "[population]\nrate_per_robot = \"1/s\"\n[robots]", 1);
    assert!(parse(&many).unwrap_err().contains("`population`: robots are as many as a rate takes"));
}

#[test]
fn a_measured_fill_brings_enough_replies_or_is_refused() {
    // 16 MB of objects of 6 KB on average, pages with their images: 2,700.
    let small = text("polyfill").replacen("disk = \"1GB\"", "", 1).replacen("64MB", "8MB", 1);
    parse(&small).unwrap();
    let said = parse(&small.replacen("8MB", "4MB", 1)).unwrap_err();
    assert!(
        said.contains("`meas` ends when 8 MB went into the store") && said.contains("more room"),
        "{said}"
    );
}

#[test]
fn a_phase_of_a_part_of_the_rate_is_long_enough_for_that() {
    // 54 min / 60 at 50/s: 2,700 requests, of which three quarters are 2,025 and a half is 1,350.
    let part = |share: &str| {
        let more = format!(
            "[[phase]]\nname = \"x\"\nload = {{ begin = \"{share}\" }}\ngoal = {{ duration = \"54min\" }}\n"
        );
        parse_with(&(text("polymix-1").to_owned() + &more), &at_scale("1/60"))
    };
    part("75%").unwrap();
    let said = part("50%").unwrap_err();
    assert!(said.contains("the phase `x` has some 1350 replies at 25/s"), "{said}");
}

#[test]
fn a_working_set_that_follows_from_no_rate_stands_with_the_robots() {
    let own = text("polymix-4")
        .replacen("working_set = \"36%\"", "", 1)
        .replacen("working_set_of = \"4h\"", "", 1)
        .replacen("[robots]", "[robots]\nworking_set = { objects = 7 }", 1);
    for per_second in [50.0, 400.0] {
        assert_eq!(parse(&own).unwrap().robots_at(rate(per_second)).working_set, GrowthLimit::Objects(7));
    }
}

#[test]
fn the_rule_of_1999_is_for_polymix_1() {
    let judged = |plan: &bakeoff_plan::shipped::ShippedPlan| parse(plan.text).unwrap().hit_ratio.is_some();
    let names: Vec<&str> = shipped::PLANS.iter().filter(|plan| judged(plan)).map(|plan| plan.name).collect();
    assert_eq!(names, ["polymix-1", "cache-bakeoff"]);
}

#[test]
fn downtime_2_has_its_published_parameters_and_its_outage_keeps_them() {
    let plan = parse_with(text("downtime-2"), &at_scale("1/30")).unwrap();
    let phases: Vec<_> =
        plan.phases().iter().map(|phase| (phase.goal.duration, phase.measured, phase.outage)).collect();
    let seconds = |seconds| Some(Nanos::from_secs(seconds));
    // 180 replies in a minute at 3/s would be too few for means, and no scale would help.
    assert_eq!(
        phases,
        [
            (seconds(10), false, false),
            (seconds(10), true, false),
            (seconds(5), false, true),
            (seconds(60), true, false)
        ]
    );
    let robots = plan.robots_at(rate(3.0));
    assert_eq!((robots.robots.get(), robots.recurrence), (1, Ratio::new(0.6875).unwrap()));
    assert_eq!((robots.gaps, plan.think_mean()), (bakeoff_robots::spec::Gaps::Const, Nanos::ZERO));
    let kept = plan.not_scaled();
    assert!(kept.iter().any(|line| line.contains("an outage takes as long")), "{kept:?}");
    assert!(plan.in_words().contains("dark 5 s (the cache is away)"), "{}", plan.in_words());
    // Longer than any warm-up stays: the scale is not asked at all.
    let long = text("downtime-2").replacen("\"5s\"", "\"40s\"", 1);
    let long = parse_with(&long, &at_scale("1/30")).unwrap();
    assert_eq!(long.phases()[2].goal.duration, seconds(40));
}

#[test]
fn only_what_bakeoff_starts_can_be_away() {
    let running = Entrant::running("127.0.0.1:3128".parse().unwrap(), bakeoff_subject::ProxyMode::Forward);
    for (entrant, why) in [
        (
            "none".parse().unwrap(),
            "`none` cannot be away, as it is in an outage of this plan: there is no cache",
        ),
        (
            running,
            "`127.0.0.1:3128` cannot be away, as it is in an outage of this plan: bakeoff kills no process",
        ),
    ] {
        let changes =
            PlanChanges { entrants: vec!["nginx".parse().unwrap(), entrant], ..PlanChanges::default() };
        let said = parse_with(text("downtime-2"), &changes).unwrap_err();
        assert!(said.contains("`products`") && said.contains(why), "{said}");
        parse_with(text("polymix-1"), &changes).unwrap();
    }
    let ends = text("downtime-2").replacen(
        "goal = { duration = \"5s\" }",
        "goal = { duration = \"5s\", errors = \"30%\" }",
        1,
    );
    assert!(parse(&ends).unwrap_err().contains("phase `dark`, outage: its requests fail"));
}

#[test]
fn what_follows_from_the_rate_stands_in_one_place() {
    for key in ["robots = 7", "servers = 7", "working_set = { objects = 7 }"] {
        let text = text("polymix-4").replacen("[robots]", &format!("[robots]\n{key}"), 1);
        let said = parse(&text).unwrap_err();
        assert!(said.contains("take it out of [robots]"), "{said}");
    }
    let half = text("polymix-4").replacen("working_set_of = \"4h\"", "", 1);
    assert!(parse(&half).unwrap_err().contains("give both or neither"));
    let nobodys = text("polymix-4").replacen("rate_per_robot = \"0.4/s\"", "rate_per_robot = \"0/s\"", 1);
    assert!(parse(&nobodys).unwrap_err().contains("rate_per_robot"));
}

#[test]
fn the_bake_off_has_its_ten_rates_in_their_order() {
    let plan = parse(text("cache-bakeoff")).unwrap();
    let RateSchedule::Shares { shares, peak, idle } = plan.schedule else { panic!("one rate") };
    let rates: Vec<f64> = shares.iter().map(|share| (share.get() * 250.0).round()).collect();
    assert_eq!(rates, [250.0, 25.0, 225.0, 50.0, 200.0, 80.0, 100.0, 180.0, 130.0, 160.0]);
    assert!(matches!(peak, PeakSource::Searched { .. }));
    assert_eq!(idle, Nanos::from_secs(600));
}

#[test]
fn a_scale_shortens_all_but_the_warm_up_of_ten_seconds() {
    let plan = parse_with(text("polymix-1"), &at_scale("1/60")).unwrap();
    let seconds: Vec<f64> =
        plan.phases().iter().map(|phase| phase.goal.duration.unwrap().as_secs_f64()).collect();
    assert_eq!(seconds, [10.0, 54.0, 1.0]);
    let too_short = parse_with(text("polymix-1"), &at_scale("1/200")).unwrap_err();
    assert!(too_short.contains("`meas` holds 16.2 s") && too_short.ends_with("at least 1/81"), "{too_short}");
    // 30 s would do by time, but 2000 replies at 50/s take 40 s: the advice suffices for both.
    parse_with(text("polymix-1"), &at_scale("1/81")).unwrap();
    assert!(parse_with(text("polymix-1"), &at_scale("1/82")).is_err());
    let slow = PlanChanges { rate: Some(rate(10.0)), ..at_scale("1/60") };
    let few = parse_with(text("polymix-1"), &slow).unwrap_err();
    assert!(few.contains("540 replies at 10/s") && few.contains("2000"), "{few}");
}

#[test]
fn flags_take_the_place_of_what_the_plan_says() {
    let changes = PlanChanges {
        entrants: vec!["squid=my.conf".parse().unwrap(), "none".parse().unwrap()],
        rate: Some(rate(80.0)),
        scale: Some(TimeScale::FULL),
        origin_port: Some(8080),
        ..PlanChanges::default()
    };
    let plan = parse_with(text("polymix-1"), &changes).unwrap();
    let names: Vec<&str> = plan.entrants.iter().map(|entrant| entrant.name.as_str()).collect();
    assert_eq!(
        (names, plan.schedule, plan.origin_port),
        (vec!["squid-my", "none"], RateSchedule::Single(rate(80.0)), Some(8080))
    );
    let EntrantKind::Product { product: Product::Squid, config: Some(config) } = &plan.entrants[0].kind
    else {
        panic!()
    };
    assert_eq!(config.to_str(), Some("my.conf"));
    assert_eq!(plan.entrants[0].typed(), "squid=my.conf");
    let plan = parse_with(text("cache-bakeoff"), &changes).unwrap();
    assert!(
        matches!(plan.schedule, RateSchedule::Shares { peak: PeakSource::Given(peak), .. } if peak == rate(80.0))
    );
}

#[test]
fn what_fills_a_store_is_cachable_and_comes_without_think_time() {
    let plan = parse(text("polymix-1")).unwrap();
    let fill = plan.fill.as_ref().unwrap();
    let kinds = plan.quick.kinds();
    assert_eq!(kinds.len(), 2);
    assert_eq!((kinds[0].share, kinds[1].share, kinds[1].cachable), (0.0, 1.0, 1.0));
    assert_eq!(kinds[1].think.as_ref().map(|think| think.mean()), Some(0.0));
    assert_eq!(fill.robots.rate, None);
    // The origin knows the same kinds, of which the measured robots ask for the first alone.
    assert_eq!((plan.model.kinds()[0].share, plan.model.kinds()[1].share), (1.0, 0.0));
    assert!(
        plan.world.contains("think = \"const:0\"") && plan.world.contains("norm:3s,1.5s"),
        "{}",
        plan.world
    );
}

#[test]
fn what_is_wrong_is_said_with_its_key() {
    let plan = text("polymix-1");
    for (from, to, words) in [
        ("rate = \"50/s\"", "rates = [\"0%\"]", &["`rates`", "above 0 %"][..]),
        ("rate = \"50/s\"", "rates = []", &["`rates`", "above 0 %"]),
        ("rate = \"50/s\"", "", &["`rate`", "either `rate`"]),
        ("products = [\"none\"]", "products = []", &["`products`", "nobody takes part"]),
        ("products = [\"none\"]", "products = [\"ngnix\"]", &["`ngnix` is no entrant", "nginx"]),
        ("products = [\"none\"]", "products = [\"none\", \"none\"]", &["takes part twice"]),
        ("mode = \"reverse\"", "mode = \"sideways\"", &["`mode`", "`forward`"]),
        ("scale = \"1\"", "scale = \"2\"", &["`scale`", "1/60"]),
        ("memory = \"32MB\"", "memory = \"much\"", &["`memory`"]),
        ("think = \"norm:3s,1.5s\"", "think = \"slow\"", &["think", "slow"]),
        ("recurrence = \"68.75%\"", "recurrences = \"1%\"", &["recurrences", "recurrence"]),
        ("size = \"exp:13KB\"", "size = \"13\"", &["size"]),
        (
            "recurrence = \"68.75%\"",
            "recurrence = \"68.75%\"\naccept_gzip = \"60%\"",
            &["`accept_gzip`", "`gzip = true`"],
        ),
        ("name = \"warm\"", "name = \"meas\"", &["meas"]),
    ] {
        assert!(plan.contains(from), "{from}");
        let said = parse(&plan.replacen(from, to, 1)).expect_err(to);
        assert!(said.contains("plan.toml:"), "{said}");
        for word in words {
            assert!(said.contains(word), "{to}: {said}");
        }
    }
}

#[test]
fn who_accepts_gzip_can_get_it() {
    let plan = text("polymix-1")
        .replacen("recurrence = ", "accept_gzip = \"60%\"\nrecurrence = ", 1)
        .replacen("size = ", "gzip = true\nsize = ", 1);
    let plan = parse(&plan).unwrap();
    assert_eq!(plan.robots_at(rate(50.0)).accept_gzip.get(), 0.6);
    assert!(plan.in_words().contains("gzip: accepted by 60 % of the robots"), "{}", plan.in_words());
    assert!(plan.model.kinds().iter().all(|kind| kind.gzip), "what fills a store is like what is measured");
    assert!(plan.world.contains("gzip = true"), "the origin hears of it: {}", plan.world);
    assert_eq!(parse(text("polymix-1")).unwrap().robots_at(rate(50.0)).accept_gzip.get(), 0.0);
}

#[test]
fn a_product_takes_part_with_our_configuration_and_with_yours_but_once_with_each() {
    let names = |typed: &[&str]| {
        let entrants = typed.iter().map(|name| name.parse().unwrap()).collect();
        let changes = PlanChanges { entrants, ..PlanChanges::default() };
        let plan = parse_with(text("polymix-1"), &changes)?;
        Ok(plan.entrants.into_iter().map(|entrant| entrant.name).collect::<Vec<_>>())
    };
    assert_eq!(
        names(&["squid", "squid=/etc/my squid.conf"]),
        Ok(vec!["squid".into(), "squid-my-squid".into()])
    );
    for twice in [&["squid", "none", "squid"][..], &["squid=a/my.conf", "squid=b/my.conf"]] {
        let said: String = names(twice).unwrap_err();
        assert!(said.contains("takes part twice"), "{said}");
    }
}

#[test]
fn what_is_advised_for_one_of_two_phases_does_for_both() {
    let two = text("polymix-1").replacen(
        "[[phase]]\nname = \"cool",
        "[[phase]]\nname = \"meas 2\"\ngoal = { duration = \"10min\" }\n[[phase]]\nname = \"cool",
        1,
    );
    let said = parse_with(&two, &at_scale("1/200")).unwrap_err();
    assert!(said.contains("`meas 2`") && said.contains("at least 1/"), "{said}");
    let advised = said.rsplit("at least ").next().unwrap().split(',').next().unwrap();
    parse_with(&two, &at_scale(advised)).unwrap();
}

#[test]
fn entrants_are_products_or_nobody() {
    assert_eq!("none".parse::<Entrant>().unwrap().kind, EntrantKind::Direct);
    for product in Product::caches() {
        assert!(product.label().parse::<Entrant>().unwrap().is_cache());
    }
    for wrong in ["", "squid=", "=x", "Squid", "none=x"] {
        assert!(wrong.parse::<Entrant>().unwrap_err().to_string().contains("trafficserver"), "{wrong}");
    }
}

#[test]
fn the_order_is_drawn_from_the_seed_anew_for_every_pass() {
    let of = |changed: &str| parse(&text("cache-bakeoff").replacen("passes = 2", changed, 1)).unwrap();
    let plan = of("passes = 2");
    let turns = plan.turns();
    assert_eq!(turns, plan.turns(), "the same whenever it is asked for");
    assert_ne!(turns, of("passes = 2\nseed = 2").turns());
    let all = ["none", "none'", "squid", "varnish", "nginx"];
    let names: Vec<String> = plan.taking_part().into_iter().map(|entrant| entrant.name).collect();
    assert_eq!(names, all);
    let pass = |number| turns.iter().filter(|turn| turn.pass == number).collect::<Vec<_>>();
    let order = |number| pass(number).iter().map(|turn| turn.entrant.clone()).collect::<Vec<_>>();
    assert_ne!(order(1), order(2));
    for number in [1, 2] {
        let mut sorted = order(number);
        sorted.sort();
        assert_eq!(sorted, ["nginx", "none", "none'", "squid", "varnish"], "each once a pass");
    }
    for turn in &turns {
        let mut rates = turn.rates.clone();
        rates.sort_unstable();
        assert_eq!(rates, (1..=10).collect::<Vec<u32>>(), "each rate once a turn");
    }
    assert_ne!(turns[0].rates, turns[1].rates);
    // The first pass is the same for any number of passes.
    assert_eq!(of("passes = 1").turns(), pass(1).into_iter().cloned().collect::<Vec<_>>());
}

#[test]
fn one_by_itself_runs_once_and_in_the_order_of_its_plan() {
    let alone = PlanChanges { entrants: vec!["squid".parse().unwrap()], ..PlanChanges::default() };
    let text = text("cache-bakeoff").replacen("order = \"random\" ", "#", 1);
    let once = text.replacen("passes = 2 ", "#", 1).replacen("baseline_twice = true", "#", 1);
    let plan = parse_with(&once, &alone).unwrap();
    assert_eq!((plan.passes, plan.baseline_twice), (1, false));
    let turns = plan.turns();
    assert_eq!((turns.len(), &turns[0].rates), (1, &(1..=10).collect::<Vec<u32>>()));
    assert!(!plan.in_words().contains("order"), "{}", plan.in_words());
    // A plan that asks for it has it twice, and in two passes.
    let turns = parse_with(&text, &alone).unwrap().turns();
    let named: Vec<(u32, &str)> = turns.iter().map(|turn| (turn.pass, turn.entrant.as_str())).collect();
    assert_eq!(named, [(1, "squid"), (1, "squid'"), (2, "squid"), (2, "squid'")]);
}

#[test]
fn what_is_no_order_and_too_many_passes_are_refused() {
    for (typed, words) in [
        ("passes = 0", "nonzero"),
        ("passes = 100", "at most 99"),
        ("passes = 2\norder = \"blocked\"", "blocked"),
    ] {
        let text =
            text("cache-bakeoff").replacen("order = ", "#", if typed.contains("order") { 1 } else { 0 });
        let said = parse(&text.replacen("passes = 2", typed, 1)).unwrap_err();
        assert!(said.contains(words), "{said}");
    }
}

/// Five turns a pass of ten minutes and nine times ten seconds idle; three seconds for each measurement of the path.
#[test]
fn two_passes_take_twice_as_long_but_for_the_second_search() {
    let sixtieth = at_scale("1/60");
    let takes = |changed: &str| {
        let text = text("cache-bakeoff").replacen("passes = 2", changed, 1);
        Takes::of(&parse_with(&text, &sixtieth).unwrap()).unwrap()
    };
    let (one, two) = (takes("passes = 1"), takes("passes = 2"));
    // Warm-up 10 s, 54 s, 1 s.
    let turn = 10 * 65 + 9 * 10;
    assert_eq!(one.rates, Nanos::from_secs(6 + 5 * turn));
    assert_eq!(two.rates, Nanos::from_secs(6 + 10 * turn));
    // Eight trials of 18 s and 68 s to confirm, once for each of four.
    assert_eq!((one.searches, two.searches), (Nanos::from_secs(4 * 212), Nanos::from_secs(4 * 212)));
    assert_eq!((one.fills, two.fills, two.longest_fill), (3, 6, Nanos::from_secs(300)));
    assert_eq!(
        two.to_string(),
        "2.29 h, 14.1 min of it at most to search for peaks; beside it the starts, and 6 fills of up to 5 min each"
    );
    assert_eq!(
        Takes::of(&parse(text("polyfill")).unwrap()),
        None,
        "a fill that is measured ends when it ends"
    );
}
