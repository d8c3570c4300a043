//! Plans for robots that are accepted, and plans that are refused.

use super::*;
use crate::phases::{ErrorGoal, FillGate, FillGoal};
use bakeoff_units::{Bytes, Nanos};

const POLYMIX_4: &str = r#"
    [robots]
    robots = 1250
    rate = "0.4/s per robot"
    recurrence = "68.75%"
    hot_set = { share = "1%", probability = "10%" }
    byte_hit_discrimination = "90%"
    special = { ims200 = "5%", ims304 = "10%", reload = "5%", abort = "0.1%", head = "0.1%", post = "1.5%" }
    post_body = "unif:0KB,8KB"
    requests_per_connection = "zipf:64"
    connections = "4 per robot"
    servers = 625
    working_set = { objects = 2592000 }

    [[phase]]
    name = "framp"
    goal = { duration = "20min" }
    population = { begin = "0.1%", end = "50%" }
    recurrence = { begin = "9.0909%" }
    special = { begin = "10%" }
    measured = false

    [[phase]]
    name = "fill"
    goal = { fill = "20GiB", errors = "30%" }
    lock = { until = ["frozen", "told"], at_most = "12h" }

    [[phase]]
    name = "fexit"
    goal = { duration = "20min" }
    population = { end = "0.1%" }
    recurrence = { end = "100%" }
    special = { end = "100%" }

    [[phase]]
    name = "top1"
    goal = { duration = "4h", transactions = 7200000, errors = 1000 }
    load = { begin = "100%" }
"#;

#[test]
fn polymix_4_reads_as_it_is_meant() {
    let spec = Spec::from_toml(POLYMIX_4).unwrap();
    assert_eq!(spec.rate.unwrap().get(), 500.0);
    assert_eq!((spec.robots.get(), spec.servers.get()), (1250, 625));
    assert_eq!(spec.connections, Connections::Each(4.try_into().unwrap()));
    assert_eq!(spec.working_set, GrowthLimit::Objects(2_592_000));
    assert_eq!(spec.embedded.get(), 1.0);
    assert_eq!((spec.special.ims304.get(), spec.special.post.get()), (0.1, 0.015));
    assert_eq!(spec.post_body.unwrap().mean(), 4096.0);
    let [framp, fill, fexit, top1] = &spec.phases[..] else { panic!("{:?}", spec.phases) };
    assert_eq!(framp.goal.duration, Some(Nanos::from_secs(1200)));
    assert!(!framp.measured && fill.measured);
    assert_eq!(fill.goal.fill_bytes, Some(20 << 30));
    assert_eq!(fill.goal.errors, Some(ErrorGoal::Share(Ratio::new(0.3).unwrap())));
    let lock = fill.goal.lock.unwrap();
    assert!(lock.frozen && lock.told && lock.at_most == Nanos::from_secs(43_200));
    assert_eq!((fexit.special.begin, fexit.special.end), (None, Ratio::new(1.0)));
    assert_eq!(top1.goal.errors, Some(ErrorGoal::Count(1000)));
    let gate = FillGate::new();
    assert!(!gate.is_open());
}

#[test]
fn what_is_left_out_is_one_plain_robot() {
    let text = "[robots]\n[[phase]]\nname = 'all'\ngoal = { transactions = 10 }";
    let spec = Spec::from_toml(text).unwrap();
    assert_eq!((spec.robots.get(), spec.rate, spec.servers.get()), (1, None, 1));
    assert_eq!(spec.popularity, Popularity::Uniform);
    assert_eq!((spec.recurrence.get(), spec.embedded.get(), spec.accept_gzip.get()), (0.0, 1.0, 0.0));
    assert_eq!(spec.special, Special::default());
    assert_eq!(spec.connections, Connections::All(8192.try_into().unwrap()));
    assert!(spec.hot_set.is_none() && spec.working_set == GrowthLimit::None);
    assert!(spec.phases[0].measured);
}

