//! Method of experiments: duets, restarts, factors, prices, first uses, violations and proof. Whole runs against real
//! servers, with enough known about them that the report must say it.

use crate::support::{GET, Yard, as_on_a_quiet_machine, has, plan, sooner_or_later};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The results, and the lines of slices.jsonl.
fn run(text: &str) -> (Value, Vec<Value>) {
    let (_, results, slices) = run_in(text);
    (results, slices)
}

/// The same, and their yard.
fn run_in(text: &str) -> (Yard, Value, Vec<Value>) {
    let yard = Yard::new();
    yard.write("plan.toml", crate::with_ample_budget(text));
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    let slices =
        yard.read("out/slices.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let results = yard.results("out");
    (yard, results, slices)
}

fn row<'a>(results: &'a Value, arm: &str, meter: &str) -> &'a Value {
    let rows = results["comparisons"].as_array().unwrap();
    rows.iter().find(|row| row["arm"] == arm && row["meter"] == meter).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

const CPU: &str = "subject_cpu_per_request";

#[test]
fn a_duet_tells_costs_and_rounds_in_turn_tell_times() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.same]\nserver = \"origin\"";
    let keys = "max_rounds = 4\ndesign = \"duet\"\npaired_rounds = 3\nallow_equal_arms = true";
    let (results, slices) = run(&plan(keys, GET, arms));
    assert_eq!(results["design"]["design"], "duet");
    let load = &results["design"]["loads"][0];
    assert!(number(&load["rate_per_s"]) > 1.0 && number(&load["slots"]["every_ns"]) >= 20e6, "{load}");
    let of = |design: &str, load: Value| -> Vec<&Value> {
        slices.iter().filter(|slice| slice["design"] == design && slice["load"] == load).collect()
    };
    let (together, at_its_load) = (of("duet", 0.into()), of("pairs", 0.into()));
    let full_speed = of("pairs", Value::Null);
    let rounds = [together.len(), at_its_load.len(), full_speed.len()];
    assert_eq!(rounds, [12, 9, 9], "{}", results["stopped_by"]);
    assert_eq!((&results["rounds_in_turn"], &results["rounds_at_full_speed"]), (&3.into(), &3.into()));
    for round in together.chunks(3) {
        assert!(round.iter().all(|slice| slice["started_ns"] == round[0]["started_ns"]), "not in one slice");
        assert!(round.iter().all(|slice| slice["counters"]["requests"] == round[0]["counters"]["requests"]));
    }
    let requests = |slices: &[&Value]| slices[0]["counters"]["requests"].clone();
    assert_eq!(requests(&together), requests(&at_its_load), "the check has slices of the same size");
    let mut orders: Vec<u64> = together.iter().map(|slice| slice["order_seed"].as_u64().unwrap()).collect();
    orders.sort_unstable();
    orders.dedup();
    assert_eq!(orders.len(), 12, "each arm has an order of its own in each round");
    let (cost, speed) = (row(&results, "same", CPU), row(&results, "same", "replies_per_second"));
    assert_eq!((&cost["design"], &cost["rounds"]), (&Value::from("duet"), &Value::from(4)), "{cost}");
    assert_eq!((&speed["design"], &speed["rounds"]), (&Value::from("pairs"), &Value::from(3)), "{speed}");
    // Or invalid, if the machine let the generator be late.
    let word = speed["verdict"].as_str().unwrap();
    assert!(["not-resolved", "invalid"].contains(&word), "three rounds are too few for any word: {speed}");
    let rates = |slices: &[&Value]| -> f64 {
        let of = |slice: &&Value| {
            number(&slice["counters"]["replies"]) / number(&slice["counters"]["wall_ns"]) * 1e9
        };
        slices.iter().map(of).fold(f64::INFINITY, f64::min)
    };
    let of_arm = number(&results["arms"]["same"]["meters"]["replies_per_second"]);
    assert!(of_arm >= rates(&full_speed), "{of_arm}: rates are those of full speed");
    assert_eq!(number(&results["arms"]["same"]["full_speed"]["replies_per_second"]), of_arm);
    let times = &results["arms"]["same"]["response_ns"]["count"];
    let replies: u64 = at_its_load
        .iter()
        .filter(|slice| slice["arm"] == "same")
        .map(|slice| slice["counters"]["replies"].as_u64().unwrap())
        .sum();
    assert_eq!(times, &Value::from(replies), "times are those of the rounds in turn at the same load");
}

