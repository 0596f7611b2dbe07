//! Everything a command started ends with it: when it is stopped, at its time limit, when nobody waits for it any
//! more, and when the session closes.

use super::*;

/// Ways to stay behind, `@` being the mark. Each prints `begun` first.
const HOLDERS: [(&str, &str); 13] = [
    ("background", "sleep @ &"),
    ("background of a subshell", "(sleep @ &)"),
    ("nohup", "nohup sleep @ &"),
    ("own session", "setsid sleep @ &"),
    ("two forks", "(setsid sh -c '(sleep @ &) ; exit' &)"),
    ("deaf to TERM", "(trap '' TERM HUP INT; sleep @; sleep @) &"),
    (
        "deaf in a session of its own",
        "setsid bash -c 'trap \"\" TERM HUP INT; sleep @; sleep @' &",
    ),
    ("copy of the pipe", "exec 3>&1; sleep @ >&3 2>/dev/null &"),
    ("coprocess", "coproc sleep @"),
    ("closed pipes", "sleep @ >/dev/null 2>&1 &"),
    (
        "closed pipes in a session of its own",
        "(setsid sleep @ >/dev/null 2>&1 &)",
    ),
    ("bare environment", "(env -i setsid sleep @ &)"),
    ("stopped", "(kill -STOP $BASHPID; sleep @) &"),
];

/// How long asking, waiting and killing may take, with room for a loaded machine.
const END: Duration = Duration::from_secs(3);

// Hazard X1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_does_not_wait_for_what_stays_behind_and_closing_ends_it() {
    for (what, holder) in HOLDERS {
        let (mark, ledger) = (mark(), Ledger::default());
        let line = format!(
            "echo begun; {holder}\nuntil [ -n \"$(pgrep -f 'slee[p] @|SIGSTO[P]')\" ] || [ $((++n)) -gt 50 ]; do sleep 0.01; done"
        );
        let line = if what == "stopped" {
            format!("echo begun; {holder}\nsleep 0.1")
        } else {
            line
        };
        let mut running = start(
            command(&line, &mark, Duration::from_secs(20)),
            receiver(),
            &ledger,
        )
        .unwrap();
        let begun = Instant::now();
        let outcome = running.outcome().await.unwrap();
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{what}: {:?}",
            begun.elapsed()
        );
        assert_eq!(outcome.end, End::Exited(0), "{what}");
        let silent = what.starts_with("closed");
        assert_eq!(outcome.pipe_held, !silent, "{what}");
        assert!(outcome.survivors > 0, "{what}");
        assert_eq!(outcome.reach, "descendants");
        let text = outcome.received.captured().text;
        assert!(text.contains("begun"), "{what}: {text}");
        drop(running);
        assert!(
            marked(&mark) > 0,
            "{what}: nothing stayed, so nothing is shown"
        );
        ledger.close();
        emptied(&ledger).await;
        assert_eq!(marked(&mark), 0, "{what}");
    }
}

#[derive(Clone, Copy, Debug)]
enum By {
    Stop,
    Limit,
    Drop,
    Close,
}

