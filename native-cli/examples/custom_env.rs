//! An environment of your own in 60 lines: define it, check it, train PPO on it, save the curve.

#![forbid(unsafe_code)]
use quickstudy::curve::{Plot, Series, draw};
use quickstudy_core::env::{
    ActionSpace, Color, Dim, Draws, Env, EnvDef, EnvSpec, Mask, Real, Scene, Shape, Step, check_env,
};
use quickstudy_core::{Device, train};

/// A puck on ice: push it to the origin and hold it there. Reward −distance − 0.1 |speed|, 60 steps.
struct Puck;

quickstudy_core::fields! {
    struct PuckState {
        /// Position in m.
        x,
        /// Speed in m/s.
        v
    }
}

impl Env for Puck {
    type State<R: Real> = PuckState<R>;
    fn spec(&self) -> EnvSpec {
        let observation = vec![Dim::new("x", -2.0, 2.0), Dim::new("v", -2.0, 2.0)];
        EnvSpec::new("puck", observation, ActionSpace::discrete(&["left", "coast", "right"]), 60)
    }
    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> PuckState<R> {
        PuckState { x: rng.range(-1.0, 1.0), v: R::lit(0.0) }
    }
    #[inline(always)]
    fn step<R: Real>(&self, s: PuckState<R>, action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let v = (s.v + (action[0] - R::lit(1.0)) * R::lit(0.1)).clamp(-2.0, 2.0);
        let x = (s.x + v * R::lit(0.1)).clamp(-2.0, 2.0);
        Step { next: PuckState { x, v }, reward: -x.abs() - R::lit(0.1) * v.abs(), terminated: R::Mask::splat(false) }
    }
    #[inline(always)]
    fn observe<R: Real>(&self, s: &PuckState<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&[s.x, s.v]);
    }
    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        Scene::new([-2.0, 2.0, -0.5, 0.5]).with(Shape::circle([state[0], 0.0], 0.1, Color::ORANGE))
    }
}
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let env = EnvDef::new(Puck)?;
    println!("{}", check_env(&env, None).into_result()?);
    let setup = train::Setup::resolve("ppo", env, &[0], Some(60_000), &[])?;
    let mut session = train::Session::new(&Device::cpu(0), &setup)?;
    let mut curve = Vec::new();
    while !session.done() {
        let rows = session.step_blocking()?;
        let found = rows[0].iter().find(|(name, _)| name == "rollout/ep_return_mean").map(|(_, value)| *value);
        curve.extend(found.filter(|v| v.is_finite()).map(|v| (session.env_steps() as f64, v)));
    }
    println!("return {:.2} at first, {:.2} at last", curve[0].1, curve[curve.len() - 1].1);
    let series = vec![Series { label: "puck".into(), runs: vec![curve], ..Default::default() }];
    let plot = Plot {
        title: "puck".into(),
        subtitle: "PPO".into(),
        y_label: "mean episode return".into(),
        series,
        ..Plot::default()
    };
    std::fs::write(std::env::temp_dir().join("puck.svg"), draw(&plot)?.svg())?;
    Ok(())
}
