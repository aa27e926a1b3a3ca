//! Training that is asked to stop in the middle of an iteration.

use quickstudy_core::train::Session;
use quickstudy_core::{Device, Error};
use quickstudy_tests::trainings::{finish, training, wait};

#[test]
fn an_interrupted_session_saves_nothing_and_its_last_snapshot_goes_on() {
    let setup = training("ppo", "cartpole").steps(256).set("envs = 4\nhorizon = 16\nminibatches = 1").setup();
    let whole = {
        let mut session = Session::new(&Device::cpu(1), &setup).unwrap();
        finish(&mut session);
        wait(session.snapshot(0))
    };
    let device = Device::cpu(1);
    let mut session = Session::new(&device, &setup).unwrap();
    wait(session.step());
    let last = wait(session.snapshot(0));
    device.interrupt().ask();
    assert_eq!(pollster::block_on(session.step()).unwrap_err(), Error::Interrupted);
    device.interrupt().clear();
    let refused = |error: Error| assert!(error.to_string().contains("resume from the last snapshot"), "{error}");
    refused(pollster::block_on(session.step()).unwrap_err());
    refused(pollster::block_on(session.snapshot(0)).unwrap_err());
    refused(pollster::block_on(session.evaluate(1)).unwrap_err());
    let mut session = Session::restore(&device, &[&last]).unwrap();
    finish(&mut session);
    assert!(wait(session.snapshot(0)) == whole);
}