/// The baseline burns, too: an origin's other work may be twice as much in one process as in the next.
/// Two strata, one of them too large for one slice, at two loads.
#[test]
fn strata_take_turns_in_a_duet_and_each_arm_has_both_processes_of_its_baseline_beside_it() {
    let plan = "[experiment]\nbaseline = { burn = \"none\" }\nmax_rounds = 3\ndesign = \"duet\"\npaired_rounds = 0\n\
        slice_requests = 50\nloads = [\"500/s\", \"1000/s\"]\n\
        [workload]\nkind = \"get\"\nrobots = 4\nurls = [\"/bytes/500\"]\n\
        [factors]\nsize = [\"s\", \"l\"]\nburn = [\"none\", \"20us\", \"40us\", \"60us\", \"80us\", \"99us\"]\n\
        [level.size.l]\nurls = [\"/bytes/900\"]\n[level.burn.none]\nburn = \"0us\"\nsays = \"nothing planted\"\n\
        [arm.o]\nserver = \"origin\"\nburn = \"{burn}\"\n\
        [[cell]]\nsize = \"s\"\n[[cell]]\nsize = \"l\"\nburn = \"none\"\n[[cell]]\nsize = \"l\"\nburn = \"20us\"\n";
    let (yard, results, slices) = run_in(plan);
    let blocks = results["design"]["blocks"].as_array().unwrap();
    let names = |block: &Value| {
        block.as_array().unwrap().iter().map(|arm| arm.as_str().unwrap().to_owned()).collect()
    };
    let blocks: Vec<BTreeSet<String>> = blocks.iter().map(names).collect();
    assert_eq!(blocks.iter().map(BTreeSet::len).collect::<Vec<_>>(), [4, 5, 3], "{blocks:?}");
    let mut seen: BTreeMap<(u64, u64, u64), BTreeSet<String>> = BTreeMap::new();
    for slice in &slices {
        let of = |key: &str| slice[key].as_u64().unwrap_or(0);
        let arms = seen.entry((of("round"), of("load"), of("block"))).or_default();
        assert!(arms.insert(slice["arm"].as_str().unwrap().to_owned()), "{slice}");
    }
    assert_eq!(seen.len(), 3 * 2 * 3, "three rounds of two loads and three blocks");
    for ((_, _, block), arms) in &seen {
        assert_eq!(arms, &blocks[*block as usize]);
        let stratum = arms.iter().next().unwrap().chars().next().unwrap();
        assert!(["none", "none'"].iter().all(|twin| arms.contains(&format!("{stratum}.{twin}"))), "{arms:?}");
    }
    assert!(results["design"]["reason"].as_str().unwrap().contains("3 slices a round, in turn"), "{results}");
    assert_eq!(results["arms"]["s.none"]["subject"]["says"], "nothing planted");
    yard.run(&["verify", "out"]).exits(0);
}

