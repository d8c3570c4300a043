//! The HTML page: what stands in it, how large it is, and what a real browser makes of it.

use crate::fixture;
use bakeoff_report::{ReportInput, experiment};
use std::path::Path;
use std::process::{Command, Stdio};

/// Where Debian and others put it.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

fn html(bundle: &ReportInput) -> String {
    experiment(bundle).html()
}

#[test]
fn the_page_loads_nothing_and_stays_small() {
    let page = html(&fixture::ordinary());
    assert!(page.len() < 500_000, "{} bytes", page.len());
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn ten_thousand_slices_stay_small() {
    let page = html(&fixture::long());
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}

#[test]
fn untrusted_text_stays_text() {
    let page = html(&fixture::hostile());
    assert!(!page.contains("<script>alert"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;&#x2f;script&gt;"));
    assert!(page.contains("\\u003cscript\\u003ealert(1)"));
    assert_eq!(page.matches("</script>").count(), 3, "data, library and our own");
}

#[test]
fn invalid_figures_are_struck_through() {
    let page = html(&fixture::ordinary());
    assert!(page.contains("<s>+"));
    assert!(page.contains("What was invalid") && page.contains("6.2 % of its requests failed"));
}

#[test]
fn the_page_sets_a_run_beside_the_study_it_names() {
    let page = html(&fixture::studied());
    assert!(page.contains("Beside the published figures") && page.contains("39.4 %"));
    assert!(page.contains("this run has no arm `apache.store.checked.http`"));
    assert!(!html(&fixture::ordinary()).contains("published figures"));
}

#[test]
fn a_factor_with_an_order_is_drawn_from_its_lowest_level_to_its_highest() {
    let page = html(&fixture::swept());
    let chart = page.split("CPU per request, against rules").nth(2).expect("a chart");
    let titles: Vec<&str> =
        chart.split("</svg>").next().unwrap().split("<title>").skip(2).map(|rest| &rest[..12]).collect();
    assert_eq!(titles, ["rules at 0: ", "rules at 1: ", "rules at 10:"]);
    for caption in ["Replies per second, against rules", "99th percentile response time, against rules"] {
        assert!(page.contains(caption), "{caption}");
    }
    assert!(!html(&fixture::ordinary()).contains("Over a factor"));
}

#[test]
fn partial_and_empty_runs_have_a_page() {
    let page = html(&fixture::interrupted());
    assert!(
        page.contains("Partial results:")
            && page.contains("the run ended before the first round was complete")
    );
    assert!(html(&fixture::nothing_compared()).contains("No verdict: no complete round"));
    assert!(html(&fixture::zero_replies()).contains("no request had a good reply"));
    assert!(html(&fixture::no_cpu()).contains("has no value per round"));
    assert!(html(&fixture::command()).contains("What does ima cost?"));
    let files = html(&fixture::files());
    for word in ["CPU per operation", "kind by kind", "write 10 MB", "11.1 x"] {
        assert!(files.contains(word), "{word}");
    }
    assert!(!html(&fixture::command()).contains("kind by kind"));
}

#[test]
fn a_browser_shows_figures_and_plots_without_an_error() {
    // Per arm without the baseline a plot of rounds, per valid one a shift, the curves, the machine.
    let Some(dom) = open("ordinary", &html(&fixture::ordinary())) else { return };
    assert_eq!(dom.matches("data-drawn=\"true\"").count(), 5 + 3 + 1 + 1);
    assert_eq!(dom.matches("<canvas").count(), 10);
    assert!(dom.contains("class=\"point\"") && dom.contains("What do these 4 arms cost?"));
    assert!(dom.contains("CPU per request against"));
    let Some(dom) = open("interrupted", &html(&fixture::interrupted())) else { return };
    assert_eq!(dom.matches("data-drawn=\"true\"").count(), 1, "the machine was measured");
    for (name, bundle) in
        [("no_cpu", fixture::no_cpu()), ("zero", fixture::zero_replies()), ("command", fixture::command())]
    {
        let Some(dom) = open(name, &html(&bundle)) else { return };
        assert!(dom.contains("data-plots=\""), "{name}: the script came to its end");
    }
}

#[test]
fn a_browser_shows_what_the_analysis_writes() {
    let bundle = fixture::analysed();
    let used = bundle.results.comparisons.iter().find(|c| c.arm == "tls" && c.primary).unwrap().rounds;
    assert!(used < bundle.results.rounds, "tls is settled at an early look");
    let Some(dom) = open("analysed", &html(&bundle)) else { return };
    assert_eq!(dom.matches("data-drawn=\"true\"").count(), 5 + 3 + 1 + 1);
    assert!(dom.contains("after the verdict"), "later rounds are shown apart");
}

#[test]
fn switching_to_service_time_and_printing_work() {
    let press = "<script>document.querySelector('#kind input[value=service]').click();\
                 dispatchEvent(new Event('beforeprint'));</script></body>";
    let Some(dom) = open("pressed", &html(&fixture::ordinary()).replace("</body>", press)) else { return };
    assert!(dom.contains("data-scheme=\"light\"") && dom.contains("data-was=\"false\" open=\"\""));
    assert_eq!(dom.matches("data-drawn=\"true\"").count(), 10);
}

#[test]
fn an_error_on_the_console_is_noticed() {
    let Some(_) = open("sound", "<!doctype html><html><body></body></html>") else { return };
    let broken = html(&fixture::interrupted()).replace("\"machine\":", "\"machine\": oops ");
    assert!(std::panic::catch_unwind(|| open("broken", &broken)).is_err());
}

#[test]
fn peaks_have_charts_that_need_no_script() {
    let page = html(&fixture::peaks());
    assert!(page.contains("What rates do plain and tls sustain?"));
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 3, "times, in flight, CPU");
    assert_eq!(page.matches("<polyline").count(), 2 * 4);
    assert!(page.contains("class=\"dot hollow\""), "a trial that failed is hollow");
    assert!(page.contains("Against plain") && page.contains("less than plain"));
    assert!(!page.contains("Round by round") && !page.contains("All comparisons"));
    let Some(dom) = open("peaks", &page) else { return };
    assert!(dom.contains("data-plots=\""), "the script came to its end");
    assert!(!html(&fixture::peaks_interrupted()).contains("At ten rates"), "no curve was run");
}

#[test]
fn a_browser_obeys_no_arm_name() {
    let Some(dom) = open("hostile", &html(&fixture::hostile())) else { return };
    assert_eq!(dom.matches("data-drawn=\"true\"").count(), 2 + 1 + 1);
    assert!(!dom.contains("<script>alert") && dom.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn what_makes_one_doubt_stands_with_the_verdict_and_nothing_leads_to_nothing() {
    let page = html(&fixture::ordinary());
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("`{words}` is not there"));
    assert!(place("<h2 id=\"h-warnings\"") < place("<h2 id=\"h-figures\""));
    assert!(place("<h2 id=\"h-figures\"") < place("<h2 id=\"h-effect\""));
    for page in [page, html(&fixture::interrupted()), html(&fixture::zero_replies()), html(&fixture::peaks())]
    {
        for link in page.split("<a href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            let id = format!("<section id=\"{link}\"");
            let section = page.split(&id).nth(1).unwrap_or_else(|| panic!("no section {link}"));
            let section = section.split("</section>").next().unwrap_or_default();
            assert!(
                section.contains("<svg")
                    || section.contains("<table")
                    || section.contains("<dl")
                    || section.contains("<pre")
                    || section.contains("id=\"plot-"),
                "{link} leads to nothing"
            );
        }
    }
    assert!(!html(&fixture::quickstart()).contains("What was invalid"));
}

#[test]
fn one_spelling_of_units_and_moments_to_the_second() {
    let page = html(&fixture::ordinary());
    let shown = page.split("<pre>").next().unwrap_or_default();
    let digit = |at: usize| shown.as_bytes()[at - 1].is_ascii_digit();
    let spelled: Vec<usize> = shown.match_indices(" us").map(|(at, _)| at).filter(|at| digit(*at)).collect();
    assert!(spelled.is_empty(), "{:?}", spelled.iter().map(|at| &shown[at - 20..at + 5]).collect::<Vec<_>>());
    assert!(shown.contains("34.7 \u{b5}s"));
    let mut bundle = fixture::quickstart();
    "2026-11-23T08:02:28.933913094Z".clone_into(&mut bundle.results.started);
    let page = html(&bundle);
    assert!(page.contains(">2026-11-23T08:02:28Z</time>") && !page.contains("933913094"));
}

#[test]
fn each_arm_has_a_bar_and_its_parts_where_they_were_measured() {
    let page = html(&fixture::quickstart());
    assert!(page.contains("<title>tls: 34.7 \u{b5}s CPU per request</title>"));
    let mut bundle = fixture::quickstart();
    for arm in bundle.results.arms.values_mut() {
        arm.meters.insert("user_cpu".to_owned(), 3e6);
        arm.meters.insert("system_cpu".to_owned(), 1e6);
    }
    let page = html(&bundle);
    for hint in ["tls: 3 ms user CPU", "tls: 1 ms system CPU"] {
        assert!(page.contains(&format!("<title>{hint}</title>")), "{hint}");
    }
    assert!(page.contains("<td>4 ms</td>"), "both together");
}

#[test]
fn an_arm_without_a_front_has_a_bar_of_the_whole_beside_arms_in_parts() {
    let mut bundle = fixture::quickstart();
    let tls = bundle.results.arms.get_mut("tls").unwrap();
    for meter in ["server_cpu_per_request", "front_cpu_per_request"] {
        tls.meters.insert(meter.to_owned(), 20e3);
    }
    let page = html(&bundle);
    let whole = bundle.results.arms["plain"].meters["subject_cpu_per_request"] / 1e3;
    assert!(page.contains(&format!("<title>plain: {whole:.1} \u{b5}s CPU per request</title>")), "{whole}");
    assert!(!page.contains("<td>0 ns</td>"), "an arm without parts is not free");
    assert!(
        page.contains("<td>34.7 \u{b5}s</td>") && !page.contains("<td>40 \u{b5}s</td>"),
        "one value on the page"
    );
}

#[test]
fn a_browser_finds_no_label_over_another_and_no_page_wider_than_its_window() {
    let pages = [
        ("ordinary", html(&fixture::ordinary())),
        ("studied", html(&fixture::studied())),
        ("peaks", html(&fixture::peaks())),
        ("caches", crate::caches::page_over_time()),
        ("guest", crate::guest::page()),
    ];
    for (name, page) in pages {
        let Some(found) = look(name, &page) else { return };
        for (width, found) in WIDTHS.iter().zip(&found) {
            assert_eq!(found["touching"], serde_json::json!([]), "{name} at {width} px");
            assert_eq!(found["beyond"], 0, "{name} at {width} px");
            assert!(found["labels"].as_u64() > Some(5), "{name} at {width} px: {found}");
        }
    }
    // It would be seen.
    let crowded = "<!doctype html><html><meta http-equiv=\"x\"><body><svg><text y='20'>0 %</text><text x='9' y='20'>50 \
        %</text></svg><p style='width: 900px'>wide</p></body></html>";
    let Some(found) = look("crowded", crowded) else { return };
    assert_eq!(found[0]["touching"], serde_json::json!(["0 %|50 %"]));
    assert!(found[1]["beyond"].as_u64() > Some(0) && found[2]["beyond"] == 0);
}

/// A phone, a tablet, a desk.
const WIDTHS: [u32; 3] = [390, 820, 1400];

/// Notes what is written on every canvas, before a script writes on one.
const NOTE: &str = "<script>const written = new Map();
const [write, clear] = ['fillText', 'clearRect'].map((name) => CanvasRenderingContext2D.prototype[name]);
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
  const width = this.measureText(text).width, align = { center: 0.5, right: 1, end: 1 }[this.textAlign] || 0;
  if (!written.has(this.canvas)) written.set(this.canvas, []);
  if (text !== '') written.get(this.canvas).push({ text, left: x - width * align, right: x + width * (1 - align), top: y, bottom: y + 1 });
  return write.call(this, text, x, y, ...more);
};
CanvasRenderingContext2D.prototype.clearRect = function (...all) { written.delete(this.canvas); return clear.apply(this, all); };
</script>";

/// Tells whoever framed the page which labels of one drawing touch, and how far the page goes beyond its window.
const TELL: &str = "<script>addEventListener('load', () => setTimeout(() => {
  const touching = [];
  let labels = 0;
  const look = (all) => all.forEach((one, i) => { labels += 1; all.slice(i + 1).forEach((other) => {
    if (one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom) touching.push(one.text + '|' + other.text);
  }); });
  document.querySelectorAll('svg').forEach((drawing) => look([...drawing.querySelectorAll('text')].map((text) => {
    const { left, right, top, bottom } = text.getBoundingClientRect();
    return { text: text.textContent, left, right, top: top + 3, bottom: bottom - 3 };
  }).filter((label) => label.right > label.left)));
  written.forEach(look);
  parent.postMessage(JSON.stringify({ touching, labels, beyond: document.documentElement.scrollWidth - document.documentElement.clientWidth }), '*');
}, 700));</script></body>";

