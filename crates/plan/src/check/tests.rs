//! Good plans, and the messages for bad ones.

use crate::*;
use bakeoff_stats::Margin;
use bakeoff_subject::{Burn, Product, Spec};
use bakeoff_units::{Bytes, Nanos, PerSecond};
use bakeoff_workload::replay::LogSource;

const GOOD: &str = r#"
[experiment]
baseline = "plain"
margin = "2%"

[workload]
kind = "get"
urls = ["/f", { path = "/g", weight = 3 }]

[arm.plain]
server = "origin"

[arm.tls]
server = "origin"
tls = true
"#;

fn parse(text: &str) -> Result<Plan, String> {
    Plan::parse("test", "plan.toml", text, Path::new("/plans")).map_err(|error| error.to_string())
}

#[test]
fn a_plan_keeps_the_order_of_its_arms_and_runs_the_baseline_twice() {
    let plan = parse(GOOD).unwrap();
    assert_eq!(plan.names(), ["plain", "plain'", "tls"]);
    assert_eq!(plan.margin, Margin::Share(0.02));
    assert_eq!(plan.arm_of("plain'").unwrap().name, "plain");
}

#[test]
fn paths_are_relative_to_the_plan() {
    let text = GOOD
        .replace("kind = \"get\"", "kind = \"replay\"\nlog = \"a.log\"")
        .replace("urls = [\"/f\", { path = \"/g\", weight = 3 }]\n", "");
    let Work::Requests(work) = parse(&text).unwrap().work else { panic!("no requests") };
    let RequestSource::Replay { log: LogSource::File(path), .. } = work.source else { panic!("no file") };
    assert_eq!(path, Path::new("/plans/a.log"));
}

#[test]
fn planted_costs_are_of_three_kinds_and_may_be_nothing() {
    let keys = "burn = \"2us\"\nburn_in_flight = \"300ns\"\nburn_per_wakeup = \"0us\"";
    let plan = parse(&GOOD.replace("tls = true", keys)).unwrap();
    let burn = |name: &str| match &plan.arm_of(name).unwrap().what {
        ArmKind::Server(Spec::Origin { burn, .. }) => *burn,
        other => panic!("no origin: {other:?}"),
    };
    let [request, in_flight, wakeup] = [2000, 300, 0].map(|ns| Some(Nanos::new(ns)));
    assert_eq!(burn("tls"), Burn { request, in_flight, wakeup });
    assert_eq!(burn("plain"), Burn::default());
}

/// Each wrong plan: the change, and the words that the message must have.
#[test]
fn errors_point_at_the_line_name_the_key_and_suggest_the_near_miss() {
    for (from, to, expected) in [
        ("margin", "margn", &["margn", "did you mean `margin`", "plan.toml:4"][..]),
        ("baseline = \"plain\"", "baseline = \"plian\"", &["plian", "did you mean `plain`", "plan.toml:3"]),
        ("baseline = \"plain\"\n", "", &["`baseline` is missing"]),
        ("margin = \"2%\"", "margin = \"2\"", &["`2` is not a share", "plan.toml:4", "0.5us"]),
        ("margin = \"2%\"", "margin = \"0%\"", &["above zero"]),
        ("margin = \"2%\"", "max_rounds = 2", &["3 or more"]),
        (
            "margin = \"2%\"",
            "study = \"enforcr\"",
            &["no study `enforcr`", "did you mean `enforcer`", "plan.toml:4"],
        ),
        ("kind = \"get\"", "kind = \"gte\"", &["gte", "did you mean `get`"]),
        ("urls = [\"/f\", { path = \"/g\", weight = 3 }]", "", &["needs `urls`"]),
        ("\"/f\"", "\"f\"", &["`f` is no path"]),
        ("weight = 3", "wieght = 3", &["plan.toml:8"]),
        ("kind = \"get\"", "kind = \"get\"\nlog = \"x\"", &["`log` has no meaning"]),
        (
            "kind = \"get\"",
            "kind = \"get\"\nrate = \"5/s\"",
            &["`rate` has no meaning with the clock `closed`"],
        ),
        ("kind = \"get\"", "kind = \"get\"\nclock = \"constant\"", &["needs a rate"]),
        ("kind = \"get\"", "kind = \"get\"\nclock = \"shuffled\"", &["no clock `shuffled`"]),
        ("tls = true", "", &["the arms `plain` and `tls` are equal", "allow_equal_arms"]),
        ("tls = true", "tls = 1", &["plan.toml"]),
        ("tls = true", "pid = 4", &["`pid` has no meaning"]),
        ("server = \"origin\"\ntls", "server = \"ngnix\"\ntls", &["ngnix", "did you mean `nginx`"]),
        ("server = \"origin\"\ntls = true", "burn = \"2us\"", &["is no server"]),
        ("tls = true", "burn_in_flight = 2", &["burn_in_flight", "2us"]),
        ("tls = true", "burn_per_wakeup = \"2\"", &["plan.toml", "2us"]),
        (
            "server = \"origin\"\ntls = true",
            "server = \"nginx\"\nurl = \"http://x\"",
            &["more than one server"],
        ),
        ("[arm.tls]\nserver = \"origin\"\ntls = true\n", "", &["nothing to compare the baseline with"]),
        ("[arm.tls]", "[arm.\"a/b\"]", &["no name for an arm"]),
        ("[workload]", "[workload", &["plan.toml:6"]),
    ] {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "nothing was changed: {from}");
        let message = parse(&text).expect_err(to);
        for word in expected {
            assert!(message.contains(word), "{to}\nshould say {word}\n{message}");
        }
    }
}