#[test]
fn a_duet_concludes_a_large_effect_and_rounds_in_turn_do_not_contradict_it() {
    let arms = "[arm.plain]\nserver = \"origin\"\nburn = \"100us\"\n\n[arm.burning]\nserver = \"origin\"\nburn = \"400us\"";
    let (yard, results, slices) =
        run_in(&plan("max_rounds = 10\npaired_rounds = 4", GET, arms).replace("design = \"pairs\"\n", ""));
    let found = row(&results, "burning", CPU);
    assert_eq!(found["design"], "duet", "the default, whatever the arms differ by: {}", results["design"]);
    crate::is_not_denied(found);
    // As many turns as 300 us had when the origin started, at whatever speed a busy machine had then.
    assert!((30e3..3e6).contains(&number(&found["amount"])), "300 us were planted: {found}");
    let in_turn = |load: Value| slices.iter().filter(|s| s["design"] == "pairs" && s["load"] == load).count();
    assert_eq!((in_turn(0.into()), in_turn(Value::Null)), (12, 12));

    as_on_a_quiet_machine(&yard, "out", |arm| if arm == "burning" { 420e3 } else { 120e3 });
    yard.run(&["report", "out"]).exits(0);
    let results = yard.results("out");
    let row = row(&results, "burning", CPU);
    let [low, amount, high] = ["amount_low", "amount", "amount_high"].map(|key| number(&row[key]));
    assert_eq!(row["verdict"], "costs", "{row}");
    assert_eq!(row["contradiction"], Value::Null, "{row}");
    assert!(low < amount && amount < high && (290e3..310e3).contains(&amount), "300 us were planted: {row}");
    let sentence = row["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("us CPU per request more than plain (") && sentence.contains(" times plain's "),
        "{sentence}"
    );
    assert!(row["beside"].as_str().unwrap().contains("two equal plain's differ by"), "{row}");
}

#[test]
fn a_curve_has_a_row_for_each_load_and_a_word_and_its_verdict_stands_on_one() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.burning]\nserver = \"origin\"\nburn = \"300us\"";
    let keys = "max_rounds = 3\npaired_rounds = 3\nloads = [\"300/s\", \"1%\", \"100/s\"]\ndecide_at = \"300/s\"\nslice_requests = 30";
    let (results, slices) = run(&plan(keys, GET, arms).replace("design = \"pairs\"\n", ""));
    let loads = results["design"]["loads"].as_array().unwrap();
    let rates: Vec<f64> = loads.iter().map(|load| number(&load["rate_per_s"])).collect();
    assert!(rates.is_sorted() && rates.len() == 3, "{rates:?}");
    let decide_at = results["design"]["decide_at"].as_u64().unwrap() as usize;
    assert_eq!(loads[decide_at]["name"], "300/s");
    // Every round has every load, and each its two equal servers.
    for (place, _) in loads.iter().enumerate() {
        let of_load =
            |round: u64| slices.iter().filter(move |s| s["load"] == place && s["round"] == round).count();
        assert_eq!([of_load(0), of_load(1), of_load(2)], [3; 3], "load {place}");
    }
    let rows = results["comparisons"].as_array().unwrap();
    let of = |arm: &'static str| rows.iter().filter(move |row| row["arm"] == arm && row["meter"] == CPU);
    let primary = of("burning").find(|row| row["primary"] == true).unwrap();
    assert_eq!(primary["load"], decide_at);
    assert!(primary["sentence"].as_str().unwrap().contains("at 300/s"), "{primary}");
    for arm in ["burning", "plain'"] {
        let mut at: Vec<&Value> =
            of(arm).filter(|row| row["design"] == "duet").map(|row| &row["load"]).collect();
        at.sort_by_key(|load| load.as_u64());
        assert_eq!(at, [0, 1, 2], "{arm}");
    }
    let curve = &results["curve"];
    assert_eq!(curve["loads"].as_array().unwrap().len(), 3);
    let word = curve["arms"][0]["trend"].as_str().unwrap();
    assert!(["flat", "grows", "falls", "changes", "not-resolved"].contains(&word), "{curve}");
    assert_eq!(curve["arms"][0]["contrasts"].as_array().unwrap().len(), 2, "{curve}");
    let full = of("burning").find(|row| row["at"] == "full speed").unwrap();
    assert_eq!((&full["design"], &full["load"]), (&Value::from("pairs"), &Value::Null));
}