/// What a browser says of the page in windows so wide: framed, as no window is as narrow as a phone.
fn look(name: &str, page: &str) -> Option<Vec<serde_json::Value>> {
    let from = page.find("<meta http-equiv").unwrap();
    let to = from + page[from..].find('>').unwrap();
    let page = format!("{}{NOTE}{}", &page[..from], page[to + 1..].replace("</body>", TELL));
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("page.html"), page).unwrap();
    let address = format!("file://{}/page.html", dir.path().display());
    let frame = |width: &u32| {
        format!("<iframe src=\"{address}\" style=\"width: {width}px; height: 2000px; border: 0\"></iframe>")
    };
    let frames: String = WIDTHS.iter().map(frame).collect();
    let listen = "<script>onmessage = (said) => {
        const at = [...document.querySelectorAll('iframe')].findIndex((one) => one.contentWindow === said.source);
        document.querySelectorAll('pre')[at].textContent = said.data;
        };</script><pre></pre><pre></pre><pre></pre>";
    let dom = open(name, &format!("<!doctype html><html><body>{listen}{frames}</body></html>"))?;
    let said = dom.split("<pre>").skip(1).map(|rest| rest.split("</pre>").next().unwrap_or_default());
    let said = said.map(|said| said.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"));
    let read = |said: String| serde_json::from_str(&said).unwrap_or_else(|_| panic!("{name}: {said}"));
    Some(said.map(read).collect())
}