/// Keys of `[robots]`, keys of the only phase, and what the error must speak of.
#[test]
fn every_contradiction_is_refused_at_its_place() {
    let minute = "goal = { duration = '1min' }";
    for (robots, phase, expected) in [
        ("recurence = '5%'", minute, "unknown field `recurence`"),
        ("recurrence = '120%'", minute, "recurrence: 120 % is more than 100%"),
        ("recurrence = 0.5", minute, "invalid type"),
        ("accept_gzip = '101%'", minute, "accept_gzip: 101 % is more than 100%"),
        ("accept_gzip = true", minute, "invalid type"),
        ("rate = '0/s'", minute, "rate above zero"),
        ("rate = '5/s a robot'", minute, "rate above zero"),
        ("robots = 0", minute, "nonzero"),
        ("servers = 70000", minute, "invalid value"),
        ("inter_arrival = 'const'", minute, "inter_arrival: there is no rate"),
        ("rate = '5/s'\ninter_arrival = 'often'", minute, "neither poisson nor const"),
        ("rate = '5/s'\ninter_arrival = 'const:0s'", minute, "has a mean of 0"),
        ("popularity = 'zipf'", minute, "zipf-recency"),
        ("hot_set = { share = '1%' }", minute, "missing field `probability`"),
        ("hot_set = { share = '0%', probability = '1%' }", minute, "nothing is hot"),
        ("special = { reload = '60%', range = '50%' }", minute, "the shares make 110.00%"),
        ("special = { put = '1%' }", minute, "unknown field `put`"),
        ("special = { head = '60%', post = '50%' }", minute, "the shares make 110.00%"),
        ("post_body = 'const:1KB'", minute, "there is no POST"),
        ("special = { post = '1%' }\npost_body = 'const:2MB'", minute, "more than 1 MB"),
        ("requests_per_connection = 'often'", minute, "is no distribution"),
        ("connections = '0'", minute, "connections"),
        ("working_set = {}", minute, "it needs one limit"),
        ("working_set = { length = '1h', objects = 3 }", minute, "it needs one limit"),
        ("", "", "it never ends"),
        ("", "goal = { errors = '5%' }", "it never ends"),
        ("", "goal = { duration = '0s' }", "before it begins"),
        ("", "goal = { duration = '1min', errors = 1.5 }", "a share below 1 or a whole number"),
        ("", "goal = { duration = '1min', errors = 0 }", "a share below 1 or a whole number"),
        ("", "goal = { duration = '1min', errors = '0%' }", "a share above 0%"),
        ("", "goal = { duration = '1min', errors = '200%' }", "at most 100%"),
        ("", "goal = { duration = '1min', errors = '5' }", "is not a share"),
        ("", "lock = { until = [], at_most = '1h' }", "it waits for nothing"),
        ("", "goal = { duration = '1min' }\nlock = { at_most = '1h' }", "or a goal of transactions or fill"),
        ("", "lock = { until = ['told'], at_most = '0s' }", "it may take no time"),
        ("", "lock = { until = ['told'] }", "missing field `at_most`"),
        ("", "lock = { until = ['frozen'], at_most = '1h' }", "the working set never stops growing"),
        ("", "goal = { duration = '1min' }\nload = { end = '110%' }", "it is more than 100%"),
        ("", "goal = { transactions = 9 }\nload = { end = '50%' }", "a time that is not given"),
        ("", "goal = { transactions = 9 }\npopulation = { begin = '0%' }", "nothing is asked in it"),
    ] {
        let text = format!("[robots]\n{robots}\n[[phase]]\nname = 'only'\n{phase}");
        let error = Spec::from_toml(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{robots} | {phase}: {error}");
    }
}

/// A text is a share, a whole number is a number of errors.
#[test]
fn all_requests_may_be_the_share_of_errors_that_is_too_much() {
    let errors = |value: &str| {
        let text = format!("[robots]\n[[phase]]\nname = 'a'\ngoal = {{ duration = '1s', errors = {value} }}");
        Spec::from_toml(&text).unwrap().phases[0].goal.errors
    };
    assert_eq!(errors("'100%'"), Ratio::new(1.0).map(ErrorGoal::Share));
    assert_eq!(errors("'0.5%'"), Ratio::new(0.005).map(ErrorGoal::Share));
    assert_eq!(errors("1"), Some(ErrorGoal::Count(1)));
}

#[test]
fn phases_have_names_of_their_own_and_there_is_one() {
    let phase = "[[phase]]\nname = 'a'\ngoal = { duration = '1s' }\n";
    assert!(Spec::from_toml("[robots]").unwrap_err().to_string().contains("there is no phase"));
    let twice = format!("[robots]\n{phase}{phase}");
    assert!(Spec::from_toml(&twice).unwrap_err().to_string().contains("two phases `a`"));
}

#[test]
fn a_phase_without_its_own_beginning_goes_on_where_the_last_one_ended() {
    let text = "[robots]
        [[phase]]\nname = 'down'\ngoal = { duration = '1s' }\nload = { end = '0%' }
        [[phase]]\nname = 'still'\ngoal = { transactions = 5 }";
    let error = Spec::from_toml(text).unwrap_err().to_string();
    assert!(error.contains("phase `still`: nothing is asked in it"), "{error}");
}

#[test]
fn connections_are_the_load_generators_words_for_them() {
    use bakeoff_loadgen::{Pace, Pools, Reuse};
    let spec = |robots: &str| {
        let phase = "[[phase]]\nname = 'only'\ngoal = { duration = '1s' }";
        Spec::from_toml(&format!("[robots]\nrobots = 10\nrate = '5/s'\n{robots}\n{phase}")).unwrap()
    };
    let plain = spec("");
    assert!(matches!(plain.pace(), Pace::Sourced { connections: 8192 }));
    assert_eq!(plain.reuse(1), Reuse::Always);
    let own = spec("connections = '4 per robot'\nrequests_per_connection = 'const:1'");
    assert!(matches!(own.pace(), Pace::Pooled(Pools { robots: 10, each: 4 })));
    assert_eq!(own.reuse(1), Reuse::Never);
    let drawn = spec("requests_per_connection = 'zipf:64'");
    assert!(matches!(drawn.reuse(1), Reuse::Drawn(_)));
    assert_eq!(drawn.reuse(1), drawn.reuse(1));
    assert_ne!(drawn.reuse(1), drawn.reuse(2));
}

#[test]
fn a_share_of_a_store_is_for_those_who_know_the_store() {
    let text = "[robots]\nrate = '1/s'\n[[phase]]\nname = 'fill'\ngoal = { fill = '200%' }";
    let said = Spec::from_toml(text).unwrap_err().to_string();
    assert!(said.contains("goal.fill") && said.contains("write bytes"), "{said}");
    let share: FillGoal = "200%".parse().unwrap();
    assert_eq!(share.of_store(Bytes::new(64)), FillGoal::Bytes(Bytes::new(128)));
    assert_eq!(
        "20GiB".parse::<FillGoal>().unwrap().of_store(Bytes::new(1)),
        FillGoal::Bytes(Bytes::new(20 << 30))
    );
}