async fn ends_everything(what: &str, holder: &str, by: By) {
    let (mark, ledger) = (mark(), Ledger::default());
    // The leader waits as long as what it started.
    let line = format!("{holder}\nsleep @");
    let limit = match by {
        By::Limit => Duration::from_millis(300),
        _ => Duration::from_secs(30),
    };
    let mut running = start(command(&line, &mark, limit), receiver(), &ledger).unwrap();
    let begun = Instant::now();
    while marked(&mark) < 2 {
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{what}: it does not begin"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let begun = Instant::now();
    let end = match by {
        By::Stop | By::Close => {
            if matches!(by, By::Close) {
                ledger.close();
            } else {
                running.stop();
            }
            let outcome = running.outcome().await.unwrap();
            assert_eq!(outcome.survivors, 0, "{what} {by:?}");
            Some(outcome.end)
        }
        By::Limit => Some(running.outcome().await.unwrap().end),
        By::Drop => {
            drop(running);
            None
        }
    };
    match by {
        By::Limit => assert_eq!(end, Some(End::TimedOut), "{what}"),
        By::Stop | By::Close => assert_eq!(end, Some(End::Stopped), "{what}"),
        By::Drop => {}
    }
    gone("tree", &mark, END).await;
    assert!(
        begun.elapsed() < END,
        "{what} {by:?}: {:?}",
        begun.elapsed()
    );
    emptied(&ledger).await;
}

// claims: CTR-15, CTR-16
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_ends_a_command_ends_everything_it_started() {
    for (what, holder) in HOLDERS {
        for by in [By::Stop, By::Limit, By::Drop, By::Close] {
            ends_everything(what, holder, by).await;
        }
    }
}

// Hazard X1 in its long form: 200 rounds of every way to stay behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: about an hour"]
async fn nothing_is_left_in_two_hundred_rounds() {
    for _ in 0..200 {
        for (what, holder) in HOLDERS {
            for by in [By::Stop, By::Limit, By::Drop, By::Close] {
                ends_everything(what, holder, by).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_is_stopped_or_silent_ends_at_its_limit() {
    for line in [
        "exec >&- 2>&-; sleep @",
        "kill -STOP $$",
        "trap '' TERM; sleep @; sleep @",
    ] {
        let (mark, ledger) = (mark(), Ledger::default());
        let limit = Duration::from_millis(400);
        let mut running = start(command(line, &mark, limit), receiver(), &ledger).unwrap();
        let outcome = running.outcome().await.unwrap();
        assert_eq!(outcome.end, End::TimedOut, "{line}");
        assert!(
            outcome.duration < limit + END,
            "{line}: {:?}",
            outcome.duration
        );
        assert_eq!((marked(&mark), outcome.survivors), (0, 0), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_of_many_processes_ends_whole() {
    // 127 processes, each in a session of its own.
    let grow = "f() { if [ $1 -gt 0 ]; then setsid bash -c \"$(declare -f f); f $(($1-1))\" & \
        setsid bash -c \"$(declare -f f); f $(($1-1))\" & fi; sleep @; }; f 5";
    let (mark, ledger) = (mark(), Ledger::default());
    let mut running = start(
        command(grow, &mark, Duration::from_secs(30)),
        receiver(),
        &ledger,
    )
    .unwrap();
    let begun = Instant::now();
    while marked(&mark) < 60 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "it does not grow"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    running.stop();
    running.outcome().await.unwrap();
    gone("tree", &mark, END).await;
    emptied(&ledger).await;
}

#[tokio::test]
async fn a_closed_ledger_lets_nothing_in() {
    let ledger = Ledger::default();
    ledger.close();
    let refused = start(command("echo x", &mark(), END), receiver(), &ledger);
    assert!(matches!(refused.err(), Some(StartError::Closed)));
    emptied(&ledger).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ended_process_is_not_counted_and_the_signal_is_told() {
    let (end, _) = run("kill -9 $$").await;
    assert_eq!(end, End::Killed(9));
    let (end, _) = run("exit 7").await;
    assert_eq!(end, End::Exited(7));
    let mut running = start(
        command("sleep 0.05 & wait", &mark(), END),
        receiver(),
        &Ledger::default(),
    )
    .unwrap();
    let outcome: Outcome<_> = running.outcome().await.unwrap();
    assert_eq!((outcome.survivors, outcome.pipe_held), (0, false));
}

// Between two programs a process has no environment to be known by.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_just_being_started_when_the_leader_ends_is_found_too() {
    let line = "(setsid nice -n 1 env setsid nice sleep @ >/dev/null 2>&1 &)";
    for _ in 0..60 {
        let (mark, ledger) = (mark(), Ledger::default());
        let command = command(line, &mark, Duration::from_secs(20));
        let mut running = start(command, receiver(), &ledger).unwrap();
        let outcome = running.outcome().await.unwrap();
        assert!(
            outcome.survivors > 0,
            "missed: {} {:?}",
            left(&mark),
            outcome.duration
        );
        ledger.close();
        emptied(&ledger).await;
        assert_eq!(left(&mark), "");
    }
}