/// The first request for a file that was not asked for lately costs 3 ms. With one order for all arms that hit the
/// first arm, in every round, and its second process looked cheaper by half.
#[test]
fn no_arm_of_a_duet_pays_for_being_first() {
    if !has("python3", "no_arm_of_a_duet_pays_for_being_first") {
        return;
    }
    let yard = Yard::new();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/experiment/first_pays.py");
    let shared = yard.path("touched");
    std::fs::create_dir(&shared).unwrap();
    let argv = format!("[\"python3\", \"{server}\", \"{{port}}\", \"{}\"", shared.display());
    let urls: Vec<String> = (0..150).map(|n| format!("\"/{n}\"")).collect();
    let workload = format!("kind = \"get\"\nurls = [{}]\nrobots = 4", urls.join(", "));
    let arms = format!("[arm.plain]\ncommand = {argv}]\n\n[arm.same]\ncommand = {argv}, \"b\"]");
    let keys =
        "design = \"duet\"\nmax_rounds = 8\nslice_requests = 150\npaired_rounds = 0\nrestart_every = 0";
    yard.write("plan.toml", plan(keys, &workload, &arms));
    // While other processes wait for a disk there is no duet.
    sooner_or_later(|| {
        let said = yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]);
        if said.code() == Some(0) {
            return Ok(());
        }
        said.exits(3).says(&["the arms wait for storage"]);
        Err("others wait for a disk".to_owned())
    });
    let results = yard.results("out");
    assert!(number(&results["arms"]["plain"]["meters"][CPU]) > 500e3, "nobody paid");
    for arm in ["plain'", "same"] {
        let effect = number(&row(&results, arm, CPU)["effect"]);
        assert!(effect.abs() < 0.45, "{arm}: {effect:+.2}: being first is not shared");
    }
}

#[test]
fn a_short_budget_ends_in_a_verdict_and_is_kept() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.burning]\nserver = \"origin\"\nburn = \"300us\"";
    for design in ["duet", "pairs"] {
        // That many rounds take hours.
        let text =
            plan(&format!("max_rounds = 10000\nslice_requests = 100\ndesign = \"{design}\""), GET, arms);
        let (results, _) = run(&text.replace("150s", "20s"));
        let row = row(&results, "burning", CPU);
        crate::is_not_denied(row);
        assert!(["budget", "rounds", "verdicts"].contains(&results["stopped_by"].as_str().unwrap()), "{row}");
        // Extra time of a machine that stands still does not count.
        assert!(number(&results["duration_ns"]) < 120e9, "{design}: {}", results["duration_ns"]);
        let looks: Vec<u64> =
            results["looks"].as_array().unwrap().iter().map(|look| look.as_u64().unwrap()).collect();
        assert!(looks.len() <= 7 && looks.is_sorted(), "{looks:?}");
    }
}

#[test]
fn every_round_up_to_the_first_look_is_a_start_of_its_own() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.same]\nserver = \"origin\"";
    let (results, slices) = run(&plan("max_rounds = 4\nallow_equal_arms = true", GET, arms));
    let starts: Vec<u64> = slices.iter().map(|slice| slice["start"].as_u64().unwrap()).collect();
    // On a machine so busy that a start takes a second, runs do not start anew, and say so.
    let slow = results["starts"]["sentence"].as_str().unwrap().contains("too long to repeat");
    let expected = if slow { [0; 12] } else { [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3] };
    assert_eq!(starts, expected, "{}", results["starts"]);
    assert_eq!(results["starts"]["starts"], if slow { 1 } else { 4 });
    let (results, slices) =
        run(&plan("max_rounds = 4\nrestart_every = 2\nallow_equal_arms = true", GET, arms));
    assert_eq!(slices.last().unwrap()["start"], 1);
    let levels = &row(&results, "same", CPU)["levels"];
    assert_eq!(levels["starts"], 2);
    assert!(number(&levels["within_sd"]) > 0.0, "{levels}");
}

