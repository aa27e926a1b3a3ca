//! Ranks other than 0, which follow its orders.

use crate::outcome::Stop;
use crate::ranks::Team;
use crate::ranks::job::{Job, JobEnd};
use crate::ranks::message::{JobReport, Order, read, write};
use crate::settings::register;
use crate::settings::request::Plan;
use crate::studies::jobs::{JobEvent, JobProcess};
use crate::training::args::TrainArgs;
use crate::training::{lead, warm_start};
use quickstudy_core::train::{Length, Saved, Session};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Looks for orders without a pause for so long after the last one: iterations follow each other closely.
const AT_ONCE: Duration = Duration::from_millis(2);
/// Then with pauses of this length, as nobody should keep a core busy by waiting.
const PAUSE: Duration = Duration::from_micros(200);
/// With longer ones after a second, where a process trains and nothing is ordered: short ones took 9 % of a core.
const LONG_PAUSE: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(1);

/// Does what rank 0 orders until it ends. `args` are those of a `train`; other commands order trainings as processes
/// alone.
pub(crate) fn follow(team: &Team, args: Option<&TrainArgs>) -> Result<(), Stop> {
    let mut follower = Follower { args, session: None, servant: Servant::new(team) };
    let mut last = Instant::now();
    loop {
        match team.receive() {
            Some((_, bytes)) => {
                let other = || Stop::failure("rank 0 is another version of this program");
                let (order, more) = read::<Order>(&bytes).ok_or_else(other)?;
                if !follower.obey(order, more)? {
                    return Ok(());
                }
                last = Instant::now();
            }
            None if last.elapsed() < AT_ONCE => std::thread::yield_now(),
            None if last.elapsed() < LONG => std::thread::sleep(PAUSE),
            None => std::thread::sleep(LONG_PAUSE),
        }
        follower.servant.report();
    }
}

struct Follower<'a> {
    args: Option<&'a TrainArgs>,
    session: Option<Session>,
    servant: Servant<'a>,
}

impl Follower<'_> {
    /// Follows an order; false after the last one.
    fn obey(&mut self, order: Order, more: &[u8]) -> Result<bool, Stop> {
        match order {
            Order::Begin { debug } => self.begin(debug)?,
            Order::Restore { lengths, steps, iterations, debug } => {
                let length = iterations.map_or(Length::Steps(steps), Length::Iterations);
                self.restore(&lengths, more, length, debug)?;
            }
            Order::Step => drop(pollster::block_on(self.session()?.step())?),
            Order::Save(seeds) => drop(lead::saved(self.session()?, &seeds)?),
            Order::Leave => self.session = None,
            Order::Job(number, job) => self.servant.start(number, job),
            Order::Press => self.servant.press(),
            Order::End => return Ok(false),
        }
        Ok(true)
    }

    fn session(&mut self) -> Result<&mut Session, Stop> {
        self.session.as_mut().ok_or_else(|| Stop::failure("there is no session to go on with"))
    }

    fn args(&self) -> Result<&TrainArgs, Stop> {
        self.args.ok_or_else(|| Stop::failure("this command trains nothing together"))
    }

    fn begin(&mut self, debug: bool) -> Result<(), Stop> {
        let args = self.args()?;
        let plan = Plan::resolve(&args.request())?;
        let mut session = Session::new(&args.device.open()?, &plan.setup)?;
        warm_start::begin_with(&mut session, plan.run.from.as_deref().unwrap_or_default())?;
        session.set_debug(debug);
        self.session = Some(session);
        Ok(())
    }

    fn restore(&mut self, lengths: &[usize], mut bytes: &[u8], length: Length, debug: bool) -> Result<(), Stop> {
        let mut files = Vec::with_capacity(lengths.len());
        for count in lengths {
            let (file, rest) = bytes.split_at_checked(*count).unwrap_or_default();
            files.push(Saved::in_one_file(file));
            bytes = rest;
        }
        let device = self.args()?.device.open()?;
        let mut session = Session::restore_saved(&device, register::own(), &files)?;
        session.set_length(length)?;
        session.set_debug(debug);
        self.session = Some(session);
        Ok(())
    }
}

/// Runs trainings for rank 0, as processes.
struct Servant<'a> {
    team: &'a Team,
    running: Vec<(JobProcess, Job)>,
    sender: Sender<JobEvent>,
    events: Receiver<JobEvent>,
}

impl<'a> Servant<'a> {
    fn new(team: &'a Team) -> Self {
        let (sender, events) = channel();
        Self { team, running: Vec::new(), sender, events }
    }

    fn start(&mut self, number: usize, job: Job) {
        match JobProcess::start(number, &job, &self.sender) {
            Ok(process) => self.running.push((process, job)),
            Err(stop) => self.tell(&JobReport::Ended(number, JobEnd::Failed(stop).into())),
        }
    }

    fn press(&mut self) {
        self.running.iter_mut().for_each(|(process, _)| process.press());
    }

    fn tell(&self, report: &JobReport) {
        self.team.send(0, &write(report, &[]));
    }

    /// Tells rank 0 what has happened.
    fn report(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            let at = |number: usize, running: &[(JobProcess, Job)]| {
                running.iter().position(|(process, _)| process.number == number)
            };
            match event {
                JobEvent::Line(number, line) => {
                    if let Some(at) = at(number, &self.running) {
                        self.running[at].0.note(&line);
                    }
                    self.tell(&JobReport::Line(number, line));
                }
                JobEvent::Said(number, text) => {
                    self.tell(&JobReport::Said(number, text.clone()));
                    if let Some(at) = at(number, &self.running) {
                        self.running[at].0.hear(text);
                    }
                }
                JobEvent::Ended(number) => {
                    if let Some(at) = at(number, &self.running) {
                        let (process, job) = self.running.swap_remove(at);
                        self.tell(&JobReport::Ended(number, process.end(&job).into()));
                    }
                }
            }
        }
    }
}