/// Files of the plan's own, and an arm alone.
#[test]
fn files_have_names_that_a_directory_can_have_and_an_arm_alone_is_asked_for() {
    let with = |name: &str| parse(&format!("{GOOD}\n[file.{name}]\ntext = \"a = {{dir}}\"\n"));
    let plan = with("\"policy.toml\"").unwrap();
    let written: Vec<(&str, &str)> =
        plan.written.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect();
    assert_eq!(written, [("policy.toml", "a = {dir}")]);
    for name in ["\"../x\"", "\".x\"", "\"\"", "\"a/b\""] {
        assert!(with(name).unwrap_err().contains("is no name for a file"), "{name}");
    }
    let files = "[experiment]\nbaseline = \"a\"\n[workload]\nkind = \"files\"\n[arm.a]\n[arm.b]\npath = \"/\"\n[file.x]\ntext = \"\"\n";
    assert!(parse(files).unwrap_err().contains("by a command of `setup`"));
    let alone = GOOD.replace("[arm.tls]\nserver = \"origin\"\ntls = true\n", "");
    let asked = alone.replacen("baseline", "allow_equal_arms = true\nbaseline", 1);
    assert_eq!(parse(&asked).unwrap().names(), ["plain", "plain'"]);
}

/// Fronts, and their faults.
#[test]
fn fronts_are_products_sections_or_none_and_what_they_cannot_do_is_said_at_its_line() {
    let good = GOOD.replace("tls = true", "front = [\"outer\", \"varnish\"]")
        + "[front.outer]\nproduct = \"haproxy\"\n";
    let plan = parse(&good).unwrap();
    let names: Vec<&str> = plan.arms[1].fronts.iter().map(|front| front.name.as_str()).collect();
    assert_eq!(names, ["outer", "varnish"]);
    let Work::Requests(work) = plan.work else { panic!("no requests") };
    assert_eq!(work.max_age, Some(Nanos::from_secs(86_400)), "for both arms, printed in the plan's check");
    let Work::Requests(work) = parse(GOOD).unwrap().work else { panic!("no requests") };
    assert_eq!(work.max_age, None, "where nothing stands in front nothing is said of it");
    let theirs = good.replace("server = \"origin\"", "server = \"nginx\"\nconfig = \"mine.conf\"");
    let Work::Requests(work) = parse(&theirs).unwrap().work else { panic!("no requests") };
    assert_eq!(work.max_age, None, "a server with a configuration of theirs says it itself");
    let said = parse(&theirs.replace("kind = \"get\"", "kind = \"get\"\nmax_age = \"1h\"")).unwrap_err();
    assert!(said.contains("no arm has a server that says it"), "{said}");
    let said = parse(&good.replace("kind = \"get\"", "kind = \"get\"\nmax_age = \"soon\"")).unwrap_err();
    assert!(said.contains("is not a time") && !said.contains("default"), "{said}");
    let none = good.replace("\"outer\", \"varnish\"", "\"none\"");
    assert!(parse(&none).unwrap_err().contains("are equal"), "`none` is nothing");
    for (from, to, expected) in [
        ("\"varnish\"", "\"varnsh\"", &["no front `varnsh`", "did you mean `varnish`"][..]),
        ("\"varnish\"", "\"outer\"", &["twice"]),
        ("\"haproxy\"", "\"haprxy\"", &["no product `haprxy`", "did you mean `haproxy`"]),
        ("[front.outer]", "[front.none]", &["no name for a front"]),
        ("product = \"haproxy\"", "product = \"haproxy\"\nenv = {}", &["`env` has no meaning"]),
        (
            "product = \"haproxy\"",
            "commnd = [\"x\"]",
            &["there is no key `commnd` here", "did you mean `command`?"],
        ),
        ("product = \"haproxy\"", "product = \"haproxy\"\nmemory = \"1MB\"", &["HAProxy"]),
        (
            "product = \"haproxy\"",
            "product = \"squid\"\ntls = true",
            &["Squid", "speaks no TLS", "or take nginx"],
        ),
        ("product = \"haproxy\"", "product = \"caddy\"\ndisk = \"1GB\"", &["Caddy keeps nothing"]),
        ("product = \"haproxy\"", "command = [\"a\"]\nattach = [\"b\"]", &["two programs"]),
        ("product = \"haproxy\"", "attach = [\"b\"]\ntls = true", &["`tls` has no meaning"]),
        ("product = \"haproxy\"", "rules = \"r\"\nmode = \"lag\"", &["no mode `lag`", "did you mean `log`?"]),
        ("product = \"haproxy\"", "rules = \"r\"\nenv = {}", &["`env` has no meaning"]),
        ("front = [", "tls = true\nfront = [", &["plain HTTP"]),
        ("front = [", "limits = { cpus = 1.0 }\nfront = [", &["limits hold for one server"]),
        ("front = [", "http2 = true\nfront = [", &["HTTP/1.1"]),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "nothing was changed: {from}");
        let message = parse(&text).expect_err(to);
        for word in expected {
            assert!(message.contains(word), "{to}\nshould say {word}\n{message}");
        }
    }
}

/// Clients speak TLS with the outermost front, and no two fronts do with one another.
#[test]
fn tls_is_for_the_outermost_front_of_those_that_can() {
    let with = |product: &str, front: &str| {
        let front = format!("front = [{front}]");
        parse(
            &(GOOD.replace("tls = true", &front)
                + &format!("[front.outer]\nproduct = \"{product}\"\ntls = true\n")),
        )
    };
    for product in Product::fronts() {
        let checked = with(product.label(), "\"outer\", \"varnish\"");
        assert_eq!(checked.is_ok(), product.can_tls(), "{product:?}");
    }
    assert!(with("haproxy", "\"outer\"").unwrap().arms[1].is_asked_over_tls());
    let message = with("haproxy", "\"varnish\", \"outer\"").unwrap_err();
    assert!(message.contains("`outer` speaks TLS") && message.contains("only the outermost"), "{message}");
}