/// The page's DOM after its scripts ran; panics when the console saw an error. `None` when there
/// is no browser and the environment allows tests to be skipped.
fn open(name: &str, page: &str) -> Option<String> {
    let Some(browser) = BROWSERS.into_iter().find(|browser| in_path(browser)) else {
        let allowed = std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some();
        assert!(allowed, "no chromium in PATH: `apt-get install chromium`, or set BAKEOFF_ALLOW_SKIPS=1");
        println!("SKIP {name}: no chromium in PATH");
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(format!("{name}.html"));
    std::fs::write(&file, page).unwrap();
    let output = Command::new(browser)
        .args(flags(dir.path()))
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let console: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{name}: the console is not silent: {console:#?}");
    assert!(dom.contains("</html>"), "{name}: no page came back:\n{said}");
    Some(dom)
}

fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

fn flags(dir: &Path) -> Vec<String> {
    let fixed = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--enable-logging=stderr",
        "--v=0",
        "--window-size=1100,3000",
        "--virtual-time-budget=3000",
        "--dump-dom",
    ];
    let own = format!("--user-data-dir={}", dir.join("profile").display());
    fixed.into_iter().map(str::to_owned).chain([own]).collect()
}

/// For looking at: writes every page into the directory named by `BAKEOFF_PAGES`.
#[test]
#[ignore = "writes files for the eye, checks nothing"]
fn pages_for_the_eye() {
    let dir = std::env::var("BAKEOFF_PAGES").unwrap();
    let bundles = [
        ("ordinary", fixture::ordinary()),
        ("quickstart", fixture::quickstart()),
        ("no_cpu", fixture::no_cpu()),
        ("zero_replies", fixture::zero_replies()),
        ("interrupted", fixture::interrupted()),
        ("command", fixture::command()),
        ("hostile", fixture::hostile()),
        ("long", fixture::long()),
        ("analysed", fixture::analysed()),
        ("studied", fixture::studied()),
        ("peaks", fixture::peaks()),
    ];
    for (name, bundle) in bundles {
        std::fs::write(Path::new(&dir).join(format!("{name}.html")), html(&bundle)).unwrap();
    }
    let others = [
        ("caches", crate::caches::page_over_time()),
        ("conformance", crate::caches::conformance_page()),
        ("guest", crate::guest::page()),
    ];
    for (name, page) in others {
        std::fs::write(Path::new(&dir).join(format!("{name}.html")), page).unwrap();
    }
}