#[test]
fn two_factors_have_main_effects_and_an_interaction() {
    let factors = "[arm.origin]\nserver = \"origin\"\n\n[factors]\nprotocol = [\"http\", \"https\"]\nwork = [\"little\", \"much\"]\n\n[level.protocol.https]\ntls = true\n\n[level.work.much]\nburn = \"3ms\"";
    let (results, _) =
        run(&plan("max_rounds = 4\nslice_requests = 60", GET, factors).replace("\"plain\"", "\"origin\""));
    let main = results["factors"]["main"].as_array().unwrap();
    let much = main.iter().find(|row| row["level"] == "much").unwrap();
    assert!(number(&much["estimate"]["effect"]) > 1.0, "{much}");
    let of_planted = |end: &str| number(&much["amount"][end]) / 3_000_000.0;
    assert!(of_planted("low") < 4.0 && of_planted("high") > 0.1, "{much}");
    let both = results["factors"]["interactions"].as_array().unwrap();
    assert_eq!(both.len(), 1);
    // Burning costs as much with TLS as without, so in proportion it costs less.
    assert!(number(&both[0]["estimate"]["effect"]) < 0.0, "{}", both[0]);
    assert_eq!(results["factors"]["missing"], serde_json::json!([]));
    assert_eq!(results["prices"], serde_json::json!([]));
}

/// TLS costs far more than the burnt time here: against one baseline the https arms could not be told from TLS.
#[test]
fn in_each_stratum_the_cost_is_that_of_the_factor_alone() {
    let factors = "[arm.origin]\nserver = \"origin\"\n\n[factors]\nprotocol = [\"http\", \"https\"]\nwork = [\"little\", \"much\"]\n\n[level.protocol.https]\ntls = true\n\n[level.work.much]\nburn = \"3ms\"";
    let text = plan("max_rounds = 4\nslice_requests = 60", GET, factors);
    let (results, _) = run(&text.replace("baseline = \"plain\"", "baseline = { work = \"little\" }"));
    let order = ["http.little", "http.little'", "http.much", "https.little", "https.little'", "https.much"];
    assert_eq!(results["order"], serde_json::json!(order));
    let rows = results["comparisons"].as_array().unwrap();
    let primary = |arm: &str| rows.iter().find(|row| row["arm"] == arm && row["primary"] == true).unwrap();
    for protocol in ["http", "https"] {
        let row = primary(&format!("{protocol}.much"));
        assert_eq!(row["baseline"], format!("{protocol}.little"));
        let planted = 3_000_000.0 / number(&row["baseline_value"]);
        // Within the interval, and within the speed of the machine when the origins started: on a busy one that is
        // much.
        let (low, high) = (number(&row["low"]) / planted, number(&row["high"]) / planted);
        assert!(low < 4.0 && high > 0.1, "{low} to {high} of what was planted: {row}");
        assert_eq!(primary(&format!("{protocol}.little'"))["baseline"], format!("{protocol}.little"));
    }
    let compared: Vec<&Value> = rows.iter().map(|row| &row["arm"]).collect();
    assert!(!compared.contains(&&Value::from("https.little")), "a baseline is compared with nothing");
}

#[test]
fn a_numeric_factor_has_its_price() {
    let factors =
        "[arm.origin]\nserver = \"origin\"\nburn = \"{us}us\"\n\n[factors]\nus = [100, 200, 400, 800]";
    let (yard, results, _) = run_in(
        &plan("max_rounds = 5\nslice_requests = 100", GET, factors).replace("\"plain\"", "\"origin\""),
    );
    let is_priced = |price: &Value, slopes: std::ops::Range<f64>| {
        assert_eq!((&price["factor"], &price["meter"]), (&Value::from("us"), &Value::from(CPU)));
        assert!(slopes.contains(&number(&price["slope"])), "{price}");
        assert_eq!(price["points"].as_array().unwrap().len(), 4);
    };
    // A microsecond of burnt time for each, at whatever speed a busy machine had when the origins started.
    is_priced(&results["prices"][0], 100.0..10_000.0);
    let burned_us = |arm: &str| arm.trim_start_matches("us-").trim_end_matches('\'').parse::<f64>().unwrap();
    as_on_a_quiet_machine(&yard, "out", |arm| 20e3 + 1e3 * burned_us(arm));
    yard.run(&["report", "out"]).exits(0);
    is_priced(&yard.results("out")["prices"][0], 980.0..1_020.0);
}