#[test]
fn a_slice_by_time_takes_no_list_and_is_longer_than_a_request_may_take() {
    let good = GOOD.replace("margin = \"2%\"", "slice = \"20s\"");
    let Work::Requests(work) = parse(&good).unwrap().work else { panic!("no requests") };
    assert_eq!(work.timed, Some(SliceLengths { slice: Nanos::from_secs(20), warm: Nanos::from_secs(2) }));
    for (from, to, expected) in [
        (
            "slice = \"20s\"",
            "slice = \"20s\"\nslice_requests = 7",
            "`slice_requests` is about slices with a fixed list",
        ),
        ("slice = \"20s\"", "slice = \"10s\"", "cannot see a request through that may take 10 s"),
        ("slice = \"20s\"", "warm = \"1s\"", "there is none"),
        ("slice = \"20s\"", "slice = \"20s\"\nprimary = \"elapsed\"", "`elapsed`"),
        ("slice = \"20s\"", "slice = \"20s\"\ndesign = \"duet\"", "same requests"),
        ("slice = \"20s\"", "slice = \"0s\"", "above zero"),
        ("tls = true", "tls = true\nfresh = \"start\"", "`fresh`"),
        ("tls = true", "tls = true\nslice_requests = 9", "`slice_requests`"),
        ("tls = true", "tls = true\nhttp2 = true", "HTTP/2"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "nothing was changed: {from}");
        let message = parse(&text).expect_err(to);
        assert!(message.contains(expected), "{to}\nshould say {expected}\n{message}");
    }
}

#[test]
fn refusals_are_statuses_and_classes_and_nothing_else() {
    let with = |list: &str| GOOD.replace("kind = \"get\"", &format!("kind = \"get\"\nrefused = {list}"));
    let Work::Requests(work) = parse(&with("[429, \"reset\"]")).unwrap().work else { panic!("no requests") };
    assert_eq!(work.refusals, bakeoff_loadgen::Refusals::of(&[429], &[bakeoff_meter::ErrorClass::Reset]));
    for (list, expected) in [
        ("[200]", "no status that refuses"),
        ("[\"rest\"]", "did you mean `reset`"),
        ("[]", "nothing is named"),
        ("[true]", "expected a status such as 429"),
        ("[\"wrong-body\"]", "is a failure and refuses nothing"),
        ("[\"cut-off\"]", "is a failure and refuses nothing"),
        ("[\"server-error\"]", "name the status"),
    ] {
        let message = parse(&with(list)).expect_err(list);
        assert!(message.contains(expected), "{list}: {message}");
    }
    let both = with("[503]") + "[violations]\nurls = [\"/secret\"]\n";
    assert!(parse(&both).expect_err("both").contains("both a violation"));
    let primary = GOOD.replace("margin = \"2%\"", "primary = \"subject_cpu_per_reply\"");
    assert!(parse(&primary).expect_err("no refusals").contains("may be refused"));
}

#[test]
fn wraps_are_sections_outermost_first_and_words_without_a_name_the_innermost() {
    let sections = "[wrap.a]\nwords = [\"outer\"]\n[wrap.b]\nwords = [\"inner\", \"-x\"]\n";
    let good = GOOD.replace("tls = true", "wraps = [\"a\", \"b\"]\nwrap = [\"nice\"]") + sections;
    let plan = parse(&good).unwrap();
    let names: Vec<&str> = plan.arms[1].wraps.iter().map(|wrap| wrap.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "wrap"]);
    for (from, to, expected) in [
        ("\"b\"]", "\"c\"]", "no wrap `c`"),
        ("\"b\"]", "\"a\"]", "twice"),
        ("[\"inner\", \"-x\"]", "[]", "no program"),
        ("[wrap.a]", "[wrap.\"a b\"]", "no name for a wrap"),
        ("server = \"origin\"\nwraps", "url = \"http://127.0.0.1:1\"\nwraps", "not started through"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "nothing was changed: {from}");
        let message = parse(&text).expect_err(to);
        assert!(message.contains(expected), "{to}: {message}");
    }
}

#[test]
fn a_level_of_a_factor_puts_its_fronts_outside_those_of_the_arm() {
    let text = "[experiment]\nbaseline = \"none\"\n[workload]\nkind = \"get\"\nurls = [\"/f\"]\n\
                [factors]\ncache = [\"none\", \"squid\"]\n[level.cache.squid]\nfront = [\"haproxy\"]\n\
                [arm.a]\nserver = \"nginx\"\nfront = [\"{cache}\"]\n";
    let plan = parse(text).unwrap();
    let names = |arm: usize| plan.arms[arm].fronts.iter().map(|front| front.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(0), names(1)), (Vec::new(), vec!["haproxy".to_owned(), "squid".to_owned()]));
}

const FACTORS: &str = r#"
[experiment]
baseline = "nginx"

[workload]
kind = "get"
urls = ["/f"]

[factors]
protocol = ["http", "https"]
rules = [0, 10]

[level.protocol.https]
tls = true

[arm.nginx]
server = "nginx"
config = "rules-{rules}.conf"
prepare = ["make-rules", "{rules}", "{dir}"]
"#;

