//! Debug mode: a run that loses its numbers says in which operation that began.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::train::{Layer, Session, Setup};
use quickstudy_core::{Device, Error, env};

fn session(settings: &str) -> Session {
    let layer = Layer { origin: "test".into(), settings: toml::from_str(settings).unwrap() };
    let setup = Setup::resolve("ppo", env::builtin("cartpole").unwrap(), &[3], Some(4096), &[layer]).unwrap();
    Session::new(&Device::cpu(1), &setup).unwrap()
}

const SMALL: &str = "envs = 4\nhorizon = 8\nminibatches = 2\nepochs = 2\nhidden = [16]\n";

fn failure(session: &mut Session) -> Option<String> {
    (0..4).find_map(|_| match pollster::block_on(session.step()) {
        Ok(_) => None,
        Err(Error::NonFinite(message)) => Some(message),
        Err(other) => panic!("{other}"),
    })
}

#[test]
fn the_operation_is_named_with_its_source() {
    let mut run = session(&format!("{SMALL}learning_rate = 1e30"));
    run.set_debug(true);
    let message = failure(&mut run).unwrap();
    // The square of a value error of about 1e30.
    assert!(message.starts_with("mul gives inf from finite operands, core/src/algo/on_policy/ppo.rs:"), "{message}");
    assert!(message.contains("of scan %"), "{message}");
}

#[test]
fn healthy_training_is_the_same_in_debug_mode() {
    let (mut plain, mut debug) = (session(SMALL), session(SMALL));
    debug.set_debug(true);
    assert_eq!(failure(&mut plain), None);
    assert_eq!(failure(&mut debug), None);
    let bytes = |s: &Session| pollster::block_on(s.snapshot(0)).unwrap();
    assert!(bytes(&plain) == bytes(&debug));
}
