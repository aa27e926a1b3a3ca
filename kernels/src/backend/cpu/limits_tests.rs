//! Tests that programs too large for the machine, and programs asked to stop, end with a typed error.

use std::sync::Arc;

use super::{Cpu, CpuOptions};
use crate::program::Program;
use crate::tensor::{Loop, scan};
use crate::{Context, DType, Device, Error, State, Tensor};

fn devices() -> [Device; 3] {
    let options = |tiles, threads| CpuOptions { tiles, threads, ..Default::default() };
    [options(true, 1), options(true, 2), options(false, 2)].map(|options| Device::new(Cpu::new(options)))
}

/// A product whose result has n² elements, of which only a sum is wanted.
fn square(cx: &mut Context, n: usize) {
    let x = cx.input("x", &[n, 1], DType::F32);
    let all = x.matmul(x.transpose());
    cx.output("sum", (all * all).sum_keep(0).max_keep(1));
}

#[test]
#[cfg_attr(miri, ignore = "Tables of a million rows take Miri too long")]
fn what_may_not_be_taken_is_refused_before_anything_is_allocated() {
    for device in devices() {
        let trace = || Arc::new(Program::trace_of(|cx| square(cx, 1 << 20)).unwrap());
        let bytes = device.footprint(trace()).unwrap().bytes();
        assert!(bytes > 4 << 40, "{bytes}");
        device.limit_memory(bytes - 1);
        let error = device.compile(trace()).err().unwrap();
        let Error::Memory(shortage) = &error else { panic!("{error}") };
        assert_eq!((shortage.bytes, shortage.limit), (bytes, Some(bytes - 1)));
        let message = error.to_string();
        assert!(message.contains("TB are needed") && message.contains("limits_tests.rs:"), "{message}");
        assert!(message.contains("[1048576, 1048576]"), "{message}");
        device.limit_memory(bytes);
        assert!(device.compile(trace()).is_ok());
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri fills what it allocates, and 64 TB fill any machine")]
fn an_allocation_that_fails_is_an_error() {
    for device in devices() {
        // Nobody has set a limit, and no machine has 64 TB.
        let mut program = Program::new(&device, |cx| square(cx, 1 << 22)).unwrap();
        let x = device.zeros(&[1 << 22, 1], DType::F32).unwrap();
        for _ in 0..2 {
            let error = program.run(&State::new(), &[("x", &x)], &[]).unwrap_err();
            assert!(matches!(error, Error::Memory(_)), "{error}");
            assert!(error.to_string().contains("could not be allocated"), "{error}");
        }
        assert!(matches!(device.zeros(&[1 << 26, 1 << 20], DType::F32), Err(Error::Memory(_))));
        assert!(matches!(device.zeros(&[1 << 40, 1 << 40], DType::U32), Err(Error::Memory(_))));
    }
}

#[test]
fn sizes_that_no_number_holds_end_the_trace() {
    let error = Program::trace_of(|cx| {
        let x = cx.input("x", &[1 << 30, 1], DType::F32);
        let y = x.broadcast_to(&[1 << 30, 1 << 30]).unsqueeze(2).broadcast_to(&[1 << 30, 1 << 30, 1 << 30]);
        cx.output("y", y.sum_all());
    });
    let error = error.err().unwrap();
    assert!(matches!(error, Error::Memory(_)), "{error}");
    assert!(error.to_string().contains("`broadcast`"), "{error}");
}

#[test]
fn what_is_dropped_is_not_counted_any_more() {
    let device = Device::cpu(1);
    device.limit_memory(1000);
    for _ in 0..10 {
        device.zeros(&[200], DType::F32).unwrap();
    }
    let kept = device.zeros(&[200], DType::F32).unwrap();
    let also = kept.clone();
    drop(kept);
    assert!(device.zeros(&[200], DType::F32).is_err());
    let reserved = device.reserve(150);
    assert!(device.zeros(&[20], DType::F32).is_err());
    drop((also, reserved));
    assert!(device.zeros(&[250], DType::F32).is_ok());
}

/// A loop of 2⁴⁰ steps: in tiles, around tiles, or node by node.
fn endless(cx: &mut Context, until: bool) {
    let x = cx.input("x", &[4, 3], DType::F32);
    let one = |x: Tensor| x * 0.5 + 1.0;
    let last = match until {
        false => scan(1 << 40, false, &[x], &[], |_, c, _| Loop { carry: vec![one(c[0])], ys: Vec::new() }).0,
        // A sum over rows does not run row by row.
        true => {
            let step = |c: Tensor| one(c) + c.sum_keep(0);
            scan(1 << 40, false, &[x], &[], |_, c, _| Loop { carry: vec![step(c[0])], ys: Vec::new() }).0
        }
    };
    cx.output("last", last[0]);
}

#[test]
fn a_running_loop_stops_when_asked_and_the_device_goes_on() {
    for device in devices() {
        for until in [false, true] {
            let mut program = Program::new(&device, |cx| endless(cx, until)).unwrap();
            let x = device.array(&[4, 3], &[1.0; 12]).unwrap();
            let interrupt = device.interrupt();
            let other = interrupt.clone();
            let asks = std::thread::spawn(move || {
                while other.reached().step < if cfg!(miri) { 5 } else { 1000 } {
                    std::thread::yield_now();
                }
                other.ask();
            });
            let error = program.run(&State::new(), &[("x", &x)], &[]).unwrap_err();
            assert_eq!(error, Error::Interrupted);
            asks.join().unwrap();
            assert_eq!(interrupt.reached().steps, 1 << 40);
            // The request stays until it is taken back.
            assert_eq!(program.run(&State::new(), &[("x", &x)], &[]).unwrap_err(), Error::Interrupted);
            interrupt.clear();
            interrupt.enter(0, 0);
            let mut short = Program::new(&device, |cx| {
                let x = cx.input("x", &[4, 3], DType::F32);
                cx.output("y", x + 1.0);
            })
            .unwrap();
            let out = short.run(&State::new(), &[("x", &x)], &[]).unwrap();
            assert_eq!(pollster::block_on(device.read(out.get("y").unwrap())).unwrap(), [2.0; 12]);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "A product of which a part takes a tenth of a second")]
fn a_product_that_is_asked_to_stop_is_no_result() {
    const N: usize = 4096;
    for device in devices() {
        let mut program = Program::new(&device, |cx| {
            let (x, y) = (cx.input("x", &[N, N], DType::F32), cx.input("y", &[N, N], DType::F32));
            cx.output("product", x.matmul(y));
        })
        .unwrap();
        let [x, y] = [(); 2].map(|()| device.zeros(&[N, N], DType::F32).unwrap());
        let interrupt = device.interrupt();
        let asks = std::thread::spawn(move || {
            while interrupt.reached().part == 0 {
                std::thread::yield_now();
            }
            // By then it computes its first rows.
            std::thread::sleep(std::time::Duration::from_millis(5));
            interrupt.ask();
        });
        let result = program.run(&State::new(), &[("x", &x), ("y", &y)], &[]);
        asks.join().unwrap();
        assert_eq!(result.map(drop).unwrap_err(), Error::Interrupted);
    }
}