#[test]
fn factors_make_an_arm_of_every_combination() {
    let plan = parse(FACTORS).unwrap();
    let names: Vec<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(names, ["http.rules-0", "http.rules-10", "https.rules-0", "https.rules-10"]);
    assert_eq!(plan.baseline_name(), "http.rules-0");
    assert_eq!(plan.arms[3].levels, [1, 1]);
    assert_eq!(plan.factors[1].numbers, Some(vec![0.0, 10.0]));
    let Spec::Product { product: Product::Nginx, config: Some(path), tls } = (match &plan.arms[3].what {
        ArmKind::Server(spec) => spec.clone(),
        _ => panic!("no server"),
    }) else {
        panic!("no nginx")
    };
    assert_eq!((path, tls), (PathBuf::from("/plans/rules-10.conf"), true));
    assert_eq!(plan.arms[1].prepare, [["make-rules", "10", "{dir}"]]);
    assert_eq!(plan.arms[1].values["rules"], "10");
}

#[test]
fn several_templates_are_a_factor_and_cells_may_be_listed() {
    let text = FACTORS.to_owned()
        + "\n[arm.apache]\nserver = \"apache\"\n\n[[cell]]\nprotocol = \"http\"\nrules = 0\n\n[[cell]]\nprotocol = \"https\"\nrules = 10\n";
    let plan = parse(&text).unwrap();
    let names: Vec<&str> = plan.arms.iter().map(|arm| arm.name.as_str()).collect();
    assert_eq!(
        names,
        ["nginx.http.rules-0", "nginx.https.rules-10", "apache.http.rules-0", "apache.https.rules-10"]
    );
    assert_eq!(plan.baseline_name(), "nginx.http.rules-0");
    assert_eq!((plan.factors[0].name.as_str(), &plan.arms[2].levels), ("arm", &vec![1, 0, 0]));
}

#[test]
fn a_cell_stands_for_all_levels_of_what_it_leaves_out() {
    let names = |cells: &str| -> Vec<String> {
        let plan = parse(&FACTORS.replace("[arm.nginx]", &format!("{cells}\n[arm.nginx]"))).unwrap();
        plan.arms.iter().map(|arm| arm.name.clone()).collect()
    };
    assert_eq!(
        names("[[cell]]\nprotocol = \"http\"\n[[cell]]\nprotocol = \"https\"\nrules = 10"),
        ["http.rules-0", "http.rules-10", "https.rules-10"]
    );
    assert_eq!(names("[[cell]]\nrules = 0"), ["http.rules-0", "https.rules-0"]);
    assert_eq!(names("[[cell]]").len(), 4);
}

const STACK: &str = r#"
[experiment]
baseline = "plain.raw"

[workload]
kind = "get"
urls = ["/f"]

[factors]
storage = ["plain", "image"]
check = ["raw", "noted"]

[level.storage.image]
layers = ["lower", "loop-ext4"]

[level.check.noted]
layers = ["integrity-log"]

[layer.base]
up = ["true"]

[layer.lower]
up = ["true"]

[arm.nginx]
server = "nginx"
layers = ["base"]
"#;

#[test]
fn layers_of_an_arm_and_its_levels_add_up() {
    let layers = |text: &str| -> Vec<Vec<String>> {
        let of = |arm: &Arm| arm.layers.iter().map(|layer| layer.name.clone()).collect();
        parse(text).unwrap().arms.iter().map(of).collect()
    };
    let all = layers(STACK);
    assert_eq!(all[0], ["base"]);
    assert_eq!(all[1], ["base", "integrity-log"]);
    assert_eq!(all[2], ["base", "lower", "loop-ext4"]);
    assert_eq!(all[3], ["base", "lower", "loop-ext4", "integrity-log"]);
    // The order of [factors] counts, not that of the sections.
    let turned = STACK.replacen("storage =", "zz =", 1).replacen("check =", "storage =", 1);
    let turned = turned.replacen("zz = [\"plain\", \"image\"]", "check = [\"raw\", \"noted\"]", 1);
    let turned = turned.replacen("storage = [\"raw\", \"noted\"]", "storage = [\"plain\", \"image\"]", 1);
    let turned = turned.replacen("plain.raw", "raw.plain", 1);
    assert_eq!(layers(&turned)[3], ["base", "integrity-log", "lower", "loop-ext4"]);
    let twice = STACK.replacen("[\"integrity-log\"]", "[\"lower\"]", 1);
    let message = parse(&twice).unwrap_err();
    assert!(message.contains("the layer `lower` stands under `image.noted` twice"), "{message}");
}

