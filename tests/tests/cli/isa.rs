//! `QUICKSTUDY_ISA`: kernels with fewer instructions than the processor has.

use super::{expect_user_error, sandbox};
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_tests::process::{Finished, Sandbox};
use std::fs;

const RUN: &str = "train ppo --env cartpole --steps 4k --threads 1 --set hidden=[16] --set epochs=2 --out";

fn on(dir: &Sandbox, isa: Isa, arguments: &str) -> Finished {
    named(dir, &isa.to_string(), arguments)
}

fn named(dir: &Sandbox, isa: &str, arguments: &str) -> Finished {
    dir.command(arguments).env("QUICKSTUDY_ISA", isa).output().expect("the program starts").into()
}

#[test]
fn a_run_goes_on_on_fewer_instructions_but_not_bit_for_bit_and_says_so() {
    let dir = sandbox();
    let best = Isa::detect();
    for isa in Isa::available().into_iter().filter(|isa| *isa != best) {
        let begin = |name: &str| {
            let begun = dir.run(&format!("{RUN} {name}"));
            assert_eq!(begun.code, Some(0), "{begun:?}");
            assert!(begun.out.contains(&format!("cpu ({best}), 1 thread")), "{}", begun.out);
        };
        let [here, there] = ["here", "there"].map(|name| format!("{name}-{isa}"));
        begin(&here);
        begin(&there);
        let snapshot = |name: &str| fs::read(dir.join(name).join("last.safetensors")).unwrap();
        assert!(snapshot(&here) == snapshot(&there));

        let went_on = dir.run(&format!("train --resume {here} --steps 8k"));
        assert!(!went_on.out.contains("not bit for bit"), "{}", went_on.out);
        let went_on = on(&dir, isa, &format!("train --resume {there} --steps 8k"));
        assert_eq!(went_on.code, Some(0), "{went_on:?}");
        let note = format!(
            "note: {there} was trained on cpu ({best}) and continues on cpu ({isa}): not bit for bit \
             what it would have been"
        );
        assert!(went_on.out.contains(&note), "{}", went_on.out);
        assert!(went_on.out.contains(&format!("cpu ({isa}), ")), "{}", went_on.out);
        let version: serde_json::Value =
            serde_json::from_slice(&fs::read(dir.join(&there).join("version.json")).unwrap()).unwrap();
        assert_eq!(version["device"], format!("cpu ({isa})").as_str());
        let devices: Vec<&str> =
            version["devices"].as_array().unwrap().iter().map(|d| d["name"].as_str().unwrap()).collect();
        assert_eq!(devices, [format!("cpu ({best})"), format!("cpu ({isa})")]);
        // Sums of products that are rounded once instead of twice: the same run, but not the same bits.
        if isa.fuses() != best.fuses() {
            assert!(snapshot(&here) != snapshot(&there), "{isa} gives the same bits as {best}");
        }

        let evaluated = on(&dir, isa, &format!("eval {there} --last --episodes 2"));
        assert!(evaluated.out.contains(&format!("cpu ({isa}), ")), "{}", evaluated.out);
        let devices = on(&dir, isa, "devices").out;
        let line = format!("cpu     {isa} as QUICKSTUDY_ISA says; the processor has {best} · ");
        assert!(devices.starts_with(&line), "{devices}");
    }
    let devices = on(&dir, best, "devices").out;
    assert!(devices.starts_with(&format!("cpu     {best} · ")), "{devices}");
}

#[test]
fn an_instruction_set_that_there_is_not_is_refused_before_anything_is_made() {
    let dir = sandbox();
    let refused = named(&dir, "sse9", &format!("{RUN} r"));
    expect_user_error(&refused, &["QUICKSTUDY_ISA: unknown instruction set `sse9`", "unset it", "baseline"]);
    assert!(!dir.join("r").exists());
    expect_user_error(&named(&dir, "sse9", "devices"), &["QUICKSTUDY_ISA"]);
    if Isa::detect() != Isa::Avx512 {
        let refused = named(&dir, "avx512", &format!("{RUN} r"));
        expect_user_error(&refused, &["QUICKSTUDY_ISA: this processor has no avx512"]);
    }
}
