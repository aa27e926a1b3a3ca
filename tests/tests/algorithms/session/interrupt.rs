//! Training that is asked to stop in the middle of an iteration.

use quickstudy_core::env::builtin;
use quickstudy_core::train::{Layer, Session, Setup};
use quickstudy_core::{Device, Error};

#[test]
fn an_interrupted_session_saves_nothing_and_its_last_snapshot_goes_on() {
    let layer = Layer {
        origin: "test".to_owned(),
        settings: toml::from_str("envs = 4\nhorizon = 16\nminibatches = 1").unwrap(),
    };
    let setup = Setup::resolve("ppo", builtin("cartpole").unwrap(), &[3], Some(256), &[layer]).unwrap();
    let whole = {
        let mut session = Session::new(&Device::cpu(1), &setup).unwrap();
        while !session.done() {
            pollster::block_on(session.step()).unwrap();
        }
        pollster::block_on(session.snapshot(0)).unwrap()
    };
    let device = Device::cpu(1);
    let mut session = Session::new(&device, &setup).unwrap();
    pollster::block_on(session.step()).unwrap();
    let last = pollster::block_on(session.snapshot(0)).unwrap();
    device.interrupt().ask();
    assert_eq!(pollster::block_on(session.step()).unwrap_err(), Error::Interrupted);
    device.interrupt().clear();
    let refused = |error: Error| assert!(error.to_string().contains("go on from the last snapshot"), "{error}");
    refused(pollster::block_on(session.step()).unwrap_err());
    refused(pollster::block_on(session.snapshot(0)).unwrap_err());
    refused(pollster::block_on(session.evaluate(1)).unwrap_err());
    let mut session = Session::restore(&device, &[&last]).unwrap();
    while !session.done() {
        pollster::block_on(session.step()).unwrap();
    }
    assert!(pollster::block_on(session.snapshot(0)).unwrap() == whole);
}