#[test]
fn arms_and_levels_may_have_slices_of_their_own() {
    let own = |text: &str| -> Vec<Option<u64>> {
        let plan = parse(text).unwrap();
        plan.arms.iter().map(|arm| plan.slice_requests(arm)).collect()
    };
    let level = FACTORS.replace("tls = true", "tls = true\nslice_requests = 3000");
    assert_eq!(own(&level), [None, None, Some(3000), Some(3000)]);
    let common = level.replace("baseline", "slice_requests = 6000\nbaseline");
    assert_eq!(own(&common), [Some(6000), Some(6000), Some(3000), Some(3000)]);
    // As many for all: the time of a whole slice may be compared again.
    let elapsed = common.replace("baseline", "primary = \"elapsed\"\nbaseline");
    assert!(parse(&elapsed.replace("= 3000", "= 6000")).is_ok());
    let message = parse(&elapsed).unwrap_err();
    for part in ["`elapsed` is of a whole slice", "`https.rules-0` with `http.rules-0`", "has 3000", "6000"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn levels_as_baseline_give_each_stratum_its_own() {
    let plan = parse(&FACTORS.replace("baseline = \"nginx\"", "baseline = { protocol = \"http\" }")).unwrap();
    assert_eq!(
        plan.names(),
        [
            "http.rules-0",
            "http.rules-0'",
            "https.rules-0",
            "http.rules-10",
            "http.rules-10'",
            "https.rules-10"
        ]
    );
    let of: Vec<usize> = (0..4).map(|arm| plan.baselines.of(arm)).collect();
    assert_eq!(of, [0, 0, 2, 2]);
    assert_eq!(plan.baselines.stratum_name(2, &plan.arms, &plan.factors), "rules = 10");
}

/// Slices may differ from stratum to stratum, but not within one.
#[test]
fn slices_of_one_stratum_are_equal_where_a_slice_is_judged_as_a_whole() {
    let with = |baseline: &str| {
        let text = FACTORS.replace("tls = true", "tls = true\nslice_requests = 3000");
        parse(&text.replace(
            "baseline = \"nginx\"",
            &format!("baseline = {baseline}\nslice_requests = 6000\nprimary = \"elapsed\""),
        ))
    };
    assert!(with("{ rules = 0 }").is_ok());
    let message = with("{ protocol = \"http\" }").unwrap_err();
    assert!(message.contains("`https.rules-0` with `http.rules-0`"), "{message}");
}

#[test]
fn wrong_factors_and_method_keys_are_named() {
    for (from, to, expected) in [
        ("rules = [0, 10]", "rules = [0]", &["no two levels"][..]),
        ("rules = [0, 10]", "rules = [0, 0]", &["`0` is there twice"]),
        ("rules = [0, 10]", "port = [0, 10]", &["`port` is no name for a factor"]),
        (
            "[level.protocol.https]",
            "[level.protcol.https]",
            &["no factor `protcol`", "did you mean `protocol`"],
        ),
        ("[level.protocol.https]", "[level.protocol.htps]", &["no level `htps`", "did you mean `https`"]),
        (
            "[arm.nginx]",
            "[[cell]]\nprotocol = \"http\"\n\n[[cell]]\nrules = 10\n\n[arm.nginx]",
            &["the combination http.rules-10 is there twice", "leaves out", "plan.toml:19"],
        ),
        ("[arm.nginx]", "[[cell]]\nrules = 1\n\n[arm.nginx]", &["has no level `1`", "plan.toml:17"]),
        ("baseline = \"nginx\"", "baseline = \"ngnix\"", &["no arm `ngnix`", "http.rules-0"]),
        ("baseline = \"nginx\"", "baseline = {}", &["names no level"]),
        ("baseline = \"nginx\"", "baseline = { rule = 0 }", &["no factor `rule`", "did you mean `rules`"]),
        ("baseline = \"nginx\"", "baseline = { rules = 3 }", &["`rules` has no level `3`"]),
        ("baseline", "design = \"duett\"\nbaseline", &["no design `duett`", "did you mean `duet`"]),
        ("baseline", "delay = \"5ms\"\nbaseline", &["`delay` needs a link"]),
        ("baseline", "link = \"10Mb\"\nbaseline", &["`10Mb` is not a link's rate"]),
        (
            "baseline",
            "link = \"1kbit\"\nbaseline",
            &["a link of 1 kbit/s", "between 100 kbit/s and 100 Gbit/s"],
        ),
        ("baseline", "link = \"1Gbit\"\ndelay = \"3s\"\nbaseline", &["no network on Earth"]),
        ("baseline", "link = \"1Gbit\"\nloss = \"50%\"\nbaseline", &["no TCP connection"]),
        ("baseline", "primary = \"cpu\"\nbaseline", &["no meter", "`bakeoff meters` lists them"]),
        ("baseline", "primary = \"requests_per_second\"\nbaseline", &["more is better", "`elapsed` is"]),
        (
            "baseline",
            "link = \"1Gbit\"\ndesign = \"duet\"\nbaseline",
            &["a duet cannot be made over a link", "plan.toml:4"],
        ),
        ("baseline", "at = \"100\"\nbaseline", &["`100` has no unit", "write \"100/s\""]),
        (
            "baseline",
            "budget = \"x\"\nmargin = \"y\"\nbaseline",
            &["`x` is not a time", "`y` is not a share"],
        ),
        (
            "baseline",
            "primary = \"replies_per_second\"\nbaseline",
            &["more is better", "`elapsed` is the time for the same requests"],
        ),
        ("baseline", "kind = \"peak\"\ndesign = \"duet\"\nbaseline", &["`design` has no meaning for a peak"]),
        ("tls = true", "tls = true\nslice_requests = 0", &["1 or more", "plan.toml:15"]),
        ("tls = true", "tls = true\nlimits = {}", &["nothing is limited"]),
        ("tls = true", "fresh = \"conection\"", &["did you mean `connection`"]),
        ("tls = true", "headers = [\"Connection: x\"]", &["set by the load generator"]),
        ("tls = true", "headers = [\"Host: a\", \"host: b\"]", &["a request has one `Host`"]),
        ("tls = true", "headers = [\"Host: ~^www\"]", &["`~^www` is no host"]),
        ("tls = true", "headers = [\"X\\r\\nY: z\"]", &["no header field"]),
        (
            "config =",
            "http_directives = \"map a b {}\"\nconfig =",
            &["`http_directives` is for our configuration"],
        ),
        (
            "server = \"nginx\"\nconfig = \"rules-{rules}.conf\"",
            "server = \"apache\"\nhttp_directives = \"Header x\"",
            &["`http_directives` are for nginx, and Apache httpd has no `http` block", "into `directives`"],
        ),
        ("tls = true", "certificate = \"rsa-2048\"", &["`certificate` is of TLS", "add tls = true"]),
        (
            "tls = true",
            "tls = true\ncertificate = \"rsa-2084\"",
            &["kind of certificate", "did you mean `rsa-2048`"],
        ),
        ("tls = true", "first_use_of = \"http.rules-1\"", &["no arm `http.rules-1`", "did you mean"]),
        ("[level", "[violations]\nshare = \"1%\"\nfiles = 3\n\n[level", &["no file to alter"]),
        ("[level", "[violations]\nshare = \"60%\"\nurls = [\"/x\"]\n\n[level", &["more than half"]),
        ("[level", "[violations]\nshare = \"1%\"\n\n[level", &["what must be noticed"]),
    ] {
        let text = FACTORS.replacen(from, to, 1);
        let message = parse(&text).expect_err(to);
        for part in expected {
            assert!(message.contains(part), "{to}: {message}");
        }
    }
}

const CALLS: &str = r#"
[experiment]
baseline = "plain"

[workload]
kind = "calls"
operations = ["open-close", "udp"]
depth = 3
batch = "2ms"
peers = "other"

[arm.plain]

[arm.boxed]
wrap = ["box", "{dir}", "{port}"]
env = { A = "b" }
"#;

#[test]
fn a_plan_of_calls_says_what_is_made_and_through_what() {
    use bakeoff_calls::{CallOperation, Peers};
    let plan = parse(CALLS).unwrap();
    let Work::Calls(work) = plan.work else { panic!("no calls") };
    assert_eq!(work.operations, [CallOperation::OpenClose, CallOperation::Udp]);
    assert_eq!((work.depth, work.batch, work.peers), (3, Nanos::from_millis(2), Peers::Other));
    assert!(
        matches!(&plan.arms[1].what, ArmKind::Calls(calls) if calls.env == [("A".to_owned(), "b".to_owned())])
    );
    assert_eq!(plan.arms[1].wraps[0].words, ["box", "{dir}", "{port}"]);
    let bare =
        "[experiment]\nbaseline = \"a\"\n[workload]\nkind = \"calls\"\n[arm.a]\n[arm.b]\nwrap = [\"box\"]\n";
    let Work::Calls(work) = parse(bare).unwrap().work else { panic!("no calls") };
    assert_eq!(work.operations, CallOperation::all().collect::<Vec<_>>());
    assert_eq!((work.depth, work.batch, work.peers), (8, Nanos::from_millis(5), Peers::Same));
}

#[test]
fn what_is_wrong_with_calls_is_told_at_its_line() {
    for (from, to, expected) in [
        ("\"udp\"", "\"upd\"", &["no operation `upd`", "did you mean `udp`", "plan.toml:7"][..]),
        ("\"udp\"", "\"open-close\"", &["`open-close` is there twice"]),
        ("[\"open-close\", \"udp\"]", "[]", &["nothing to do"]),
        ("depth = 3", "depth = 101", &["between 0 and 100", "plan.toml:8"]),
        ("\"2ms\"", "\"2us\"", &["a batch takes 100 us at least", "plan.toml:9"]),
        ("\"2ms\"", "\"2min\"", &["no longer than its time limit"]),
        ("\"other\"", "\"others\"", &["no place for partners `others`", "did you mean `other`"]),
        ("depth = 3", "sizes = [\"1B\"]", &["`sizes` has no meaning in a `calls` workload"]),
        ("env =", "proof = [\"true\"]\nenv =", &["`proof` has no meaning in a `calls` workload", "`wraps`"]),
        ("baseline", "slice_requests = 5\nbaseline", &["calls come in batches", "batch = \"5ms\""]),
        ("wrap =", "wraps = [\"walls\"]\nwrap =", &["walls"]),
    ] {
        let error = parse(&CALLS.replace(from, to)).unwrap_err();
        for word in expected {
            assert!(error.contains(word), "{to}: {error}");
        }
    }
}

const FILES: &str = r#"
[experiment]
baseline = "plain"

[workload]
kind = "files"
operations = ["read", "create", "tree-copy"]
sizes = ["1B", "10MB"]
cache = "cold"
fsync = "file+dir"
tree = { files = 10, directories = 2 }

[arm.plain]

[arm.layer]
path = "{dir}/clear"
setup = ["mount-it", "{dir}/clear"]
drop = ["remount-it"]
"#;

#[test]
fn a_plan_of_files_says_what_is_done_where() {
    let plan = parse(FILES).unwrap();
    let Work::Files(work) = plan.work else { panic!("no files") };
    assert_eq!(work.operations, [FileOperation::Read, FileOperation::Create, FileOperation::TreeCopy]);
    assert_eq!(work.sizes, [Bytes::new(1), Bytes::new(10_000_000)]);
    assert_eq!((work.cache, work.fsync), (CacheState::Cold, Fsync::FileAndDirectory));
    assert_eq!(work.tree, Some(TreeShape { files: 10, directories: 2, mean: Bytes::new(13_000) }));
    let paths: Vec<&str> = plan
        .arms
        .iter()
        .map(|arm| match &arm.what {
            ArmKind::Files(files) => files.path.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(paths, ["{dir}", "{dir}/clear"]);
    let there = parse(&FILES.replace("\"{dir}/clear\"\nsetup", "\"on/disk\"\nsetup")).unwrap();
    assert!(matches!(&there.arms[1].what, ArmKind::Files(files) if files.path == "/plans/on/disk"));
    let bare =
        "[experiment]\nbaseline = \"a\"\n[workload]\nkind = \"files\"\n[arm.a]\n[arm.b]\npath = \"/mnt\"\n";
    let Work::Files(work) = parse(bare).unwrap().work else { panic!("no files") };
    assert_eq!((work.operations.len(), work.sizes.len(), work.cache), (2, 2, CacheState::Cached));
}

#[test]
fn what_is_wrong_with_files_is_told_at_its_line() {
    for (from, to, expected) in [
        ("\"create\"", "\"craete\"", &["no operation `craete`", "did you mean `create`", "plan.toml:7"][..]),
        ("\"create\"", "\"read\"", &["`read` is there twice"]),
        ("[\"read\", \"create\", \"tree-copy\"]", "[]", &["nothing to do"]),
        ("\"10MB\"", "\"1B\"", &["the size 1 B is there twice", "plan.toml:8"]),
        ("\"10MB\"", "\"10mb\"", &["`10mb` is not a size"]),
        ("sizes = [\"1B\", \"10MB\"]", "sizes = []", &["there are no files"]),
        ("cache = \"cold\"", "cache = \"cool\"", &["no state of the caches `cool`", "known are `cold`"]),
        ("cache = \"cold\"", "cache = \"warm\"", &["nothing is dropped with these caches", "plan.toml:18"]),
        ("fsync = \"file+dir\"", "fsync = \"dir\"", &["no way to sync `dir`"]),
        ("\"create\", \"tree-copy\"", "\"tree-walk\"", &["`fsync` has no meaning: no operation writes"]),
        ("\"read\", \"create\", ", "", &["`sizes` has no meaning: all operations are about the tree"]),
        ("tree = { files = 10, directories = 2 }", "", &["`tree-copy` needs a tree", "add tree = "]),
        (", \"tree-copy\"", "", &["no operation is about a tree"]),
        ("files = 10", "files = 0", &["between 1 and 1000000"]),
        ("files = 10", "fils = 10", &["fils"]),
        ("cache = \"cold\"", "robots = 4", &["`robots` has no meaning in a `files` workload"]),
        ("path = \"{dir}/clear\"", "path = \"/mnt/{dir}\"", &["`/mnt/{dir}` is no path"]),
        ("path = \"{dir}/clear\"", "path = \"{dir}/{port}\"", &["{port}", "only servers have"]),
        ("path = \"{dir}/clear\"", "server = \"origin\"", &["`server` has no meaning in a `files` workload"]),
        (
            "path = \"{dir}/clear\"",
            "path = \"{dir}/clear\"\ndirectives = \"gzip on;\"",
            &["`directives` has no meaning in a `files` workload"],
        ),
        ("setup = [\"mount-it\", \"{dir}/clear\"]", "setup = []", &["there is no program"]),
        (
            "path = \"{dir}/clear\"\nsetup = [\"mount-it\", \"{dir}/clear\"]\ndrop = [\"remount-it\"]\n",
            "",
            &["the arms `plain` and `layer` are equal"],
        ),
    ] {
        let text = FILES.replacen(from, to, 1);
        assert_ne!(text, FILES, "nothing was changed: {from}");
        let message = parse(&text).expect_err(to);
        for word in expected {
            assert!(message.contains(word), "{to}\nshould say {word}\n{message}");
        }
    }
    let message = parse(&GOOD.replace("tls = true", "tls = true\npath = \"/mnt\"")).unwrap_err();
    assert!(message.contains("it belongs to the `files` workload"), "{message}");
}

#[test]
fn a_plan_may_state_a_sample_and_the_whole() {
    let text = FACTORS
        .replace("baseline", "budget = { sample = \"2min\", full = \"2h\" }\nmax_rounds = 10\nbaseline")
        .replace("tls = true", "tls = true\nslice_requests = { sample = 50, full = 500 }");
    let sample = parse(&text).unwrap();
    let full = sample.full.clone().unwrap();
    assert_eq!((sample.extent, full.extent), (Some(Extent::Sample), Some(Extent::Full)));
    assert_eq!((sample.budget, full.budget), (Nanos::from_secs(120), Nanos::from_secs(7200)));
    assert_eq!((sample.max_rounds, full.max_rounds), (10, 10));
    let own = |plan: &Plan| plan.slice_requests(&plan.arms[2]);
    assert_eq!((own(&sample), own(&full)), (Some(50), Some(500)));
    assert!(sample.clone().of_extent(None).is_none(), "it has an extent");
    assert_eq!(sample.of_extent(Some(Extent::Full)).unwrap().budget, Nanos::from_secs(7200));

    let plain = parse(FACTORS).unwrap();
    assert_eq!((plain.extent, plain.full.is_none()), (None, true));
    assert!(plain.of_extent(Some(Extent::Full)).is_none());
}

/// Both are checked, whichever is run.
#[test]
fn what_is_wrong_with_the_whole_is_told_with_the_sample() {
    for (value, expected) in [
        ("max_rounds = { sample = 10, full = 2 }", "3 or more"),
        ("max_rounds = { sample = 10 }", "{ sample = VALUE, full = VALUE }"),
        ("max_rounds = { sample = 10, full = 20, more = 1 }", "{ sample = VALUE, full = VALUE }"),
        ("budget = { sample = \"1min\", full = \"2\" }", "`2` is not a time"),
        ("slice_requests = { sample = 10, full = 0 }", "1 or more"),
        ("margin = { sample = \"1%\", full = \"2%\" }", "plan.toml:3"),
    ] {
        let message =
            parse(&FACTORS.replacen("baseline", &format!("{value}\nbaseline"), 1)).expect_err(value);
        assert!(message.contains(expected) && message.contains("plan.toml:3"), "{value}: {message}");
    }
}

/// Each plan that gives an arm's slices a size, and the reason why it cannot.
#[test]
fn slices_of_one_arm_are_refused_where_they_mean_nothing() {
    let own = "server = \"origin\"\nslice_requests = 5";
    let passes =
        "kind = \"walk\"\npasses = 1\nsite = { files = 1, bytes = \"1KB\", urls = 1, mean_reply = \"1KB\" }";
    let get = "kind = \"get\"\nurls = [\"/\"]";
    let log = "kind = \"replay\"\nlog = \"builtin:weblog\"\nclock = \"original\"";
    for (key, work, arm, expected) in [
        ("design = \"duet\"", get, own, "in a duet all arms are loaded at once"),
        ("primary = \"elapsed\"", get, own, "of the other as many as the pilot finds"),
        ("kind = \"peak\"", get, own, "`slice_requests` has no meaning for a peak"),
        ("", log, own, "this clock keeps the order of the log"),
        ("", passes, own, "with `passes` a slice is the whole log or site"),
        (
            "",
            "kind = \"command\"\ncommand = [\"true\"]",
            "slice_requests = 5",
            "`slice_requests` has no meaning",
        ),
        (
            "",
            "kind = \"files\"",
            "slice_requests = 5",
            "`slice_requests` has no meaning in a `files` workload",
        ),
    ] {
        let other = if own == arm { "server = \"origin\"\ntls = true" } else { "" };
        let text = format!(
            "[experiment]\nbaseline = \"a\"\n{key}\n[workload]\n{work}\n[arm.a]\n{other}\n[arm.b]\n{arm}\n"
        );
        let message = parse(&text).expect_err(expected);
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

#[test]
fn a_link_leads_to_servers_that_are_started() {
    let plan = |arm: &str| {
        let text = "[experiment]\nbaseline = \"a\"\nlink = \"10Mbit\"\ndelay = \"5ms\"\nloss = \"1%\"\n\n[workload]\nkind = \"get\"\nurls = [\"/\"]\n\n[arm.a]\nserver = \"origin\"\n\n[arm.b]\n";
        parse(&(text.to_owned() + arm))
    };
    let link = plan("server = \"nginx\"\n").unwrap().link.unwrap();
    assert_eq!((link.rate.get(), link.delay, link.loss.get()), (10_000_000, Nanos::from_millis(5), 0.01));
    let message = plan("url = \"http://127.0.0.1:80\"\n").unwrap_err().to_string();
    assert!(message.contains("no link can be put in front of `b`"), "{message}");
}

const PEAK: &str = r#"
[experiment]
kind = "peak"
baseline = "plain"
budget = "10min"

[peak]
slo = "20ms"
max_rate = "5000/s"

[workload]
kind = "get"
urls = ["/f"]

[arm.plain]
server = "origin"
"#;

#[test]
fn a_peak_needs_one_arm_only_and_no_second_baseline() {
    let plan = parse(PEAK).unwrap();
    assert_eq!(plan.names(), ["plain"]);
    let ExperimentGoal::Peak(peak) = plan.kind else { panic!("no peak") };
    assert_eq!(
        (peak.slo, peak.quantile, peak.confirm),
        (Some(Nanos::from_millis(20)), 0.99, Nanos::from_secs(60))
    );
    assert_eq!(peak.max_rate.map(PerSecond::get), Some(5000.0));
    let Work::Requests(work) = plan.work else { panic!("no requests") };
    assert!(matches!(work.clock, LoadClock::Poisson(_)));
    let constant = PEAK.replace("kind = \"get\"", "kind = \"get\"\nclock = \"constant\"");
    let Work::Requests(work) = parse(&constant).unwrap().work else { panic!("no requests") };
    assert!(matches!(work.clock, LoadClock::Constant(_)));
}

#[test]
fn what_has_no_meaning_for_a_peak_is_named() {
    for (from, to, expected) in [
        ("kind = \"peak\"\n", "", &["`[peak]` has no meaning here", "kind = \"peak\""][..]),
        ("kind = \"peak\"", "kind = \"peek\"", &["no kind of experiment `peek`", "did you mean `peak`"]),
        ("baseline", "margin = \"1%\"\nbaseline", &["`margin` has no meaning for a peak", "plan.toml:4"]),
        (
            "kind = \"get\"",
            "kind = \"get\"\nrate = \"5/s\"",
            &["`rate` has no meaning for a peak", "max_rate"],
        ),
        ("kind = \"get\"", "kind = \"get\"\nrobots = 5", &["`robots` has no meaning for a peak"]),
        ("kind = \"get\"", "kind = \"get\"\nclock = \"closed\"", &["no clock for a peak `closed`"]),
        (
            "server = \"origin\"",
            "server = \"origin\"\nfresh = \"start\"",
            &["`fresh` has no meaning for a peak"],
        ),
        (
            "[peak]",
            "[violations]\nshare = \"1%\"\nurls = [\"/x\"]\n\n[peak]",
            &["`violations` has no meaning"],
        ),
        ("slo = \"20ms\"", "quantile = \"100%\"", &["between 0 and 100 %"]),
        ("slo = \"20ms\"", "confirm = \"0s\"", &["above zero"]),
        (
            "budget = \"10min\"",
            "budget = \"90s\"",
            &["alone take 60 s of the budget of 90 s", "shorter `confirm`"],
        ),
        (
            "slo = \"20ms\"",
            "slo = \"20s\"",
            &["takes at least 40 min, and the budget is 10 min", "shorter `slo`"],
        ),
        (
            "kind = \"get\"\nurls = [\"/f\"]\n\n[arm.plain]\nserver = \"origin\"",
            "kind = \"command\"\ncommand = [\"true\"]\n\n[arm.plain]",
            &["only servers have a peak"],
        ),
    ] {
        let text = PEAK.replacen(from, to, 1);
        assert_ne!(text, PEAK, "nothing was changed: {from}");
        let message = parse(&text).expect_err(to);
        for part in expected {
            assert!(message.contains(part), "{to}: {message}");
        }
    }
}
