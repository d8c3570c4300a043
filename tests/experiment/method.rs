//! Duets, restarts, factors, prices, first uses, violations and proof: whole runs against real
//! servers, of which so much is known that the report must say it.

use crate::support::{GET, Yard, has, plan};
use serde_json::Value;

/// The results, and the lines of slices.jsonl.
fn run(text: &str) -> (Value, Vec<Value>) {
    let yard = Yard::new();
    yard.write("plan.toml", text);
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    let slices =
        yard.read("out/slices.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (yard.results("out"), slices)
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
fn a_duet_loads_all_arms_at_once_and_compares_costs_only() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.same]\nserver = \"origin\"";
    let (results, slices) =
        run(&plan("max_rounds = 10\ndesign = \"duet\"\nallow_equal_arms = true", GET, arms));
    assert_eq!(results["design"]["design"], "duet");
    assert!(number(&results["design"]["rate_per_s"]) > 1.0);
    let together: Vec<&Value> = slices.iter().filter(|slice| slice["design"] == "duet").collect();
    assert_eq!(together.len() % 3, 0);
    for round in together.chunks(3) {
        assert!(round.iter().all(|slice| slice["started_ns"] == round[0]["started_ns"]), "not at once");
        assert!(round.iter().all(|slice| slice["counters"]["requests"] == round[0]["counters"]["requests"]));
    }
    let times = row(&results, "same", "replies_per_second");
    assert_eq!(times["verdict"], "invalid");
    assert!(times["sentence"].as_str().unwrap().contains("in a duet the arms share the machine"));
    assert_ne!(row(&results, "same", CPU)["verdict"], "invalid");
}

/// The baseline burns, too: what an origin needs besides may be twice as much in one process as in the next.
#[test]
fn a_large_effect_of_a_duet_is_decided_by_pairs() {
    let arms = "[arm.plain]\nserver = \"origin\"\nburn = \"100us\"\n\n[arm.burning]\nserver = \"origin\"\nburn = \"400us\"";
    let (results, slices) = run(&plan("max_rounds = 10\ndesign = \"duet\"", GET, arms));
    let row = row(&results, "burning", CPU);
    if row["verdict"] == "not-resolved" {
        // Rightly so where rounds scatter by a tenth, as on a busy machine, and with what is true in the interval.
        assert!(number(&row["paired_sd"]) > 0.1 && number(&row["high"]) > 1.0, "{row}");
        return;
    }
    assert_eq!((&row["verdict"], &row["confirmed"]), (&Value::from("costs"), &Value::from(true)), "{row}");
    assert!(row["sentence"].as_str().unwrap().contains("paired rounds decide"), "{row}");
    assert_eq!(slices.iter().filter(|slice| slice["design"] == "pairs").count(), 30);
    let planted = number(&row["value"]) - number(&row["baseline_value"]);
    assert!((280e3..600e3).contains(&planted), "{planted} ns were found");
}

#[test]
fn auto_leaves_what_is_clear_at_first_sight_to_pairs() {
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.burning]\nserver = \"origin\"\nburn = \"200us\"";
    let (results, _) = run(&plan("design = \"auto\"", GET, arms));
    assert_eq!(results["design"]["design"], "pairs");
    assert!(
        results["design"]["reason"].as_str().unwrap().contains("burning differs by"),
        "{}",
        results["design"]
    );
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
    let factors = "[arm.origin]\nserver = \"origin\"\n\n[factors]\nprotocol = [\"http\", \"https\"]\nwork = [\"little\", \"much\"]\n\n[level.protocol.https]\ntls = true\n\n[level.work.much]\nburn = \"300us\"";
    let (results, _) = run(&plan("max_rounds = 4", GET, factors).replace("\"plain\"", "\"origin\""));
    let main = results["factors"]["main"].as_array().unwrap();
    let much = main.iter().find(|row| row["level"] == "much").unwrap();
    assert!(number(&much["estimate"]["effect"]) > 1.0, "{much}");
    let both = results["factors"]["interactions"].as_array().unwrap();
    assert_eq!(both.len(), 1);
    // Burning costs as much with TLS as without, so in proportion it costs less.
    assert!(number(&both[0]["estimate"]["effect"]) < 0.0, "{}", both[0]);
    assert_eq!(results["factors"]["missing"], serde_json::json!([]));
    assert_eq!(results["prices"], serde_json::json!([]));
}

/// TLS costs far more than the burnt time here: against one baseline the https arms could not be
/// told from TLS.
#[test]
fn in_each_stratum_the_cost_is_that_of_the_factor_alone() {
    let factors = "[arm.origin]\nserver = \"origin\"\n\n[factors]\nprotocol = [\"http\", \"https\"]\nwork = [\"little\", \"much\"]\n\n[level.protocol.https]\ntls = true\n\n[level.work.much]\nburn = \"300us\"";
    let text = plan("max_rounds = 4", GET, factors);
    let (results, _) = run(&text.replace("baseline = \"plain\"", "baseline = { work = \"little\" }"));
    let order = ["http.little", "http.little'", "http.much", "https.little", "https.little'", "https.much"];
    assert_eq!(results["order"], serde_json::json!(order));
    let rows = results["comparisons"].as_array().unwrap();
    let primary = |arm: &str| rows.iter().find(|row| row["arm"] == arm && row["primary"] == true).unwrap();
    for protocol in ["http", "https"] {
        let row = primary(&format!("{protocol}.much"));
        assert_eq!(row["baseline"], format!("{protocol}.little"));
        let planted = 300_000.0 / number(&row["baseline_value"]);
        // Within what the interval allows: on a busy machine that is much.
        let (low, high) = (number(&row["low"]) / planted, number(&row["high"]) / planted);
        assert!(low < 1.5 && high > 0.7, "{low} to {high} of what was planted: {row}");
        assert_eq!(primary(&format!("{protocol}.little'"))["baseline"], format!("{protocol}.little"));
    }
    let compared: Vec<&Value> = rows.iter().map(|row| &row["arm"]).collect();
    assert!(!compared.contains(&&Value::from("https.little")), "a baseline is compared with nothing");
}

#[test]
fn a_numeric_factor_has_its_price() {
    let factors =
        "[arm.origin]\nserver = \"origin\"\nburn = \"{us}us\"\n\n[factors]\nus = [100, 200, 400, 800]";
    let (results, _) =
        run(&plan("max_rounds = 5\nslice_requests = 100", GET, factors).replace("\"plain\"", "\"origin\""));
    let price = &results["prices"][0];
    assert_eq!((&price["factor"], &price["meter"]), (&Value::from("us"), &Value::from(CPU)));
    // A microsecond of burnt time for each.
    assert!((900.0..1300.0).contains(&number(&price["slope"])), "{price}");
    assert_eq!(price["points"].as_array().unwrap().len(), 4);
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