#[test]
fn a_first_use_is_set_beside_the_steady_one() {
    let arms = "[arm.plain]\nserver = \"origin\"\ntls = true\n\n[arm.first]\nserver = \"origin\"\ntls = true\nfresh = \"connection\"\nfirst_use_of = \"plain\"";
    let (results, slices) = run(&plan("max_rounds = 4\nslice_requests = 80", GET, arms));
    let found = &results["first_uses"][0];
    assert_eq!((&found["first"], &found["steady"]), (&Value::from("first"), &Value::from("plain")));
    assert!(number(&found["extra"]) > 0.0 && number(&found["requests"]) > 1.0, "{found}");
    let counters = &slices.iter().find(|slice| slice["arm"] == "first").unwrap()["counters"];
    assert_eq!(counters["connections"], counters["requests"], "a connection for each request");
}

#[test]
fn altered_files_without_a_layer_are_missed_and_are_no_errors() {
    if !has("nginx", "altered_files_without_a_layer_are_missed_and_are_no_errors") {
        return;
    }
    let arms = "[arm.plain]\nserver = \"nginx\"\n\n[arm.tls]\nserver = \"nginx\"\ntls = true\n\n[violations]\nshare = \"5%\"\nfiles = 7";
    let (results, _) = run(&plan("", "kind = \"replay\"\nlog = \"builtin:weblog\"", arms));
    for arm in ["plain", "tls"] {
        let found = &results["arms"][arm]["violations"];
        assert!(number(&found["planted"]) > 0.0, "{found}");
        assert_eq!((&found["missed"], &found["detected"]), (&found["planted"], &Value::from(0)));
        assert_eq!(results["arms"][arm]["errors"], serde_json::json!({}));
    }
    assert!(results["arms"]["tls"]["violations"]["sentence"].as_str().unwrap().contains("were let through"));
}

#[test]
fn refused_paths_are_detected_and_counted_apart() {
    if !has("nginx", "refused_paths_are_detected_and_counted_apart") {
        return;
    }
    let arms = "[arm.plain]\nserver = \"nginx\"\n\n[arm.guarded]\nserver = \"nginx\"\ndirectives = \"location /secret { return 403; }\"\nproof = [\"sh\", \"-c\", \"echo partial: one path only\"]\n\n[violations]\nshare = \"5%\"\nurls = [\"/secret\"]";
    let (results, _) = run(&plan("", "kind = \"replay\"\nlog = \"builtin:weblog\"", arms));
    let found = &results["arms"]["guarded"]["violations"];
    assert!(number(&found["planted"]) > 0.0);
    assert_eq!((&found["detected"], &found["missed"]), (&found["planted"], &Value::from(0)));
    assert_eq!(results["arms"]["plain"]["violations"]["detected"], 0);
    let proof = &results["arms"]["guarded"]["proof"];
    assert_eq!((&proof["active"], &proof["enforcement"]), (&Value::from(true), &Value::from("partial")));
    assert_eq!(proof["words"], "one path only");
}

#[test]
fn a_layer_that_is_off_voids_the_run() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.layer]\nserver = \"origin\"\nburn = \"5us\"\nproof = [\"sh\", \"-c\", \"echo not loaded; exit 1\"]";
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, arms));
    let ended = yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]);
    ended.exits(3).says(&["layer: its layer is not on, says its proof: not loaded"]);
}
