//! Conversations with the whole process: commands and answers.

use super::*;
use std::path::Path;

/// The process's output for these lines.
fn said(dir: &Path, flags: &[&str], asked: &str) -> (Result<(), CallsError>, Vec<String>) {
    let words = ["--dir", dir.to_str().unwrap()].into_iter().chain(flags.iter().copied()).map(OsString::from);
    let mut output = Vec::new();
    let ended = run(words.collect::<Vec<_>>().into_iter(), &mut asked.as_bytes(), &mut output);
    (ended, String::from_utf8(output).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn it_makes_what_it_is_told_batch_by_batch_until_it_is_told_to_end() {
    let dir = tempfile::tempdir().unwrap();
    let asked = "batch null 1000\nbatch open-close 7\nbatch pipe 3\nbatch null 2\nquit\nbatch null 1\n";
    let (ended, answers) = said(dir.path(), &["--depth", "3"], asked);
    ended.unwrap();
    let answers: Vec<_> = answers.iter().map(|line| CallReply::parse(line).unwrap()).collect();
    assert_eq!(answers[0], CallReply::Begun);
    let made: Vec<_> = answers[1..]
        .iter()
        .map(|answer| match answer {
            CallReply::Made(operation, count, BatchCost { ticks: 1.., cpu: Some(_) }) => (*operation, *count),
            other => panic!("{other:?}"),
        })
        .collect();
    let wanted = [
        (CallOperation::Null, 1000),
        (CallOperation::OpenClose, 7),
        (CallOperation::Pipe, 3),
        (CallOperation::Null, 2),
    ];
    assert_eq!(made, wanted);
    assert!(dir.path().join("d1/d2/d3/file").is_file());
}

#[test]
fn what_cannot_be_made_is_named_and_the_rest_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let (ended, answers) =
        said(dir.path(), &["--program", "/nobody/here"], "batch exec 1\nbatch sh 1\nbatch fork 1\n");
    ended.unwrap();
    assert_eq!(answers[1], "cannot exec ENOENT executing a program: No such file or directory");
    assert!(answers[2].starts_with("cannot sh wrong /bin/sh: exit status: 127"), "{}", answers[2]);
    assert!(answers[3].starts_with("made fork 1 "), "{}", answers[3]);
}

#[test]
fn every_operation_can_be_made() {
    let dir = tempfile::tempdir().unwrap();
    let asked: Vec<_> =
        CallOperation::all().map(|operation| format!("batch {} 2\n", operation.word())).collect();
    let (ended, answers) = said(dir.path(), &["--peers", "same"], &asked.concat());
    ended.unwrap();
    for (operation, answer) in CallOperation::all().zip(&answers[1..]) {
        assert!(answer.starts_with(&format!("made {} 2 ", operation.word())), "{answer}");
    }
}

#[test]
fn all_that_listens_does_so_on_the_port_it_is_told() {
    let asked = "batch connect 70\nbatch tcp 2\nbatch rpc-tcp 2\n".repeat(2);
    // Another process can have the port between two batches; nobody has all of these.
    let first = 10_000 + u16::try_from(std::process::id() % 20_000).unwrap();
    let mut tried = Vec::new();
    for port in (first..).step_by(97).take(8) {
        let dir = tempfile::tempdir().unwrap();
        let (ended, answers) = said(dir.path(), &["--port", &port.to_string()], &asked);
        ended.unwrap();
        let all = answers.len() == 7 && answers[1..].iter().all(|answer| answer.starts_with("made "));
        if all {
            return;
        }
        tried.push(answers);
    }
    panic!("{tried:?}");
}

#[test]
fn by_itself_it_gives_a_line_for_each_operation() {
    let dir = tempfile::tempdir().unwrap();
    let flags = ["--alone", "--operations", "null,create,exec", "--batches", "2", "--program", "/nobody"];
    let (ended, answers) = said(dir.path(), &flags, "");
    ended.unwrap();
    for (line, begins) in answers.iter().zip(["R null 2000 ", "R create 400 "]) {
        let numbers: Vec<f64> =
            line.strip_prefix(begins).unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
        assert!(numbers.len() == 3 && numbers.is_sorted() && numbers[0] > 0.0, "{line}");
    }
    assert_eq!(answers[2..], ["E exec ENOENT executing a program: No such file or directory"]);
}

#[test]
fn the_counter_of_the_processor_counts() {
    let dir = tempfile::tempdir().unwrap();
    let (ended, answers) = said(dir.path(), &["--clock", "tsc"], "batch null 1000\n");
    if !cfg!(target_arch = "x86_64") {
        assert!(ended.unwrap_err().to_string().contains("there is no clock `tsc` here"));
        return;
    }
    ended.unwrap();
    assert!(matches!(
        CallReply::parse(&answers[1]),
        Some(CallReply::Made(_, _, BatchCost { ticks: 1000.., .. }))
    ));
}

#[test]
fn wrong_flags_and_questions_are_told() {
    let dir = tempfile::tempdir().unwrap();
    for (flags, what) in [
        (&["--operations", "null,nil"][..], "there is no operation `nil`"),
        (&["--peers", "far"], "not `far`"),
        (&["--depth", "deep"], "`deep` is no number"),
        (&["--depth"], "--depth has no value"),
        (&["--fast"], "there is no --fast"),
        (&["--clock", "sun"], "there is no clock `sun` here"),
    ] {
        let error = said(dir.path(), flags, "").0.unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("usage: bakeoff calls"), "{error}");
    }
    let (ended, _) = said(dir.path(), &[], "batch nil 1\n");
    assert!(ended.unwrap_err().to_string().starts_with("`batch nil 1` was asked"));
    let (ended, _) = said(&dir.path().join("d").join("\u{0}"), &[], "");
    assert!(matches!(ended, Err(CallsError::Dir { .. })));
}
