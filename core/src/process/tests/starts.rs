//! What a command finds when it starts: no input, no terminal, no descriptor and no signal setting of the host.

use super::*;
use rustix::fs::{CWD, Mode, OFlags, openat};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_answers_and_there_is_no_terminal() {
    for line in [
        "cat",
        "read x",
        "python3 -c 'input()'",
        "d=$(mktemp -d); cd $d && git init -q && git add . && git commit --allow-empty; rm -rf $d",
        "(exec </dev/tty) 2>/dev/null && sleep 100",
        "(exec >/dev/tty) 2>/dev/null && sleep 100",
        "sudo -S true",
    ] {
        let begun = Instant::now();
        let (end, _) = run(line).await;
        assert!(matches!(end, End::Exited(_)), "{line}: {end:?}");
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{line}: {:?}",
            begun.elapsed()
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_descriptor_of_the_host_is_passed_on() {
    // Not marked to be closed, as libraries of the host leave them.
    let opened: Vec<_> = (0..5)
        .map(|_| openat(CWD, "/dev/null", OFlags::RDONLY, Mode::empty()).unwrap())
        .collect();
    let (_, captured) = run("for fd in /proc/$$/fd/*; do echo -n \"${fd##*/} \"; done").await;
    let numbers: Vec<&str> = captured.text.split_whitespace().collect();
    // 3 is the folder itself, which would have a higher number if one were passed on; 255 is bash's own.
    let foreign = numbers
        .iter()
        .filter(|n| !matches!(**n, "0" | "1" | "2" | "3" | "255"));
    assert_eq!(foreign.count(), 0, "{numbers:?}");
    drop(opened);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signals_are_as_a_program_expects_them() {
    // The runtime of Rust ignores SIGPIPE in the host.
    let (_, captured) = run("grep -E '^Sig(Blk|Ign)' /proc/self/status").await;
    let sets = captured.text.lines().map(|line| {
        let set = u64::from_str_radix(line.rsplit('\t').next().unwrap(), 16).unwrap();
        // Two that the C library keeps for itself.
        set & !(1 << 31 | 1 << 32)
    });
    assert_eq!(sets.collect::<Vec<_>>(), [0, 0], "{}", captured.text);
    let (end, captured) = run("yes | head -n 1").await;
    assert_eq!((end, captured.text.as_str()), (End::Exited(0), "y\n"));
    let (_, captured) =
        run("read -r -a f < /proc/$$/stat; echo ${f[0]} ${f[4]} ${f[5]} ${f[6]}").await;
    let facts: Vec<&str> = captured.text.split_whitespace().collect();
    assert_eq!((facts[0], facts[0], "0"), (facts[1], facts[2], facts[3]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_commands_at_once_are_all_answered() {
    let ledger = Ledger::default();
    let mut all = Vec::new();
    for n in 0..64 {
        let line = format!("echo out-{n}; exit {}", n % 7);
        let command = command(&line, &mark(), Duration::from_secs(60));
        all.push((n, start(command, receiver(), &ledger).unwrap()));
    }
    for (n, mut running) in all {
        let outcome = running.outcome().await.unwrap();
        assert_eq!(outcome.end, End::Exited(n % 7));
        assert_eq!(outcome.received.captured().text, format!("out-{n}\n"));
    }
    emptied(&ledger).await;
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let mark = mark();
    let limit = Duration::from_secs(5);
    let ledger = Ledger::default();
    let missing = Command {
        program: "no-such-program",
        ..command("", &mark, limit)
    };
    let nul = Command {
        arguments: vec![b"a\0b".to_vec()],
        ..command("", &mark, limit)
    };
    let nowhere = Command {
        directory: b"/no/such/folder".to_vec(),
        ..command("", &mark, limit)
    };
    let inside = Command {
        untrusted: Some(b"/".to_vec()),
        ..command("", &mark, limit)
    };
    let mut errors = Vec::new();
    for command in [missing, nul, nowhere, inside] {
        let mut running = start(command, receiver(), &ledger).unwrap();
        errors.push(running.outcome().await.err().unwrap());
    }
    assert!(
        matches!(
            errors[..],
            [
                StartError::Missing(_),
                StartError::Nul,
                StartError::System { .. },
                StartError::Untrusted(_)
            ]
        ),
        "{errors:?}"
    );
    emptied(&ledger).await;
}
